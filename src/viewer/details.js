/*
 * details.js: the panel about the selected frame, and the tooltip about the one pointed at.
 */
import { element, find } from './dom.js';
import { describeNode, originOf, placeOf } from './describe.js';
import { Counts, formatChange, formatCount, formatRelativeChange, formatShare } from './counts.js';
import { ACTIONS } from './menu.js';

const LONGEST_TIP = 400; /* characters of a name */

function numbersOf(rows) {
    return element('dl', { class: 'numbers' }, ...rows.flatMap((row) => [
        element('dt', {}, row.label),
        element('dd', {}, element('b', {}, row.value),
                element('span', { class: 'notes' }, ...row.notes.map((note) =>
                    element('span', { class: 'note' }, note)))),
    ]));
}

/* The same shape as describeNode gives, for a function chosen in a table. */
function describeFunction(model, sums, fn, whole, oldWhole) {
    const row = (label, now, old, hasShare) => (model.diff
        ? { label, value: formatChange(now.exact(fn) - old.exact(fn)),
            notes: [`${formatCount(old.exact(fn))} → ${formatCount(now.exact(fn))}`,
                    formatRelativeChange(old.exact(fn), now.exact(fn))] }
        : { label, value: formatCount(now.exact(fn)),
            notes: hasShare ? [`${formatShare(now.number(fn), whole)} of all`] : [] });
    return { name: model.names[fn], place: placeOf(model, fn), marks: [originOf(model, fn)],
             rows: [row('Total', sums.total, sums.oldTotal, true),
                    row('Self', sums.self, sums.oldSelf, true),
                    row('Calls', sums.calls, sums.oldCalls, false)] };
}

export class Details {
    constructor(model, run) {
        this.model = model;
        this.host = find('details');
        this.run = run;
    }

    showNode(tree, node) {
        this.fill(describeNode(this.model, tree, node), node > 0 || tree.ofFunction, true);
    }

    showFunction(sums, fn, whole) {
        this.fill(describeFunction(this.model, sums, fn, whole), true, false);
    }

    showNothing() {
        this.host.replaceChildren(element('p', { class: 'hint' },
            'Click a frame, or move with the arrow keys, to see its numbers here.'));
    }

    fill(described, hasFunction, hasNode) {
        const actions = ACTIONS.filter((action) => hasFunction && (hasNode || !action.needsNode));
        this.host.replaceChildren(
            element('div', { class: 'about' },
                    element('h2', { class: 'name', title: described.name.slice(0, 1000) },
                            described.name),
                    element('p', { class: 'place' },
                            ...described.marks.map((mark) => element('span', { class: 'mark' },
                                                                     mark)),
                            ...described.place.map(({ text, title }, index) =>
                                element('span', { title }, (index ? ' · ' : '') + text)))),
            numbersOf(described.rows),
            element('div', { class: 'actions' }, ...actions.map((action) => element('button', {
                type: 'button', title: action.hint, 'data-action': action.id,
                'aria-keyshortcuts': action.key, onclick: () => this.run(action.id),
            }, action.text, element('kbd', {}, action.key)))));
    }
}

export class Tooltip {
    constructor(model) {
        this.model = model;
        this.host = find('tooltip');
    }

    hide() {
        this.host.hidden = true;
    }

    show(tree, box, x, y) {
        this.host.replaceChildren(...(box.merged ? this.mergedContent(tree, box)
                                                 : this.frameContent(tree, box.node)));
        this.host.hidden = false;
        const { offsetWidth, offsetHeight } = this.host;
        const left = x + 14 + offsetWidth > innerWidth ? x - offsetWidth - 10 : x + 14;
        const top = y + 18 + offsetHeight > innerHeight ? y - offsetHeight - 10 : y + 18;
        this.host.style.left = `${Math.max(2, left)}px`;
        this.host.style.top = `${Math.max(2, top)}px`;
    }

    frameContent(tree, node) {
        const { name, marks, rows } = describeNode(this.model, tree, node);
        const shown = name.length > LONGEST_TIP ? `${name.slice(0, LONGEST_TIP)}…` : name;
        return [element('p', { class: 'name' }, shown),
                marks.length ? element('p', { class: 'place' }, marks.join(' · ')) : '',
                numbersOf(rows)];
    }

    mergedContent(tree, box) {
        const sum = new Counts(1);
        for (let i = box.node; i < box.node + box.count; i++)
            sum.add(0, tree.total, i);
        const rows = [{ label: 'Together', value: formatCount(sum.exact(0)),
                        notes: [`${formatShare(sum.number(0), tree.whole)} of all`] }];
        return [element('p', { class: 'name' }, box.count === 1
                    ? '1 frame narrower than a pixel'
                    : `${formatCount(box.count)} frames narrower than a pixel`),
                numbersOf(rows)];
    }
}
