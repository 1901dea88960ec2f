// The sequence diagram has a row for each moment at which something happened, the last one at the
// bottom; its rows are buttons, and the arrow keys choose one. Knows no world.
import { svg } from './dom.mjs';
import { CLIENTS, listOf, moment, tell } from './words.mjs';
import { labelOf, shapeOf } from './scene.mjs';

const ROWS_SHOWN = 120;
const ROW = 26, NOTE = 15, TOP = 44, LEFT = 66;
const LOST_AT = 0.72;           // Part of its way that a lost message is drawn.

// A message's fate as {to: the moment at which it is there, or would be; state: 'there', 'flying' or
// 'lost'}. A message that a cut link holds up is also lost, although it may come if that is mended.
function fateOf(message, arrivals, flying, now) {
    if (arrivals.has(message.id)) return { to: arrivals.get(message.id), state: 'there' };
    return { to: Math.min(message.arrives, now), state: flying.has(message.id) ? 'flying' : 'lost' };
}

// [{message, to, state}]
function fatesOf(log, { flights }, now) {
    const arrivals = new Map(log.filter(event => event.kind === 'arrived').map(event => [event.id, event.at]));
    const flying = new Set(flights.filter(flight => !flight.heldUp).map(flight => flight.id));
    return log.filter(event => event.kind === 'message').map(message => ({ message, ...fateOf(message, arrivals, flying, now) }));
}

function momentsOf(log, fates) {
    const moments = new Set(fates.flatMap(({ message, to }) => [message.at, to]));
    for (const event of log)
        if (event.kind !== 'message' && event.kind !== 'executed' && tell(event)) moments.add(event.at);
    return [...moments].sort((one, other) => one - other);
}

const isNoted = event => ['accident', 'action', 'refusal', 'write', 'end'].includes(event.kind) || event.what === 'verdict';

// The words below the arrows that arrive then, and above those that leave.
function notesOf(events, width) {
    return events.filter(isNoted).flatMap(event => wrap(tell(event), width / 7.4).map(text => ({ text, kind: event.kind })));
}

function wrap(text, max) {
    const lines = [''];
    for (const word of text.split(' ')) {
        if (lines.at(-1).length + word.length > max) lines.push('');
        lines[lines.length - 1] += (lines.at(-1) ? ' ' : '') + word;
    }
    return lines;
}

// Places messages that arrive and leave at each moment, and the notes between.
function placeRows(moments, byMoment, width) {
    const rows = new Map();
    let y = TOP;
    for (const at of moments) {
        const notes = notesOf(byMoment.get(at) ?? [], width), arrive = y;
        y += notes.length * NOTE;
        rows.set(at, { arrive, leave: notes.length > 0 ? y + 6 : y, notes });
        y += ROW + (notes.length > 0 ? 6 : 0);
    }
    return { rows, height: y };
}

function arrow({ message, to, state }, rows, x) {
    const c = x.client(message.client), n = x.node(message.node), [from, goal] = message.to === 'node' ? [c, n] : [n, c];
    const y1 = rows.get(message.at)?.leave, end = rows.get(to);
    if (y1 === undefined || !end) return null;
    const { kind, text } = labelOf(message), side = Math.sign(goal - from), share = state === 'lost' ? LOST_AT : 1;
    const x2 = from + (goal - from) * share, y2 = y1 + (Math.max(end.arrive, y1 + 4) - y1) * share;
    const ends = { there: () => svg('path', { d: `M0,0 l${-7 * side},-4 v8 z`, transform: `translate(${goal} ${y2})`, class: `head is-${kind}` }),
                   lost: () => svg('path', { d: 'M-4,-4 l8,8 M-4,4 l8,-8', transform: `translate(${x2} ${y2})`, class: 'lost-mark' }), flying: () => '' };
    return svg('g', {}, svg('line', { x1: from, y1, x2, y2, class: `arrow is-${kind}${state === 'there' ? '' : ' on-its-way'}` }), ends[state](),
        kind === 'granted' || kind === 'refused' ? svg('text', { x: from + 12 * side, y: y1 - 1, class: `mark is-${kind}`, text }) : '');
}

function columns(state, width) {
    const { n, c } = state.settings, step = (width - LEFT - 24) / (n + c - 1 || 1);
    const place = [];     // Clients on both sides of the nodes, so that arrows stay short.
    for (let i = 0; i < c; i += 2) place.push(['client', i]);
    for (let k = 0; k < n; k++) place.push(['node', k]);
    for (let i = 1; i < c; i += 2) place.push(['client', i]);
    const at = (kind, number) => LEFT + step * place.findIndex(([one, other]) => one === kind && other === number);
    return { client: i => at('client', i), node: k => at('node', k), place };
}

// ---- Rows in words ----

