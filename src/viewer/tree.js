/*
 * tree.js: trees as columns, and the layout that the graphs draw.
 *
 * A plain tree is columns with parents first: { count, parent, frame, self, calls, oldSelf,
 * oldCalls, presence }, the last three for a difference. Node 0 is the root. Two siblings never have the same frame: TreeBuilder finds the
 * child by hash and adds to it.
 *
 * A laid-out tree has the same columns, plus totals, in the order in which it is drawn: level by
 * level, siblings by falling weight. So a level is one range of indices, a node's children are
 * one range, and both are sorted by x:
 *
 *     index    0 | 1   2 | 3  4  5 | ...
 *     level    0 | 1     | 2
 *     first[1] = 3, first[2] = 5: children of node i are first[i] ... first[i + 1]
 *
 * Nothing here recurses: a stack can be a hundred thousand frames deep.
 */
import { Counts } from './counts.js';

const EMPTY = -1;

function emptyColumns(size, diff) {
    return { parent: new Int32Array(size), frame: new Uint32Array(size), self: new Counts(size),
             calls: new Counts(size), oldSelf: diff ? new Counts(size) : null,
             oldCalls: diff ? new Counts(size) : null,
             presence: diff ? new Uint8Array(size) : null };
}

export class TreeBuilder {
    /* At most `capacity` nodes; the root's frame is `frame`. */
    constructor(capacity, diff, frame) {
        this.columns = emptyColumns(capacity + 1, diff);
        this.columns.parent[0] = EMPTY;
        this.columns.frame[0] = frame;
        this.count = 1;
        let slots = 16;
        while (slots < capacity * 2)
            slots *= 2;
        this.mask = slots - 1;
        this.slots = new Int32Array(slots).fill(EMPTY);
    }

    child(parent, frame) {
        const { parent: parents, frame: frames } = this.columns;
        let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame, 0x85ebca6b);
        hash ^= hash >>> 15;
        for (let slot = hash & this.mask;; slot = (slot + 1) & this.mask) {
            const node = this.slots[slot];
            if (node === EMPTY) {
                this.slots[slot] = this.count;
                parents[this.count] = parent;
                frames[this.count] = frame;
                return this.count++;
            }
            if (parents[node] === parent && frames[node] === frame)
                return node;
        }
    }

    addSelf(node, from, i) {
        this.columns.self.add(node, from.self, i);
        if (from.oldSelf)
            this.columns.oldSelf.add(node, from.oldSelf, i);
    }

    addCalls(node, from, i) {
        this.columns.calls.add(node, from.calls, i);
        if (!from.oldCalls)
            return;
        this.columns.oldCalls.add(node, from.oldCalls, i);
        this.columns.presence[node] |= from.presence[i];
    }

    finish() {
        const { columns, count } = this;
        const head = (column) => column && column.slice(0, count);
        return { count, parent: columns.parent.subarray(0, count),
                 frame: columns.frame.subarray(0, count), self: head(columns.self),
                 calls: head(columns.calls), oldSelf: head(columns.oldSelf),
                 oldCalls: head(columns.oldCalls),
                 presence: columns.presence && columns.presence.subarray(0, count) };
    }
}

/* The root, where just one is chosen that has anything; otherwise -1. */
function onlyRoot(roots, chosen) {
    let only = -1;
    for (let r = 0; r < roots.count; r++) {
        if (!chosen(r) || roots.first[r] === roots.first[r + 1])
            continue;
        if (only >= 0)
            return -1;
        only = r;
    }
    return only;
}

/* A single root's nodes are a tree as they are. */
function cutRoot(nodes, from, to) {
    const parent = nodes.parent.slice(from, to);
    for (let i = 1; i < parent.length; i++)
        parent[i] -= from;
    const cut = (column) => column && column.slice(from, to);
    return { count: to - from, parent, frame: nodes.frame.subarray(from, to), self: cut(nodes.self),
             calls: cut(nodes.calls), oldSelf: cut(nodes.oldSelf), oldCalls: cut(nodes.oldCalls),
             presence: cut(nodes.presence) };
}

/* One tree of the chosen roots' trees; `chosen(r)` says whether root r is in. */
export function mergeRoots(recording, chosen) {
    const { roots, nodes } = recording;
    const only = onlyRoot(roots, chosen);
    if (only >= 0)
        return cutRoot(nodes, roots.first[only], roots.first[only + 1]);
    const builder = new TreeBuilder(nodes.count, recording.diff, 0);
    const target = new Int32Array(nodes.count);
    for (let r = 0; r < roots.count; r++) {
        if (!chosen(r))
            continue;
        for (let i = roots.first[r]; i < roots.first[r + 1]; i++) {
            const parent = nodes.parent[i];
            target[i] = parent < 0 ? 0 : builder.child(target[parent], nodes.frame[i]);
            builder.addSelf(target[i], nodes, i);
            if (parent >= 0)
                builder.addCalls(target[i], nodes, i);
        }
    }
    return builder.finish();
}

/* Sums of each node and everything below it; parents stand before their children. */
function inclusive(parent, self) {
    const total = self.clone();
    for (let i = parent.length - 1; i > 0; i--)
        total.add(parent[i], total, i);
    return total;
}

/*
 * How wide a node is. In a difference `width` chooses: "new", "old", or "larger", which gives each
 * node the larger of its own two self counts: summed upwards that leaves room for all children,
 * which the larger of two totals would not.
 */
function inclusiveWeights(tree, width) {
    const { parent, self, oldSelf, count } = tree;
    const weight = new Float64Array(count);
    for (let i = 0; i < count; i++) {
        if (!oldSelf || width === 'new')
            weight[i] = self.number(i);
        else if (width === 'old')
            weight[i] = oldSelf.number(i);
        else
            weight[i] = Math.max(self.number(i), oldSelf.number(i));
    }
    for (let i = count - 1; i > 0; i--)
        weight[parent[i]] += weight[i];
    return weight;
}

