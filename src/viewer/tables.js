/*
 * tables.js: the columns of the table of functions and of the table of changes, and their order.
 *
 * Sorting compares exact counts; equal ones keep the order of names, so the same recording always
 * gives the same table.
 */
import { compareCounts, formatChange, formatCount, formatRelativeChange, formatShare }
    from './counts.js';
import { originOf } from './describe.js';

/* The largest of a column is the longest to write. */
function largest(column, keys) {
    let best = keys[0];
    for (const key of keys) {
        if (compareCounts(column, key, column, best) > 0)
            best = key;
    }
    return best === undefined ? 0n : column.exact(best);
}

/* sums(): the columns as they are now; whole(): what shares are of, or null for no shares. */
function countColumn(sums, id, title, hint, whole) {
    return {
        id, title, hint, numeric: true, hasNote: whole !== null,
        longest: (keys) => formatCount(largest(sums()[id], keys)).length,
        cell(fn) {
            const text = formatCount(sums()[id].exact(fn));
            if (!whole)
                return { text };
            const value = sums()[id].number(fn);
            return { text, note: formatShare(value, whole()), bar: value / (whole() || 1) };
        },
    };
}

function nameColumn(model) {
    return { id: 'name', title: 'Function', hint: 'Sort by name', numeric: false,
             cell: (fn) => ({ text: model.names[fn].slice(0, 1000),
                              title: model.names[fn].slice(0, 1000) }) };
}

function moduleColumn(model) {
    return { id: 'module', title: 'Object', hint: 'Sort by object', numeric: false,
             cell: (fn) => ({ text: model.moduleName(fn), title: originOf(model, fn) }) };
}

function changeColumn(sums, id, title, before, after) {
    return {
        id, title, hint: `Sort by the size of the change of ${title.toLowerCase()}`, numeric: true,
        hasNote: true,
        longest: (keys) => 1 + Math.max(formatCount(largest(sums()[before], keys)).length,
                                        formatCount(largest(sums()[after], keys)).length),
        cell(fn) {
            const old = sums()[before].exact(fn);
            const now = sums()[after].exact(fn);
            return { text: formatChange(now - old), note: formatRelativeChange(old, now) };
        },
    };
}

export function functionColumns(model, sums, whole) {
    return [
        nameColumn(model),
        countColumn(sums, 'self', 'Self', 'Executed in the function itself', whole),
        countColumn(sums, 'total', 'Total',
                    'Executed in the function and all it called; each path counts once', whole),
        countColumn(sums, 'calls', 'Calls', 'How often it was called', null),
        moduleColumn(model),
    ];
}

export function changesColumns(model, sums) {
    return [
        nameColumn(model),
        changeColumn(sums, 'selfChange', 'Self change', 'oldSelf', 'self'),
        changeColumn(sums, 'totalChange', 'Total change', 'oldTotal', 'total'),
        countColumn(sums, 'oldTotal', 'Total before', 'Total in the old recording', null),
        countColumn(sums, 'total', 'Total after', 'Total in the new recording', null),
        moduleColumn(model),
    ];
}

function compareTexts(a, b) {
    return a < b ? -1 : a > b ? 1 : 0;
}

/* Differences as BigInt, made once per sort. */
function changeSizes(sums, before, after, functions) {
    const sizes = new Map();
    for (const fn of functions) {
        const change = sums[after].exact(fn) - sums[before].exact(fn);
        sizes.set(fn, change < 0n ? -change : change);
    }
    return sizes;
}

/* `functions` in the order that a click on column `sort` asks for; largest first by default. */
export function sortFunctions(model, sums, functions, sort, ascending) {
    const byName = (a, b) => compareTexts(model.names[a], model.names[b]) || a - b;
    const orders = {
        name: byName,
        module: (a, b) => compareTexts(model.moduleName(a), model.moduleName(b)),
    };
    let compare = orders[sort];
    if (sort === 'selfChange' || sort === 'totalChange') {
        const [before, after] = sort === 'selfChange' ? ['oldSelf', 'self'] : ['oldTotal', 'total'];
        const sizes = changeSizes(sums, before, after, functions);
        compare = (a, b) => (sizes.get(a) < sizes.get(b) ? -1 : sizes.get(a) > sizes.get(b) ? 1 : 0);
    } else if (!compare) {
        const column = sums[sort] ?? sums.self;
        compare = (a, b) => compareCounts(column, a, column, b);
    }
    const sign = ascending ? 1 : -1;
    return Array.from(functions).sort((a, b) => sign * compare(a, b) || byName(a, b));
}
