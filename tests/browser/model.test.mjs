/*
 * The page's arithmetic without a page: trees, steps, inverted trees and sums, on random recordings,
 * against the plainest way to compute the same: a list of paths with BigInt counts.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Counts, formatChange, formatCount, formatRelativeChange, formatShare }
    from '../../src/viewer/counts.js';
import { searchTree, sumFunctions } from '../../src/viewer/functions.js';
import { bottomUp, callersOf } from '../../src/viewer/inverted.js';
import { shorterForms, showable } from '../../src/viewer/names.js';
import { decodeState, defaultState, encodeState } from '../../src/viewer/state.js';
import { applySteps, calleesOf } from '../../src/viewer/steps.js';
import { layOut, mergeRoots } from '../../src/viewer/tree.js';

const FUNCTIONS = 6;

function randomSource(seed) {
    let state = seed;
    return (limit) => {
        state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9 | 0;
        return ((state ^ (state >>> 13)) >>> 0) % limit;
    };
}

/* Some counts are large: sums pass 2^53, and 2^32 many times. */
function randomCount(next) {
    const value = BigInt(next(1 << 30)) * (next(3) === 0 ? 1n << 26n : 1n);
    return next(5) === 0 ? 0n : value;
}

function setCount(column, i, value) {
    column.low[i] = Number(value & 0xffffffffn);
    column.high[i] = Number(value >> 32n);
}

/* Two roots, preorder, few functions so that paths repeat; frames are unique among siblings. */
function randomRecording(seed, diff) {
    const next = randomSource(seed);
    const rows = [];
    const sizes = [];
    for (let root = 0; root < 2; root++) {
        const start = rows.length;
        rows.push({ parent: -1, frame: 0, taken: new Set() });
        let last = start;
        for (let i = 0; i < 60 + next(60); i++) {
            let parent = last;
            while (parent > start && next(3) === 0)
                parent = rows[parent].parent;
            const frame = (1 + next(FUNCTIONS)) * 2 + (next(4) === 0 ? 1 : 0);
            if (rows[parent].taken.has(frame))
                continue;
            rows[parent].taken.add(frame);
            rows.push({ parent, frame, taken: new Set() });
            last = rows.length - 1;
        }
        sizes.push(rows.length - start);
    }
    const count = rows.length;
    const column = () => {
        const made = new Counts(count);
        for (let i = 0; i < count; i++)
            setCount(made, i, randomCount(next));
        return made;
    };
    const nodes = { count, parent: Int32Array.from(rows, (row) => row.parent),
                    frame: Uint32Array.from(rows, (row) => row.frame), self: column(),
                    calls: column(), oldSelf: diff ? column() : null,
                    oldCalls: diff ? column() : null,
                    presence: diff ? new Uint8Array(count).fill(3) : null };
    return { diff, nodes, roots: { count: 2, thread: [0, 1], part: [0, 0],
                                   first: Uint32Array.of(0, sizes[0], count) },
             functions: { count: FUNCTIONS + 1, module: Uint32Array.from({ length: FUNCTIONS + 1 },
                                                                          (_, i) => i % 3) } };
}

function pathTo(tree, node) {
    const path = [];
    for (; node > 0 && tree.parent[node] >= 0; node = tree.parent[node])
        path.push(tree.frame[node]);
    return path.reverse();
}

/* [{ path, self, oldSelf, calls }] of a recording: one for each node, roots merged by nobody. */
function pathsOf(nodes) {
    return Array.from({ length: nodes.count }, (_, i) => {
        const path = [];
        for (let node = i; nodes.parent[node] >= 0; node = nodes.parent[node])
            path.push(nodes.frame[node]);
        return { path: path.reverse(), self: nodes.self.exact(i),
                 oldSelf: nodes.oldSelf ? nodes.oldSelf.exact(i) : 0n };
    });
}

function fold(entries) {
    const sums = new Map();
    for (const { path, self, oldSelf } of entries) {
        const key = path.join(';');
        const [a, b] = sums.get(key) ?? [0n, 0n];
        sums.set(key, [a + self, b + oldSelf]);
    }
    return new Map([...sums].filter(([, [a, b]]) => a || b).sort());
}

function foldTree(tree) {
    return fold(Array.from({ length: tree.count }, (_, i) => ({
        path: pathTo(tree, i), self: tree.self.exact(i),
        oldSelf: tree.oldSelf ? tree.oldSelf.exact(i) : 0n,
    })));
}

const has = (path, fn) => path.some((frame) => frame >>> 1 === fn);
const mergeOut = (isMerged) => ({ path, ...rest }) =>
    ({ path: path.filter((frame) => !isMerged(frame)), ...rest });

