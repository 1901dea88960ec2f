// A story, step by step. Knows the engine's stories, not how they are shown.

// Lines that are indented say what led to the line behind them: a step ends with a line that is not.
export function stepsOf(story) {
    const steps = [];
    let words = [];
    for (const line of story.lines) {
        words.push(line.words);
        if (line.words.startsWith(' ') && line !== story.lines.at(-1)) continue;
        steps.push({ at: line.at, moves: line.moves, words });
        words = [];
    }
    return steps;
}
