/*
 * describe.js: what is said of a frame, in the panel, the tooltip and to a screen reader.
 *
 * Numbers are written in full. A share of a total is a share of what is shown, after threads were
 * chosen and steps taken.
 */
import { formatChange, formatCount, formatRelativeChange, formatShare } from './counts.js';
import { ORIGINS, originsOf } from './colour.js';
import { baseName, showable } from './names.js';

export function nameOfNode(model, tree, node) {
    if (node === 0 && !tree.ofFunction)
        return model.title;
    return model.names[tree.frame[node] >>> 1];
}

/* Where the function is: object, source line, and why there is no better name. */
export function placeOf(model, fn) {
    const { functions, modules } = model.recording;
    const path = showable(modules.path[functions.module[fn]] ?? '');
    const file = showable(functions.file[fn]);
    const line = functions.line[fn] ? `:${functions.line[fn]}` : '';
    const note = showable(modules.note[functions.module[fn]] ?? '');
    return [{ text: baseName(path), title: path }, { text: file && file + line, title: null },
            { text: note, title: null }].filter((part) => part.text !== '');
}

export function originOf(model, fn) {
    model.originColumn ??= originsOf(model.recording);
    return ORIGINS[model.originColumn[fn]].text;
}

function countRow(label, column, node, wholes) {
    const value = column.number(node);
    const row = { label, value: formatCount(column.exact(node)), notes: [] };
    for (const [whole, of] of wholes)
        row.notes.push(`${formatShare(value, whole)} of ${of}`);
    return row;
}

function changeRow(label, before, after) {
    return { label, value: formatChange(after - before),
             notes: [`${formatCount(before)} → ${formatCount(after)}`,
                     formatRelativeChange(before, after)] };
}

function plainRows(model, tree, node) {
    const whole = [[tree.whole, 'all']];
    const parent = tree.parent[node];
    const wholes = parent > 0 || (parent === 0 && tree.ofFunction)
        ? [...whole, [tree.total.number(parent), tree.inverted ? 'the callee' : 'the caller']]
        : whole;
    const rows = [countRow(tree.inverted ? 'Through here' : 'Total', tree.total, node, wholes)];
    if (tree.self)
        rows.push(countRow('Self', tree.self, node, whole));
    if (node > 0 || tree.ofFunction)
        rows.push(countRow('Calls', tree.calls, node, []));
    return rows;
}

function changeRows(model, tree, node) {
    const rows = [changeRow(tree.inverted ? 'Through here' : 'Total', tree.oldTotal.exact(node),
                            tree.total.exact(node))];
    if (tree.self)
        rows.push(changeRow('Self', tree.oldSelf.exact(node), tree.self.exact(node)));
    if (node > 0 || tree.ofFunction)
        rows.push(changeRow('Calls', tree.oldCalls.exact(node), tree.calls.exact(node)));
    return rows;
}

/* Bits of a frame's presence, as enum diff_presence has them. */
const IN_BASE = 1, IN_NEW = 2, INLINED_IN_BASE = 4, CALLED_IN_BASE = 8, INLINED_IN_NEW = 16,
    CALLED_IN_NEW = 32;

/* "new" or "gone" for a frame that only one of the two recordings has. */
export function fateOf(tree, node) {
    if (!tree.oldTotal || node === 0)
        return '';
    const isOld = tree.presence ? tree.presence[node] & IN_BASE : !tree.oldTotal.isZero(node);
    const isNew = tree.presence ? tree.presence[node] & IN_NEW : !tree.total.isZero(node);
    if (isOld && isNew)
        return '';
    return isNew ? 'new' : 'gone';
}

/* A function that was inlined in one build and called in the other. */
function inliningOf(tree, node) {
    if (!tree.presence || node === 0)
        return '';
    const before = tree.presence[node] & (INLINED_IN_BASE | CALLED_IN_BASE);
    const after = tree.presence[node] & (INLINED_IN_NEW | CALLED_IN_NEW);
    if (before === CALLED_IN_BASE && after === INLINED_IN_NEW)
        return 'now inlined';
    if (before === INLINED_IN_BASE && after === CALLED_IN_NEW)
        return 'no longer inlined';
    return '';
}

export function describeNode(model, tree, node) {
    const fn = tree.frame[node] >>> 1;
    const isWhole = node === 0 && !tree.ofFunction;
    const marks = [];
    if (!isWhole) {
        marks.push(originOf(model, fn));
        if (tree.frame[node] & 1)
            marks.push('inlined');
        const fate = fateOf(tree, node);
        if (fate)
            marks.push(fate === 'new' ? 'new frame' : 'vanished frame');
        const inlining = inliningOf(tree, node);
        if (inlining)
            marks.push(inlining);
        if (tree.inverted && tree.isTooSmall(node))
            marks.push('too small to be followed to its callers here');
    }
    return { name: nameOfNode(model, tree, node), place: isWhole ? [] : placeOf(model, fn), marks,
             rows: (tree.oldTotal ? changeRows : plainRows)(model, tree, node) };
}

/* One sentence, for a screen reader. */
export function speakNode(model, tree, node) {
    const { name, marks, rows } = describeNode(model, tree, node);
    const numbers = rows.map((row) => [`${row.label} ${row.value}`, ...row.notes].join(', '));
    return [name.length > 300 ? `${name.slice(0, 300)}…` : name, ...marks.slice(1), ...numbers]
        .join('; ');
}
