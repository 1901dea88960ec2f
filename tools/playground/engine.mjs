// The engine in the page. It is WebAssembly of redlock/ and tests/world, and JavaScript adds going back in time, links,
// and searching. Knows no page; node and browsers alike. Times are microseconds since the beginning of the world.
//
//     const module = await compileEngine(bytes);
//     const world = new World(module, 'n=5&c=2&seed=1');
//     world.act('acquire.A'); world.runTo(1000); world.state(); world.events(); world.link(); world.back(500);

const utf8 = new TextDecoder(), toUtf8 = new TextEncoder();

export function compileEngine(bytes) {
    return WebAssembly.compile(bytes);
}

// The state of a world at a moment is all of its memory. It is kept now and then, so that to go back
// does not begin at the beginning.
const SNAPSHOTS_MAX = 32;
const SNAPSHOT_EVERY = 400;     // Steps.

export class World {
    #module; #exports;
    #snapshots = [];            // The order is by time.
    #spacing = SNAPSHOT_EVERY;
    #stepsAtSnapshot = 0;
    #told = [];                 // Events that were fetched and not asked for yet.

    // Throws if the link is none.
    constructor(module, link = '') {
        this.#module = module;
        this.#exports = new WebAssembly.Instance(module, {}).exports;
        this.create(link);
    }

    // "story=NAME" is a link, too, and stands for the story's.
    create(link = '') {
        const name = /^#?story=([a-z-]+)$/.exec(link)?.[1];
        const story = name && this.story(name);
        if (name && !story) throw new Error(`there is no story "${name}"`);
        this.#put(story ? story.link : link.replace(/^#/, ''));
        if (!this.#exports.world_create()) throw new Error(this.#text(this.#exports.world_reason()));
        this.#snapshots = [];
        this.#told = [];
        this.#spacing = SNAPSHOT_EVERY;
        this.#keepSnapshot();
    }

    get now() { return this.#exports.world_now(); }
    get steps() { return this.#exports.world_steps(); }
    // Steps, and actions that were done. Two worlds of a link are the same after as many of them.
    get moves() { return this.#exports.world_moves(); }
    get hash() { return this.#text(this.#exports.world_hash()); }
    state() { return JSON.parse(this.#text(this.#exports.world_state())); }
    // The events since the last call, or since the world went back.
    events() {
        this.#fetchEvents();
        return this.#told.splice(0);
    }
    // Settings, seed, and all actions, both those done, and those of a link that are still to come.
    link() { return this.#text(this.#exports.world_link()); }

    // Does it now, and drops the link's actions that were still to come. Returns '' if it is done,
    // otherwise in words why not.
    act(action) {
        this.#put(action);
        return this.#exports.world_act() ? '' : this.#text(this.#exports.world_reason());
    }

    dropFuture() { this.#exports.world_drop_future(); }

    // The next event, or action of the link, until then at the latest. False: there was none, and now it is then.
    step(until = this.now + 3600e6) {
        const happened = this.#exports.world_step(until) === 1;
        this.#perhapsKeepSnapshot();
        return happened;
    }

    // Runs to that moment, if it is not there already, and to the world after so many moves.
    runToMove(at, moves) {
        while (this.moves < moves && this.step(at)) { }
        this.#exports.world_pass(at);
    }

    // All of them. Returns how many there were.
    runTo(until) { return this.#run(until, false); }

    // Goes to an earlier moment. The world is replayed, and the later actions are still to come (see
    // dropFuture). Events of the way there are not reported again.
    back(until) {
        if (until >= this.now) return;
        const link = this.link();
        while (this.#snapshots.length > 1 && this.#snapshots.at(-1).now > until) this.#snapshots.pop();
        this.#restore(this.#snapshots.at(-1), link);
        this.#told = [];
        this.#run(until, true);
    }

    // Looks for an accident by seeds from..from + count - 1, in worlds of this one's settings, with the faults that are named
    // ("empty", "step", ...). Returns a link with an accident in it, from which no action could be left
    // out, or ''. This world stays as it is.
    search(from, count, faults) {
        this.#put(faults.join('.'));
        return this.#text(this.#exports.world_search(from, count));
    }

    // Gives [{name, title}], and one of them as {name, title, link, lines: [{at, moves, words}],
    // endsAt, verdict, isRight, hash}, or null if there is none. The words belong to the world of the
    // link, at those moments, after so many moves.
    stories() { return JSON.parse(this.#text(this.#exports.world_stories())); }
    story(name) {
        const story = JSON.parse(this.#text(this.#exports.world_story(this.stories().findIndex(one => one.name === name))));
        const own = story && new World(this.#module, story.link);
        for (const line of story?.lines ?? []) {
            while ((own.moves < line.moves || own.#exports.world_actions() < line.actions) && own.step(line.at)) { }
            line.moves = own.moves;
        }
        return story;
    }

    // ---- Inside ----

    #run(until, muted) {
        let steps = 0, more;
        do {
            more = this.#exports.world_run(until, SNAPSHOT_EVERY, muted ? 1 : 0);
            steps += more;
            this.#perhapsKeepSnapshot();
        } while (more === SNAPSHOT_EVERY);
        return steps;
    }

    #memory() { return new Uint8Array(this.#exports.memory.buffer); }

    #put(text) {
        const bytes = toUtf8.encode(text), address = this.#exports.world_input(bytes.length);
        this.#memory().set(bytes, address);     // Looked for after the call, which may have made it larger.
    }

    #text(address) {
        const memory = this.#memory();
        return utf8.decode(memory.subarray(address, memory.indexOf(0, address)));
    }

    // Often enough that they take little memory, since snapshots contain it.
    #fetchEvents() {
        for (const event of JSON.parse(this.#text(this.#exports.world_events()))) this.#told.push(event);
    }

    #keepSnapshot() {
        this.#fetchEvents();
        this.#snapshots.push({ now: this.now, memory: this.#memory().slice() });
        this.#stepsAtSnapshot = this.steps;
        if (this.#snapshots.length <= SNAPSHOTS_MAX) return;
        this.#snapshots = this.#snapshots.filter((_, i) => i % 2 === 0);
        this.#spacing *= 2;
    }

    #perhapsKeepSnapshot() {
        if (this.steps - this.#stepsAtSnapshot >= this.#spacing) this.#keepSnapshot();
    }

    // Memory never shrinks, and the part that has grown since is not used any more. The actions done
    // since are to come, because they are in the link.
    #restore(snapshot, link) {
        const memory = this.#memory();
        memory.set(snapshot.memory);
        memory.fill(0, snapshot.memory.length);
        this.#put(link);
        this.#exports.world_take_future();
        this.#stepsAtSnapshot = this.steps;
    }
}

// A link as settings and actions, like {n: 5, c: 2, seed: 1, ..., do: [{at: 0, text: 'acquire.A'}]}, and back.
export function parseLink(link) {
    const parts = new URLSearchParams(link.replace(/^#/, ''));
    const result = { do: [] };
    for (const [name, value] of parts)
        if (name === 'do')
            result.do = value.split(',').filter(Boolean).map(one => one.split(':')).map(([at, text]) => ({ at: +at, text }));
        else
            result[name] = Number(value);
    return result;
}

export function formatLink({ do: actions = [], ...settings }) {
    const fields = Object.entries(settings).map(([name, value]) => `${name}=${Number(value)}`);
    if (actions.length > 0) fields.push('do=' + actions.map(({ at, text }) => `${at}:${text}`).join(','));
    return fields.join('&');
}
