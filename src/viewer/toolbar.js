/*
 * toolbar.js: everything around the views: tabs, search, choices, the trail of steps, the legend.
 */
import { changeColour, ORIGINS, originsOf } from './colour.js';
import { Counts, formatCount, formatShare } from './counts.js';
import { element, find } from './dom.js';
import { baseName, showable } from './names.js';
import { theme } from './paint.js';
import { STEPS } from './steps.js';

function choice(id, label, options, onchange) {
    const select = element('select', { id, onchange: () => onchange(select.value) },
                           ...options.map(([value, text]) => element('option', { value }, text)));
    return element('label', { class: 'choice' }, element('span', {}, label), select);
}

export class Toolbar {
    constructor(app, titles) {
        this.app = app;
        this.makeTabs(titles);
        this.makeSearch();
        this.makeChoices();
    }

    makeTabs(titles) {
        const tabs = find('tabs');
        Object.entries(titles).forEach(([id, title], index) => {
            tabs.append(element('button', {
                type: 'button', role: 'tab', id: `tab-${id}`, 'aria-controls': 'panel',
                title: `Key ${index + 1}`, onclick: () => this.app.change({ view: id }),
            }, title));
        });
        tabs.addEventListener('keydown', (event) => {
            const ids = Object.keys(titles);
            const at = ids.indexOf(this.app.state.view);
            const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + ids.length, Home: 0,
                         End: ids.length - 1 }[event.key];
            if (to === undefined)
                return;
            event.preventDefault();
            event.stopPropagation();
            this.app.change({ view: ids[to % ids.length] });
            find(`tab-${this.app.state.view}`).focus();
        });
    }

    makeSearch() {
        this.query = find('query');
        this.regex = find('regex');
        this.query.addEventListener('input', () => this.app.search(this.query.value));
        this.query.addEventListener('keydown', (event) => {
            if (event.key === 'Escape') {
                event.preventDefault();
                this.app.search('');
                this.app.focusView();
            } else if (event.key === 'Enter') {
                event.preventDefault();
                this.app.nextMatch(event.shiftKey ? -1 : 1);
            }
        });
        this.regex.addEventListener('click', () =>
            this.app.change({ regex: !this.app.state.regex }));
    }

    makeChoices() {
        const { app } = this;
        const { processes, threads, parts } = app.model.recording;
        const all = (what) => ['-1', `All ${what}`];
        const choices = find('choices');
        const number = (field) => (value) => app.chooseRoots({ [field]: Number(value) });
        if (processes.count > 1)
            choices.append(choice('process', 'Process', [all('processes'),
                ...processes.command.map((command, i) =>
                    [i, `${i + 1} ${showable(command).slice(0, 60)}`])], number('process')));
        if (threads.count > 1)
            choices.append(choice('thread', 'Thread', [all('threads'),
                ...threads.name.map((_, i) => [i, app.model.threadName(i)])], number('thread')));
        if (parts.count > 1)
            choices.append(choice('part', 'Part', [all('parts'), ...parts.name.map((name, i) =>
                [i, showable(name) || 'end of the run'])], number('part')));
        const ways = [['origin', 'Origin'], ['object', 'Object'], ['name', 'Function']];
        if (app.model.diff)
            ways.unshift(['change', 'Change']);
        choices.append(choice('colour', 'Colour', ways, (value) => app.change({ colour: value })));
        if (app.model.diff) {
            choices.append(choice('width', 'Width', [['larger', 'Larger'], ['old', 'Before'],
                                                     ['new', 'After']],
                                  (value) => app.changeTree({ width: value })));
            choices.append(choice('basis', 'Change of', [['total', 'Total'], ['self', 'Self']],
                                  (value) => app.change({ basis: value })));
        }
        this.upward = element('button', {
            type: 'button', id: 'upward', title: 'Root at the top or at the bottom (key i)',
            onclick: () => app.turn(),
        });
        choices.append(this.upward);
    }

    show(state) {
        for (const tab of find('tabs').children) {
            const isChosen = tab.id === `tab-${state.view}`;
            tab.setAttribute('aria-selected', String(isChosen));
            tab.tabIndex = isChosen ? 0 : -1;
            if (isChosen)
                tab.scrollIntoView({ block: 'nearest', inline: 'nearest' });
        }
        find('panel').setAttribute('aria-labelledby', `tab-${state.view}`);
        if (this.query.value !== state.query)
            this.query.value = state.query;
        this.regex.setAttribute('aria-pressed', String(state.regex));
        for (const name of ['process', 'thread', 'part', 'width', 'basis']) {
            const select = find(name);
            if (select)
                select.value = String(state[name]);
        }
        find('colour').value = this.app.colourOf(state);
        this.upward.textContent = state.upward ? 'Flame' : 'Icicle';
        this.upward.setAttribute('aria-label', state.upward ? 'Orientation: flame, root at the bottom'
                                                            : 'Orientation: icicle, root on top');
        this.upward.hidden = state.view !== 'flame' && state.view !== 'bottom';
        const isGraph = ['flame', 'bottom', 'sandwich'].includes(state.view);
        for (const name of ['colour', 'width', 'basis']) {
            const label = find(name)?.parentElement;
            if (label)
                label.hidden = !isGraph;
        }
        this.showSummary(state);
        this.showFound(state);
        this.showTrail(state);
        this.showLegend(state);
    }

    showSummary(state) {
        const { model } = this.app;
        const { shown, whole, oldShown } = model.totals(state);
        const parts = [];
        if (oldShown !== null)
            parts.push(`${formatCount(oldShown)} → ${formatCount(shown)} ${model.unit}`);
        else
            parts.push(`${formatCount(shown)} ${model.unit}`);
        if (shown !== whole)
            parts.push(`${formatCount(whole - shown)} left out`);
        find('summary').textContent = parts.join(', ');
    }

    showFound(state) {
        const { model } = this.app;
        const found = model.search(state);
        const output = find('found');
        this.query.setAttribute('aria-invalid', String(Boolean(found && found.error)));
        if (!found)
            output.textContent = '';
        else if (found.error)
            output.textContent = 'not a regular expression';
        else
            output.textContent = this.foundText(found, model.tree(state));
    }

    foundText(found, tree) {
        const functions = found.functions === 1 ? '1 function'
                                                : `${formatCount(found.functions)} functions`;
        if (found.functions === 0)
            return 'no match';
        if (found.oldTotal)
            return `${functions}, ${formatCount(found.oldTotal.exact(0))} → ` +
                formatCount(found.total.exact(0));
        return `${functions}, ${formatCount(found.total.exact(0))} ` +
            `(${formatShare(found.total.number(0), tree.total.number(0))})`;
    }

    stepText(step) {
        const { recording, names } = this.app.model;
        const { text, subject } = STEPS[step.kind];
        if (subject === 'function')
            return [text, names[step.argument].slice(0, 200)];
        if (subject === 'module')
            return [text, showable(baseName(recording.modules.path[step.argument]))];
        return [text, ''];
    }

    showTrail(state) {
        const trail = find('trail');
        trail.hidden = state.steps.length === 0;
        trail.replaceChildren(element('ol', {}, ...state.steps.map((step, index) => {
            const [text, subject] = this.stepText(step);
            return element('li', {}, element('span', { class: 'step' }, `${text} `,
                                             element('b', {}, subject)),
                           element('button', {
                               type: 'button', 'aria-label': `Remove step: ${text} ${subject}`,
                               title: 'Remove this step', onclick: () => this.app.removeStep(index),
                           }, '×'));
        })));
    }

    showLegend(state) {
        const legend = find('legend');
        const way = this.app.colourOf(state);
        const isGraph = ['flame', 'bottom', 'sandwich'].includes(state.view);
        legend.hidden = !isGraph;
        if (!isGraph)
            return;
        const chips = way === 'origin' ? this.originChips(state)
            : way === 'change' ? this.changeChips()
            : [element('li', {}, way === 'object' ? 'Colour: the object, the same in every page'
                                                  : 'Colour: the name, the same in every page')];
        if (this.app.hasInlined)
            chips.push(element('li', { class: 'inlined' }, 'inlined'));
        chips.push(element('li', { class: 'merged' }, 'under a pixel'));
        legend.replaceChildren(...chips);
    }

    /* Each origin with the share of instructions that its functions executed themselves. */
    originChips(state) {
        const { model } = this.app;
        const tree = model.tree(state);
        const shares = model.keep('origins', tree, () => sumOrigins(model, tree));
        return ORIGINS.flatMap((origin, i) => {
            if (shares[i] === null)
                return [];
            const chip = element('li', {}, element('i', {}), `${origin.text} `,
                                 element('b', {}, formatShare(shares[i], tree.whole)));
            chip.style.setProperty('--chip', origin[theme.dark ? 'dark' : 'light']);
            return [chip];
        });
    }

    changeChips() {
        return [[-1, 'less'], [0, 'the same'], [1, 'more']].map(([change, text]) => {
            const chip = element('li', {}, element('i', {}), text);
            chip.style.setProperty('--chip', changeColour(change, theme.dark));
            return chip;
        }).concat(element('li', {}, '+ new frame'), element('li', {}, '− vanished frame'));
    }
}

/* null for an origin that does not occur. */
function sumOrigins(model, tree) {
    const origins = originsOf(model.recording);
    const sums = new Counts(ORIGINS.length);
    const occurs = new Uint8Array(ORIGINS.length);
    for (let i = 1; i < tree.count; i++) {
        const origin = origins[tree.frame[i] >>> 1];
        occurs[origin] = 1;
        sums.add(origin, tree.self, i);
    }
    return ORIGINS.map((_, i) => (occurs[i] ? sums.number(i) : null));
}
