// The page, with its pictures and buttons. The world is that of engine.mjs.
import { compileEngine } from './engine.mjs';
import { button, byId, html, set, svg } from './dom.mjs';
import { fillAbout, hideWord, setTerms, withTerms } from './glossary.mjs';
import { CLIENTS, bitsOf, decodeResp, inWords, listOf, moment, tell } from './words.mjs';
import { Player } from './player.mjs';
import { Scene, labelOf, shapeOf, sharedBy } from './scene.mjs';
import { DRIFT_MS, controlsOf, settingsForm, titleOf } from './controls.mjs';
import { bytesOnLink, eventList } from './records.mjs';
import { sequenceDiagram } from './sequence.mjs';
import { stepsOf } from './tours.mjs';
import { markStory, storyList } from './stories.mjs';
import { AccidentSearch } from './accidents.mjs';
import { figureOf, sceneInWords, sequenceInWords } from './figure.mjs';
import { QUESTIONS } from './questions.mjs';
import { Quiz } from './quiz.mjs';

const FIRST_LINK = 'n=5&c=2&seed=1';
const REPLAYED = 'What stands in the address was replayed. Go on with it, or begin anew.';
const REFRESH_MS = 200;         // For parts that are read, not watched.
const READING_MS = 2500;
const STILL_SECONDS = 0.5;      // Between two pictures, where no motion is wanted.
const WRITE_MS = 500;
const FIGURE_WIDTH = 640;       // Width of a sequence diagram.
const rules = JSON.parse(byId('rules').textContent);
const still = matchMedia('(prefers-reduced-motion: reduce)');

