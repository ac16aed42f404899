/*
 * dom.js: elements made in one expression. Text becomes text nodes and nothing else, which is why
 * no name can become markup. Listeners and properties are set as such, attributes by name.
 */

export function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (value === null || value === undefined || value === false)
            continue;
        if (name.startsWith('on'))
            made.addEventListener(name.slice(2), value);
        else
            made.setAttribute(name, value === true ? '' : String(value));
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
}

export function find(id) {
    return document.getElementById(id);
}

/* For keys that act anywhere on the page: not while somebody is typing. */
export function isTyping(target) {
    return target instanceof HTMLElement &&
        (target.matches('input, select, textarea') || target.isContentEditable);
}

/* Pixels: an element may be taller in no browser of today. */
export const TALLEST = 16000000;
