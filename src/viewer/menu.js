/*
 * menu.js: the context menu: what can be done with one frame, each with its key.
 *
 * The list of actions is one table (ACTIONS): the menu, the buttons of the panel, the keys and the
 * help all read it.
 */
import { element, find } from './dom.js';

export const ACTIONS = [
    { id: 'zoom', key: 'z', text: 'Zoom', hint: 'fill the width with this frame',
      needsNode: true },
    { id: 'focus', key: 'f', text: 'Focus', hint: 'keep only the paths through this function' },
    { id: 'hide', key: 'h', text: 'Hide', hint: 'leave out every path through this function' },
    { id: 'merge', key: 'm', text: 'Merge',
      hint: 'its instructions go to its caller, its callees move up' },
    { id: 'object', key: 'o', text: 'Merge object', hint: 'merge all functions of its object' },
    { id: 'fold', key: 'r', text: 'Fold recursion',
      hint: 'calls of it below itself become one frame' },
    { id: 'root', key: 't', text: 'Re-root', hint: 'cut off everything above it' },
    { id: 'sandwich', key: 's', text: 'Sandwich', hint: 'show it in the sandwich' },
    { id: 'source', key: 'l', text: 'Source', hint: 'show the lines of this function' },
    { id: 'search', key: 'e', text: 'Search', hint: 'mark it everywhere' },
];

export class Menu {
    constructor(run) {
        this.run = run;
        this.host = find('menu');
        this.host.addEventListener('keydown', (event) => this.pressed(event));
        document.addEventListener('pointerdown', (event) => {
            if (!this.host.contains(event.target))
                this.close(false);
        });
        window.addEventListener('blur', () => this.close(false));
    }

    get isOpen() {
        return !this.host.hidden;
    }

    open(target, x, y, hasNode, giveBack) {
        this.target = target;
        this.giveBack = giveBack;
        const actions = ACTIONS.filter((action) => hasNode || !action.needsNode);
        this.host.replaceChildren(...actions.map((action) => element('button', {
            type: 'button', role: 'menuitem', tabindex: -1, title: action.hint,
            onclick: () => this.choose(action),
        }, element('span', {}, action.text), element('kbd', {}, action.key))));
        this.host.hidden = false;
        const { offsetWidth, offsetHeight } = this.host;
        this.host.style.left = `${Math.max(4, Math.min(x, innerWidth - offsetWidth - 4))}px`;
        this.host.style.top = `${Math.max(4, Math.min(y, innerHeight - offsetHeight - 4))}px`;
        this.host.firstElementChild.focus();
    }

    close(returnFocus) {
        if (!this.isOpen)
            return;
        this.host.hidden = true;
        if (returnFocus)
            this.giveBack();
    }

    choose(action) {
        this.close(true);
        this.run(action.id, this.target);
    }

    pressed(event) {
        const items = [...this.host.children];
        const at = items.indexOf(document.activeElement);
        const move = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0,
                       End: items.length - 1 }[event.key];
        event.stopPropagation();
        if (move !== undefined) {
            event.preventDefault();
            items[move % items.length].focus();
        } else if (event.key === 'Escape' || event.key === 'Tab') {
            event.preventDefault();
            this.close(true);
        } else {
            const action = ACTIONS.find((candidate) => candidate.key === event.key);
            if (action)
                this.choose(action);
        }
    }
}
