/*
 * app.js: the page's one state and everything that changes it.
 *
 * `change` is the only way: a new state is written to the address and shown. Going back or forward,
 * and a link that somebody sent, come in by the address and take the same way. Keys act on what is
 * chosen in the view; each is a row of KEYS, which the help lists.
 */
import { Palette } from './colour.js';
import { Details, Tooltip } from './details.js';
import { element, find, isTyping } from './dom.js';
import { ACTIONS, Menu } from './menu.js';
import { Model } from './model.js';
import { showable } from './names.js';
import { theme } from './paint.js';
import { decodeState, encodeState } from './state.js';
import { Toolbar } from './toolbar.js';
import { makeViews } from './views.js';

const NOWHERE = { zoom: 0, node: -1, callersZoom: 0, callersNode: -1, scroll: -1 };
const STEP_OF = { focus: 'f', hide: 'h', merge: 'm', fold: 'r', root: 't' };
const WAYS = ['origin', 'object', 'name'];
const ADDRESS_DELAY_MS = 200; /* browsers refuse many changes of address in a row */

const KEYS = [
    { keys: ['/'], text: 'Search', run: (app) => app.focusSearch() },
    { keys: ['n'], text: 'Next match', run: (app) => app.nextMatch(1) },
    { keys: ['N', 'p'], text: 'Previous match', run: (app) => app.nextMatch(-1) },
    { keys: ['Enter', '+'], text: 'Zoom to the selected frame',
      run: (app) => app.act('zoom') },
    { keys: ['Backspace', '-'], text: 'Zoom out by one frame', run: (app) => app.zoomOut() },
    { keys: ['0'], text: 'Zoom out completely', run: (app) => app.zoomOutAll() },
    { keys: ['u'], text: 'Remove the last step',
      run: (app) => app.removeStep(app.state.steps.length - 1) },
    { keys: ['R'], text: 'Fold all recursion', run: (app) => app.addStep('R', 0) },
    { keys: ['I'], text: 'Merge all inlined frames', run: (app) => app.addStep('I', 0) },
    { keys: ['i'], text: 'Root at the top or at the bottom', run: (app) => app.turn() },
    { keys: ['c'], text: 'Colour by origin, object, function', run: (app) => app.nextColour() },
    { keys: ['Escape'], text: 'Clear the search', run: (app) => app.search('') },
    { keys: ['?'], text: 'These keys', run: () => find('help-dialog').showModal() },
];

export class App {
    constructor(recording) {
        this.model = new Model(recording);
        this.hasInlined = recording.nodes.frame.some((frame) => (frame & 1) === 1);
        theme.read();
        this.addressTimer = 0; /* 0: the address says what is seen */
        this.state = this.readAddress();
        this.views = makeViews(this);
        this.details = new Details(this.model, (id) => this.act(id));
        this.tooltip = new Tooltip(this.model);
        this.menu = new Menu((id) => this.act(id));
        const titles = Object.fromEntries(Object.entries(this.views)
            .map(([id, { title }]) => [id, title]));
        this.toolbar = new Toolbar(this, titles);
        this.fillHeader();
        this.fillDialogs();
        this.listen();
        this.show();
    }

    get view() {
        return this.views[this.state.view].view;
    }

    readAddress() {
        return this.model.checkState(decodeState(location.hash));
    }

    colourOf(state) {
        return state.colour || (this.model.diff ? 'change' : 'origin');
    }

    paletteOf(way) {
        return this.model.keep('palette', `${way}${theme.dark}`, () =>
            new Palette(this.model.recording, way, theme.dark));
    }

    /* Every change of what is seen. `replace`: not a step one would go back over. */
    change(changes, replace = false) {
        const before = this.state;
        this.state = { ...before, ...changes };
        if (changes.view !== undefined && changes.view !== before.view)
            Object.assign(this.state, NOWHERE, changes);
        this.writeAddress(replace);
        this.show();
    }

    writeAddress(replace) {
        if (!replace)
            this.flushAddress();
        this.forgetAddress();
        const fragment = encodeState(this.state);
        const address = fragment === '' ? location.pathname + location.search : `#${fragment}`;
        if (`#${fragment}` === (location.hash || '#'))
            return;
        if (!replace) {
            history.pushState(null, '', address);
            return;
        }
        this.waitingAddress = address;
        this.addressTimer = setTimeout(() => this.flushAddress(), ADDRESS_DELAY_MS);
    }

    /* What was selected and scrolled belongs to the entry one is about to leave. */
    flushAddress() {
        if (this.addressTimer !== 0)
            history.replaceState(null, '', this.waitingAddress);
        this.forgetAddress();
    }

    forgetAddress() {
        clearTimeout(this.addressTimer);
        this.addressTimer = 0;
    }

