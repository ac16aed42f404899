/*
 * views.js: the views, each with the same few functions:
 *
 *   host           its element
 *   show(state)    shows what the state says
 *   focus()        takes the keyboard
 *   chosen(state)  { fn, tree, node, graph }: what an action acts on; fn -1 when nothing is chosen
 *   placeOf(chosen)   where on the screen that is
 *   restyle()      the colours changed
 */
import { changeColour } from './colour.js';
import { fateOf, nameOfNode, speakNode } from './describe.js';
import { element } from './dom.js';
import { Graph } from './graph.js';
import { theme } from './paint.js';
import { sourceOf } from './source.js';
import { Table } from './table.js';
import { changesColumns, functionColumns, sortFunctions } from './tables.js';

const SIGNS = { new: '+ ', gone: '− ', '': '' };

/* How much of the larger of the two counts the change is: -1 all gone, 0 the same, 1 all new. */
function changeOf(now, old, node) {
    const after = now.number(node);
    const before = old.number(node);
    const larger = Math.max(after, before);
    if (larger === 0 || (now.low[node] === old.low[node] && now.high[node] === old.high[node]))
        return 0;
    return (after - before) / larger;
}

/* paint(node) for the graphs: fill, names by length, whether inlined, new or gone. */
function painter(app, tree, state) {
    const { model } = app;
    const way = app.colourOf(state);
    const palette = app.paletteOf(way);
    const useSelf = way === 'change' && state.basis === 'self' && tree.self;
    const now = useSelf ? tree.self : tree.total;
    const old = useSelf ? tree.oldSelf : tree.oldTotal;
    const wholeForms = [nameOfNode(model, tree, 0)];
    return (node) => {
        const isWhole = node === 0 && !tree.ofFunction;
        const fn = tree.frame[node] >>> 1;
        const fate = fateOf(tree, node);
        const forms = isWhole ? wholeForms : model.formsOf(fn);
        return { fill: way === 'change' ? changeColour(changeOf(now, old, node), theme.dark)
                     : isWhole ? changeColour(0, theme.dark) : palette.ofFunction(fn),
                 forms: fate ? forms.map((form) => SIGNS[fate] + form) : forms,
                 inlined: !isWhole && (tree.frame[node] & 1) === 1, fate };
    };
}

function lookOf(app, tree, state, upward, zoom, node, row) {
    const found = app.model.search(state);
    const limit = (wanted) => {
        /* An inverted tree grows until the frame that the address speaks of is there. */
        while (wanted >= tree.count && tree.inverted && !tree.complete)
            tree.growLevel();
        return wanted < tree.count ? wanted : -1;
    };
    return { upward, zoom: Math.max(limit(zoom), 0), node: node < 0 ? -1 : limit(node), row,
             matches: found && found.matches ? found.matches : null,
             paint: painter(app, tree, state) };
}

function graphHandlers(app, names, getGraph) {
    return {
        select: (node, zoom) => app.selectNode(names, node, zoom, getGraph().tree),
        zoom: (node) => app.zoomTo(names, node, getGraph().tree),
        menu: (node, x, y) => {
            app.selectNode(names, node, undefined, getGraph().tree);
            app.openMenu(x, y);
        },
        hover: (node, box, x, y) => app.hover(getGraph().tree, box, x, y),
        scroll: (row) => names.scroll && app.scrolled(row),
        describe: (node) => speakNode(app.model, getGraph().tree, node),
    };
}

const MAIN = { zoom: 'zoom', node: 'node', scroll: true };
const CALLERS = { zoom: 'callersZoom', node: 'callersNode', scroll: false };

/* The flame graph and the bottom-up graph differ in the tree they are given. */
class GraphView {
    constructor(app, label, treeOf) {
        this.app = app;
        this.treeOf = treeOf;
        this.graph = new Graph(label, graphHandlers(app, MAIN, () => this.graph));
        this.host = this.graph.host;
    }

    show(state) {
        const tree = this.treeOf(state);
        this.graph.show(tree, lookOf(this.app, tree, state, state.upward, state.zoom, state.node,
                                     state.scroll));
    }

    focus() {
        this.graph.aria.focus();
    }

    chosen(state) {
        const tree = this.treeOf(state);
        const isFrame = state.node > 0 && state.node < tree.count;
        return { fn: isFrame ? tree.frame[state.node] >>> 1 : -1, tree, names: MAIN,
                 node: state.node < tree.count ? state.node : -1, graph: this.graph };
    }

    placeOf(chosen) {
        return this.graph.placeOf(chosen.node);
    }

    graphs() {
        return [this.graph];
    }

    restyle() {
        this.graph.restyle();
    }
}

class SandwichView {
    constructor(app) {
        this.app = app;
        this.callers = new Graph('Callers', graphHandlers(app, CALLERS, () => this.callers));
        this.callees = new Graph('Callees',
                                 graphHandlers(app, { ...MAIN, scroll: false }, () => this.callees));
        this.callersTitle = element('h2', {}, 'Callers');
        this.calleesTitle = element('h2', {}, 'Callees');
        this.hint = element('p', { class: 'hint' },
            'Choose a function in another view and press s: its callers stand above it, what it ' +
            'calls below.');
        this.host = element('div', { class: 'sandwich' }, this.hint, this.callersTitle,
                            this.callers.host, this.calleesTitle, this.callees.host);
    }