/* What a frame is called again below itself becomes the outer frame, everything between goes. */
function foldPath(path, folds) {
    const result = [];
    for (const frame of path) {
        const fn = frame >>> 1;
        const at = folds(fn) ? result.findIndex((other) => other >>> 1 === fn) : -1;
        if (at >= 0)
            result.length = at + 1;
        else
            result.push(frame);
    }
    return result;
}

const PLAINLY = {
    f: (paths, fn) => paths.filter(({ path }) => has(path, fn)),
    h: (paths, fn) => paths.filter(({ path }) => !has(path, fn)),
    m: (paths, fn) => paths.map(mergeOut((frame) => frame >>> 1 === fn)),
    r: (paths, fn) => paths.map(({ path, ...rest }) =>
        ({ path: foldPath(path, (other) => other === fn), ...rest })),
    t: (paths, fn) => paths.filter(({ path }) => has(path, fn)).map(({ path, ...rest }) =>
        ({ path: path.slice(path.findIndex((frame) => frame >>> 1 === fn)), ...rest })),
    o: (paths, module) => paths.map(mergeOut((frame) => (frame >>> 1) % 3 === module)),
    I: (paths) => paths.map(mergeOut((frame) => frame & 1)),
    R: (paths) => paths.map(({ path, ...rest }) => ({ path: foldPath(path, () => true), ...rest })),
};

const sum = (entries, name) => entries.reduce((total, entry) => total + entry[name], 0n);

test('every step, alone and one after another, as on a list of paths', () => {
    for (let seed = 1; seed <= 60; seed++) {
        const next = randomSource(seed * 77);
        const recording = randomRecording(seed, seed % 2 === 0);
        let tree = mergeRoots(recording, () => true);
        let paths = pathsOf(recording.nodes);
        assert.deepEqual(foldTree(tree), fold(paths), `seed ${seed}: merged`);
        for (let i = 0; i < 4; i++) {
            const kind = Object.keys(PLAINLY)[next(8)];
            const argument = kind === 'o' ? next(3) : 1 + next(FUNCTIONS);
            tree = applySteps(tree, [{ kind, argument }], recording);
            paths = PLAINLY[kind](paths, argument);
            assert.deepEqual(foldTree(tree), fold(paths), `seed ${seed}: ${kind}${argument}`);
        }
    }
});

test('one root alone is its tree', () => {
    const recording = randomRecording(5, false);
    const only = mergeRoots(recording, (root) => root === 1);
    const wanted = pathsOf(recording.nodes).slice(recording.roots.first[1]);
    assert.deepEqual(foldTree(only), fold(wanted));
});

test('layout: totals, levels, siblings by weight, ranges of x inside the parent', () => {
    for (let seed = 1; seed <= 20; seed++) {
        const recording = randomRecording(seed, seed % 2 === 0);
        const plain = mergeRoots(recording, () => true);
        const tree = layOut(plain, 'larger');
        assert.deepEqual(foldTree(tree), foldTree(plain));
        const paths = pathsOf(recording.nodes);
        for (let i = 0; i < tree.count; i++) {
            const path = pathTo(tree, i);
            const below = paths.filter((entry) => path.every((frame, k) => entry.path[k] === frame));
            assert.equal(tree.total.exact(i), sum(below, 'self'));
            if (tree.oldTotal)
                assert.equal(tree.oldTotal.exact(i), sum(below, 'oldSelf'));
            assert.equal(tree.levelOf(i), path.length);
            const [from, to] = tree.childRange(i);
            for (let child = from; child < to; child++) {
                assert.equal(tree.parent[child], i);
                if (child > from)
                    assert.ok(tree.weight[child] <= tree.weight[child - 1]);
            }
            if (to > from) {
                const end = tree.x[to - 1] + tree.weight[to - 1];
                assert.ok(end <= (tree.x[i] + tree.weight[i]) * (1 + 1e-12));
                assert.equal(tree.x[from], tree.x[i]);
            }
            assert.equal(tree.findPath(tree.pathOf(i)), i);
        }
    }
});