    show() {
        const { state, view } = this;
        const panel = find('panel');
        this.tooltip.hide();
        if (panel.firstElementChild !== view.host)
            panel.replaceChildren(view.host);
        /* What is around the view first: it decides how much room the view has. */
        this.toolbar.show(state);
        this.showDetails();
        view.show(state);
    }

    showDetails() {
        const { state, model } = this;
        const { tree, node, fn } = this.view.chosen(state);
        if (tree && node >= 0)
            this.details.showNode(tree, node);
        else if (fn >= 0)
            this.details.showFunction(model.functions(state), fn, model.tree(state).whole);
        else
            this.details.showNothing();
    }

    fillHeader() {
        document.title = `${this.model.title} · trueflame`;
        find('title').textContent = this.model.title;
    }

    fillDialogs() {
        const row = (keys, text) => element('tr', {}, element('td', {}, ...keys.flatMap((key) =>
            [element('kbd', {}, key), ' '])), element('td', {}, text));
        const last = Object.keys(this.views).length;
        find('help-keys').replaceChildren(
            row(['1', `${last}`], 'Views, in the order of the tabs'),
            row(['←', '→', '↑', '↓'], 'Move to siblings, caller and widest callee'),
            row(['Home', 'End'], 'First and last sibling'),
            row(['Shift+F10'], 'Menu of the selected frame'),
            ...ACTIONS.map((action) => row([action.key], `${action.text}: ${action.hint}`)),
            ...KEYS.map(({ keys, text }) => row(keys, text)));
        const { meta, modules } = this.model.recording;
        const facts = [...meta].filter(([key]) => key !== 'title' && key !== 'unit');
        for (let i = 0; i < modules.count; i++) {
            if (modules.path[i])
                facts.push(['object', [modules.path[i], modules.note[i]].filter(Boolean)
                    .join(': ')]);
        }
        find('about-facts').replaceChildren(...facts.flatMap(([key, value]) =>
            [element('dt', {}, showable(key)), element('dd', {}, showable(value))]));
        for (const name of ['help', 'about']) {
            find(`${name}-button`).addEventListener('click', () =>
                find(`${name}-dialog`).showModal());
            find(`${name}-close`).addEventListener('click', () => find(`${name}-dialog`).close());
        }
    }

    listen() {
        window.addEventListener('popstate', () => this.arrive());
        window.addEventListener('hashchange', () => this.arrive());
        document.addEventListener('keydown', (event) => this.pressed(event));
        for (const query of ['(prefers-color-scheme: dark)', 'print'])
            matchMedia(query).addEventListener('change', () => this.restyle());
        window.addEventListener('beforeprint', () => this.restyle());
        window.addEventListener('afterprint', () => this.restyle());
    }

    /* The address changed by itself: back, forward, or typed. */
    arrive() {
        if (`#${encodeState(this.state)}` === (location.hash || '#'))
            return;
        this.forgetAddress();
        this.state = this.readAddress();
        this.show();
        for (const graph of this.view.graphs())
            graph.rewind();
    }

    restyle() {
        theme.read();
        const isPrinting = matchMedia('print').matches;
        for (const graph of this.view.graphs())
            graph.host.style.height = isPrinting ? `${Math.min(graph.rowCount, 45) * 20}px` : '';
        this.show();
        this.view.restyle();
    }

