// A story, step by step; and looking for an accident. Knows the engine's stories, not how they are shown.

// Lines that are indented say what led to the line behind them: a step ends with a line that is not.
export function stepsOf(story) {
    const steps = [];
    let words = [];
    for (const line of story.lines) {
        words.push(line.words);
        if (line.words.startsWith(' ') && line !== story.lines.at(-1)) continue;
        steps.push({ at: line.at, words });
        words = [];
    }
    return steps;
}

// Faults that a search may use, and what they are called.
export const FAULTS = [
    ['empty', 'A node restarts empty'], ['restart', 'A node restarts with its memory'], ['kill', 'A node is killed'],
    ['step', 'A node\'s clock is stepped'], ['rate', 'A node\'s clock runs too fast'], ['flush', 'FLUSHALL'], ['evict', 'The key is evicted'],
    ['proxy', 'A failover that nobody sees'], ['suspend', 'A client\'s clock stands still'], ['pace', 'A client\'s clock runs too slowly'],
    ['cut', 'A link is cut'], ['delayto', 'Commands are late'], ['delayfrom', 'Answers are late'], ['pause', 'A node hangs']
];

const SEEDS_AT_ONCE = 20;

// Looks on, some seeds at a time, until found(link) or given up: tell(how many worlds) says how far it is. Returns what stops it.
export function findAccident(world, from, faults, tell, found) {
    let seed = from, isOver = false;
    const go = () => {
        if (isOver) return;
        const link = world.search(seed, SEEDS_AT_ONCE, faults);
        seed += SEEDS_AT_ONCE;
        tell(seed - from);
        if (link) found(link, seed);
        else setTimeout(go);
    };
    setTimeout(go);
    return () => { isOver = true; };
}
