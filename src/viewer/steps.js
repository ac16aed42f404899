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

/* All functions at once: while walking, open[fn] is the frame of fn that is on the path. */
function foldAll(tree) {
    const builder = new TreeBuilder(tree.count, tree.oldSelf !== null, tree.frame[0]);
    const nextSibling = new Int32Array(tree.count).fill(-1);
    const firstChild = new Int32Array(tree.count).fill(-1);
    for (let i = tree.count - 1; i > 0; i--) {
        nextSibling[i] = firstChild[tree.parent[i]];
        firstChild[tree.parent[i]] = i;
    }
    const open = new Map();
    const opened = new Uint8Array(tree.count);
    const target = new Int32Array(tree.count);
    builder.addSelf(0, tree, 0);
    let i = firstChild[0];
    while (i > 0) {
        const fn = tree.frame[i] >>> 1;
        if (open.has(fn)) {
            target[i] = open.get(fn);
        } else {
            target[i] = builder.child(target[tree.parent[i]], tree.frame[i]);
            open.set(fn, target[i]);
            opened[i] = 1;
        }
        copyNode(builder, tree, i, target[i]);
        if (firstChild[i] > 0) {
            i = firstChild[i];
            continue;
        }
        for (;;) {
            if (opened[i])
                open.delete(tree.frame[i] >>> 1);
            if (nextSibling[i] > 0 || tree.parent[i] === 0)
                break;
            i = tree.parent[i];
        }
        i = nextSibling[i];
    }
    return builder.finish();
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
