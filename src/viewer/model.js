/*
 * model.js: from the recording and the state to what the views show.
 *
 *   recording ── chosen roots ──> merged ── steps ──> plain ── layout ──> tree
 *                                                       │                  ├─> functions, search
 *                                                       └─> callees        └─> bottom-up, callers
 *
 * Each result is kept until a state asks for another one, so moving between views is free.
 */
import { Counts } from './counts.js';
import { bottomUp, callersOf } from './inverted.js';
import { compileSearch, searchTree, sumFunctions } from './functions.js';
import { applySteps, calleesOf } from './steps.js';
import { layOut, mergeRoots } from './tree.js';
import { baseName, shorterForms, showable } from './names.js';

export class Model {
    constructor(recording) {
        this.recording = recording;
        this.diff = recording.diff;
        this.kept = new Map();
        this.names = recording.functions.name.map(showable);
        this.forms = new Array(this.names.length);
        this.unit = recording.meta.get('unit') || 'instructions';
        this.title = showable(recording.meta.get('title') || 'recording');
    }

    keep(kind, key, make) {
        const kept = this.kept.get(kind);
        if (kept && kept.key === key)
            return kept.value;
        const value = make();
        this.kept.set(kind, { key, value });
        return value;
    }

    /* Brings a state that came from an address into the ranges of this recording. */
    checkState(state) {
        const { processes, threads, parts, functions, modules } = this.recording;
        const within = (name, count) => {
            if (state[name] >= count)
                state[name] = -1;
        };
        within('process', processes.count);
        within('thread', threads.count);
        within('part', parts.count);
        within('fn', functions.count);
        state.steps = state.steps.filter((step) => {
            const count = step.kind === 'o' ? modules.count : functions.count;
            return step.argument >= 0 && step.argument < Math.max(count, 1);
        });
        if (!this.diff && (state.view === 'changes' || state.colour === 'change')) {
            state.view = state.view === 'changes' ? 'functions' : state.view;
            state.colour = '';
        }
        return state;
    }

    rootIsChosen(state, root) {
        const { roots, threads } = this.recording;
        const thread = roots.thread[root];
        return (state.part < 0 || roots.part[root] === state.part) &&
            (state.thread < 0 || thread === state.thread) &&
            (state.process < 0 || threads.process[thread] === state.process);
    }

    plain(state) {
        const where = `${state.process}/${state.thread}/${state.part}`;
        const merged = this.keep('merged', where, () =>
            mergeRoots(this.recording, (root) => this.rootIsChosen(state, root)));
        const key = where + JSON.stringify(state.steps);
        return this.keep('plain', key, () => ({
            key, tree: applySteps(merged, state.steps, this.recording), whole: sumSelf(merged),
        }));
    }

    tree(state) {
        const { key, tree } = this.plain(state);
        return this.keep('tree', key + state.width, () => layOut(tree, state.width));
    }

    bottomUp(state) {
        const tree = this.tree(state);
        return this.keep('bottom', tree, () => bottomUp(tree, state.width));
    }

    callers(state) {
        const tree = this.tree(state);
        const kept = this.keep('callers', tree, () => new Map());
        if (!kept.has(state.fn))
            kept.set(state.fn, halfOf(tree, callersOf(tree, state.fn, state.width)));
        return kept.get(state.fn);
    }

    callees(state) {
        const { key, tree } = this.plain(state);
        const forward = this.tree(state);
        return this.keep('callees', `${key}${state.width}/${state.fn}`, () =>
            halfOf(forward, layOut(calleesOf(tree, state.fn), state.width)));
    }

    functions(state) {
        const tree = this.tree(state);
        return this.keep('functions', tree, () =>
            sumFunctions(tree, this.recording.functions.count));
    }

    /* null: nothing asked; { error }: not a regular expression; else what searchTree found. */
    search(state) {
        const tree = this.tree(state);
        const kept = this.keep('searches', tree, () => new Map());
        const key = `${state.regex}${state.query}`;
        if (kept.size > 20)
            kept.clear();
        if (!kept.has(key))
            kept.set(key, this.runSearch(tree, state));
        return kept.get(key);
    }

    runSearch(tree, state) {
        let test;
        try {
            test = compileSearch(state.query, state.regex);
        } catch (problem) {
            return { error: problem.message };
        }
        return test && searchTree(tree, this.recording.functions.name, test);
    }

    /* The whole that shares are shares of, and what the steps left out of it. */
    totals(state) {
        const tree = this.tree(state);
        const { whole } = this.plain(state);
        return { shown: tree.total.exact(0), whole: whole.self,
                 oldShown: tree.oldTotal ? tree.oldTotal.exact(0) : null, oldWhole: whole.oldSelf };
    }

    formsOf(fn) {
        return this.forms[fn] ??= shorterForms(this.names[fn]);
    }

    moduleName(fn) {
        const { functions, modules } = this.recording;
        return showable(baseName(modules.path[functions.module[fn]] ?? ''));
    }

    threadName(thread) {
        const { threads, processes } = this.recording;
        const name = showable(threads.name[thread]);
        const process = processes.count > 1 ? `${threads.process[thread] + 1}/` : '';
        return `${process}${threads.ordinal[thread]}${name ? ` ${name}` : ''}`;
    }
}

function halfOf(forward, half) {
    half.ofFunction = true;
    half.whole = forward.whole;
    return half;
}

function sumSelf(tree) {
    const sum = new Counts(2);
    for (let i = 0; i < tree.count; i++) {
        sum.add(0, tree.self, i);
        if (tree.oldSelf)
            sum.add(1, tree.oldSelf, i);
    }
    return { self: sum.exact(0), oldSelf: sum.exact(1) };
}
