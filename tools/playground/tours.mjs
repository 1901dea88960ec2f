// A story, step by step. Knows the engine's stories, not how they are shown.

// Lines that are indented lead to the line after them, so a step ends with a line that is not indented.
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