/* kids[offset[i] ... offset[i + 1]] are the children of i. */
function childLists(parent, count) {
    const offset = new Uint32Array(count + 1);
    for (let i = 1; i < count; i++)
        offset[parent[i] + 1]++;
    for (let i = 0; i < count; i++)
        offset[i + 1] += offset[i];
    const next = offset.slice(0, count);
    const kids = new Uint32Array(Math.max(count - 1, 0));
    for (let i = 1; i < count; i++)
        kids[next[parent[i]]++] = i;
    return { offset, kids };
}

const FEW = 12; /* below this, insertion beats the library's sort and its temporary array */

function sortSiblings(kids, from, to, weight, frame) {
    const before = (a, b) => weight[b] - weight[a] || frame[a] - frame[b];
    if (to - from > FEW) {
        kids.subarray(from, to).sort(before);
        return;
    }
    for (let i = from + 1; i < to; i++) {
        const kid = kids[i];
        let j = i;
        for (; j > from && before(kids[j - 1], kid) > 0; j--)
            kids[j] = kids[j - 1];
        kids[j] = kid;
    }
}

/* The drawing order: order[new index] = old index, with the levels' and children's ranges. */
function levelOrder(tree, weight) {
    const { offset, kids } = childLists(tree.parent, tree.count);
    const order = new Uint32Array(tree.count);
    const parent = new Int32Array(tree.count);
    const first = new Uint32Array(tree.count + 1);
    const levels = [];
    parent[0] = EMPTY;
    let end = 1;
    for (let i = 0; i < end;) {
        levels.push(i);
        for (const levelEnd = end; i < levelEnd; i++) {
            const node = order[i];
            sortSiblings(kids, offset[node], offset[node + 1], weight, tree.frame);
            first[i] = end;
            for (let k = offset[node]; k < offset[node + 1]; k++) {
                order[end] = kids[k];
                parent[end++] = i;
            }
        }
    }
    first[tree.count] = tree.count;
    levels.push(tree.count);
    return { order, parent, first, levels };
}

function reorderCounts(column, order) {
    if (!column)
        return null;
    const moved = new Counts(order.length);
    for (let i = 0; i < order.length; i++)
        moved.copy(i, column, order[i]);
    return moved;
}

export function layOut(tree, width) {
    const weights = inclusiveWeights(tree, width);
    const { order, parent, first, levels } = levelOrder(tree, weights);
    const count = tree.count;
    const frame = new Uint32Array(count);
    const weight = new Float64Array(count);
    const x = new Float64Array(count);
    for (let i = 0; i < count; i++) {
        frame[i] = tree.frame[order[i]];
        weight[i] = weights[order[i]];
        if (i > 0)
            x[i] = parent[i] === parent[i - 1] ? x[i - 1] + weight[i - 1] : x[parent[i]];
    }
    const self = reorderCounts(tree.self, order);
    const oldSelf = reorderCounts(tree.oldSelf, order);
    return new LaidOutTree({ count, parent, first, levels, frame, weight, x, self, oldSelf,
                             calls: reorderCounts(tree.calls, order),
                             oldCalls: reorderCounts(tree.oldCalls, order),
                             presence: tree.presence && Uint8Array.from(order, (i) =>
                                 tree.presence[i]),
                             total: inclusive(parent, self),
                             oldTotal: oldSelf && inclusive(parent, oldSelf) });
}

/* What the graphs ask of a tree; InvertedTree answers the same questions, growing as asked. */
export class LaidOutTree {
    constructor(columns) {
        Object.assign(this, columns);
        this.inverted = false;
        this.ofFunction = false; /* node 0 is one function rather than everything */
        this.whole = columns.total.number(0); /* what shares are shares of */
    }

    get depth() {
        return this.levels.length - 1;
    }

    /* Nothing to do: all levels are there. Returns whether level `depth` exists. */
    reach(depth) {
        return depth < this.depth;
    }

    levelOf(node) {
        let low = 0;
        let high = this.levels.length - 1;
        while (high - low > 1) {
            const middle = (low + high) >> 1;
            if (this.levels[middle] <= node)
                low = middle;
            else
                high = middle;
        }
        return low;
    }

    childRange(node) {
        return [this.first[node], this.first[node + 1]];
    }

    siblingRange(node) {
        return node === 0 ? [0, 1] : this.childRange(this.parent[node]);
    }

    isAbove(ancestor, node) {
        while (node > ancestor)
            node = this.parent[node];
        return node === ancestor;
    }

    /* The frames from the root to `node`, and back: as much of such a path as there is. */
    pathOf(node) {
        const path = [];
        for (; node > 0; node = this.parent[node])
            path.push(this.frame[node]);
        return path.reverse();
    }

    findPath(path) {
        let node = 0;
        for (const frame of path) {
            const [from, to] = this.childRange(node);
            const found = this.frame.subarray(from, to).indexOf(frame);
            if (found >= 0)
                node = from + found;
        }
        return node;
    }
}

/* Calls enter(node) going down and leave(node) coming back, over the whole tree, in x order. */
export function walk(tree, enter, leave) {
    const { first, parent } = tree;
    let node = 0;
    for (;;) {
        enter(node);
        if (first[node] < first[node + 1]) {
            node = first[node];
            continue;
        }
        for (;;) {
            leave(node);
            if (node === 0)
                return;
            const up = parent[node];
            if (node + 1 < first[up + 1]) {
                node++;
                break;
            }
            node = up;
        }
    }
}
