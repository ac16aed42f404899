/*
 * inverted.js: the tree read from the leaves: a function, its callers, their callers.
 *
 * Inverting a whole tree makes as many nodes as all paths are long together, which for a deep
 * recursion is the square of its depth. So levels are made when they are asked for (`reach`), one
 * after the other, which also keeps a node's index the same however far one has looked.
 *
 * An item is a node of the forward tree whose cost is being followed upwards; `cursor` is where on
 * its path it has arrived. A node of the inverted tree owns a run of items; its children are those
 * items grouped by the caller they arrive at. An item that arrives at the root is done, and so are
 * the items of a node too small to be seen.
 */
import { Counts } from './counts.js';
import { LaidOutTree } from './tree.js';

const FIRST_CAPACITY = 1024;

/* A frame with less than this part of the whole is not followed to its callers: it would be
 * narrower than a hundredth of a pixel. The sandwich of its function follows it. */
const SMALLEST_PART = 1 / 100000;

function grown(column, size) {
    if (size <= column.length)
        return column;
    const larger = new column.constructor(Math.max(size, column.length * 2));
    larger.set(column);
    return larger;
}

function growCounts(counts, size) {
    if (!counts)
        return;
    counts.low = grown(counts.low, size);
    counts.high = grown(counts.high, size);
}

export class InvertedTree extends LaidOutTree {
    /*
     * tree   the laid-out forward tree
     * items  its nodes to follow (Uint32Array); value: how wide each is drawn (Float64Array)
     * costs  { total, oldTotal }: the columns of `tree` that are summed
     * top    null: level 0 is the whole, level 1 the items' functions (bottom-up);
     *        a frame: level 0 is that function, level 1 its callers (sandwich)
     */
    constructor(tree, items, value, costs, top) {
        const diff = Boolean(costs.oldTotal);
        const counts = (wanted) => (wanted ? new Counts(FIRST_CAPACITY) : null);
        super({ count: 0, levels: [0], parent: new Int32Array(FIRST_CAPACITY),
                first: new Uint32Array(FIRST_CAPACITY), frame: new Uint32Array(FIRST_CAPACITY),
                weight: new Float64Array(FIRST_CAPACITY), x: new Float64Array(FIRST_CAPACITY),
                total: counts(true), calls: counts(true), oldTotal: counts(diff),
                oldCalls: counts(diff), self: null, oldSelf: null, presence: null });
        this.inverted = true;
        this.whole = tree.whole;
        this.tree = tree;
        this.costs = costs;
        this.items = items;
        this.value = value;
        this.cursor = top === null ? null : items.slice();
        this.itemStart = [0];
        this.groupOf = new Int32Array(tree.frame.reduce((a, b) => Math.max(a, b), 0) + 1).fill(-1);
        this.complete = false;
        this.addNode(-1, top === null ? tree.frame[0] : top);
        this.levels.push(1);
        this.itemStart.push(items.length);
        this.sumItems(0, 0, items.length);
    }

    /* Room for `more` nodes. */
    makeRoom(more) {
        const size = this.count + more;
        for (const name of ['parent', 'frame', 'weight', 'x'])
            this[name] = grown(this[name], size);
        this.first = grown(this.first, size + 1);
        for (const column of [this.total, this.calls, this.oldTotal, this.oldCalls])
            growCounts(column, size);
    }

    addNode(parent, frame) {
        this.parent[this.count] = parent;
        this.frame[this.count] = frame;
        return this.count++;
    }

    sumItems(node, from, to) {
        const { tree, costs, items, value } = this;
        let weight = 0;
        for (let k = from; k < to; k++) {
            weight += value[k];
            this.total.add(node, costs.total, items[k]);
            this.calls.add(node, tree.calls, items[k]);
            if (this.oldTotal) {
                this.oldTotal.add(node, costs.oldTotal, items[k]);
                this.oldCalls.add(node, tree.oldCalls, items[k]);
            }
        }
        this.weight[node] = weight;
    }

    isTooSmall(node) {
        return this.weight[node] < this.weight[0] * SMALLEST_PART;
    }

    /* Makes levels until `depth` exists or time is up; says whether it exists. */
    reach(depth, deadline = Infinity) {
        while (depth >= this.depth && !this.complete && performance.now() < deadline)
            this.growLevel();
        return depth < this.depth;
    }