    pressed(event) {
        if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) ||
            document.querySelector('dialog[open]') || event.defaultPrevented)
            return;
        const isButton = event.target instanceof HTMLButtonElement;
        if (isButton && (event.key === 'Enter' || event.key === ' '))
            return;
        const views = Object.keys(this.views);
        const action = event.shiftKey ? undefined
            : ACTIONS.find((candidate) => candidate.key === event.key);
        const key = KEYS.find((candidate) => candidate.keys.includes(event.key));
        if (/^[1-9]$/.test(event.key) && views[event.key - 1])
            this.change({ view: views[event.key - 1] });
        else if (event.key === 'ContextMenu' || (event.key === 'F10' && event.shiftKey))
            this.openMenuAtChosen();
        else if (event.key.startsWith('Arrow') && event.target === document.body)
            this.view.focus();
        else if (action)
            this.act(action.id);
        else if (key)
            key.run(this);
        else
            return;
        event.preventDefault();
    }

    focusView() {
        this.view.focus();
    }

    focusSearch() {
        this.toolbar.query.focus();
        this.toolbar.query.select();
    }

    /* names: which fields of the state the graph's zoom and selection are. */
    selectNode(names, node, zoom, tree) {
        const changes = this.selectionOf(names, node, tree);
        if (zoom === undefined || zoom === this.state[names.zoom])
            this.change(changes, true);
        else
            this.change({ ...changes, [names.zoom]: zoom });
    }

    selectionOf(names, node, tree) {
        const changes = { node: -1, callersNode: -1, [names.node]: node };
        if (this.state.view !== 'sandwich' && node > 0)
            changes.fn = tree.frame[node] >>> 1;
        return changes;
    }

    zoomTo(names, node, tree) {
        const changes = this.selectionOf(names, node, tree);
        this.change({ ...changes, [names.zoom]: node }, this.state[names.zoom] === node);
    }

    zoomOut() {
        const { tree, names, graph } = this.view.chosen(this.state);
        if (!graph)
            return;
        const zoom = this.state[names.zoom];
        if (zoom > 0)
            this.change({ [names.zoom]: tree.parent[zoom] });
    }

    zoomOutAll() {
        if (this.state.zoom > 0 || this.state.callersZoom > 0)
            this.change({ zoom: 0, callersZoom: 0 });
    }

    selectFunction(fn) {
        this.change({ fn }, true);
    }

    hover(tree, box, x, y) {
        if (box)
            this.tooltip.show(tree, box, x, y);
        else
            this.tooltip.hide();
    }

    scrolled(row) {
        if (row === Math.max(this.state.scroll, 0))
            return;
        this.state = { ...this.state, scroll: row };
        this.writeAddress(true);
    }

    search(query) {
        this.change({ query }, true);
    }

    /* Selects the next frame that matches, in the order of the drawing. */
    nextMatch(direction) {
        const found = this.model.search(this.state);
        const { tree, graph, names } = this.view.chosen(this.state);
        if (!found || !found.functions || !graph)
            return;
        const isMatch = (i) => (i > 0 || tree.ofFunction) && found.matches[tree.frame[i] >>> 1];
        const count = tree.count;
        const start = Math.max(this.state[names.node], 0);
        for (let step = 1; step <= count; step++) {
            const i = (start + direction * step + count * 2) % count;
            if (isMatch(i)) {
                graph.moveTo(i);
                return;
            }
        }
    }

    sortBy(id, current) {
        const isSame = id === current;
        const isText = id === 'name' || id === 'module';
        const ascending = isSame ? !this.state.ascending : isText;
        this.change({ sort: id, ascending, scroll: -1 });
    }

    turn() {
        this.change({ upward: !this.state.upward, scroll: -1 });
    }

    nextColour() {
        const ways = this.model.diff ? ['change', ...WAYS] : WAYS;
        const at = ways.indexOf(this.colourOf(this.state));
        this.change({ colour: ways[(at + 1) % ways.length] });
    }

    /* Changes of the tree itself: zoom and selection go to the same path where it still is. */
    changeTree(changes) {
        const before = this.state;
        const after = { ...before, ...changes };
        const moved = { ...NOWHERE };
        if (before.view === 'flame') {
            const old = this.model.tree(before);
            const zoomPath = old.pathOf(Math.min(before.zoom, old.count - 1));
            const nodePath = before.node < 0 ? null : old.pathOf(Math.min(before.node,
                                                                         old.count - 1));
            const tree = this.model.tree(after);
            moved.zoom = tree.findPath(zoomPath);
            moved.node = nodePath ? tree.findPath(nodePath) : -1;
        }
        this.change({ ...changes, ...moved });
    }

    chooseRoots(changes) {
        this.changeTree(changes);
    }

    addStep(kind, argument) {
        this.changeTree({ steps: [...this.state.steps, { kind, argument }] });
    }

    removeStep(index) {
        if (index >= 0)
            this.changeTree({ steps: this.state.steps.filter((_, i) => i !== index) });
    }

    openMenu(x, y) {
        const chosen = this.view.chosen(this.state);
        if (chosen.fn >= 0)
            this.menu.open(chosen.fn, x, y, chosen.graph !== null, () => this.focusView());
    }

    openMenuAtChosen() {
        const chosen = this.view.chosen(this.state);
        if (chosen.fn < 0)
            return;
        const { x, y } = this.view.placeOf(chosen);
        this.openMenu(x, y);
    }

    /* One of ACTIONS, on what is chosen or on the function given. */
    act(id, given) {
        const chosen = this.view.chosen(this.state);
        const fn = given ?? chosen.fn;
        if (id === 'zoom') {
            if (chosen.graph && chosen.node >= 0)
                this.zoomTo(chosen.names, chosen.node, chosen.tree);
            return;
        }
        if (fn < 0)
            return;
        if (id === 'sandwich')
            this.change({ ...NOWHERE, view: 'sandwich', fn });
        else if (id === 'source')
            this.change({ view: 'source', fn });
        else if (id === 'search')
            this.change({ query: this.model.recording.functions.name[fn], regex: false });
        else if (id === 'object')
            this.addStep('o', this.model.recording.functions.module[fn]);
        else
            this.addStep(STEP_OF[id], fn);
    }
}
