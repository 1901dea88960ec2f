// The picture has nodes in a circle, clients within, the resource in the middle, and messages on their
// way. Knows states, changes none.
import { svg, set } from './dom.mjs';
import { CLIENTS, bitsOf, has, inWords } from './words.mjs';

const WIDE = { width: 1000, height: 700, node: [415, 262], client: [225, 130], radius: 42, size: 17 };
const NARROW = { width: 600, height: 824, node: [235, 310], client: [150, 185], radius: 44, size: 23 };
// On a narrow page, by the number of nodes, how far from the middle one or two clients stand, how far
// below it, and the resource below them, so that none stands on a node.
const NARROW_PLACES = [null, [150, 90, 0], [150, 0, 0], [150, -30, 0], [150, 0, 0], [141, 90, 0], [110, 22, 140], [95, 0, 165]];
// With four or five clients, or three on a narrow page, these are in a row, and nodes above and below,
// or left and right on a narrow page. No link passes a client or a node then, and bows of so much keep
// the links of each client apart.
const CROWDED = 4, NARROW_CROWDED = 3;
const WIDE_CROWD = { width: 1000, height: 780, rows: [82, 668], row: 375, radius: 42, size: 17, bow: [0, 40] };
const NARROW_CROWD = { width: 600, height: 1080, rows: [66, 534], row: 300, radius: 44, size: 23, bow: [50, 0] };
const HANDLE_PLACES = Array.from({ length: 15 }, (_, i) => 0.22 + i * 0.04);     // On its link, where this is best hit.
const HANDLE_ROUNDS = 4;
const HANDLE_BONUS = 9;
const TURN = 2 * Math.PI;
const TILT = { '4 3': -0.1, '7 3': -0.06 };    // Tilt of the clients' circle, by the numbers of nodes and
                                               // clients, or links would cover each other.
const ABOVE_PILL = 14;          // The mark of a cut, so that no message covers it.
const HELD_UP_AT = 0.28;        // Part of its way, where a message waits before the mark of a cut.

// Each client has a shape beside its colour. They are circle, square, triangle, diamond, and hexagon.
const SHAPES = [
    r => polygon(24, r), r => polygon(4, r * 1.25, TURN / 8), r => polygon(3, r * 1.45, -TURN / 4), r => polygon(4, r * 1.3, 0),
    r => polygon(6, r * 1.1)
];

function polygon(corners, r, from = 0) {
    return Array.from({ length: corners }, (_, i) => {
        const angle = from + TURN * i / corners;
        return `${(r * Math.cos(angle)).toFixed(1)},${(r * Math.sin(angle)).toFixed(1)}`;
    }).join(' ');
}

export function shapeOf(client, r) {
    return svg('polygon', { points: SHAPES[client](r), class: `shape client-${CLIENTS[client]}` });
}

// A message's name on its way, in a few letters or one sign.
const LABELS = { acquire: 'ACQ', extend: 'EXT', release: 'REL', restore: 'RST', wait: 'WAIT', question: 'ASK' };

export function labelOf(message) {
    if (!message) return { text: '...', kind: 'other' };
    if (message.to === 'node') {
        const command = message.commands[0] ?? '';
        return { text: LABELS[command] ?? (command === 'PTTL' ? 'TTL?' : command.slice(0, 6) || '...'), kind: command in LABELS ? command : 'other' };
    }
    return labelOfAnswer(message);
}

// A release that finds no key of its own is no refusal, since there is nothing to do.
function labelOfAnswer({ bytes, answers }) {
    if (/^-NOSCRIPT/.test(bytes)) return { text: 'again', kind: 'other' };
    const pairs = answers.flatMap((command, i) => (i % 2 === 0 ? [[command, answers[i + 1]]] : [])).filter(([command]) => command in LABELS);
    const left = /^:(\d+)\r\n/.exec(bytes)?.[1];
    if (pairs.length === 0) return { text: answers[0] === 'PTTL' && left ? inWords(left * 1000) : '...', kind: 'other' };
    if (pairs.some(([, answer]) => answer === 'granted')) return { text: '✓', kind: 'granted' };
    return pairs.every(([command]) => command === 'release') ? { text: '–', kind: 'none' } : { text: '✗', kind: 'refused' };
}

const VOTE_SIGNS = { pending: '·', granted: '✓', refused: '✗', unknown: '?', 'not asked': '–' };

