// Finds targets that a finger would miss. Terms stand in sentences, which WCAG 2.2 excepts.
export function findSmall() {
    return [...document.querySelectorAll('button:not(.term), a, input, select, summary, [role=button]')].filter(element => element.getClientRects().length > 0)
        .map(element => ({ element, box: element.getBoundingClientRect() })).filter(({ box }) => Math.min(box.width, box.height) < 24)
        .map(({ element, box }) => `too small, ${box.width.toFixed(0)} x ${box.height.toFixed(0)}: ${element.id} "${element.textContent.slice(0, 30)}"`);
}

// Finds the obstacles for a reader of screens, or of faint letters. It runs in the page by
// chromium.evaluate(`(${findBarriers})()`).
export function findBarriers() {
    const faults = [], isShown = element => element.getClientRects().length > 0;
    const describe = element => `${element.tagName.toLowerCase()}#${element.id}.${element.getAttribute('class')} "${element.textContent.slice(0, 30)}"`;
    const rgb = colour => {
        const canvas = new OffscreenCanvas(1, 1).getContext('2d');
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => [r, g, b].map(x => x / 255).map(x => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
        .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
    const contrast = (one, other) => { const [a, b] = [light(one), light(other)].sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); };
    const paper = element => {
        for (; element; element = element.parentElement) {
            const colour = rgb(getComputedStyle(element).backgroundColor);
            if (colour[3] === 255) return colour;
        }
        return [255, 255, 255, 255];
    };
    const nameOf = element => element.getAttribute('aria-label') || element.labels?.[0]?.textContent || element.textContent.trim() || element.title;
    for (const element of document.querySelectorAll('button, a, input, select, summary, [role=button], [role=img], [role=group], [role=tabpanel]')) {
        if (!isShown(element)) continue;
        if (!nameOf(element) && !element.getAttribute('aria-labelledby')) faults.push(`no name: ${describe(element)}`);
        const isOneOfMany = element.closest('svg.sequence')?.querySelector('[tabindex="0"]');    // The arrow keys reach these.
        if (element.matches('[role=button]') && element.tabIndex < 0 && !isOneOfMany) faults.push(`out of reach of the keyboard: ${describe(element)}`);
    }
    for (const element of document.querySelectorAll('body *')) {
        if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()) || !isShown(element)) continue;
        if (/SCRIPT|STYLE|OPTION/.test(element.tagName)) continue;
        const style = getComputedStyle(element), isDrawn = element.closest('svg');
        const ink = rgb(isDrawn ? style.fill : style.color), size = parseFloat(style.fontSize);
        const shape = element.matches('.letter, .pill text') && element.previousElementSibling;
        const ground = shape ? rgb(getComputedStyle(shape).fill) : paper(element), needed = size >= 24 ? 3 : 4.5;
        if (contrast(ink, ground) < needed) faults.push(`contrast ${contrast(ink, ground).toFixed(1)}: ${describe(element)}`);
    }
    const ids = [...document.querySelectorAll('[id]')].map(element => element.id);
    ids.filter((id, i) => ids.indexOf(id) !== i).forEach(id => faults.push(`two have the id ${id}`));
    for (const element of document.querySelectorAll('[aria-labelledby], [aria-controls]'))
        for (const id of [element.getAttribute('aria-labelledby'), element.getAttribute('aria-controls')])
            if (id && !document.getElementById(id)) faults.push(`points nowhere: ${describe(element)}`);
    if (!document.documentElement.lang || !document.title) faults.push('no language, or no title');
    if (document.documentElement.scrollWidth > innerWidth) faults.push(`wider than the window: ${document.documentElement.scrollWidth}`);
    return faults;
}
