/*
 * steps.js: what a person does to the tree, one step after another.
 *
 * Each step is a function from a plain tree to a plain tree. Only `hide`, `focus` and `root` leave
 * instructions out (the page says how many); the others move every count to the frame that stands
 * for it, so the sum stays.
 *
 *   focus  f   keep the paths that go through f, whole
 *   hide   h   leave out every path that goes through f
 *   merge  m   f's own instructions go to its caller, its callees move up
 *   fold   r   f called again below itself becomes the outer f
 *   root   t   f becomes the top: everything above it is cut off
 *   object o   merge, for all functions of a module
 *   inlined I  merge, for all inlined frames
 *   recursion R  fold, for all functions
 */
import { TreeBuilder } from './tree.js';

function rebuild(tree, place) {
    const builder = new TreeBuilder(tree.count, tree.oldSelf !== null, tree.frame[0]);
    const target = new Int32Array(tree.count);
    builder.addSelf(0, tree, 0);
    for (let i = 1; i < tree.count; i++)
        target[i] = place(builder, i, target[tree.parent[i]]);
    return builder.finish();
}

function copyNode(builder, tree, i, node) {
    builder.addSelf(node, tree, i);
    builder.addCalls(node, tree, i);
    return node;
}

function mergeFrames(tree, isMerged) {
    return rebuild(tree, (builder, i, above) => {
        if (isMerged(tree.frame[i])) {
            builder.addSelf(above, tree, i);
            return above;
        }
        return copyNode(builder, tree, i, builder.child(above, tree.frame[i]));
    });
}

/* For each node: 1 when the path from the root to it goes through `fn`. */
function pathsThrough(tree, fn) {
    const through = new Uint8Array(tree.count);
    for (let i = 1; i < tree.count; i++)
        through[i] = through[tree.parent[i]] || (tree.frame[i] >>> 1 === fn ? 1 : 0);
    return through;
}

function focus(tree, fn) {
    const through = pathsThrough(tree, fn);
    const leads = through.slice();
    for (let i = tree.count - 1; i > 0; i--)
        leads[tree.parent[i]] |= leads[i];
    const builder = new TreeBuilder(tree.count, tree.oldSelf !== null, tree.frame[0]);
    const target = new Int32Array(tree.count);
    for (let i = 1; i < tree.count; i++) {
        if (!leads[i])
            continue;
        target[i] = builder.child(target[tree.parent[i]], tree.frame[i]);
        builder.addCalls(target[i], tree, i);
        if (through[i])
            builder.addSelf(target[i], tree, i);
    }
    return builder.finish();
}

function hide(tree, fn) {
    const through = pathsThrough(tree, fn);
    return rebuild(tree, (builder, i, above) =>
        through[i] ? -1 : copyNode(builder, tree, i, builder.child(above, tree.frame[i])));
}

/* `place` says which node stands for an outermost frame of `fn`. */
function belowFunction(tree, fn, builder, place) {
    const target = new Int32Array(tree.count).fill(-1);
    for (let i = 1; i < tree.count; i++) {
        const above = target[tree.parent[i]];
        if (above < 0 && tree.frame[i] >>> 1 !== fn)
            continue;
        target[i] = above < 0 ? place(tree.frame[i]) : builder.child(above, tree.frame[i]);
        copyNode(builder, tree, i, target[i]);
    }
    return builder.finish();
}

function rootAt(tree, fn) {
    const builder = new TreeBuilder(tree.count, tree.oldSelf !== null, tree.frame[0]);
    return belowFunction(tree, fn, builder, (frame) => builder.child(0, frame));
}

/* The same with `fn` itself as node 0, called or inlined: the lower half of the sandwich. */
export function calleesOf(tree, fn) {
    const builder = new TreeBuilder(tree.count, tree.oldSelf !== null, fn * 2);
    return belowFunction(tree, fn, builder, () => 0);
}

