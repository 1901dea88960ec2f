// The page: what is seen and pressed. The world is that of engine.mjs.
import { compileEngine, World } from './engine.mjs';

const main = document.getElementById('main');
const rules = JSON.parse(document.getElementById('rules').textContent);

// The WebAssembly that stands compressed in the page.
async function unpackWorld() {
    const bytes = Uint8Array.from(atob(document.getElementById('world').textContent), byte => byte.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

const module = await compileEngine(await unpackWorld());
const world = new World(module, location.hash || 'n=5&c=2&seed=1');
const log = [];

function button(label, does) {
    const element = document.createElement('button');
    element.textContent = label;
    element.onclick = () => { does(); show(); };
    main.append(element);
}

for (const client of world.state().clients)
    for (const verb of ['acquire', 'extend', 'keep', 'release', 'write', 'blind', 'freeze', 'wake', 'crash', 'return'])
        button(`${verb}.${client.name}`, () => world.act(`${verb}.${client.name}`));
for (const node of world.state().nodes)
    for (const verb of ['kill', 'empty', 'restart', 'pause', 'resume', 'flush', 'evict'])
        button(`${verb}.${node.id}`, () => world.act(`${verb}.${node.id}`));
button('one event', () => world.step());
button('1 ms', () => world.runTo(world.now + 1e3));
button('1 s', () => world.runTo(world.now + 1e6));
button('back 1 ms', () => world.back(Math.max(0, world.now - 1e3)));

const told = document.createElement('pre'), seen = document.createElement('pre');
main.append(told, seen);

function show() {
    for (const event of world.events())
        log.push(`${event.at / 1000} ms ${JSON.stringify(event)} ${rules.find(rule => rule.number === event.rule)?.text ?? ''}`);
    told.textContent = log.slice(-12).join('\n');
    seen.textContent = JSON.stringify(world.state(), null, 1);
    history.replaceState(null, '', '#' + world.link());
}

window.playground = { world, module };
show();
