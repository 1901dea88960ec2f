// The past, as the list of events with their rules, and the bytes on a link. Knows no world.
import { button, html } from './dom.mjs';
import { CLIENTS, decodeResp, moment, tell } from './words.mjs';
import { labelOf } from './scene.mjs';

const EVENTS_SHOWN = 150;

// ---- Events ----

function ruleOf(rules, number) {
    const rule = rules.find(one => one.number === number);
    return !rule ? null : html('div', { class: 'rule' }, html('p', {}, `Rule S${number}: `, ...withTerms(rule.text)), html('p', { text: 'The engine says so at:' }),
        ...rule.lines.map(({ file, line, text }) => html('p', {}, html('code', { text: `${file}:${line}` }), ' ', html('code', { text }))));
}

function eventItem(event, rules, goTo) {
    const rule = event.rule > 0 ? html('span', { class: 'badge', text: `S${event.rule} ▾` }) : null;
    const name = event.client === undefined ? null : html('span', { class: `dot client-${CLIENTS[event.client]}`, 'aria-hidden': 'true' });
    const item = html('details', { class: `event is-${event.kind}` }, html('summary', {}, html('span', { class: 'at', text: moment(event.at) }),
        name, html('span', { class: 'words', text: tell(event) }), rule));
    item.addEventListener('toggle', () => {     // Few are ever opened.
        if (item.open && item.children.length === 1)
            item.append(...wordsIn(tell(event)).map(([word, meaning]) => html('p', { class: 'rule', text: `${word}: ${meaning}` })),
                ruleOf(rules, event.rule) ?? '', button('Go to this moment', () => goTo(event.at)));
    });
    return item;
}

// The last ones, the newest first.
export function eventList(log, rules, goTo) {
    const told = [];
    for (let i = log.length; i-- > 0 && told.length < EVENTS_SHOWN;) if (tell(log[i])) told.push(log[i]);
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