// "A sends acquire to nodes 0, 1 and 2", of messages that begin or end at one moment.
function inGroups(messages, sentence) {
    const groups = new Map();
    for (const message of messages) {
        const words = sentence(message, '\0');
        groups.set(words, [...groups.get(words) ?? [], message.node]);
    }
    return [...groups].map(([words, nodes]) => words.replace('\0', `${nodes.length > 1 ? 'nodes' : 'node'} ${listOf(nodes.sort())}`));
}

const whatOf = message => (message.to === 'node' ? message.commands.join(' and ') || 'bytes'
    : { granted: 'granted', refused: 'refused' }[labelOf(message).kind] ?? 'an answer');

function rowInWords(at, fates, events) {
    const left = fates.filter(({ message }) => message.at === at), ended = fates.filter(({ to }) => to === at);
    const [come, lost] = ['there', 'lost'].map(state => ended.filter(one => one.state === state));
    const of = (list, to) => list.map(one => one.message).filter(message => message.to === to);
    return [moment(at), ...inGroups(of(come, 'node'), (message, nodes) => `${CLIENTS[message.client]}'s ${whatOf(message)} is at ${nodes}`),
            ...inGroups(of(come, 'client'), (message, nodes) => `${CLIENTS[message.client]} has the answer of ${nodes}: ${whatOf(message)}`),
            ...inGroups(of(lost, 'node'), (message, nodes) => `${CLIENTS[message.client]}'s ${whatOf(message)} does not come to ${nodes}`),
            ...inGroups(of(lost, 'client'), (message, nodes) => `to ${CLIENTS[message.client]} the answer of ${nodes} does not come`),
            ...events.filter(isNoted).map(tell),
            ...inGroups(of(left, 'node'), (message, nodes) => `${CLIENTS[message.client]} sends ${whatOf(message)} to ${nodes}`),
            ...inGroups(of(left, 'client'), (message, nodes) => `to ${CLIENTS[message.client]} answers ${nodes}: ${whatOf(message)}`)].join('; ');
}

// ---- The picture ----

// goTo(at) is called for the moment that is chosen. isWhole: all of it, not only the last rows.
export function sequenceDiagram(log, state, now, width, isWhole, goTo) {
    const fates = fatesOf(log, state, now), byMoment = groupByMoment(log), all = momentsOf(log, fates);
    const moments = isWhole ? all : all.slice(-ROWS_SHOWN), x = columns(state, width);
    const { rows, height } = placeRows(moments, byMoment, width - LEFT);
    const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'group', class: 'sequence',
                                 'aria-label': 'Sequence diagram: messages between clients and nodes, later ones below' });
    for (const [kind, number] of x.place) {
        const at = x[kind](number);
        picture.append(svg('line', { x1: at, y1: TOP - 12, x2: at, y2: height, class: 'lifeline' }));
        if (kind === 'node') picture.append(svg('text', { x: at, y: 22, class: 'head-name', text: number }));
        else picture.append(svg('g', { transform: `translate(${at} 18)` }, shapeOf(number, 9),
            svg('text', { y: 4, class: `letter on-client-${CLIENTS[number]}`, text: CLIENTS[number] })));
    }
    picture.append(...fates.map(fate => arrow(fate, rows, x) ?? ''));
    for (const [at, { arrive, leave, notes }] of rows)
        picture.append(svg('text', { x: 4, y: arrive + 4, class: 'row-time', text: moment(at) }),
            ...notes.map(({ text, kind }, i) => svg('text', { x: LEFT + 4, y: arrive + 15 + i * NOTE, class: `row-note is-${kind}`, text })),
            svg('rect', { x: 1, y: arrive - ROW / 2, width: width - 2, height: leave - arrive + ROW, class: 'row-target', role: 'button', tabindex: -1,
                          'data-at': at, 'aria-label': rowInWords(at, fates, byMoment.get(at) ?? []), onclick: () => goTo(at) }));
    picture.querySelectorAll('text').forEach(text => text.setAttribute('aria-hidden', 'true'));      // The rows say it.
    beOneStop(picture);
    return { picture, isCut: moments.length < all.length };
}

// The Tab key stops at one of all rows. It is at first the last, then the chosen one; the arrow keys go from row to row.
function beOneStop(picture) {
    const rows = [...picture.querySelectorAll('.row-target')];
    const choose = row => rows.forEach(one => one.setAttribute('tabindex', one === row ? 0 : -1));
    choose(rows.at(-1));
    picture.addEventListener('focusin', event => choose(event.target));
    picture.addEventListener('keydown', event => {
        const i = rows.indexOf(event.target), last = rows.length - 1;
        const to = { ArrowDown: Math.min(i + 1, last), ArrowUp: Math.max(i - 1, 0), Home: 0, End: last }[event.key];
        if (i < 0 || to === undefined && event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        if (to === undefined) rows[i].dispatchEvent(new MouseEvent('click'));
        else rows[to].focus();
    });
}

function groupByMoment(log) {
    const groups = new Map();
    for (const event of log) groups.has(event.at) ? groups.get(event.at).push(event) : groups.set(event.at, [event]);
    return groups;
}
