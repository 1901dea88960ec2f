// Words of the field, each explained in a line, in this place only. Knows elements, and the world's settings.
import { html } from './dom.mjs';

const driftOf = ({ ttl, drift }) => `Clocks do not run alike: ${drift / 1e4} % of the TTL for that, and 2 ms since servers count whole milliseconds. ` +
    `Of a TTL of ${ttl} ms: ${(ttl * drift / 1e6).toFixed(1)} + 2 = ${(ttl * drift / 1e6 + 2).toFixed(1)} ms.`;

// [the pattern, as a regular expression, with | between alternatives; the word; its meaning, or a function of the settings]
const WORDS = [
    ['nodes?', 'node', 'A Redis server that knows nothing of the other ones.'],
    ['keys?', 'key', 'What a node stores for a lock: the resource\'s name, with a token as its value, and a TTL.'],
    ['resource', 'resource', 'What one client at a time may use: a file, a printer, an account.'],
    ['TTL', 'TTL', 'Time to live: when it is over the node deletes the key, so a client that has crashed does not keep the lock.'],
    ['PTTL', 'PTTL', 'The command of Redis that asks how many milliseconds a key has left to live.'],
    ['clock drift|drift', 'clock drift', driftOf],
    ['validity|valid', 'validity', 'How long a client may count on its lock: TTL − time that asking took − clock drift. Then it must stop, by its own clock.'],
    ['quorums?|majorities|majority', 'quorum', 'More than half of all configured nodes: 3 of 5. Two quorums have at least one node in common, so not both can win.'],
    ['tokens?', 'token', 'Random bytes, new for each attempt: the value of its keys. A node deletes or extends a key only if the token is the same.'],
    ['tickets?', 'ticket', 'A number that grows from holder to holder, also called fencing token. The resource refuses one that is smaller than it has seen.'],
    ['guard', 'guard', ({ guard, ttl }) => `For so long a node that has restarted has no vote, since it may have forgotten a lock: ${guard / 1000} s here. ` +
        `Every lock of before is over then if the guard is longer than the TTL, ${ttl / 1000} s.`],
    ['owes?', 'owe', 'A release that did not reach its node, or may not have: it is sent again until the node has answered, or the TTL is over.'],
    ['seed', 'seed', 'The number that chance begins with in this world: the same seed and the same actions give the same world again.'],
    ['votes?|voted', 'vote', 'What a node has answered: granted, refused, or unknown if no answer came.'],
    ['unknown', 'unknown', 'No answer came, so the node may have granted or not. It counts as no grant, and is released like one.'],
    ['attempts?', 'attempt', 'All nodes are asked once; if no quorum grants, the keys that were set are released, and the next attempt begins a random time later.'],
    ['extends?|extended|extension', 'extend', 'To let the keys live for a whole TTL again. It counts only if a quorum does so before the validity ends.'],
    ['keeps? the lock', 'keep', 'To extend the lock again and again, until it is released.'],
    ['evicts?|evicted', 'evict', 'A Redis server that runs out of memory may delete keys of its own accord.'],
    ['FLUSHALL', 'FLUSHALL', 'The command of Redis that deletes all keys of a server.'],
    ['PEXPIRE', 'PEXPIRE', 'The command of Redis that sets a key\'s TTL, whoever\'s key it is.'],
    ['replicas?|replicates?', 'replica', 'A copy of a Redis server, a little behind it. If it takes over, the last keys may be missing.'],
    ['proxy', 'proxy', 'Stands between clients and servers, and can hide that another server answers.'],
    ['CLOCK_MONOTONIC', 'CLOCK_MONOTONIC', 'A clock of Linux that cannot be set, and stands still while the machine is suspended.'],
    ['CLOCK_BOOTTIME', 'CLOCK_BOOTTIME', 'A clock of Linux that cannot be set, and counts the time of a suspension, too.'],
    ['SIGSTOP', 'SIGSTOP', 'The signal that stops a process until it is told to go on. Its clock goes on meanwhile.'],
    ['without asking', 'write without asking', 'To write as a holder without a look at one\'s clock: whether the validity has ended is not known then.'],
    ['ppm', 'ppm', 'Parts per million: 10000 ppm are 1 %.'],
    ['us', 'us', 'Microseconds: 1000 us are 1 ms.']
];
const FINDER = new RegExp(`\\b(?:${WORDS.map(([pattern]) => `(${pattern})`).join('|')})\\b`, 'g');

const told = html('div', { id: 'word', role: 'tooltip', hidden: true });
let settingsOf = () => ({});

function meaningOf([, , meaning]) { return typeof meaning === 'function' ? meaning(settingsOf()) : meaning; }

function show(term, word) {
    told.textContent = `${word[1]}: ${meaningOf(word)}`;
    told.hidden = false;
    const at = term.getBoundingClientRect(), own = told.getBoundingClientRect(), below = at.bottom + 6;
    told.style.left = `${Math.max(8, Math.min(at.left, document.documentElement.clientWidth - own.width - 8))}px`;
    told.style.top = `${below + own.height > innerHeight ? Math.max(8, at.top - own.height - 6) : below}px`;
}

// True: one was shown.
export function hideWord() {
    const wasShown = !told.hidden;
    told.hidden = true;
    return wasShown;
}

function termOf(text, word) {
    const term = html('button', { type: 'button', class: 'term', text, 'aria-describedby': 'word' });
    for (const name of ['mouseenter', 'focus', 'click']) term.addEventListener(name, () => show(term, word));
    for (const name of ['mouseleave', 'blur']) term.addEventListener(name, hideWord);
    return term;
}

// The text, in which each word of the field can be asked for at its first place. seen has those that
// need not be offered again.
export function withTerms(text, seen = new Set()) {
    const parts = [];
    let from = 0;
    for (const match of text.matchAll(FINDER)) {
        const word = WORDS[match.slice(1).findIndex(Boolean)];
        if (seen.has(word)) continue;
        seen.add(word);
        parts.push(text.slice(from, match.index), termOf(match[0], word));
        from = match.index + match[0].length;
    }
    return [...parts, text.slice(from)].filter(part => part !== '');
}

// The words in a text, as [word, meaning].
export function wordsIn(text) {
    const found = new Set([...text.matchAll(FINDER)].map(match => WORDS[match.slice(1).findIndex(Boolean)]));
    return [...found].map(word => [word[1], meaningOf(word)]);
}

// Does as set(element, 'text', text).
export function setTerms(element, text) {
    if (element.told === text) return;
    element.told = text;
    element.replaceChildren(...withTerms(text));
}

const ABOUT = 'A lock lets one client at a time use a resource. Redlock keeps it on several Redis servers, nodes, that know nothing of each other: a ' +
    'client that has its key on a quorum of them holds the lock, until its validity ends, and one node that dies does no harm. Here the engine of redlock ' +
    'itself runs against model servers, in simulated time: press Acquire, then break something, and see whether two ever hold the lock.';

// Fills "What is this?", and all words; settings() are the world's.
export function fillAbout(box, settings) {
    settingsOf = settings;
    document.body.append(told);
    const list = html('dl', {});
    const fill = () => list.replaceChildren(...WORDS.flatMap(word => [html('dt', { text: word[1] }), html('dd', { text: meaningOf(word) })]));
    const all = html('details', {}, html('summary', { text: 'All words' }), list);
    all.addEventListener('toggle', fill);
    box.append(html('summary', { text: 'What is this?' }), html('p', {}, ...withTerms(ABOUT)), all);
}
