/*
 * names.js: names as they may be shown.
 *
 * Names come from programs and can hold anything: control characters, marks that turn the writing
 * direction, thousands of characters. Characters that do not show themselves are written out as
 * code points, so that what one reads is what is there. Names reach the page only through
 * textContent and canvas text, never as markup.
 */

const UNSEEN =
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

export function showable(text) {
    return text.replace(UNSEEN, (character) =>
        `⟨U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}

/* Text between matching brackets is left out: f<int>(g<x>) -> f */
function withoutBrackets(name, open, close) {
    let depth = 0;
    let kept = '';
    for (const character of name) {
        if (character === open)
            depth++;
        else if (character === close && depth > 0)
            depth--;
        else if (depth === 0)
            kept += character;
    }
    return kept;
}

/*
 * The name, then shorter and shorter ways to write it, for boxes in which the whole does not fit:
 * without the compiler's remarks, without parameters, without template arguments, without the scope it is in.
 */
export function shorterForms(name) {
    const forms = [name];
    const add = (form) => {
        const tidy = form.trim();
        if (tidy !== '' && tidy.length < forms[forms.length - 1].length)
            forms.push(tidy);
    };
    if (name.startsWith('py::')) {
        const file = name.lastIndexOf(':');
        add(`${name.slice(0, file)}:${baseName(name.slice(file + 1))}`);
        add(name.slice(4, file));
        return forms;
    }
    if (name.length > 2000 || name[0] === '(' || name[0] === '<' || name.includes('operator'))
        return forms;
    add(name.replace(/ \[clone [^\]]*\]/g, '').replace(/\[abi:[^\]]*\]/g, ''));
    add(withoutBrackets(forms[forms.length - 1], '(', ')').replace(/ const$/, ''));
    add(withoutBrackets(forms[forms.length - 1], '<', '>'));
    const last = forms[forms.length - 1];
    add(last.slice(last.lastIndexOf('::') + 1).replace(/^:/, ''));
    return forms;
}

export function baseName(path) {
    const clean = path.replace(/\/+$/, '');
    return clean.slice(clean.lastIndexOf('/') + 1) || path;
}
