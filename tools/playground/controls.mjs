// The actions on the client, the node or the link that is chosen; and the settings of a world. Knows
// actions, not their effects.
import { button, html } from './dom.mjs';
import { CLIENTS, inWords } from './words.mjs';

// [label, action], or [label, action, the meaning of its number, the number that stands there first]
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

// The values that each client can write to the resource.
function writes(c) {
    const names = [...CLIENTS.slice(0, c)];
    return ['Writes', ...names.map(name => [`${name} writes`, `write.${name}`]), ...names.map(name => [`${name} writes without asking`, `blind.${name}`])];
}

function control([label, action, unit, value], names, act) {
    const named = action.split('.').map(part => names[part] ?? part).join('.');
    if (!unit) return button(label, () => act(named), { 'data-act': named });
    const input = html('input', { type: 'number', value, step: 'any', 'aria-label': `${label}: ${unit}` }), same = html('span', {});
    const fill = () => { same.textContent = `${unit}${sameAs(Number(input.value), unit)}`; };
    input.addEventListener('input', fill);
    fill();
    const does = () => act(named.replace('#', Math.round(Number(input.value) || 0)));
    return html('span', { class: 'with-number' }, button(label, does, { 'data-act': named }), input, same);
}

// The same in a unit that more people know.
function sameAs(value, unit) {
    return unit === 'us' ? ` = ${inWords(value)}` : unit === 'ppm' ? ` = ${value / 1e4} %` : Math.abs(value) >= 1000 ? ` = ${inWords(value * 1000)}` : '';
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

// The elements of the panel of the chosen thing. act(action) does it; choose(kind, client, node) chooses another.
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

// ---- Settings: [name, label, smallest, largest, unit, what it is: words, or a function of all settings] ----

export const DRIFT_MS = 2;      // The engine adds it to the clocks' drift, since servers count whole milliseconds.

const NUMBERS = [
    ['n', 'Nodes', 1, 7, '', ({ n }) => `Independent servers. A quorum is more than half of them: ${Math.floor(n / 2) + 1} of ${n}.`],
    ['c', 'Clients', 1, 5, '', 'Each wants the same lock.'],
    ['ttl', 'TTL', 10, 3600000, 'ms', ({ ttl }) => `A node deletes the key by itself after ${inWords(ttl * 1000)}, unless the lock is extended.`],
    ['wait', 'Each acquire waits for', 0, 3600000, 'ms', '0: a lost attempt is the end. Otherwise it is tried again, after random pauses, until then.'],
    ['drift', 'Drift of the clocks', 0, 999999, 'ppm', ({ drift, ttl }) => `By how much a node's clock may be faster than a client's: ${drift / 1e4} %. ` +
        `Of the TTL that is ${ttl * drift / 1e6} ms; with ${DRIFT_MS} ms for rounding, ${ttl * drift / 1e6 + DRIFT_MS} ms are subtracted from the validity.`],
    ['guard', 'Guard after a restart', 0, 7200000, 'ms', ({ guard, ttl }) => (guard === 0
        ? 'A node that has restarted votes at once, though it may have forgotten a lock.'
        : `A node that has restarted has no vote for ${inWords(guard * 1000)}: until then every lock that it may have forgotten has ended.` +
          (ttl > guard ? ' The TTL is longer, so it is refused.' : ''))],
    ['latency', 'Latency, one way', 1, 10000000, 'us', ({ latency }) => `Of each message: ${latency / 1000} ms. A command and its answer take twice that.`],
    ['jitter', 'and up to so much more', 0, 10000000, 'us', ({ jitter }) => `Each message takes up to ${jitter / 1000} ms longer, by chance.`],
    ['seed', 'Seed', 0, 1e9, '', 'Of tokens, random pauses, jitter, and which of two events comes first. Same seed, same actions: same world.']
];
const SWITCHES = [
    ['tickets', 'Acquires take tickets', 'A ticket, or fencing token, is a number larger than that of every holder before. Nodes grant it with the key.'],
    ['fence', 'The resource checks tickets', 'It refuses a write whose ticket is smaller than one that it has seen: a late write of an earlier holder.'],
    ['wakeups', 'A release wakes waiting clients', 'Nodes tell the first client in their queue. Otherwise a client that waits asks again, after random pauses.']
];

// begin(settings) makes a new world of them.
export function settingsForm(settings, begin) {
    const fields = {}, told = {};
    const read = () => Object.fromEntries(Object.entries(fields).map(([name, field]) =>
        [name, field.type === 'checkbox' ? Number(field.checked) : Number(field.value)]));
    const what = name => (told[name] = html('p', { class: 'what', id: `what-${name}` }));
    const number = ([name, label, min, max, unit]) => {
        fields[name] = html('input', { type: 'number', id: `set-${name}`, min, max, value: settings[name], required: true, 'aria-describedby': `what-${name}` });
        return html('div', { class: 'setting' }, html('div', { class: 'field' }, html('label', { for: `set-${name}`, text: label }), fields[name], unit), what(name));
    };
    const check = ([name, label]) => {
        fields[name] = html('input', { type: 'checkbox', id: `set-${name}`, checked: settings[name] === 1, 'aria-describedby': `what-${name}` });
        return html('div', { class: 'setting' }, html('div', { class: 'field' }, fields[name], html('label', { for: `set-${name}`, text: label })), what(name));
    };
    const fill = () => [...NUMBERS, ...SWITCHES].forEach(row => {
        told[row[0]].textContent = typeof row.at(-1) === 'function' ? row.at(-1)(read()) : row.at(-1);
    });
    const form = html('form', { oninput: fill, onsubmit: event => { event.preventDefault(); begin(read()); } },
        ...NUMBERS.map(number), ...SWITCHES.map(check), html('button', { type: 'submit', text: 'Begin a new world' }));
    fill();
    return form;
}