test('bottom-up: every path from the leaf, summed', () => {
    for (let seed = 1; seed <= 20; seed++) {
        const recording = randomRecording(seed, seed % 2 === 0);
        const tree = layOut(mergeRoots(recording, () => true), 'larger');
        const inverted = bottomUp(tree, 'larger');
        inverted.reach(1000);
        const paths = pathsOf(recording.nodes).map(({ path, ...rest }) =>
            ({ path: [...path].reverse(), ...rest }));
        for (let i = 0; i < inverted.count; i++) {
            const path = pathTo(inverted, i);
            const below = paths.filter((entry) => path.every((frame, k) => entry.path[k] === frame));
            assert.equal(inverted.total.exact(i), sum(below, 'self'));
            if (recording.diff)
                assert.equal(inverted.oldTotal.exact(i), sum(below, 'oldSelf'));
        }
        const leaves = new Set(paths.filter((entry) => entry.path.length &&
            (entry.self || entry.oldSelf)).map((entry) => entry.path[0]));
        assert.equal(inverted.levels[2] - inverted.levels[1], leaves.size);
    }
});

test('sandwich and the table: a function counts once per path', () => {
    for (let seed = 1; seed <= 20; seed++) {
        const recording = randomRecording(seed, false);
        const plain = mergeRoots(recording, () => true);
        const tree = layOut(plain, 'new');
        const sums = sumFunctions(tree, recording.functions.count);
        const paths = pathsOf(recording.nodes);
        for (let fn = 1; fn <= FUNCTIONS; fn++) {
            const total = sum(paths.filter(({ path }) => has(path, fn)), 'self');
            const own = sum(paths.filter(({ path }) => path.length && path.at(-1) >>> 1 === fn),
                            'self');
            assert.equal(sums.total.exact(fn), total);
            assert.equal(sums.self.exact(fn), own);
            assert.equal(callersOf(tree, fn, 'new').total.exact(0), total);
            assert.equal(layOut(calleesOf(plain, fn), 'new').total.exact(0), total);
            const found = searchTree(tree, Array.from({ length: FUNCTIONS + 1 }, (_, i) => `${i}`),
                                     (name) => name === `${fn}`);
            assert.equal(found.total.exact(0), total);
        }
        const two = sum(paths.filter(({ path }) => has(path, 1) || has(path, 2)), 'self');
        const found = searchTree(tree, Array.from({ length: FUNCTIONS + 1 }, (_, i) => `${i}`),
                                 (name) => name === '1' || name === '2');
        assert.equal(found.total.exact(0), two);
    }
});

test('counts carry, compare and print to the last digit', () => {
    const counts = new Counts(2);
    setCount(counts, 0, 0xffffffffffffn);
    setCount(counts, 1, 0xffffn << 48n);
    counts.add(0, counts, 1);
    assert.equal(counts.exact(0), 0xffffffffffffffffn);
    assert.equal(formatCount(counts.exact(0)), '18,446,744,073,709,551,615');
    assert.equal(formatCount(-1234567n), '−1,234,567');
    assert.equal(formatCount(999n), '999');
    assert.equal(formatChange(1000n), '+1,000');
    assert.equal(formatShare(1, 3), '33.33 %');
    assert.equal(formatShare(1, 1e9), '< 0.01 %');
    assert.equal(formatShare(0, 5), '0 %');
    assert.equal(formatRelativeChange(100n, 99n), '−1.00 %');
    assert.equal(formatRelativeChange(3n, 3n), '±0 %');
});

test('names: what cannot be seen is written out; shorter forms end in something', () => {
    assert.equal(showable('a\u202eb\u0000'), 'a⟨U+202E⟩b⟨U+0000⟩');
    assert.deepEqual(shorterForms('std::map<int, f(g)>::find(int const&) const [clone .cold]'),
                     ['std::map<int, f(g)>::find(int const&) const [clone .cold]',
                      'std::map<int, f(g)>::find(int const&) const', 'std::map<int, f>::find',
                      'std::map::find', 'find']);
    assert.deepEqual(shorterForms('py::Board.rows.<locals>.<listcomp>:/home/life.py'),
                     ['py::Board.rows.<locals>.<listcomp>:/home/life.py',
                      'py::Board.rows.<locals>.<listcomp>:life.py',
                      'Board.rows.<locals>.<listcomp>']);
    for (const odd of ['', '(', ')', '<<<', '::', 'operator<', 'py::', 'py::x', '(anonymous namespace)::f', 'a>b'])
        assert.ok(shorterForms(odd).every((form) => form !== '' || odd === ''));
});

test('the address: what is written is what is read', () => {
    const state = { ...defaultState(), view: 'bottom', steps: [{ kind: 'f', argument: 12 },
                                                               { kind: 'R', argument: 0 }],
                    query: 'a+b & c=d#%"', regex: true, zoom: 123456, node: 0, thread: 2 };
    assert.deepEqual(decodeState(`#${encodeState(state)}`), state);
    assert.equal(encodeState(defaultState()), '');
});
