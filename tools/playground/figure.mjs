// The picture as a figure for another page. It is SVG that stands by itself, except for picture.css,
// and the same picture in words. Knows no world.
import { CLIENTS } from './words.mjs';

// They are useless where nothing can be pressed, or where many figures share a page.
const LIVE = ['id', 'tabindex', 'role', 'aria-label', 'aria-hidden', 'data-connected', 'style'];
const PLACES = ['x', 'y', 'x1', 'y1', 'x2', 'y2', 'transform', 'points', 'd'];
const LIVE_PARTS = '.link-target, .row-target, .halo:not(.lit .halo, .shared .halo)';

// The scene in words, with the keys of each node, the lock's holder, and the last votes.
export function sceneInWords({ nodes, clients, resource }) {
    const ofNode = node => {
        const key = node.keys.find(one => one.name === resource.name && one.type === 'string');
        return `node ${node.id} ${node.down ? 'is down' : !key ? 'has no key' : key.owner < 0 ? 'has a key' : `has the key of ${CLIENTS[key.owner]}`}`;
    };
    const ofClient = client => `${client.name} ${client.dead ? 'has crashed' : client.frozen ? 'is stopped' : client.holds ? 'holds the lock'
        : 'does not hold the lock'}${client.round.number > 0 ? ` (votes of nodes 0 to ${nodes.length - 1}: ${client.votes.join(', ')})` : ''}`;
    return [...nodes.map(ofNode), ...clients.map(ofClient)].join('; ');
}

// The sequence diagram in words, by its lines, in order.
export function sequenceInWords(picture) {
    return [...picture.querySelectorAll('.row-note')].map(note => note.textContent).join('; ');
}

// element is the svg. data describes it, as {link, hash, ...}, which become data-link and so on.
export function figureOf(element, words, data) {
    const figure = element.cloneNode(true), fontSize = element.style.fontSize;
    figure.querySelectorAll(`${LIVE_PARTS}, text:empty`).forEach(part => part.remove());
    for (const part of [figure, ...figure.querySelectorAll('*')]) {
        LIVE.forEach(name => part.removeAttribute(name));
        for (const name of PLACES) if (part.hasAttribute(name)) part.setAttribute(name, inTenths(part.getAttribute(name)));
    }
    for (const [name, value] of Object.entries(data)) figure.setAttribute(`data-${name}`, value);
    if (fontSize) figure.setAttribute('font-size', fontSize);
    figure.setAttribute('role', 'img');
    figure.setAttribute('aria-label', words);
    return figure.outerHTML.replace(/><(?!\/)/g, '>\n<');
}

function inTenths(numbers) {
    return numbers.replace(/-?\d+\.\d+/g, number => String(Math.round(Number(number) * 10) / 10));
}
