/*
 * functions.js: the table of functions, and searching.
 *
 * A function's total counts each path once, however often the function stands on it: only its
 * outermost frame adds. The same holds for the share that a search matched.
 */
import { Counts } from './counts.js';
import { walk } from './tree.js';

/* Columns by function number, and `present`: the functions that occur in the tree. */
export function sumFunctions(tree, functionCount) {
    const column = () => new Counts(functionCount);
    const sums = { self: column(), total: column(), calls: column(),
                   oldSelf: tree.oldSelf && column(), oldTotal: tree.oldSelf && column(),
                   oldCalls: tree.oldSelf && column() };
    const open = new Uint32Array(functionCount);
    const seen = new Uint8Array(functionCount);
    const enter = (node) => {
        if (node === 0)
            return;
        const fn = tree.frame[node] >>> 1;
        seen[fn] = 1;
        sums.self.add(fn, tree.self, node);
        sums.calls.add(fn, tree.calls, node);
        if (tree.oldSelf) {
            sums.oldSelf.add(fn, tree.oldSelf, node);
            sums.oldCalls.add(fn, tree.oldCalls, node);
        }
        if (open[fn]++ > 0)
            return;
        sums.total.add(fn, tree.total, node);
        if (tree.oldSelf)
            sums.oldTotal.add(fn, tree.oldTotal, node);
    };
    walk(tree, enter, (node) => {
        if (node > 0)
            open[tree.frame[node] >>> 1]--;
    });
    sums.present = Uint32Array.from(seen.keys()).filter((fn) => seen[fn]);
    return sums;
}

/* A tester of names, or null when there is nothing to search; throws what RegExp throws. */
export function compileSearch(text, isRegularExpression) {
    if (text === '')
        return null;
    if (isRegularExpression) {
        const pattern = new RegExp(text, 'i');
        return (name) => pattern.test(name);
    }
    const wanted = text.toLowerCase();
    return (name) => name.toLowerCase().includes(wanted);
}

/*
 * matches  by function: 1 where the name matches
 * share    { total, oldTotal }: what ran under at least one match, each path once
 */
export function searchTree(tree, names, test) {
    const matches = new Uint8Array(names.length);
    let functions = 0;
    for (let i = 0; i < names.length; i++)
        matches[i] = test(names[i]) ? 1 : 0;
    const covered = new Uint8Array(tree.count);
    const seen = new Uint8Array(names.length);
    const total = new Counts(1);
    const oldTotal = tree.oldTotal ? new Counts(1) : null;
    let frames = 0;
    for (let i = 1; i < tree.count; i++) {
        const fn = tree.frame[i] >>> 1;
        const above = covered[tree.parent[i]];
        covered[i] = above | matches[fn];
        if (!matches[fn])
            continue;
        frames++;
        if (!seen[fn]) {
            seen[fn] = 1;
            functions++;
        }
        if (above)
            continue;
        total.add(0, tree.total, i);
        oldTotal?.add(0, tree.oldTotal, i);
    }
    return { matches, functions, frames, total, oldTotal };
}
