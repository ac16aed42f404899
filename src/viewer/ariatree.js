/*
 * ariatree.js: the part of a graph that has the focus and that a screen reader reads.
 *
 * A canvas says nothing. This tree, not visible itself, holds the selected frame with its parent,
 * its nearest siblings and its largest children as ARIA tree items with their true level and
 * position, and is made anew when the selection moves: small however large the recording. Arrow
 * keys move as the picture lies: along a row to siblings, away from the root to the widest child,
 * towards it to the parent.
 */
import { element } from './dom.js';

const SIBLINGS = 4; /* on either side */
const CHILDREN = 8;

export class AriaTree {
    constructor(label, handlers) {
        this.handlers = handlers;
        this.host = element('div', {
            role: 'tree', 'aria-label': label, class: 'unseen',
            onkeydown: (event) => this.pressed(event),
            onfocusin: () => this.focused(), onfocusout: () => this.focused(),
        });
        this.focusNext = false;
    }

    get hasFocus() {
        return this.host.contains(document.activeElement);
    }

    focus() {
        this.host.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
    }

    focused() {
        this.handlers.focused();
    }

    show(tree, node, upward, fallback) {
        const hadFocus = this.hasFocus || this.focusNext;
        this.focusNext = false;
        this.tree = tree;
        this.node = node >= 0 ? node : fallback;
        this.upward = upward;
        this.host.replaceChildren(...this.items());
        if (hadFocus)
            this.focus();
    }

    items() {
        const { tree, node } = this;
        const level = tree.levelOf(node) + 1;
        const items = [];
        if (node > 0)
            items.push(this.item(tree.parent[node], level - 1));
        const [from, to] = tree.siblingRange(node);
        const last = Math.min(to, node + SIBLINGS + 1);
        for (let i = Math.max(from, node - SIBLINGS); i < last; i++) {
            items.push(this.item(i, level));
            if (i === node)
                this.pushChildren(items, level + 1);
        }
        return items;
    }

    pushChildren(items, level) {
        const [from, to] = this.tree.childRange(this.node);
        for (let i = from; i < Math.min(to, from + CHILDREN); i++)
            items.push(this.item(i, level));
    }

    item(node, level) {
        const { tree } = this;
        const [from, to] = tree.siblingRange(node);
        const isSelected = node === this.node;
        const [childFrom, childTo] = isSelected ? tree.childRange(node) : [0, 0];
        return element('div', {
            role: 'treeitem', 'aria-level': level, 'aria-posinset': node - from + 1,
            'aria-setsize': to - from, 'aria-selected': String(isSelected),
            'aria-expanded': childTo > childFrom ? 'true' : null,
            tabindex: isSelected ? 0 : -1, 'data-node': node,
            onclick: () => this.handlers.moved(node),
        }, this.handlers.describe(node));
    }

    pressed(event) {
        if (event.altKey || event.ctrlKey || event.metaKey)
            return;
        const target = this.targetOf(event.key);
        if (target === null)
            return;
        event.preventDefault();
        event.stopPropagation();
        if (target !== this.node && target >= 0)
            this.handlers.moved(target);
    }

    /* null: not a key of ours; -1: nowhere to go. */
    targetOf(key) {
        const { tree, node, upward } = this;
        const [from, to] = tree.siblingRange(node);
        const towardsRoot = upward ? 'ArrowDown' : 'ArrowUp';
        const awayFromRoot = upward ? 'ArrowUp' : 'ArrowDown';
        if (key === towardsRoot)
            return tree.parent[node];
        if (key === awayFromRoot) {
            const [childFrom, childTo] = tree.childRange(node);
            return childTo > childFrom ? childFrom : -1;
        }
        if (key === 'ArrowLeft')
            return node > from ? node - 1 : -1;
        if (key === 'ArrowRight')
            return node + 1 < to ? node + 1 : -1;
        if (key === 'Home')
            return from;
        if (key === 'End')
            return to - 1;
        return null;
    }
}