// The WebAssembly that stands compressed in the page.
async function unpackWorld() {
    const bytes = Uint8Array.from(atob(byId('world').textContent), byte => byte.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Words of a fragment that are the page's alone. They are embed; the beginning, at=MICROSECONDS or, for
// a story, step=NUMBER; as=sequence; and lit=A, whose verdict is lit up.
const OF_PAGE = /^(embed|at|step|as|lit)(=|$)/;
function readFragment() {
    const parts = location.hash.replace(/^#/, '').split('&').filter(Boolean);
    const own = Object.fromEntries(parts.filter(part => OF_PAGE.test(part)).map(part => part.split('=')));
    return { embed: 'embed' in own, at: Number(own.at ?? 0), step: Number(own.step ?? 0), asSequence: own.as === 'sequence',
             lit: CLIENTS.indexOf(own.lit ?? '-'), link: parts.filter(part => !OF_PAGE.test(part)).join('&') };
}

const module = await compileEngine(await unpackWorld());
const player = new Player(module, FIRST_LINK);
const scene = new Scene(byId('scene'), choose);
const search = new AccidentSearch(() => player.world, showAccident, watchAccident);
const quiz = new Quiz(QUESTIONS, judge, watchQuestion);
let chosen = { kind: 'none' };
let tab = 'Events', tour = null, lit = null, shownVersion = -1, shownAt = 0, wroteLink = '', wroteAt = -WRITE_MS, said = '';

function isEmbedded() { return document.body.classList.contains('embed'); }

// ---- Doing ----

function act(action) {
    const wasTour = tour;
    leaveTour(false);
    const refusal = player.act(action);
    if (wasTour) said = 'You have left the story, and its world goes on as you make it.';
    else said = refusal ? `Not done: ${refusal}.` : '';
    if (still.matches) player.settle();
    else player.play();
    refresh();
    return refusal;
}

// After so many moves, if not all of that moment's are wanted.
function goTo(at, moves = Infinity) {
    player.stop();
    if (said === REPLAYED) said = '';
    player.goTo(at, moves);
    if (tour) {
        tour.index = Math.max(0, tour.steps.findLastIndex(step => step.at < at || step.at === at && step.moves <= moves));
        fillTour();
    }
    refresh();
}

function open(link) {
    leaveTour(false);
    try {
        player.open(link);
        said = '';
    } catch (error) {
        player.open(FIRST_LINK);
        said = `This link cannot be opened: ${error.message}.`;
    }
    chosen = { kind: 'none' };
    player.play();
    fillChosen();
    if (tab === 'Settings') showSettings();
    refresh();
}

function choose(kind, client, node) {
    if (isEmbedded()) return;
    chosen = { kind, client, node };
    fillChosen();
    byId('chosen').scrollTop = 0;
    byId('chosen').focus({ preventScroll: true });
    if (innerWidth < 900) byId('scene').scrollIntoView({ block: 'start' });     // The chosen part stands at
                                                                                // the lower edge then.
}

// The next client that does not have the lock and does not ask for it.
function nextClient() {
    return player.state.clients.find(client => !client.holds && !client.pending && !client.dead && !client.frozen &&
        !(client.verdict && player.state.resource.holders.length > 0)) ?? null;
}

// ---- The first line: what to do next ----

function hint() {
    const { clients, resource, nodes, future, settings, quorum, accident } = player.state, asks = clients.find(client => client.phase === 'acquiring');
    const next = nextClient(), holder = clients[resource.holders[0]], refused = clients.find(client => client.verdict && !client.verdict.won);
    if (said) return said;
    if (tour) return tour.index < tour.steps.length - 1 ? 'A story: press Next, and watch the picture.' : `The end of the story: ${tour.story.verdict}.`;
    if (accident) return `${accident.late ? `${clients[accident.first].name} wrote when it no longer held the lock.` : 'Two held the lock, and both could write.'} ` +
        'Go back in time, and change one thing; or read the stories.';
    if (asks && isCleaning(asks)) return `${asks.name} first deletes keys of its last lock that may still be there; then it asks all ${settings.n} nodes.`;
    if (asks) return `${asks.name} asks all ${settings.n} nodes at once. It needs ${quorum} of them.`;
    if (future > 0 && !player.playing) return 'More is to come: press Play, or do something else.';
    if (player.log.length === 0) return `${clients.length > 1 ? `${listOf(clients.map(client => client.name))} want the same lock.` : 'A wants the lock.'} Press Acquire.`;
    if (holder && next) return `${holder.name} holds the lock until its bar is empty. Let ${next.name} try, too.`;
    if (holder && refused && !refused.pending) return `${refused.name} found ${holder.name}'s key. Let ${holder.name} release it, or press a node, link or client to break it.`;
    if (nodes.some(node => node.down)) return 'A node is down: its key is lost with it, if it restarts empty. Press it.';
    if (!holder) return nobodyWords();
    return 'Press a node, a link or a client to see what can happen to it.';
}

function nobodyWords() {
    const had = player.log.findLast(event => event.what === 'verdict' && event.won), last = had && player.state.clients[had.client];
    if (!last?.verdict?.won) return 'Nobody holds the lock.';
    if (last.round.command === 'release') return `Nobody holds the lock: ${last.name} has released it.`;
    return `Nobody holds the lock: ${last.name}'s validity has ended, by its own clock a little before its keys do.`;
}

function isCleaning(client) {
    const commands = player.state.flights.filter(flight => flight.client === client.id).map(({ id }) => {
        const message = player.messages.get(id);
        return (message?.to === 'node' ? message.commands : message?.answers)?.[0];
    });
    return commands.includes('release') && !commands.includes('acquire');
}

function fillFirst() {
    const next = nextClient(), main = byId('acquire'), { accident } = player.state;
    setTerms(byId('hint'), hint());
    const holder = player.state.clients.find(client => client.holds && !client.pending && !client.dead && !client.frozen);
    const [label, action] = next ? [`Acquire: ${next.name}`, `acquire.${next.name}`] : holder ? [`Release: ${holder.name}`, `release.${holder.name}`]
        : ['Begin anew', 'anew'];
    set(main, 'text', label);
    main.dataset.act = action;
    byId('anew').hidden = action === 'anew' || !!tour || player.log.length === 0;
    set(byId('banner'), 'text', accident ? `${accident.late ? 'A late write was admitted.' : 'Two hold the lock.'} ${accident.words}` : '');
    set(byId('banner'), 'class', accident ? 'broken' : player.state.broken ? 'broken' : '');
    if (player.state.broken) set(byId('banner'), 'text', `The engine's own books are wrong: ${player.state.broken}`);
}

byId('anew').addEventListener('click', () => {
    open(FIRST_LINK);
    byId('acquire').focus();
});

byId('acquire').addEventListener('click', () => {
    const action = byId('acquire').dataset.act;
    if (action === 'anew') open(FIRST_LINK);
    else act(action);
});

// ---- Who holds it, and why ----

function holderWords() {
    const { clients, resource } = player.state, holders = resource.holders.map(i => clients[i]);
    if (holders.length === 0) return 'Nobody.';
    if (holders.length > 1) return `${listOf(holders.map(one => one.name))}: both believe it!`;
    return `${holders[0].name}, for ${inWords(holders[0].validUs)} more.`;
}

// Words for those who hear the page, with only the parts that change seldom.
function spokenWords() {
    const { clients, resource } = player.state, names = listOf(resource.holders.map(i => clients[i].name));
    const refused = clients.filter(client => client.verdict && !client.verdict.won && !client.pending && !client.holds);
    return `${names || 'Nobody'} ${resource.holders.length > 1 ? 'both hold' : 'holds'} the lock.` +
        refused.map(client => ` ${client.name} has not got it: ${client.verdict.status}.`).join('');
}

function verdictWords(client) {
    const { round, verdict } = client, { quorum } = player.state, granted = bitsOf(round.granted).length;
    if (client.phase === 'acquiring' || client.phase === 'extending' && !round.decided) return `${sumSoFar(client)}, ${granted} of ${quorum} so far`;
    if (!verdict) return 'has not asked yet';
    if (verdict.won) return client.holds ? verdict.arithmetic.replace(/ - /g, ' − ') : endWords(client);
    const votes = round.command === verdict.command ? round : verdict, count = name => bitsOf(votes[name]).length;     // Late ones, too.
    return `${verdict.status}: ${count('granted')} granted, ${count('refused')} refused` + (votes.unknown ? `, ${count('unknown')} unknown` : '');
}

// Why a lock that was won is no longer held.
function endWords(client) {
    if (client.dead) return 'has crashed. Its keys stay until their TTL ends';
    if (client.round.command === 'release') return client.pending ? 'releases the lock' : 'has released the lock';
    return `no longer holds the lock: its ${(client.verdict.validityUs / 1000).toFixed(1)} ms have ended`;
}

// The caption of the sums in the verdicts, which are all alike.
function captionOf({ clients, settings }) {
    const held = clients.find(client => client.holds && client.verdict?.won), granted = bitsOf(held?.verdict.granted ?? 0).length;
    const asks = clients.some(client => client.phase === 'acquiring');
    if (!held && !asks) return '';
    return 'TTL − time it took − clock drift = validity.' + (held && granted < settings.n ? ` The first ${granted} of ${settings.n} grants are enough.` : '');
}

// The validity that would be left if the quorum was there now.
function sumSoFar({ round, ttlMs }) {
    const took = round.startedAgoUs / 1000, drift = ttlMs * player.state.settings.drift / 1e6 + DRIFT_MS;
    return `${ttlMs} − ${took.toFixed(1)} − ${drift.toFixed(1)} = ${Math.max(0, ttlMs - took - drift).toFixed(1)} ms`;
}

// The parts that a pointer or the focus upon a verdict lights up.
function lookOf() {
    const look = { chosen, lit: new Set(), shared: new Set(), still: still.matches };
    const verdict = lit === null ? null : player.state.clients[lit]?.verdict;
    if (!verdict) return look;
    bitsOf(verdict.granted).forEach(k => look.lit.add(k));
    for (const other of player.state.clients)
        if (other.id !== lit) sharedBy(verdict, other.verdict).forEach(k => look.shared.add(k));
    return look;
}

function sharedWords(client) {
    const other = player.state.clients.find(one => one.id !== client.id && sharedBy(client.verdict, one.verdict).length > 0);
    if (!other) return '';
    const nodes = sharedBy(client.verdict, other.verdict);
    return `${nodes.length === 1 ? 'Node' : 'Nodes'} ${listOf(nodes)} told both ${client.name} and ${other.name}: two quorums always share a node.`;
}

function buildVerdict(client) {
    const card = html('button', { type: 'button', class: 'verdict', id: `verdict-${client.name}` },
        svg('svg', { viewBox: '-16 -16 32 32', class: 'chip', 'aria-hidden': 'true' }, shapeOf(client.id, 10),
            svg('text', { y: client.id === 2 ? 5 : 4, class: `letter on-client-${client.name}`, text: client.name })),
        html('span', { class: 'sum' }), html('span', { class: 'why' }));
    const light = on => () => { lit = on ? client.id : lit === client.id ? null : lit; };
    for (const [name, on] of [['mouseenter', true], ['focus', true], ['click', true], ['mouseleave', false], ['blur', false]])
        card.addEventListener(name, light(on));
    return card;
}

// If there is no pointer, and a tap gives no focus, anything found by a tap goes with the next one.
addEventListener('pointerdown', ({ target, pointerType }) => {
    if (pointerType === 'mouse') return;
    if (!target.closest('.verdict')) lit = null;
    if (!target.closest('.term')) hideWord();
});

function fillVerdicts() {
    const box = byId('verdicts'), { clients } = player.state;
    if (box.children.length !== clients.length) box.replaceChildren(...clients.map(buildVerdict));
    clients.forEach((client, i) => {
        const [, sum, why] = box.children[i].children;
        set(sum, 'text', `${client.name}: ${verdictWords(client)}`);
        set(why, 'text', lit === i ? sharedWords(client) : client.ticket ? `ticket ${client.ticket}` : '');
        set(box.children[i], 'class', `verdict${client.holds ? ' holds' : ''}${lit === i ? ' lit' : ''}`);
    });
    setTerms(byId('captions'), captionOf(player.state));
    set(byId('holder'), 'class', player.state.resource.holders.length > 1 ? 'broken' : '');
    set(byId('holder').lastChild, 'text', holderWords());
    set(byId('spoken'), 'text', spokenWords());
}

// ---- What is chosen ----

function fillChosen() {
    const box = byId('chosen');
    box.replaceChildren();
    if (chosen.kind === 'none') return;
    if (chosen.node >= player.state.settings.n || chosen.client >= player.state.settings.c)
        return void (chosen = { kind: 'none' });
    box.append(html('div', { class: 'head' }, html('h2', { text: titleOf(chosen) }), button('Close', closeChosen, { class: 'close' })),
        html('p', { class: 'now' }), ...controlsOf(chosen, player.state.settings, act, choose));
    if (chosen.kind === 'link') box.append(html('h3', { text: 'Bytes, and what they say' }), html('div', { class: 'passed' }));
    refresh();
}

// The focus goes where it came from.
function closeChosen() {
    const from = chosen.kind === 'resource' ? byId('resource') : chosen.kind === 'node' ? byId(`node-${chosen.node}`) : byId(`client-${CLIENTS[chosen.client]}`);
    chosen = { kind: 'none' };
    fillChosen();
    from?.focus({ preventScroll: true });
}

function nowOfChosen() {
    const { clients, nodes, links } = player.state;
    if (chosen.kind === 'client') {
        const client = clients[chosen.client];
        return `${client.status}. ${client.token ? `Token ${client.token.slice(0, 8)}...` : ''}` +
            `${client.owed ? ` Owes ${client.owed} releases.` : ''}`;
    }
    if (chosen.kind === 'node') return clients.map(client => `${client.name}'s view: ${client.nodes[chosen.node].words}`).join(' · ') +
        (nodes[chosen.node].keys.length ? `. Keys: ${nodes[chosen.node].keys.map(key => key.name).join(', ')}` : '');
    if (chosen.kind === 'resource') return resourceWords(player.state.resource);
    const link = links[chosen.client][chosen.node];
    return `${link.connected ? 'Connected' : 'Not connected'}, ${inWords(link.toNode.delayUs)} there, ${inWords(link.toClient.delayUs)} back`;
}

function resourceWords({ admitted, refused, checksTickets, largest }) {
    const checks = !checksTickets ? 'It checks no tickets' : largest > 0 ? `It refuses tickets smaller than ${largest}` : 'It has seen no ticket yet';
    return `What the lock protects: ${admitted} writes admitted, ${refused} refused. ${checks}.`;
}

function refreshChosen() {
    if (chosen.kind === 'none') return;
    setTerms(byId('chosen').querySelector('.now'), nowOfChosen());
    const passed = byId('chosen').querySelector('.passed');
    if (!passed || passed.dataset.version === String(player.messages.size)) return;
    passed.dataset.version = player.messages.size;
    passed.replaceChildren(...bytesOnLink(player.log, chosen.client, chosen.node));
}

// ---- Time ----

const PACES = [['Pace: events', 'follow'], ['Real time', 1e6], ['10 × fast', 1e7], ['10 × slow', 1e5], ['100 × slow', 1e4],
               ['1000 × slow', 1e3], ['10,000 × slow', 100]];

const times = {
    play: button('Pause', () => { player.playing ? player.stop() : player.play(); refresh(); }, { id: 'play' }),
    step: button('+1 event', () => { leaveTour(false); player.stepOnce(); refresh(); }, { id: 'step' }),
    back: button('−1 event', () => goTo(Math.max(0, lastMoment() ?? 0)), { id: 'back' }),
    pace: html('select', { id: 'pace', 'aria-label': 'How fast time passes' }, ...PACES.map(([text, value]) => html('option', { text, value }))),
    slider: html('input', { type: 'range', id: 'slider', min: 0, max: 0, value: 0, step: 1, 'aria-label': 'Moment' }),
    clock: html('span', { id: 'clock' }), share: button('Copy link', copyLink, { id: 'share' })
};

function lastMoment() {
    for (let i = player.log.length; i-- > 0;) if (player.log[i].at < player.world.now) return player.log[i].at;
    return 0;
}

function buildTime() {
    byId('time').append(times.play, times.back, times.step, times.pace, times.share, times.clock, times.slider);
    times.pace.addEventListener('change', () => { player.pace = Number(times.pace.value) || 'follow'; });
    times.slider.addEventListener('input', () => goTo(momentAt(Number(times.slider.value))));
}

// The slider goes by events, not by time, since in a second of waiting there is less to see than in a
// millisecond of messages.
function momentsSeen() {
    const moments = new Set(seen.map(event => event.at));
    return [0, ...[...moments].filter(at => at > 0).sort((one, other) => one - other)];
}
let seen = [], slots = [0], slotsOf = -1;

function momentAt(i) {
    return slots[Math.min(slots.length - 1, i)];
}

function fillTime() {
    if (slotsOf !== player.version) {
        if (player.log.length >= seen.length || player.state.future === 0) seen = player.log;
        slots = momentsSeen();
        slotsOf = player.version;
        times.slider.max = slots.length - 1;
    }
    set(times.play, 'text', player.playing ? 'Pause' : 'Play');
    set(times.clock, 'text', moment(player.world.now));
    if (document.activeElement !== times.slider || player.playing) {
        times.slider.value = slots.findLastIndex(at => at <= player.world.now);
    }
    set(times.slider, 'aria-valuetext', moment(player.world.now));
}

function shareable() {
    return location.href.replace(/#.*/, '') + '#' + player.world.link();
}

async function copyLink() {
    try {
        await navigator.clipboard.writeText(shareable());
        said = 'Copied: the link holds the seed and all actions.';
    } catch {
        said = 'The link is in the address line of the browser.';
    }
    writeLink(true);
    fillFirst();
}

// Browsers complain of an address that changes too often.
function writeLink(evenSo = false) {
    const link = player.world.link();
    if (!evenSo && (link === wroteLink || performance.now() - wroteAt < WRITE_MS)) return;
    wroteLink = link;
    wroteAt = performance.now();
    if (!isEmbedded()) history.replaceState(null, '', '#' + link);
}

// ---- Stories ----

function beginTour(name) {
    const story = player.world.story(name);
    if (!story) return false;
    open(story.link);
    tour = { story, steps: stepsOf(story), index: -1 };
    player.stop();
    stepTour(1);
    if (innerWidth < 900 && !isEmbedded()) byId('tour').scrollIntoView();      // It stands above the list
                                                                               // that it was chosen from.
    return true;
}

function leaveTour(isAsked) {
    if (!tour) return;
    const { name } = tour.story;
    tour = null;
    if (isAsked) player.play();
    fillTour();
    if (isAsked) (byId('panel').querySelector(`[data-story="${name}"]`) ?? byId('tab-2')).focus({ preventScroll: true });
}

function goToStep(index) {
    const { at, moves } = tour.steps[index];
    goTo(at, moves);
    tour.index = index;     // Others may tell of the same world.
    fillTour();
}

// A step that is still on its way is left at its end.
function stepTour(by) {
    if (player.playing && tour.index >= 0) goToStep(tour.index);
    const index = Math.max(0, Math.min(tour.steps.length - 1, tour.index + by));
    const { at, moves } = tour.steps[index];
    if (at < player.world.now || moves < player.world.moves || still.matches) goTo(at, moves);
    else player.playTo(at, moves);
    tour.index = index;
    fillTour();
    refresh();
}

// The buttons stand above the words, so that they stay where they are when these grow.
function fillTour() {
    const box = byId('tour');
    box.replaceChildren();
    document.body.classList.toggle('in-story', !!tour);
    markStory(byId('panel'), tour?.story.name);
    if (!tour) return;
    const { story, steps, index } = tour, isLast = index === steps.length - 1;
    const next = button('Next', () => stepTour(1), { class: 'primary', id: 'next' });
    const seen = new Set(), words = html('p', { class: 'words', role: 'status', tabindex: -1 }, ...steps[index].words.map(line => html('span', {}, ...withTerms(line.trim(), seen))));
    box.append(html('h2', { text: story.title }), html('div', { class: 'buttons' }, isLast ? '' : next,
        index > 0 ? button('Previous', () => stepTour(-1), { id: 'previous' }) : '',
        html('span', {}, `${index + 1} of ${steps.length}`, isLast ? html('span', { class: 'end', text: `: ${story.verdict}` }) : ''),
        button('Leave', () => leaveTour(true), { id: 'leave' })), words);
    if (!isEmbedded()) (isLast ? words : next).focus({ preventScroll: true });
}

function storyButton(name) {
    return button(player.world.stories().find(story => story.name === name).title, () => beginTour(name), { class: 'story' });
}

// ---- More: events, sequence, stories, accidents, questions, settings ----

const TABS = {
    Events: () => (player.log.length > 0 ? eventList(player.log, rules, goTo) : [html('p', { text: 'Nothing has happened yet. Press Acquire; or a story shows it, step by step:' }),
        storyButton('basics')]),
    Sequence: fillSequence,
    Stories: () => storyList(player.world.stories(), tour?.story.name ?? null, beginTour),
    Accidents: () => search.elements(),
    Questions: () => quiz.elements(),
    Settings: () => [settingsForm(player.state.settings, begin)]
};
const LIVE_TABS = ['Events', 'Sequence'];
let isWholeSequence = false;

function begin(settings) {
    open(Object.entries(settings).map(([name, value]) => `${name}=${value}`).join('&'));
}

// Those of the world that is shown now.
function showSettings() {
    const hasFocus = byId('panel').contains(document.activeElement);
    fillPanel();
    if (hasFocus) byId('panel').focus({ preventScroll: true });
}

function fillSequence() {
    const width = Math.max(300, byId('panel').clientWidth - 16);
    const { picture, isCut } = sequenceDiagram(player.log, player.state, player.world.now, width, isWholeSequence, goTo);
    return [isCut ? button('Show all', () => { isWholeSequence = true; fillPanel(); }) : '', picture];
}

// At the moment at which two hold it.
function showAccident(link) {
    const at = momentOfAccident(link);
    open(link);
    goTo(at);
    said = 'Two hold the lock, and below Find stands what it took. Go back, and change one of these actions.';
    refresh();
}

function watchAccident(link) {
    const at = momentOfAccident(link);
    open(link);
    if (still.matches) goTo(at);
    else player.playTo(at);
}

function momentOfAccident(link) {
    const own = new Player(module, link);
    while (!own.state.accident && own.stepOnce()) { }
    return own.state.accident.at;
}

// The world that answers a question, at the time when the answer is to be seen, is the engine's, not this page's.
function judge(question) {
    open(question.link);
    goTo(question.until);
    return question.answer(player.state);
}

function watchQuestion(question) {
    open(question.link);
    if (still.matches) goTo(question.until);
    else player.playTo(question.until);
}

function fillPanel() {
    byId('panel').replaceChildren(...TABS[tab]());
    byId('panel').dataset.tab = tab;
    for (const one of byId('tabs').children) {
        one.setAttribute('aria-selected', one.textContent === tab);
        one.tabIndex = one.textContent === tab ? 0 : -1;
    }
    byId('panel').setAttribute('aria-labelledby', `tab-${Object.keys(TABS).indexOf(tab)}`);
}

// If all stands in one column, the chosen part would begin below the window.
function showTabs() {
    if (innerWidth < 900) byId('tabs').scrollIntoView();
}

function buildTabs() {
    const names = Object.keys(TABS), show = name => { tab = name; isWholeSequence = false; fillPanel(); byId('panel').scrollTop = 0; showTabs(); };
    byId('tabs').append(...names.map((name, i) => button(name, () => show(name), { role: 'tab', id: `tab-${i}`, 'aria-controls': 'panel' })));
    byId('tabs').addEventListener('keydown', event => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!by) return;
        show(names[(names.indexOf(tab) + by + names.length) % names.length]);
        byId(`tab-${names.indexOf(tab)}`).focus();
    });
}

// Lists are made anew a few times a second at most, and not while somebody reads them.
function refreshPanel() {
    if (!LIVE_TABS.includes(tab) || shownVersion === player.version) return;
    const { activeElement } = document, row = activeElement?.closest?.('.row-target')?.dataset.at;
    if (byId('panel').querySelector('details[open]') || byId('panel').contains(activeElement) && tab === 'Events') return;
    if (row && player.playing) return;
    shownVersion = player.version;
    fillPanel();
    if (row) focusRow(Number(row));
}

// The row that was left, or the last one before it.
function focusRow(at) {
    [...byId('panel').querySelectorAll('.row-target')].findLast(row => Number(row.dataset.at) <= at)?.focus({ preventScroll: true });
}

// ---- All of it ----

function refresh() {
    drawScene();
    fillFirst();
    fillVerdicts();
    refreshChosen();
    fillTime();
    refreshPanel();
    writeLink();
}

const LEGEND = [['acquire', 'ACQ', 'acquire'], ['extend', 'EXT', 'extend'], ['release', 'REL', 'release'], ['granted', '✓', 'granted'],
                ['refused', '✗', 'refused'], ['none', '–', 'no such key'], ['other', 'TTL?', 'time left?']];

function buildLegend() {
    byId('legend').append(...LEGEND.map(([kind, text, words]) => html('span', {}, html('b', { class: `pill is-${kind}`, text }), ...withTerms(words))));
}

// Embedded, a story is a film; a click makes it go on at once.
let readSince = null;
function goOnByItself(at) {
    readSince ??= at;
    if (at - readSince < READING_MS) return;
    readSince = null;
    if (tour.index < tour.steps.length - 1) stepTour(1);
}

byId('scene').addEventListener('click', () => {
    if (isEmbedded() && tour) goToStep(tour.index), stepTour(1);
});

function drawScene() { scene.draw(player.state, player.now, player.messages, lookOf()); }

const frames = [];
let lastFrame = 0;
function frame(at) {
    const seconds = Math.min(still.matches ? 1000 : 100, at - lastFrame) / 1000, began = performance.now();
    if (still.matches && seconds < STILL_SECONDS) return void requestAnimationFrame(frame);
    lastFrame = at;
    if (player.playing) player.advance(seconds);
    else if (isEmbedded() && tour && !still.matches) goOnByItself(at);
    drawScene();
    fillVerdicts();
    if (at - shownAt > REFRESH_MS) {
        shownAt = at;
        refresh();
    }
    frames.push(performance.now() - began);
    if (frames.length > 600) frames.shift();
    requestAnimationFrame(frame);
}

function openFragment() {
    const { embed, at, step, asSequence, lit: litClient, link } = readFragment(), story = /^story=([a-z-]+)$/.exec(link)?.[1];
    document.body.classList.toggle('embed', embed);
    document.body.classList.toggle('as-sequence', embed && asSequence);
    if (asSequence) [tab, isWholeSequence] = ['Sequence', true];
    if (!story || !beginTour(story)) {
        open(link || FIRST_LINK);
        if (!said && player.state.future > 0) said = REPLAYED;
    }
    if (tour && step > 0) goToStep(Math.min(step, tour.steps.length) - 1);
    else if (at > 0) goTo(at);
    else if (still.matches && player.state.future > 0 && !story) goTo(player.state.future ? 1e6 : 0);
    lit = litClient in player.state.clients ? litClient : null;
}

// The present picture as a figure, with SVG as a text, its title, and the story's words there.
function figure() {
    const { asSequence } = readFragment(), told = tour?.steps[tour.index].words.map(words => words.trim()) ?? [];
    const about = { link: player.world.link(), at: player.world.now, moves: player.world.moves, hash: player.world.hash };
    scene.draw(player.state, player.now, player.messages, { ...lookOf(), still: true });
    const aboutLocks = player.log.filter(event => event.kind !== 'message' || labelOf(event).kind !== 'other');
    const drawn = asSequence ? sequenceDiagram(aboutLocks, player.state, player.world.now, FIGURE_WIDTH, true, goTo).picture : byId('scene');
    const words = asSequence ? sequenceInWords(drawn) : sceneInWords(player.state);
    return { title: tour?.story.title ?? '', words: told, accident: player.state.accident?.words ?? '', verdict: tour?.story.verdict ?? '',
             svg: figureOf(drawn, words, about), ...about };
}

document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const does = { a: () => byId('acquire').click(), p: () => times.play.click(), '.': () => times.step.click(), ',': () => times.back.click(),
                   Escape: () => hideWord() || (tour ? leaveTour(true) : byId('chosen').querySelector('.close')?.click()) }[event.key];
    if (does) does();
});

byId('holder').append(html('span', { text: 'Who holds it? ' }), html('strong', {}));
byId('told').prepend(html('div', { id: 'tour', role: 'group', 'aria-label': 'Story' }));
fillAbout(byId('about'), () => player.state.settings);
buildTime();
buildTabs();
buildLegend();
openFragment();
addEventListener('hashchange', openFragment);
fillPanel();
refresh();
window.playground = { player, module, act, open, goTo, choose, beginTour, figure, frames, QUESTIONS, get tour() { return tour; }, get tab() { return tab; } };
requestAnimationFrame(frame);
