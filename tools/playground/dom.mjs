// Elements: how they are made and changed. Knows no world.

const SVG = 'http://www.w3.org/2000/svg';

// Properties that begin with "on" are listeners, "text" is the content, "class" the class; all else are attributes.
function dress(element, properties, children) {
    for (const [name, value] of Object.entries(properties)) {
        if (name === 'text') element.textContent = value;
        else if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
        else if (value === true) element.setAttribute(name, '');
        else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter(child => child !== null && child !== undefined));
    return element;
}

export function html(tag, properties = {}, ...children) {
    return dress(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
    return dress(document.createElementNS(SVG, tag), properties, children);
}

export function byId(id) { return document.getElementById(id); }

// Only differences are written, since sixty times a second most does not differ.
export function set(element, name, value) {
    const known = element.known ??= {};
    if (known[name] === value) return;
    known[name] = value;
    if (name === 'text') element.textContent = value;
    else if (value === null || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? '' : value);
}

export function button(text, does, properties = {}) {
    return html('button', { type: 'button', text, onclick: does, ...properties });
}