function foldFunction(tree, fn) {
    const outer = new Int32Array(tree.count).fill(-1);
    return rebuild(tree, (builder, i, above) => {
        const inside = outer[tree.parent[i]];
        outer[i] = inside;
        if (tree.frame[i] >>> 1 !== fn)
            return copyNode(builder, tree, i, builder.child(above, tree.frame[i]));
        if (inside >= 0)
            return copyNode(builder, tree, i, inside);
        outer[i] = builder.child(above, tree.frame[i]);
        return copyNode(builder, tree, i, outer[i]);
    });
}

/*
 * All functions at once, as `--fold-recursion` does. While the tree is walked, `path` holds the new
 * nodes from the root to here; a function that is on it already takes us back to its node, and the
 * path is shorter for as long as we are below. at[fn] is where on the path fn stands, plus one,
 * believed only if the path agrees; what a step overwrote is put back on leaving.
 *
 *     tree  a b a c     path after each step:  [a]  [a b]  [a]  [a c]
 */
class RecursionFolder {
    constructor(tree) {
        this.tree = tree;
        this.builder = new TreeBuilder(tree.count, tree.oldSelf !== null, tree.frame[0]);
        const functions = tree.frame.reduce((a, b) => Math.max(a, b), 0) + 2;
        this.path = new Int32Array(functions + 1);
        this.at = new Int32Array(functions);
        this.length = 1; /* the root */
        this.lengthBefore = new Int32Array(tree.count);
        this.overwritten = new Int32Array(tree.count);
        this.placeBefore = new Int32Array(tree.count);
    }

    enter(node) {
        const { tree, builder, path, at } = this;
        const fn = tree.frame[node] >>> 1;
        const place = at[fn];
        this.lengthBefore[node] = this.length;
        this.placeBefore[node] = place;
        if (place > 0 && place <= this.length &&
            builder.columns.frame[path[place - 1]] >>> 1 === fn) {
            this.length = place;
            this.overwritten[node] = path[place - 1];
        } else {
            this.overwritten[node] = path[this.length];
            path[this.length] = builder.child(path[this.length - 1], tree.frame[node]);
            at[fn] = ++this.length;
        }
        copyNode(builder, tree, node, path[this.length - 1]);
    }

    leave(node) {
        this.path[this.length - 1] = this.overwritten[node];
        this.at[this.tree.frame[node] >>> 1] = this.placeBefore[node];
        this.length = this.lengthBefore[node];
    }
}

function foldAll(tree) {
    const nextSibling = new Int32Array(tree.count).fill(-1);
    const firstChild = new Int32Array(tree.count).fill(-1);
    for (let i = tree.count - 1; i > 0; i--) {
        nextSibling[i] = firstChild[tree.parent[i]];
        firstChild[tree.parent[i]] = i;
    }
    const folder = new RecursionFolder(tree);
    folder.builder.addSelf(0, tree, 0);
    let node = firstChild[0];
    while (node > 0) {
        folder.enter(node);
        if (firstChild[node] > 0) {
            node = firstChild[node];
            continue;
        }
        for (; node > 0; node = tree.parent[node]) {
            folder.leave(node);
            if (nextSibling[node] > 0) {
                node = nextSibling[node];
                break;
            }
        }
    }
    return folder.builder.finish();
}

/* `subject` says what the argument is a number of; `text` is what the trail shows. */
export const STEPS = {
    f: { text: 'Focus', subject: 'function', apply: focus },
    h: { text: 'Hide', subject: 'function', apply: hide },
    m: { text: 'Merge', subject: 'function',
         apply: (tree, fn) => mergeFrames(tree, (frame) => frame >>> 1 === fn) },
    r: { text: 'Fold', subject: 'function', apply: foldFunction },
    t: { text: 'Root', subject: 'function', apply: rootAt },
    o: { text: 'Merge object', subject: 'module',
         apply: (tree, module, recording) => mergeFrames(
             tree, (frame) => recording.functions.module[frame >>> 1] === module) },
    I: { text: 'Merge inlined frames', subject: null,
         apply: (tree) => mergeFrames(tree, (frame) => (frame & 1) === 1) },
    R: { text: 'Fold all recursion', subject: null, apply: foldAll },
};

export function applySteps(tree, steps, recording) {
    for (const step of steps)
        tree = STEPS[step.kind].apply(tree, step.argument, recording);
    return tree;
}