export class Scene {
    #svg; #choose; #size = WIDE;
    #nodes = []; #clients = []; #links = []; #pills = new Map();
    #counts = '';

    // choose(kind, client, node) is called if something is chosen.
    constructor(element, choose) {
        this.#svg = element;
        this.#choose = choose;
    }

    draw(state, now, messages, look) {
        const { n, c } = state.settings, narrow = this.#svg.clientWidth < 560;
        if (this.#counts !== `${n} ${c} ${narrow}`) this.#build(n, c, narrow);
        this.#counts = `${n} ${c} ${narrow}`;
        state.nodes.forEach((node, k) => this.#drawNode(node, k, state, look));
        state.clients.forEach((client, c) => this.#drawClient(client, c, state, look));
        state.links.forEach((row, c) => row.forEach((link, k) => this.#drawLink(this.#links[c][k], link, look.chosen, c, k)));
        this.#drawResource(state, look);
        this.#drawFlights(state, now, messages, look);
    }

    // ---- Building ----

    #build(n, c, narrow) {
        const isCrowd = c >= (narrow ? NARROW_CROWDED : CROWDED), [across, low, below] = narrow && c < 3 ? NARROW_PLACES[n] : [null, 0, 0], base = isCrowd ? (narrow ? NARROW_CROWD : WIDE_CROWD) : narrow ? NARROW : WIDE;
        const size = this.#size = { ...base, low, below: low + below, client: across ? [across, base.client[1]] : base.client, narrow, isCrowd };
        set(this.#svg, 'viewBox', `0 0 ${size.width} ${size.height}`);
        this.#svg.replaceChildren();
        this.#svg.classList.toggle('crowd', isCrowd);
        this.#svg.style.fontSize = `${size.size}px`;
        this.#pills.clear();
        this.#nodes = Array.from({ length: n }, (_, k) => this.#buildNode(k, n));
        this.#clients = Array.from({ length: c }, (_, i) => this.#buildClient(i, c));
        this.#links = this.#clients.map((client, i) => this.#nodes.map((node, k) => this.#buildLink(client, node, i, k)));
        this.#resource = this.#buildResource(c);
        this.#flying = svg('g', { class: 'flights', 'aria-hidden': 'true' });
        if (isCrowd) this.#placeHandles();
        const links = svg('g', { class: 'links' }, ...this.#links.flat().map(link => link.group));
        links.addEventListener('click', event => this.#choose('link', ...this.#nearestLink(event)));
        links.addEventListener('pointermove', event => this.#mark(this.#nearestLink(event)));
        links.addEventListener('pointerleave', () => this.#mark([]));
        this.#svg.append(links,
            this.#resource.group, ...this.#nodes.map(node => node.group), ...this.#clients.map(client => client.group), this.#flying,
            ...this.#clients.map(client => client.tally));
        this.#svg.querySelectorAll('text').forEach(text => text.setAttribute('aria-hidden', 'true'));    // The buttons say it.
    }
    #resource; #flying;

    #at([rx, ry], angle, low = 0) {
        const { width, height } = this.#size;
        return { x: width / 2 + rx * Math.cos(angle), y: height / 2 - 8 + low + ry * Math.sin(angle) };
    }

    // In a crowd, this is the place of number i of so many in a row.
    #inRow(row, i, count) {
        const { width, height, narrow } = this.#size;
        return narrow ? { x: row, y: (height - 40) * (i + 0.5) / count } : { x: width * (i + 0.5) / count, y: row };
    }

    #placeOfNode(k, n) {
        const turn = n === 4 ? 1 / 8 : 1 / 4;   // Four nodes at top and side would have links that cover each other.
        if (!this.#size.isCrowd) return this.#at(this.#size.node, TURN * (k / n - turn));
        const half = Math.ceil(n / 2);
        return k < half ? this.#inRow(this.#size.rows[0], k, half) : this.#inRow(this.#size.rows[1], k - half, n - half);
    }

    // The resource is amid the clients.
    #placeOfClient(i, c) {
        if (this.#size.isCrowd) return this.#inRow(this.#size.row, i < c / 2 ? i : i + 1, c + 1);
        return this.#at(this.#size.client, TURN * (1 / 2 + i / c) + (TILT[`${this.#nodes.length} ${c}`] ?? 0), this.#size.low);
    }

    #placeOfResource(c) {
        return this.#size.isCrowd ? this.#inRow(this.#size.row, Math.ceil(c / 2), c + 1) : this.#at([0, 0], 0, this.#size.below);
    }

    #pressable(group, label, does) {
        for (const [name, value] of Object.entries({ role: 'button', tabindex: 0, 'aria-label': label })) group.setAttribute(name, value);
        group.addEventListener('click', does);
        group.addEventListener('keydown', event => {
            if (event.key !== 'Enter' && event.key !== ' ') return;
            event.preventDefault();
            does();
        });
        return group;
    }

    #buildNode(k, n) {
        const at = this.#placeOfNode(k, n), r = this.#size.radius, lines = this.#size.size;
        const parts = {
            at, halo: svg('circle', { r: r + 13, class: 'halo' }), body: svg('circle', { r, class: 'body' }),
            arc: svg('circle', { r: r + 5, class: 'arc', pathLength: 100, transform: 'rotate(-90)' }),
            guard: svg('circle', { r: r - 5, class: 'guard', pathLength: 100, transform: 'rotate(-90)' }),
            token: svg('g', { class: 'token' }), sign: svg('text', { class: 'sign', y: lines * 0.4 }),
            name: svg('text', { y: r + lines * 1.5, class: 'name', text: `node ${k}` }),
            note: svg('text', { y: r + lines * 2.55, class: 'note' }), shared: svg('text', { y: -r - 21, class: 'shared-note' }), owner: null
        };
        parts.press = this.#pressable(svg('g', { class: 'press', id: `node-${k}` }, parts.halo, parts.body, parts.guard, parts.arc,
            parts.token, parts.sign), `node ${k}`, () => this.#choose('node', null, k));
        parts.group = svg('g', { class: 'node', transform: `translate(${at.x} ${at.y})` }, parts.press, parts.name, parts.note, parts.shared);
        return parts;
    }

    #buildClient(i, c) {
        const n = this.#nodes.length, at = this.#placeOfClient(i, c), lines = this.#size.size;
        const width = 120, step = Math.min(this.#size.isCrowd ? 26 : 23, (this.#size.narrow ? 182 : 130) / n);
        const parts = {
            at, halo: svg('circle', { r: 41, class: 'halo' }), phase: svg('text', { y: 48 + lines * 0.6, class: 'name' }),
            track: svg('rect', { x: -width / 2, y: 56 + lines * 0.6, width, height: 9, rx: 4, class: 'track' }),
            bar: svg('rect', { x: -width / 2, y: 56 + lines * 0.6, width, height: 9, rx: 4, class: `bar client-${CLIENTS[i]}` }),
            count: svg('text', { y: 68 + lines * 1.5, class: 'note' }), state: svg('text', { x: 36, y: -12, class: 'sign' }), width,
            pips: Array.from({ length: n }, (_, k) => svg('text', { x: (k - (n - 1) / 2) * step, y: -44, class: 'pip' }))
        };
        parts.press = this.#pressable(svg('g', { class: 'press', id: `client-${CLIENTS[i]}` }, parts.halo, shapeOf(i, 27),
            svg('text', { class: `letter on-client-${CLIENTS[i]}`, y: i === 2 ? 12 : 8, text: CLIENTS[i] }), parts.state),
        `client ${CLIENTS[i]}`, () => this.#choose('client', i, null));
        const scale = c < 3 ? 1 : 0.84;
        parts.group = svg('g', { class: 'client', transform: `translate(${at.x} ${at.y}) scale(${scale})` }, parts.press, parts.phase, parts.track, parts.bar,
            parts.count);
        // The votes, each below the number of its node; over the links and the messages on their way.
        parts.tally = svg('g', { class: 'tally is-empty', 'aria-hidden': 'true', 'pointer-events': 'none', transform: `translate(${at.x} ${at.y}) scale(${scale})` },
            svg('rect', { x: -n * step / 2 - 2, y: -46 - lines * 1.75, width: n * step + 4, height: lines * 1.75 + 7, rx: 6 }),
            ...parts.pips.map((pip, k) => svg('text', { x: pip.getAttribute('x'), y: -48 - lines, class: 'pip-node', text: k })), ...parts.pips);
        return parts;
    }

    // The keyboard reaches it from the panels of its client and its node, since 35 more stops would be too many.
    #buildLink(client, node, i, k) {
        const { x, y } = client.at, bows = i - (this.#clients.length - 1) / 2, bow = (this.#size.bow ?? [0, 0]).map(by => by * bows);
        const at = share => ({ x: x + (node.at.x - x) * share + 2 * share * (1 - share) * bow[0],
                               y: y + (node.at.y - y) * share + 2 * share * (1 - share) * bow[1] });
        const d = `M${x},${y} Q${(x + node.at.x) / 2 + bow[0]},${(y + node.at.y) / 2 + bow[1]} ${node.at.x},${node.at.y}`, middle = at(2 / 3);
        const line = svg('path', { d, class: 'link' }), mark = svg('text', { class: 'cut-mark', x: middle.x, y: middle.y - ABOVE_PILL });
        const group = svg('g', { 'aria-hidden': 'true' }, svg('path', { d, class: 'link-target' }), line, mark);
        return { group, line, mark, at, handle: null, ends: [i, k] };
    }

    // Handles are where each link can be told from all others, as far from the others' handles, and
    // from words, as there is room.
    #placeHandles() {
        const links = this.#links.flat(), others = link => links.filter(one => one !== link && one.handle);
        const far = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);
        const room = (link, place) => Math.min(...others(link).map(other => far(other.handle, place)),
            ...this.#clients.map(({ at }) => far({ x: at.x, y: at.y + 10 }, place) - 75), ...this.#nodes.map(({ at }) => far({ x: at.x, y: at.y + 20 }, place) - 60));
        for (let round = 0; round < HANDLE_ROUNDS; round++)
            for (const link of links) {
                const best = HANDLE_PLACES.map(share => link.at(share)).map(place => ({ place, room: room(link, place) }));
                link.handle = best.reduce((one, other) => (other.room > one.room ? other : one)).place;
            }
        for (const { group, mark, handle, ends } of links) {
            group.append(svg('circle', { cx: handle.x, cy: handle.y, r: 4.5, class: `link-handle link-${CLIENTS[ends[0]]}` }));
            set(mark, 'x', handle.x);
            set(mark, 'y', handle.y - ABOVE_PILL / 2);
        }
    }

    // [client, node] of that which the pointer means, though others cross it there.
    #nearestLink({ clientX, clientY }) {
        const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(this.#svg.getScreenCTM().inverse());
        const far = (place, less = 0) => Math.hypot(place.x - x, place.y - y) - less;
        const distance = ({ at, handle }) => Math.min(handle ? far(handle, HANDLE_BONUS) : Infinity, ...Array.from({ length: 80 }, (_, i) => far(at(i / 79))));
        return this.#links.flat().map(link => ({ link, away: distance(link) })).reduce((one, other) => (other.away < one.away ? other : one)).link.ends;
    }

    #mark([c, k]) {
        for (const { line, ends } of this.#links.flat()) line.classList.toggle('near', ends[0] === c && ends[1] === k);
    }

    #buildResource(c) {
        const lines = this.#size.size, at = this.#placeOfResource(c);
        const parts = { door: svg('rect', { x: -22, y: -30, width: 44, height: 58, rx: 4, class: 'door' }),
                        handle: svg('circle', { cx: 12, cy: 0, r: 3.5, class: 'handle' }),
                        count: svg('text', { y: 32 + lines, class: 'note' }), last: svg('text', { y: 34 + lines * 2, class: 'note' }) };
        parts.press = this.#pressable(svg('g', { class: 'press', id: 'resource' },
            svg('rect', { x: -36, y: -38, width: 72, height: 74, rx: 8, class: 'halo' }), parts.door, parts.handle), 'the resource', () => this.#choose('resource'));
        parts.group = svg('g', { class: 'resource', transform: `translate(${at.x} ${at.y})` },
            parts.press, svg('text', { y: -38, class: 'name', text: 'resource' }), parts.count, parts.last);
        return parts;
    }

    // ---- Drawing ----

    #drawNode(node, k, state, look) {
        const parts = this.#nodes[k], key = node.keys.find(one => one.name === state.resource.name && one.type === 'string');
        const owner = key && key.owner >= 0 ? key.owner : null;
        const left = key ? Math.max(0, Math.min(100, key.leftUs / (state.settings.ttl * 10))) : 0;
        if (parts.owner !== owner) {
            parts.owner = owner;
            parts.token.replaceChildren(...(owner === null ? [] : [shapeOf(owner, 21),
                svg('text', { class: `letter on-client-${CLIENTS[owner]}`, y: owner === 2 ? 11 : 7, text: CLIENTS[owner] })]));
        }
        set(parts.arc, 'class', `arc ${owner === null ? '' : `client-${CLIENTS[owner]}`}`);
        set(parts.arc, 'stroke-dasharray', `${left.toFixed(1)} 100`);
        this.#drawGuard(parts, node, k, state);
        set(parts.sign, 'text', node.down ? '✕' : node.paused ? '❚❚' : key && owner === null ? 'key' : '');
        set(parts.note, 'text', noteOfNode(node, key, state, k));
        set(parts.shared, 'text', look.shared.has(k) ? 'in both' : '');
        set(parts.group, 'class', ['node', node.down && 'down', node.paused && 'paused', look.chosen.kind === 'node' &&
            look.chosen.node === k && 'chosen', look.lit.has(k) && 'lit', look.shared.has(k) && 'shared'].filter(Boolean).join(' '));
        set(parts.press, 'aria-label', nodeInWords(node, k, owner, noteOfNode(node, key, state, k)));
    }

    #drawGuard(parts, node, k, state) {
        const left = state.settings.guard * 1000 - node.startedAgoUs;
        const shut = !node.down && left > 0 && state.clients.some(client => !client.nodes[k].votes);
        set(parts.guard, 'stroke-dasharray', shut ? `${(left / state.settings.guard / 10).toFixed(1)} 100` : '0 100');
    }

    #drawClient(client, c, state, look) {
        const parts = this.#clients[c], size = client.ttlMs * 1000 || 1, isOff = client.dead || client.frozen;
        set(parts.bar, 'width', (parts.width * Math.max(0, Math.min(1, client.validUs / size))).toFixed(1));
        set(parts.phase, 'text', phaseOf(client));
        set(parts.state, 'text', client.dead ? '✕' : client.frozen ? '❚❚' : '');
        set(parts.count, 'text', countOf(client, state));
        set(parts.tally, 'class', `tally${client.round.number > 0 ? '' : ' is-empty'}`);
        parts.pips.forEach((pip, k) => {
            const vote = client.round.number > 0 ? client.votes[k] : 'none';
            set(pip, 'text', VOTE_SIGNS[vote] ?? '');
            set(pip, 'class', `pip vote-${vote.replace(' ', '-')}`);
        });
        set(parts.group, 'class', ['client', isOff && 'off', client.holds && 'holds', look.chosen.kind === 'client' &&
            look.chosen.client === c && 'chosen'].filter(Boolean).join(' '));
        set(parts.press, 'aria-label', clientInWords(client, countOf(client, state)));
    }

    #drawLink({ group, line, mark }, link, chosen, c, k) {
        const isCut = link.cut || link.toNode.cut && link.toClient.cut;
        const sign = isCut ? '✂' : link.toNode.cut ? '✂→' : link.toClient.cut ? '←✂' : '';
        const isChosen = chosen.kind === 'link' && chosen.client === c && chosen.node === k;
        set(mark, 'text', sign);
        set(line, 'class', `link link-${CLIENTS[c]}${sign ? ' cut' : ''}${isChosen ? ' chosen' : ''}`);
        set(group, 'data-connected', link.connected);
    }

    #drawResource(state, look) {
        const { resource, accident } = state, { last } = resource, holder = resource.holders[0];
        set(this.#resource.group, 'class', `resource${accident ? ' broken' : ''}${look.chosen.kind === 'resource' ? ' chosen' : ''}`);
        set(this.#resource.door, 'class', `door ${holder === undefined ? '' : `client-${CLIENTS[holder]}`}`);
        set(this.#resource.count, 'text', resource.admitted + resource.refused > 0 ? `✓ ${resource.admitted}  ✗ ${resource.refused}` : '');
        set(this.#resource.last, 'text', last ? `${CLIENTS[last.client]} ${last.admitted ? 'admitted' : 'refused'}` : '');
        set(this.#resource.press, 'aria-label', `the resource: ${resource.admitted} writes admitted, ${resource.refused} refused`);
    }

    #drawFlights(state, now, messages, look) {
        const seen = new Set();
        for (const flight of state.flights) {
            seen.add(flight.id);
            if (!this.#pills.has(flight.id)) this.#pills.set(flight.id, this.#buildPill(flight, messages.get(flight.id)));
            this.#placePill(this.#pills.get(flight.id), flight, now, messages.get(flight.id), look.still);
        }
        for (const [id, pill] of this.#pills) {
            if (seen.has(id)) continue;
            pill.remove();
            this.#pills.delete(id);
        }
    }

    #buildPill(flight, message) {
        const { text, kind } = labelOf(message), width = 14 + text.length * this.#size.size * 0.62, height = this.#size.size * 1.35;
        const pill = svg('g', { class: `pill is-${kind} to-${flight.to} client-${CLIENTS[flight.client]}` },
            svg('rect', { x: -width / 2, y: -height / 2, width, height, rx: flight.to === 'node' ? height / 2 : 3 }),
            svg('text', { y: this.#size.size * 0.36, text }));
        pill.addEventListener('click', () => this.#choose('link', flight.client, flight.node));
        this.#flying.append(pill);
        return pill;
    }

    #placePill(pill, flight, now, message, still) {
        const sentAt = message?.at ?? now, whole = Math.max(1, flight.arrivesAt - sentAt);
        const done = flight.heldUp ? HELD_UP_AT : still ? 0.5 : Math.max(0, Math.min(1, (now - sentAt) / whole));
        const share = 0.12 + 0.76 * (flight.to === 'node' ? done : 1 - done);
        const { x, y } = this.#links[flight.client][flight.node].at(share);
        set(pill, 'transform', `translate(${x.toFixed(1)} ${y.toFixed(1)})${this.#size.isCrowd ? ' scale(.8)' : ''}`);
    }
}

// Words for a client that does not hold the lock.
const PHASE_WORDS = { idle: 'at rest', acquiring: 'asks', waiting: 'waits', releasing: 'releases', held: 'no longer holds it', extending: 'extends too late',
                      ending: 'cleans up', inspecting: 'looks' };

function nodeInWords(node, k, owner, note) {
    const what = node.paused ? 'hangs' : owner !== null ? `key of ${CLIENTS[owner]}` : node.keys.length > 0 ? 'other keys' : 'no key';
    return `node ${k}: ${node.down ? 'down' : `${what}${note ? ` · ${note}` : ''}`}`;
}

function clientInWords(client, count) {
    const votes = client.round.number > 0 ? `; votes: ${client.votes.map((vote, k) => `node ${k} ${vote}`).join(', ')}` : '';
    return `client ${client.name}: ${phaseOf(client)}${count ? ` · ${count}` : ''}${votes}`;
}

function phaseOf(client) {
    if (client.dead) return 'crashed';
    if (client.frozen) return 'stopped';
    if (client.holds) return `${client.kept ? 'keeps it' : client.phase === 'extending' ? 'extends it' : 'holds it'}`;
    return PHASE_WORDS[client.phase] ?? client.phase;
}

// The quorum counter.
function countOf(client, state) {
    const { round } = client, asked = ['acquire', 'extend'].includes(round.command);
    if (client.holds) return `${inWords(client.validUs)} left`;
    if (asked && !round.decided) return `${bitsOf(round.granted).length} of ${state.quorum} needed`;
    return '';
}

function noteOfNode(node, key, state, k) {
    if (node.down) return 'down';
    const notes = [];
    if (key) notes.push(key.leftUs >= 0 ? inWords(key.leftUs) : 'no TTL');
    if (node.paused) notes.push('hangs');
    if (node.slowUs > 0) notes.push(`+${inWords(node.slowUs)}`);
    if (Math.abs(node.aheadUs) >= 1000) notes.push(`clock ${node.aheadUs > 0 ? '+' : '−'}${inWords(Math.abs(node.aheadUs))}`);
    const waiters = node.keys.reduce((sum, one) => sum + (one.entries?.length ?? 0), 0);
    if (waiters > 0) notes.push(`${waiters} wait${waiters === 1 ? 's' : ''}`);
    const left = state.settings.guard * 1000 - node.startedAgoUs;
    if (left > 0 && state.clients.some(client => !client.nodes[k].votes)) notes.push(`no vote ${inWords(left)}`);
    return notes.join(' · ');
}

// Nodes whose answers made these two verdicts, and which both know. Two quorums share at least one.
export function sharedBy(one, other) {
    if (!one || !other) return [];
    const knows = verdict => verdict.granted | (verdict.won ? 0 : verdict.refused);
    return bitsOf(knows(one) & knows(other)).filter(k => has(one.granted, k) || has(other.granted, k));
}