    growLevel() {
        const from = this.levels[this.depth - 1];
        const to = this.levels[this.depth];
        const next = { items: new Uint32Array(this.items.length), start: [0], count: 0,
                       value: new Float64Array(this.items.length),
                       cursor: new Uint32Array(this.items.length) };
        this.makeRoom(this.items.length);
        for (let node = from; node < to; node++) {
            this.first[node] = this.count;
            this.growNode(node, this.itemStart[node - from], this.itemStart[node - from + 1], next);
        }
        this.first[to] = this.count;
        this.items = next.items.subarray(0, next.count);
        this.value = next.value.subarray(0, next.count);
        this.cursor = next.cursor.subarray(0, next.count);
        this.itemStart = next.start;
        if (this.count === to) {
            this.complete = true;
            return;
        }
        this.levels.push(this.count);
        for (let node = to; node < this.count; node++) {
            this.sumItems(node, this.itemStart[node - to], this.itemStart[node - to + 1]);
            const above = this.parent[node];
            this.x[node] = above === this.parent[node - 1] && node > to
                ? this.x[node - 1] + this.weight[node - 1] : this.x[above];
        }
        this.first[this.count] = this.count;
    }

    /* Where item k arrives next; 0 or less when its path is at an end. */
    above(k) {
        return this.cursor ? this.tree.parent[this.cursor[k]] : this.items[k];
    }

    moveItem(k, above, next, at) {
        next.items[at] = this.items[k];
        next.value[at] = this.value[k];
        next.cursor[at] = above;
    }

    /* Groups the items of `node` by caller; the groups become its children, heaviest first. */
    growNode(node, from, to, next) {
        if (this.isTooSmall(node))
            return;
        if (to - from === 1) {
            this.growSingle(node, from, next);
            return;
        }
        const { tree, value, groupOf } = this;
        const groups = [];
        for (let k = from; k < to; k++) {
            const above = this.above(k);
            if (above <= 0)
                continue;
            const frame = tree.frame[above];
            if (groupOf[frame] < 0) {
                groupOf[frame] = groups.length;
                groups.push({ frame, weight: 0, size: 0, at: 0 });
            }
            const group = groups[groupOf[frame]];
            group.weight += value[k];
            group.size++;
        }
        const placed = groups.length < 2 ? groups
            : groups.slice().sort((a, b) => b.weight - a.weight || a.frame - b.frame);
        for (const group of placed) {
            this.addNode(node, group.frame);
            group.at = next.count;
            next.count += group.size;
            next.start.push(next.count);
        }
        for (let k = from; k < to; k++) {
            const above = this.above(k);
            if (above > 0)
                this.moveItem(k, above, next, groups[groupOf[tree.frame[above]]].at++);
        }
        for (const group of groups)
            groupOf[group.frame] = -1;
    }

    /* Most nodes far from the leaves have one item: no groups to make. */
    growSingle(node, k, next) {
        const above = this.above(k);
        if (above <= 0)
            return;
        this.addNode(node, this.tree.frame[above]);
        this.moveItem(k, above, next, next.count);
        next.start.push(++next.count);
    }

    childRange(node) {
        this.reach(this.levelOf(node) + 1);
        return super.childRange(node);
    }
}

function followed(nodes, width, total, oldTotal) {
    const items = Uint32Array.from(nodes);
    const value = Float64Array.from(items, (i) => {
        if (!oldTotal || width === 'new')
            return total.number(i);
        if (width === 'old')
            return oldTotal.number(i);
        return Math.max(total.number(i), oldTotal.number(i));
    });
    return { items, value };
}

/* Every instruction under the function that executed it, then its callers. */
export function bottomUp(tree, width) {
    const nodes = [];
    for (let i = 0; i < tree.count; i++) {
        if (!tree.self.isZero(i) || (tree.oldSelf && !tree.oldSelf.isZero(i)))
            nodes.push(i);
    }
    const { items, value } = followed(nodes, width, tree.self, tree.oldSelf);
    return new InvertedTree(tree, items, value, { total: tree.self, oldTotal: tree.oldSelf }, null);
}

/* The nodes of `fn` that no other node of `fn` is above: each path counts once. */
function outermost(tree, fn) {
    const inside = new Uint8Array(tree.count);
    const nodes = [];
    for (let i = 1; i < tree.count; i++) {
        const covered = inside[tree.parent[i]];
        const matches = tree.frame[i] >>> 1 === fn;
        inside[i] = covered || matches ? 1 : 0;
        if (matches && !covered)
            nodes.push(i);
    }
    return nodes;
}

export function callersOf(tree, fn, width) {
    const nodes = outermost(tree, fn);
    const { items, value } = followed(nodes, width, tree.total, tree.oldTotal);
    const costs = { total: tree.total, oldTotal: tree.oldTotal };
    return new InvertedTree(tree, items, value, costs, fn * 2);
}
