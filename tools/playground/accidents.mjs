// The search for an accident, with its faults, its progress, the result, or the rule that prevents it.
// Knows elements, and the world's settings.
import { button, html } from './dom.mjs';
import { setTerms, withTerms } from './glossary.mjs';
import { deed, inWords, listOf, moment } from './words.mjs';
import { parseLink } from './engine.mjs';

const SEEDS_AT_ONCE = 20;
const WORLDS_MAX = 2000;      // An accident that can be found is found within some hundreds.

const NODE_IS_SILENT = 'A node that does not answer gives no vote, so it helps nobody to a quorum (S1)';
const MESSAGE_IS_LATE = 'An answer that is late or lost counts as no grant (S4), and the time that it took is taken from the validity (S2)';
const byDrift = ({ drift }) => (drift >= 200000 ? `The drift of ${drift / 1e4} % allows for clocks that differ by 20 % (S2); set it to 1 % in Settings` : '');

// Faults that a search may use, with their names; and the rule, by a world's settings, that prevents
// two holders because of them. '' means that none does.
const FAULTS = [
    ['step', 'A node\'s clock is stepped'], ['rate', 'A node\'s clock runs 20 % too fast', byDrift], ['flush', 'FLUSHALL: a node loses all keys'],
    ['evict', 'A node evicts the key'], ['proxy', 'A failover that nobody sees'], ['suspend', 'A client\'s clock stands still'],
    ['pace', 'A client\'s clock runs 20 % too slowly', byDrift],
    ['empty', 'A node restarts empty', ({ guard, ttl }) => (guard < ttl ? ''
        : `The guard of ${inWords(guard * 1000)} is longer than the TTL, so every lock that a restarted node has forgotten has run out before it votes ` +
          'again (S11); set it to 0 in Settings')],
    ['restart', 'A node restarts with its memory', () => 'A node that keeps its memory keeps its keys'],
    ['kill', 'A node is killed', () => NODE_IS_SILENT], ['pause', 'A node hangs', () => NODE_IS_SILENT],
    ['cut', 'A link is cut', () => MESSAGE_IS_LATE], ['delayto', 'Commands are late', () => MESSAGE_IS_LATE],
    ['delayfrom', 'Answers are late', () => MESSAGE_IS_LATE]
];

// Why was nothing found, with these faults in worlds of these settings? Gives one sentence for each reason.
export function whyNone(faults, settings) {
    if (settings.c < 2) return ['There is one client: nobody else could hold the lock. Set Clients to 2 in Settings.'];
    if (faults.length === 0) return ['Without a fault two never hold the lock. Tick a fault.'];
    const reasons = new Map(), labels = new Map(FAULTS.map(([name, label]) => [name, label]));
    for (const [name, , prevents] of FAULTS) {
        if (!faults.includes(name)) continue;
        const reason = prevents?.(settings) || 'This can make two hold the lock, and no world of these did. Try again: each search tries other worlds';
        reasons.set(reason, [...reasons.get(reason) ?? [], labels.get(name)]);
    }
    return [...reasons].map(([reason, names]) => `${listOf(names)}: ${reason[0].toLowerCase()}${reason.slice(1)}.`);
}

export class AccidentSearch {
    #world; #show; #watch;
    #stop = null;
    #boxes; #about; #progress; #told; #find; #end;

    // world() is the one whose settings are used. show(link) shows the accident in it, watch(link) plays it from the beginning.
    constructor(world, show, watch) {
        this.#world = world;
        this.#show = show;
        this.#watch = watch;
        this.#boxes = FAULTS.map(([name, label], i) => [html('input', { type: 'checkbox', id: `fault-${name}`, value: name, checked: i === 0 }), label]);
        this.#about = html('p', {});
        this.#progress = html('progress', { max: WORLDS_MAX, value: 0, 'aria-label': 'Worlds tried', hidden: true });
        this.#told = html('div', { role: 'status', id: 'search-told' });
        this.#find = button('Find', () => this.#begin(), { class: 'primary', id: 'find' });
        this.#end = button('Stop', () => this.#over(html('p', { text: 'Stopped: none found so far.' })), { id: 'stop-search', hidden: true });
    }

    elements() {
        const { n, c, ttl, guard } = this.#world().state().settings;
        setTerms(this.#about, `Of worlds like this one (${n} nodes, ${c} clients, TTL ${inWords(ttl * 1000)}, guard ${inWords(guard * 1000)}) ` +
            'some are tried, with random actions: clients acquire and release, and what you tick happens. When two hold the lock at once, ' +
            'all actions are left out that it does not need, and the picture goes there.');
        const fields = this.#boxes.map(([box, label]) => html('div', { class: 'field' }, box, html('label', { for: box.id, text: label })));
        return [this.#about, html('div', { class: 'faults', role: 'group', 'aria-label': 'Faults' }, ...fields),
                html('div', { class: 'buttons' }, this.#find, this.#end, this.#progress), this.#told];
    }

    // Some seeds at a time, so that the page lives meanwhile.
    #begin() {
        const faults = this.#boxes.filter(([box]) => box.checked).map(([box]) => box.value), world = this.#world(), { settings } = world.state();
        const from = Math.floor(Math.random() * 1e6);
        let tried = 0, isOver = false;
        this.#stop?.();
        this.#stop = () => { isOver = true; };
        this.#told.replaceChildren();
        [this.#progress.hidden, this.#end.hidden] = [false, false];
        const go = () => {
            if (isOver) return;
            const link = settings.c > 1 ? world.search(from + tried, SEEDS_AT_ONCE, faults) : '';
            tried = settings.c > 1 && faults.length > 0 ? tried + SEEDS_AT_ONCE : WORLDS_MAX;
            this.#progress.value = tried;
            if (link) this.#found(link, tried);
            else if (tried >= WORLDS_MAX) this.#foundNone(faults, settings);
            else setTimeout(go);
        };
        setTimeout(go);
    }

    #over(...told) {
        this.#stop?.();
        this.#stop = null;
        [this.#progress.hidden, this.#end.hidden] = [true, true];
        this.#told.replaceChildren(...told);
        this.#told.scrollIntoView({ block: 'nearest' });
    }

    #found(link, tried) {
        const { do: actions } = parseLink(link);
        this.#show(link);
        this.#over(html('p', { text: `Found within ${tried} worlds. Two hold the lock after ${actions.length} actions, of which none can be left out:` }),
            html('ol', { class: 'found' }, ...actions.map(({ at, text }) => html('li', { text: `${moment(at)}: ${deed(text)}` }))),
            button('Watch it from the beginning', () => this.#watch(link), { id: 'watch-found' }));
    }

    #foundNone(faults, settings) {
        this.#over(html('p', { text: `${WORLDS_MAX} worlds tried: in none of them two hold the lock.` }),
            ...whyNone(faults, settings).map(text => html('p', {}, ...withTerms(text))));
    }
}
