/*
 * source.js: the source lines of one function with what each executed.
 *
 * A function's lines can lie in several files (macros, includes); each file is a block of its own.
 * With the source embedded, the lines between the first and the last that ran are shown, with a
 * little around them; without it, the numbers of the lines alone.
 */
import { element } from './dom.js';
import { formatCount, formatShare } from './counts.js';
import { showable } from './names.js';

const AROUND = 4; /* lines shown before and after */
const LONGEST = 4000; /* lines of one block */

/* [{ file, rows: [{ line, index }] }] of the function, in order of weight. */
function linesOf(recording, fn) {
    const { lines } = recording;
    const files = new Map();
    for (let i = firstLine(lines, fn); i < lines.count && lines.function[i] === fn; i++) {
        if (!files.has(lines.file[i]))
            files.set(lines.file[i], new Map());
        files.get(lines.file[i]).set(lines.line[i], i);
    }
    return files;
}

function firstLine(lines, fn) {
    let low = 0;
    let high = lines.count;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (lines.function[middle] < fn)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Which line numbers to show: a stretch of the source, or just those that ran. */
function shownLines(ran, source) {
    const numbers = [...ran.keys()].sort((a, b) => a - b);
    if (!source)
        return numbers;
    const from = Math.max(1, numbers[0] - AROUND);
    const to = Math.min(source.length, numbers[numbers.length - 1] + AROUND);
    if (to - from > LONGEST || to < from)
        return numbers;
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

function lineRow(model, number, index, source, whole) {
    const { lines } = model.recording;
    const ran = index !== undefined;
    const count = ran ? formatCount(lines.self.exact(index)) : '';
    const share = ran ? lines.self.number(index) / (whole || 1) : 0;
    const row = element('tr', { class: ran ? 'ran' : null },
                        element('th', { scope: 'row' }, number === 0 ? '?' : String(number)),
                        element('td', { class: 'number' }, count),
                        element('td', { class: 'number' }, ran ? formatShare(share, 1) : ''));
    const text = source ? showable((source[number - 1] ?? '').replace(/\t/g, '    ')) : '';
    row.append(element('td', { class: 'code' }, text));
    row.style.setProperty('--bar', `${share * 100}%`);
    return row;
}

function fileBlock(model, file, ran, whole) {
    const text = model.recording.sources.get(file);
    const source = text === undefined ? null : text.split(/\r\n|\n|\r/);
    const heads = ['Line', model.unit[0].toUpperCase() + model.unit.slice(1), 'Share', 'Source'];
    const body = element('tbody', {}, ...shownLines(ran, source).map((number) =>
        lineRow(model, number, ran.get(number), source, whole)));
    return element('section', { class: 'source-file' },
                   element('h3', {}, showable(file || 'unknown file')),
                   source ? null : element('p', { class: 'hint' },
                       'The text of this file is not in the page: make the page with ' +
                       '--embed-source, where the source is at hand.'),
                   element('div', { class: 'source-scroll', tabindex: 0, role: 'group',
                                    'aria-label': `Lines of ${showable(file)}` },
                           element('table', {},
                                   element('thead', {}, element('tr', {}, ...heads.map((head) =>
                                       element('th', { scope: 'col' }, head)))), body)));
}

export function sourceOf(model, fn, isPartial) {
    if (fn < 0)
        return [element('p', { class: 'hint' },
                        'Choose a function in another view: its lines are shown here.')];
    if (model.diff)
        return [element('p', { class: 'hint' },
                        'Lines of two builds cannot be matched: make a page of each recording ' +
                        'with trueflame view to see them.')];
    const files = linesOf(model.recording, fn);
    const made = [element('h2', {}, model.names[fn].slice(0, 1000))];
    if (files.size === 0) {
        made.push(element('p', { class: 'hint' },
            'No lines are known of this function: it was recorded without line detail, or its ' +
            'object has no debug information.'));
        return made;
    }
    if (isPartial)
        made.push(element('p', { class: 'hint' },
            'Lines count the whole recording, whatever threads and steps are chosen.'));
    let whole = 0;
    for (const ran of files.values()) {
        for (const index of ran.values())
            whole += model.recording.lines.self.number(index);
    }
    for (const [file, ran] of files)
        made.push(fileBlock(model, file, ran, whole));
    return made;
}
