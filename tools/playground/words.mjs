// Events and possible actions, in words; and RESP, decoded. Knows no page.

export const CLIENTS = 'ABCDE';

// A time in microseconds, in the unit that a reader would choose.
export function inWords(us) {
    if (Math.abs(us) >= 60e6) return `${(us / 60e6).toFixed(1)} min`;
    if (Math.abs(us) >= 1e6) return `${(us / 1e6).toFixed(Math.abs(us) < 100e6 ? 1 : 0)} s`;
    return `${(us / 1e3).toFixed(Math.abs(us) < 100e3 ? 1 : 0)} ms`;
}

// A moment, so that events that follow each other within a round trip can be told apart.
export function moment(us) {
    return us < 1e6 ? `${(us / 1e3).toFixed(1)} ms` : `${(us / 1e6).toFixed(us % 1e5 ? 4 : 1)} s`;
}

export function has(mask, k) { return (mask >> k & 1) === 1; }

export function bitsOf(mask) {
    const bits = [];
    for (let k = 0; mask >> k; k++) if (has(mask, k)) bits.push(k);
    return bits;
}

export function listOf(names) {
    return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

// ---- Actions: {CLIENT} and {NODE} are what they are done to, {VALUE} the number behind ----

const DEEDS = {
    acquire: '{C} asks all nodes for the lock', extend: '{C} extends the lock', keep: '{C} keeps the lock: it extends it by itself',
    release: '{C} releases the lock', write: '{C} asks whether it holds the lock, to write then',
    blind: '{C} writes without asking whether it still holds the lock', freeze: '{C} is stopped (SIGSTOP, a garbage collector)',
    suspend: '{C}\'s machine is suspended', wake: '{C} goes on', crash: '{C} crashes', return: '{C} is started again',
    pace: '{C}\'s clock runs {P}', kill: 'node {N} is killed', empty: 'node {N} restarts with an empty memory',
    restart: 'node {N} restarts with its memory', pause: 'node {N} hangs: it takes bytes and executes nothing',
    resume: 'node {N} goes on', slow: 'node {N} answers {U} later', step: 'the wall clock of node {N} is stepped by {M}',
    rate: 'the clock of node {N} runs {P}', flush: 'FLUSHALL on node {N}', evict: 'node {N} evicts the key of the lock',
    replicate: 'the replica of node {N} has now what the node has', failover: 'the replica of node {N} takes over; connections break',
    proxy: 'the replica of node {N} takes over behind a proxy, which hides it', cut: 'the link from {C} to node {N} is cut',
    cutto: 'nothing passes from {C} to node {N}', cutfrom: 'nothing passes from node {N} to {C}',
    delayto: 'from {C} to node {N} it takes {U} longer', delayfrom: 'from node {N} to {C} it takes {U} longer',
    far: 'between {C} and node {N} it takes {U} one way', heal: 'the link between {C} and node {N} is mended',
    del: 'a client without tokens releases the key on node {N}: DEL',
    pexpire: 'a client without tokens extends the key on node {N} by {M}: PEXPIRE',
    tickets: 'acquires take {B}tickets from now on', fence: 'the resource checks {B}tickets from now on'
};

export function deed(text) {
    const [verb, ...parts] = text.split('.');
    const client = CLIENTS.includes(parts[0]) && parts[0] !== '' ? parts.shift() : '';
    const onNode = DEEDS[verb]?.includes('{N}');
    const node = onNode ? parts.shift() : '', value = Number(parts[0] ?? 0);
    const asleep = verb === 'suspend' ? (value ? ', and its clock goes on' : ', and its clock stands still meanwhile') : '';
    const waits = verb === 'acquire' && value > 0 ? ', and waits for up to ' + inWords(value * 1000) : '';
    return (DEEDS[verb] ?? text).replace('{C}', client).replace('{N}', node).replace('{U}', inWords(value))
        .replace('{M}', inWords(value * 1000)).replace('{P}', `${Math.abs(value) / 1e4} % ${value < 0 ? 'slower' : 'faster'}`).replace('{B}', value ? '' : 'no ') + asleep + waits;
}

// ---- Events ----

const PHASES = {
    acquiring: 'begins an attempt, with a new token', waiting: 'waits a random time before its next attempt',
    held: 'holds the lock', extending: 'extends', releasing: 'releases', idle: 'is at rest',
    inspecting: 'asks the nodes what they have', ending: 'ends its attempt, and releases the keys that it may have'
};

const OF_LOCKS = ['acquire', 'extend', 'release', 'restore', 'wait'];

function timeToLive(number) {
    return number >= 0 ? `will live for ${inWords(number * 1000)} more` : number === -1 ? 'has no TTL: it stays' : 'is gone';
}

// The node's answer, by its question.
function answered({ node, command, answer, vote, number, granted }, name) {
    const isGranted = answer === 'granted', soFar = vote === 'pending' ? ': too late to count' : `: ${bitsOf(granted).length} granted so far`;
    if (command === 'PTTL') return `node ${node} has told ${name} that the key ${timeToLive(number)}`;
    if (!OF_LOCKS.includes(command)) return `node ${node} has answered ${name}'s ${command ?? 'subscription'}`;
    if (answer === 'error') return `node ${node} has not executed ${name}'s ${command}: ${vote === 'pending' ? 'it is sent again, as a whole' : 'an error'}`;
    switch (command) {
    case 'acquire': return `node ${node} has ${isGranted ? 'granted' : 'refused'} ${name} the key${soFar}`;
    case 'extend': return `node ${node} has ${isGranted ? '' : 'not '}extended ${name}'s key${soFar}`;
    case 'release': return isGranted ? `node ${node} has deleted ${name}'s key` : `node ${node} had no key of ${name}'s`;
    case 'restore': return isGranted ? `node ${node} has ${name}'s key again` : `node ${node} has somebody else's key`;
    default: return `node ${node} has ${name} among those that wait`;
    }
}

function unanswered({ node, command }, name) {
    return OF_LOCKS.includes(command) ? `${name} gets no answer of node ${node} to its ${command}: unknown whether it was done`
        : `${name} gets no answer of node ${node}`;
}

function ofEngine(event, name) {
    switch (event.what) {
    case 'phase': return `${name} ${PHASES[event.phase] ?? event.phase}`;
    case 'heard': return `${name} reads: ${answered(event, name)}`;
    case 'unanswered': return unanswered(event, name);
    case 'verdict': return event.won ? `${name} ${event.command === 'acquire' ? 'has the lock' : 'has extended it'}: ${event.arithmetic}`
        : `${name} ${event.command === 'acquire' ? 'has not got it' : event.command === 'extend' ? 'has not extended it' : event.command}: ${event.status}`;
    case 'ended': return `${name} is told: ${event.status === 'done' ? 'it is done' : event.status}`;
    case 'owed': return `${name} owes node ${event.node} a release, since its key may be there`;
    case 'cleared': return `${name} owes node ${event.node} nothing: no key of its own is there`;
    case 'ready': return event.isNewServer ? `${name} sees that node ${event.node} has restarted` : `${name} is connected to node ${event.node}`;
    case 'disconnected': return `${name} loses its connection to node ${event.node}`;
    case 'woken': return `${name} is woken: the lock may be free`;
    default: return `${name}: ${event.what}${event.node === undefined ? '' : ` (node ${event.node})`}`;
    }
}

function executed({ node, command, did }, name) {
    switch (command) {
    case 'acquire': return did ? `node ${node} grants ${name} the key: it was not there, and is set` : `node ${node} refuses ${name} the key: there is one already`;
    case 'extend': return did ? `node ${node} extends ${name}'s key: it lives for a TTL from now` : `node ${node} has no key of ${name}'s to extend`;
    case 'release': return did ? `node ${node} deletes ${name}'s key` : `node ${node} has no key of ${name}'s to delete`;
    case 'restore': return did ? `node ${node} sets ${name}'s key again, which it had lost` : `node ${node} does not set ${name}'s key again`;
    case 'wait': return `node ${node} puts ${name} among those that wait`;
    case 'PTTL': return `${name} asks node ${node} how long the key will live`;
    default: return `node ${node} executes ${name}'s ${command}`;
    }
}

// '': it is not worth a line, since another event says it as well.
export function tell(event) {
    const name = CLIENTS[event.client];
    switch (event.kind) {
    case 'action': return deed(event.text);
    case 'refusal': return `but: ${event.words}`;
    case 'executed': return executed(event, name);
    case 'engine': return event.what === 'sent' || event.what === 'connected' ? '' : ofEngine(event, name);
    case 'end': return `${name}'s validity has ended: ${name} no longer holds the lock`;
    case 'write': return `${name} writes${event.ticket ? ` with ticket ${event.ticket}` : ''}: ${event.admitted ? 'admitted' : 'refused'}` +
        (event.held ? '' : ', though it does not hold the lock');
    case 'accident': return event.words;
    default: return '';
    }
}

// ---- RESP2 ----

// The values one below the other, each with its type, as [{depth, text}].
export function decodeResp(bytes) {
    const lines = [];
    let at = 0;
    const line = () => {
        const end = bytes.indexOf('\r\n', at), text = bytes.slice(at, end < 0 ? bytes.length : end);
        at = end < 0 ? bytes.length : end + 2;
        return text;
    };
    const value = depth => {
        const head = line(), rest = head.slice(1);
        if (head[0] === '*') {
            lines.push({ depth, text: `array of ${rest}` });
            for (let i = 0; i < Number(rest) && at < bytes.length; i++) value(depth + 1);
        } else if (head[0] === '$') {
            if (Number(rest) < 0) return lines.push({ depth, text: 'null' });
            lines.push({ depth, text: `"${bytes.slice(at, at + Number(rest))}"` });
            at += Number(rest) + 2;
        } else {
            lines.push({ depth, text: { '+': 'simple string ', '-': 'error ', ':': 'integer ' }[head[0]] + rest });
        }
    };
    while (at < bytes.length) value(0);
    return lines;
}
