// A world in time. It runs, slowly enough to be seen, stops, goes back; and it keeps its events so far. Knows no page.
import { World } from './engine.mjs';

const HOP_SECONDS = 0.8;        // The time for which a message is seen on its way, at the pace that follows the events.
const HURRY_SECONDS = 1.5;
const PATIENCE_SECONDS = 4;     // The time for which a step of a story is watched from its beginning; after that all is skipped but
const LAST_LOOK_US = 1000;      // its end.
const LOG_MAX = 30000;
const REAL_TIME = 1e6;          // Microseconds a second,
const WAITING_PACE = 4e6;       // and while the next action of a link is waited for.

export class Player {
    playing = true;
    pace = 'follow';            // Or how many microseconds pass in a second.
    log = [];                   // Events so far.
    messages = new Map();       // By number: where it came from, and when.
    latest = 0;                 // The last moment that was seen.
    refusal = '';               // Why the last action was not done.
    version = 0;                // Grows with every event.
    #target = null;             // The point where it stops by itself, as {at, moves},
    #watched = 0;               // how many seconds it has run since,
    #hurry = 0;                 // and its pace until then while nothing is on its way.
    #fine = 0;                  // Now, with fractions of microseconds.

    constructor(module, link) {
        this.world = new World(module, link);
        this.#begin();
    }

    get now() { return Math.max(this.#fine, this.world.now); }

    open(link) {
        this.world.create(link);
        this.#begin();
    }

    act(action) {
        this.refusal = this.world.act(action);
        this.#fetch();
        this.#look();
        return this.refusal;
    }

    // Advances while so many seconds pass in front of the page.
    advance(seconds) {
        this.#look();
        const pace = this.pace === 'follow' ? this.#paceToFollow() : this.pace;
        if (pace === 0) return;
        this.#skip(seconds);
        const goal = Math.min(this.now + pace * seconds, this.#target?.at ?? Infinity);
        if (this.pace === 'follow') this.#runToMessage(goal);
        else this.#run(goal), this.#fine = goal;
        this.#fetch();
        this.#look();
        if (this.#target !== null && this.now >= this.#target.at) this.stop();
    }

    play() {
        this.playing = true;
        this.#target = null;
    }

    stop() {
        this.playing = false;
        this.#target = null;
    }

    // Plays to that moment and no further, in few seconds; after so many moves, if not all of that moment's are wanted.
    playTo(at, moves = Infinity) {
        if (at <= this.now) return this.goTo(at, moves), this.stop();
        this.playing = true;
        this.#target = { at, moves };
        this.#watched = 0;
        this.#hurry = (at - this.now) / HURRY_SECONDS;
    }

    stepOnce() {
        this.stop();
        const happened = this.world.step();
        this.#fine = this.world.now;
        this.#fetch();
        this.#look();
        return happened;
    }

    // Forward or back.
    goTo(at, moves = Infinity) {
        const until = Math.max(0, Math.floor(at));
        if (until < this.world.now || moves < this.world.moves) this.#goBack(moves === Infinity ? until : until - 1);
        this.#target = { at: until, moves };
        this.#run(until);
        this.#target = null;
        this.#fine = until;
        this.#fetch();
        this.#look();
    }

    // Goes on until nothing is on its way and nobody is about to decide; for eyes that want no motion.
    settle() {
        const until = this.world.now + 30e6;
        do {
            if (!this.world.step(until)) break;
            this.#look();
        } while (this.isBusy() && this.world.now < until);
        this.#fine = this.world.now;
        this.#fetch();
        this.#look();
    }

    isBusy() {
        return this.state.flights.some(flight => !flight.heldUp) || this.state.clients.some(client => client.pending && !client.frozen);
    }

    // Nothing would change but clocks.
    isQuiet() {
        const { clients, nodes, flights, future } = this.state;
        return future === 0 && flights.every(flight => flight.heldUp) && nodes.every(node => node.keys.length === 0) &&
            clients.every(client => !client.pending && !client.holds && client.owed === 0) && !this.#isGuarding();
    }

    // ---- Inside ----

    #goBack(until) {
        this.world.back(until);
        this.log = this.log.filter(event => event.at <= until);
        this.version++;
    }

    // A client that polls while it waits would be watched for minutes.
    #skip(seconds) {
        if (this.pace !== 'follow' || !this.#target || this.#target.moves === Infinity) return;
        this.#watched += seconds;
        if (this.#watched > PATIENCE_SECONDS && this.now < this.#target.at - LAST_LOOK_US) {
            this.#fine = this.#target.at - LAST_LOOK_US;
            this.#run(this.#fine);
        }
    }

    // No further than to the target.
    #run(goal) {
        if (!this.#target || this.#target.moves === Infinity) return void this.world.runTo(Math.floor(goal));
        this.world.runToMove(Math.floor(goal), this.#target.moves);
    }

    #isShortOfTarget() { return !this.#target || this.world.moves < this.#target.moves; }

    #begin() {
        this.log = [];
        this.messages.clear();
        this.#fine = this.latest = 0;
        this.refusal = '';
        this.#fetch();
        this.#look();
    }

    #isGuarding() {
        return this.state.clients.some(client => client.nodes.some((seen, k) => !seen.votes && !this.state.nodes[k].down &&
                                                                    !this.state.links[client.id][k].cut));
    }

    #paceToFollow() {
        if (this.isQuiet() && this.#target === null) return 0;
        const hops = this.state.flights.filter(flight => !flight.heldUp && flight.arrivesAt > this.now)
            .map(flight => flight.arrivesAt - (this.messages.get(flight.id)?.at ?? this.now - 1));
        return hops.length > 0 ? Math.min(REAL_TIME, Math.max(1, Math.min(...hops)) / HOP_SECONDS)
            : Math.max(this.state.future > 0 ? WAITING_PACE : REAL_TIME, this.#target === null ? 0 : this.#hurry);
    }

    // It goes no further than to where a message leaves, since from there on time is slow.
    #runToMessage(goal) {
        const wasOnItsWay = this.state.flights.some(flight => !flight.heldUp);
        this.#fine = goal;
        while (this.#isShortOfTarget() && this.world.step(Math.floor(goal))) {
            const count = this.messages.size;
            this.#fetch();
            if (wasOnItsWay || this.messages.size === count) continue;
            this.#fine = this.world.now;
            return;
        }
        if (!this.#isShortOfTarget()) this.world.runToMove(Math.floor(goal), this.#target.moves);
    }

    #fetch() {
        for (const event of this.world.events()) {
            this.log.push(event);
            if (event.kind === 'message') this.messages.set(event.id, event);
            this.version++;
        }
        if (this.log.length > LOG_MAX) this.log.splice(0, this.log.length - LOG_MAX);
    }

    #look() {
        this.state = this.world.state();
        this.latest = Math.max(this.latest, this.world.now);
    }
}
