// The stories' order, from the basics to the hardest, and their list. Knows the engine's stories by name.
import { button, html } from './dom.mjs';

const GROUPS = [
    ['Begin here', ['basics', 'majorities', 'hand-over']],
    ['The holder sleeps', ['pause', 'pause-asks', 'pause-fence', 'pause-answers', 'suspended', 'suspended-boottime', 'keeper']],
    ['A node forgets', ['restart-unguarded', 'restart', 'majorities-broken', 'replica-hidden', 'replica', 'replica-new-client']],
    ['Clocks differ', ['clock-forward', 'clock-back', 'drift', 'drift-broken']],
    ['A message comes late', ['late-release', 'late-release-broken', 'late-extension', 'late-extension-broken']],
    ['Three at once, tickets, bytes', ['split-vote', 'last-ticket', 'last-ticket-broken', 'bytes']]
];

// One that stands in no group is not lost.
function groupsOf(stories) {
    const grouped = new Set(GROUPS.flatMap(([, names]) => names)), byName = new Map(stories.map(story => [story.name, story]));
    const rest = stories.filter(({ name }) => !grouped.has(name)).map(({ name }) => name);
    return [...GROUPS, ['More', rest]].map(([title, names]) => [title, names.map(name => byName.get(name)).filter(Boolean)]).filter(([, some]) => some.length > 0);
}

// begin(name) begins the story. current is the name of the one that is told, or null.
export function storyList(stories, current, begin) {
    const item = ({ name, title }) => button(title, () => begin(name),
        { class: 'story', 'data-story': name, 'aria-current': name === current ? 'true' : null });
    return [...groupsOf(stories).map(([title, some]) => html('div', { class: 'group', role: 'group', 'aria-label': title },
        html('h3', { text: title }), ...some.map(item))),
    html('details', {}, html('summary', { text: 'A story in a page of yours' }), html('p', { text: 'As a figure, without controls: ' },
        html('code', { text: '<iframe src="playground.html#story=pause&embed">' })))];
}

export function markStory(list, current) {
    for (const one of list.querySelectorAll('[data-story]')) {
        if (one.dataset.story === current) one.setAttribute('aria-current', 'true');
        else one.removeAttribute('aria-current');
    }
}
