// What can be done to the client, the node or the link that is chosen; and the settings of a world. Knows actions, not what they do.
import { button, html } from './dom.mjs';
import { CLIENTS } from './words.mjs';

// [label, action], or [label, action, what its number is, the number that stands there first]
const OF_CLIENT = [
    ['The lock', ['Acquire', 'acquire.C'], ['Extend', 'extend.C'], ['Keep', 'keep.C'], ['Release', 'release.C'],
        ['Acquire, and wait', 'acquire.C.#', 'ms', 10000]],
    ['The resource', ['Write', 'write.C'], ['Write without asking', 'blind.C']],
    ['The process', ['Stop', 'freeze.C'], ['Go on', 'wake.C'], ['Crash', 'crash.C'], ['Start again', 'return.C']],
    ['Its machine', ['Suspend, clock goes on', 'suspend.C.1'], ['Suspend, clock stands still', 'suspend.C.0'],
        ['Change the speed of its clock by', 'pace.C.#', 'ppm', -200000]]
];
const OF_NODE = [
    ['The server', ['Kill', 'kill.N'], ['Restart empty', 'empty.N'], ['Restart with its memory', 'restart.N'], ['Hang', 'pause.N'],
        ['Go on', 'resume.N']],
    ['Its keys', ['FLUSHALL', 'flush.N'], ['Evict the key', 'evict.N']],
    ['Its time', ['Step its clock by', 'step.N.#', 'ms', 11000], ['Change the speed of its clock by', 'rate.N.#', 'ppm', 200000],
        ['Answer later by', 'slow.N.#', 'us', 50000]],
    ['Its replica', ['Copy to it', 'replicate.N'], ['Fail over', 'failover.N'], ['Fail over behind a proxy', 'proxy.N']]
];
const OF_LINK = [
    ['The link', ['Cut', 'cut.C.N'], ['Mend', 'heal.C.N'], ['Let nothing pass to the node', 'cutto.C.N'],
        ['Let nothing pass to the client', 'cutfrom.C.N']],
    ['Its latency', ['To the node, later by', 'delayto.C.N.#', 'us', 50000], ['To the client, later by', 'delayfrom.C.N.#', 'us', 50000],
        ['One way, instead', 'far.C.N.#', 'us', 5000]]
];

const OF_RESOURCE = ['Tickets', ['It checks tickets', 'fence.1'], ['It checks none', 'fence.0'], ['Acquires take tickets', 'tickets.1'],
    ['Acquires take none', 'tickets.0']];

// What each client can write to the resource.
function writes(c) {
    const names = [...CLIENTS.slice(0, c)];
    return ['Writes', ...names.map(name => [`${name} writes`, `write.${name}`]), ...names.map(name => [`${name} writes without asking`, `blind.${name}`])];
}

function control([label, action, unit, value], names, act) {
    const named = action.split('.').map(part => names[part] ?? part).join('.');
    if (!unit) return button(label, () => act(named), { 'data-act': named });
    const input = html('input', { type: 'number', value, step: 'any', 'aria-label': `${label}: ${unit}` });
    const does = () => act(named.replace('#', Math.round(Number(input.value) || 0)));
    return html('span', { class: 'with-number' }, button(label, does, { 'data-act': named }), input, html('span', { text: unit }));
}

function group([title, ...controls], names, act) {
    return html('div', { class: 'group', role: 'group', 'aria-label': title }, html('h3', { text: title }),
        html('div', { class: 'buttons' }, ...controls.map(one => control(one, names, act))));
}

export function titleOf({ kind, client, node }) {
    if (kind === 'resource') return 'The resource';
    if (kind === 'client') return `Client ${CLIENTS[client]}`;
    return kind === 'node' ? `Node ${node}` : `The link from ${CLIENTS[client]} to node ${node}`;
}

// The elements of the panel of what is chosen. act(action) does it; choose(kind, client, node) chooses another.
export function controlsOf(chosen, { n, c }, act, choose) {
    const groups = { client: OF_CLIENT, node: OF_NODE, link: OF_LINK, resource: [writes(c), OF_RESOURCE] }[chosen.kind];
    const names = { C: CLIENTS[chosen.client], N: chosen.node };
    const links = html('div', { class: 'buttons' });
    if (chosen.kind === 'client') for (let k = 0; k < n; k++) links.append(button(`node ${k}`, () => choose('link', chosen.client, k)));
    if (chosen.kind === 'node') for (let i = 0; i < c; i++) links.append(button(CLIENTS[i], () => choose('link', i, chosen.node)));
    return [...groups.map(one => group(one, names, act)),
        ['link', 'resource'].includes(chosen.kind) ? null : html('div', { class: 'group', role: 'group', 'aria-label': 'Its links' },
            html('h3', { text: 'Its links' }), links)].filter(Boolean);
}

// ---- Settings: [name, label, smallest, largest, unit] ----

const NUMBERS = [
    ['n', 'Nodes', 1, 7], ['c', 'Clients', 1, 5], ['ttl', 'TTL', 10, 3600000, 'ms'], ['wait', 'Each acquire waits for', 0, 3600000, 'ms'],
    ['drift', 'Drift of the clocks', 0, 999999, 'ppm'], ['guard', 'Guard after a restart', 0, 7200000, 'ms'],
    ['latency', 'Latency, one way', 1, 10000000, 'us'], ['jitter', 'and up to so much more', 0, 10000000, 'us'], ['seed', 'Seed', 0, 1e9]
];
const SWITCHES = [['tickets', 'Acquires take tickets'], ['fence', 'The resource checks tickets'], ['wakeups', 'A release wakes waiting clients']];

// begin(settings) makes a new world of them.
export function settingsForm(settings, begin) {
    const fields = {};
    const number = ([name, label, min, max, unit]) => {
        fields[name] = html('input', { type: 'number', id: `set-${name}`, min, max, value: settings[name], required: true });
        return html('div', { class: 'field' }, html('label', { for: `set-${name}`, text: label }), fields[name], unit ?? '');
    };
    const check = ([name, label]) => {
        fields[name] = html('input', { type: 'checkbox', id: `set-${name}`, checked: settings[name] === 1 });
        return html('div', { class: 'field' }, fields[name], html('label', { for: `set-${name}`, text: label }));
    };
    const read = () => Object.fromEntries(Object.entries(fields).map(([name, field]) =>
        [name, field.type === 'checkbox' ? Number(field.checked) : Number(field.value)]));
    return html('form', { onsubmit: event => { event.preventDefault(); begin(read()); } },
        ...NUMBERS.map(number), ...SWITCHES.map(check), html('button', { type: 'submit', text: 'Begin a new world' }));
}
