// What has happened: the list of events with their rules, the sequence diagram, the bytes on a link. Knows no world.
import { button, html, svg } from './dom.mjs';
import { CLIENTS, decodeResp, moment, tell } from './words.mjs';
import { labelOf, shapeOf } from './scene.mjs';

const EVENTS_SHOWN = 150;
const ROWS_SHOWN = 120;

// ---- Events ----

function ruleOf(rules, number) {
    const rule = rules.find(one => one.number === number);
    return !rule ? null : html('div', { class: 'rule' }, html('p', { text: `S${number}: ${rule.text}` }),
        ...rule.lines.map(({ file, line, text }) => html('p', {}, html('code', { text: `${file}:${line}` }), ' ', html('code', { text }))));
}

function eventItem(event, rules, goTo) {
    const rule = event.rule > 0 ? html('span', { class: 'badge', text: `S${event.rule}` }) : null;
    const name = event.client === undefined ? null : html('span', { class: `dot client-${CLIENTS[event.client]}`, 'aria-hidden': 'true' });
    const item = html('details', { class: `event is-${event.kind}` }, html('summary', {}, html('span', { class: 'at', text: moment(event.at) }),
        name, html('span', { class: 'words', text: tell(event) }), rule));
    item.addEventListener('toggle', () => {     // Few are ever opened.
        if (item.open && item.children.length === 1)
            item.append(ruleOf(rules, event.rule) ?? '', button('Go to this moment', () => goTo(event.at)));
    });
    return item;
}

// The last ones, the newest first.
export function eventList(log, rules, goTo) {
    const told = [];
    for (let i = log.length; i-- > 0 && told.length < EVENTS_SHOWN;) if (tell(log[i])) told.push(log[i]);
    if (told.length === 0) return [html('p', { text: 'Nothing has happened yet.' })];
    return told.map(event => eventItem(event, rules, goTo));
}

// ---- Bytes ----

function messageItem(message) {
    const sender = message.to === 'node' ? `${CLIENTS[message.client]} → node ${message.node}` : `node ${message.node} → ${CLIENTS[message.client]}`;
    const decoded = decodeResp(message.bytes).map(({ depth, text }) => '  '.repeat(depth) + text).join('\n');
    const raw = message.bytes.replace(/\r/g, '\\r').replace(/\n/g, '\\n\n').trimEnd();
    return html('details', { class: 'message' }, html('summary', {}, html('span', { class: 'at', text: moment(message.at) }),
        html('span', { class: 'words', text: `${sender}: ${message.to === 'node' ? message.commands.join(', ') : labelOf(message).text}` }),
        html('span', { class: 'badge', text: `${message.bytes.length} bytes` })),
    html('div', { class: 'bytes' }, html('pre', { text: raw, tabindex: 0, 'aria-label': 'bytes' }),
        html('pre', { text: decoded, tabindex: 0, 'aria-label': 'decoded' })));
}

export function bytesOnLink(log, client, node) {
    const messages = log.filter(event => event.kind === 'message' && event.client === client && event.node === node).slice(-12).reverse();
    if (messages.length === 0) return [html('p', { text: 'No bytes have passed here yet.' })];
    const items = messages.map(messageItem);
    items[0].open = true;
    return items;
}

// ---- The sequence diagram: a row for each moment at which something happened, the last one at the bottom ----

const ROW = 26, NOTE = 15, TOP = 44, LEFT = 66;

function momentsOf(log, now) {
    const moments = new Set();
    for (const event of log) {
        if (event.kind === 'message') moments.add(event.at).add(Math.min(event.arrives, now));
        else if (tell(event) && event.kind !== 'executed') moments.add(event.at);
    }
    return [...moments].sort((one, other) => one - other);
}

// What is written below the arrows that arrive then, and above those that leave.
function notesOf(events, width) {
    const said = events.filter(event => ['accident', 'action', 'refusal', 'write', 'end'].includes(event.kind) || event.what === 'verdict');
    return said.flatMap(event => wrap(tell(event), width / 7.4).map(text => ({ text, kind: event.kind })));
}

function wrap(text, max) {
    const lines = [''];
    for (const word of text.split(' ')) {
        if (lines.at(-1).length + word.length > max) lines.push('');
        lines[lines.length - 1] += (lines.at(-1) ? ' ' : '') + word;
    }
    return lines;
}

// Where messages arrive and leave at each moment, and the notes between.
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

function arrow(message, now, rows, x) {
    const c = x.client(message.client), n = x.node(message.node), from = message.to === 'node' ? c : n, to = message.to === 'node' ? n : c;
    const y1 = rows.get(message.at)?.leave, end = rows.get(Math.min(message.arrives, now)), isThere = message.arrives <= now;
    if (y1 === undefined || !end) return null;
    const { kind, text } = labelOf(message), side = Math.sign(to - from), y2 = Math.max(end.arrive, y1 + 4);
    const line = svg('line', { x1: from, y1, x2: to, y2, class: `arrow is-${kind}${isThere ? '' : ' on-its-way'}` });
    const head = svg('path', { d: `M0,0 l${-7 * side},-4 v8 z`, transform: `translate(${to} ${y2})`, class: `head is-${kind}` });
    return svg('g', {}, line, isThere ? head : '', kind === 'granted' || kind === 'refused'
        ? svg('text', { x: from + 12 * side, y: y1 - 1, class: `mark is-${kind}`, text }) : '');
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

// goTo(at) is called for the moment that is clicked. isWhole: all of it, not only the last rows.
export function sequenceDiagram(log, state, now, width, isWhole, goTo) {
    const all = momentsOf(log, now), moments = isWhole ? all : all.slice(-ROWS_SHOWN), x = columns(state, width);
    const { rows, height } = placeRows(moments, groupByMoment(log), width - LEFT);
    const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', class: 'sequence',
                                 'aria-label': 'Sequence diagram: messages between clients and nodes, later ones below' });
    for (const [kind, number] of x.place) {
        const at = x[kind](number);
        picture.append(svg('line', { x1: at, y1: TOP - 12, x2: at, y2: height, class: 'lifeline' }));
        if (kind === 'node') picture.append(svg('text', { x: at, y: 22, class: 'head-name', text: number }));
        else picture.append(svg('g', { transform: `translate(${at} 18)` }, shapeOf(number, 9),
            svg('text', { y: 4, class: `letter on-client-${CLIENTS[number]}`, text: CLIENTS[number] })));
    }
    for (const message of log) if (message.kind === 'message') picture.append(arrow(message, now, rows, x) ?? '');
    for (const [at, { arrive, leave, notes }] of rows) {
        picture.append(svg('text', { x: 4, y: arrive + 4, class: 'row-time', text: moment(at) }),
            ...notes.map(({ text, kind }, i) => svg('text', { x: LEFT + 4, y: arrive + 15 + i * NOTE, class: `row-note is-${kind}`, text })));
        const target = svg('rect', { x: 0, y: arrive - ROW / 2, width, height: leave - arrive + ROW, class: 'row-target' });
        target.addEventListener('click', () => goTo(at));
        picture.append(target);
    }
    return { picture, isCut: moments.length < all.length };
}

function groupByMoment(log) {
    const groups = new Map();
    for (const event of log) groups.has(event.at) ? groups.get(event.at).push(event) : groups.set(event.at, [event]);
    return groups;
}