    show(state) {
        const { model } = this.app;
        const isEmpty = state.fn < 0;
        this.hint.hidden = !isEmpty;
        for (const part of [this.callersTitle, this.callers.host, this.calleesTitle,
                            this.callees.host])
            part.hidden = isEmpty;
        if (isEmpty)
            return;
        const callers = model.callers(state);
        const callees = model.callees(state);
        this.callersTitle.textContent = `Callers of ${model.names[state.fn].slice(0, 200)}`;
        this.calleesTitle.textContent = `Called by ${model.names[state.fn].slice(0, 200)}`;
        this.callers.show(callers, lookOf(this.app, callers, state, true, state.callersZoom,
                                          state.callersNode, -1));
        this.callees.show(callees, lookOf(this.app, callees, state, false, state.zoom, state.node,
                                          -1));
    }

    focus() {
        (this.callers.aria.hasFocus ? this.callers : this.callees).aria.focus();
    }

    chosen(state) {
        if (state.fn < 0)
            return { fn: -1, tree: null, node: -1, graph: null };
        const isCallers = state.callersNode >= 0;
        const graph = isCallers ? this.callers : this.callees;
        const tree = isCallers ? this.app.model.callers(state) : this.app.model.callees(state);
        const wanted = isCallers ? state.callersNode : state.node;
        const node = wanted >= 0 && wanted < tree.count ? wanted : 0;
        return { fn: tree.frame[node] >>> 1, tree, node, graph,
                 names: isCallers ? CALLERS : MAIN };
    }

    placeOf(chosen) {
        return chosen.graph.placeOf(chosen.node);
    }

    graphs() {
        return [this.callers, this.callees];
    }

    restyle() {
        this.callers.restyle();
        this.callees.restyle();
    }
}

class TableView {
    constructor(app, label, columnsOf, defaultSort) {
        this.app = app;
        this.defaultSort = defaultSort;
        const sums = () => app.model.functions(app.state);
        const whole = () => app.model.tree(app.state).whole;
        this.columns = columnsOf(app.model, sums, whole);
        this.table = new Table(label, this.columns, {
            sort: (id) => app.sortBy(id, this.sortOf(app.state)),
            select: (fn) => app.selectFunction(fn),
            open: (fn) => app.act('sandwich', fn),
            menu: (fn, x, y) => {
                app.selectFunction(fn);
                app.openMenu(x, y);
            },
            scroll: (row) => app.scrolled(row),
        });
        this.host = this.table.host;
    }

    sortOf(state) {
        return this.columns.some((column) => column.id === state.sort) ? state.sort
                                                                        : this.defaultSort;
    }

    rowsOf(state) {
        const { model } = this.app;
        const sums = model.functions(state);
        const found = model.search(state);
        const key = `${this.sortOf(state)}${state.ascending}${state.query}${state.regex}`;
        return model.keep(`rows ${this.defaultSort}`, sums, () => new Map()).get(key) ??
            this.sortRows(state, sums, found, key);
    }

    sortRows(state, sums, found, key) {
        const { model } = this.app;
        let functions = sums.present;
        if (found && found.matches)
            functions = functions.filter((fn) => found.matches[fn]);
        const rows = sortFunctions(model, sums, functions, this.sortOf(state), state.ascending);
        const kept = model.keep(`rows ${this.defaultSort}`, sums, () => new Map());
        kept.clear();
        kept.set(key, rows);
        return rows;
    }

    show(state) {
        this.table.show(this.rowsOf(state), state.fn, this.sortOf(state), state.ascending,
                        state.scroll);
    }

    focus() {
        this.table.focus();
    }

    chosen(state) {
        return { fn: state.fn, tree: null, node: -1, graph: null };
    }

    placeOf(chosen) {
        return this.table.placeOf(chosen.fn);
    }

    graphs() {
        return [];
    }

    restyle() {
        this.table.draw();
    }
}

class SourceView {
    constructor(app) {
        this.app = app;
        this.host = element('div', { class: 'source' });
    }

    show(state) {
        const isPartial = state.steps.length > 0 || state.thread >= 0 || state.process >= 0 ||
            state.part >= 0;
        this.host.replaceChildren(...sourceOf(this.app.model, state.fn, isPartial));
        this.host.scrollTop = 0;
    }

    focus() {
        this.host.querySelector('[tabindex="0"]')?.focus();
    }

    chosen(state) {
        return { fn: state.fn, tree: null, node: -1, graph: null };
    }

    placeOf() {
        const place = this.host.getBoundingClientRect();
        return { x: place.left + 40, y: place.top + 40 };
    }

    graphs() {
        return [];
    }

    restyle() {}
}

export function makeViews(app) {
    const { model } = app;
    return {
        flame: { title: 'Flame graph', view: new GraphView(app, 'Flame graph, callers to callees',
                                                           (state) => model.tree(state)) },
        bottom: { title: 'Bottom-up', view: new GraphView(app, 'Bottom-up, functions to callers',
                                                          (state) => model.bottomUp(state)) },
        sandwich: { title: 'Sandwich', view: new SandwichView(app) },
        functions: { title: 'Functions', view: new TableView(app, 'Functions', functionColumns,
                                                             'self') },
        source: { title: 'Source', view: new SourceView(app) },
        ...(model.diff ? { changes: { title: 'Changes', view: new TableView(
            app, 'Functions that changed', changesColumns, 'selfChange') } } : {}),
    };
}

