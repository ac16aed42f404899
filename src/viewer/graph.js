/*
 * graph.js: a tree drawn as boxes: rows of frames, the root's row on top or at the bottom.
 *
 * Only the rows in sight are drawn, on a canvas as large as what is seen; the scrollbar belongs to
 * an empty element as tall as all rows would be (or as browsers allow: then a pixel of scrolling
 * is more than a pixel of rows). In a row, boxes come from the range of the level that lies under
 * the zoomed frame. Frames under a pixel are skipped over by binary search and drawn together as
 * one hatched box, so a row costs at most as much as it has pixels, whatever the tree's size.
 *
 * What was drawn is kept as a list of boxes: the mouse finds frames in it, so what one points at
 * is what one sees.
 *
 * The keyboard and screen readers work on AriaTree (ariatree.js); it holds the focus.
 */
import { element, TALLEST } from './dom.js';
import { AriaTree } from './ariatree.js';
import { paintBoxes, ROW, theme } from './paint.js';

const LEVEL_BUDGET_MS = 30; /* of making levels of an inverted tree, per picture */

/* Which frames of a tree match a search: asked for runs of frames, so sums from the left. */
class MatchRuns {
    constructor(tree, matches) {
        this.tree = tree;
        this.matches = matches;
        this.sums = new Uint32Array(1);
        this.known = 0;
    }

    any(from, to) {
        if (to > this.known)
            this.extend();
        return this.sums[to] > this.sums[from];
    }

    extend() {
        const { tree, matches } = this;
        const sums = new Uint32Array(tree.count + 1);
        sums.set(this.sums.subarray(0, this.known + 1));
        for (let i = this.known; i < tree.count; i++) {
            const isNamed = i > 0 || tree.ofFunction;
            sums[i + 1] = sums[i] + (isNamed ? matches[tree.frame[i] >>> 1] : 0);
        }
        this.sums = sums;
        this.known = tree.count;
    }
}

/* The first index in [from, to) whose x is at least `x`. */
function lowerBound(column, from, to, x) {
    while (from < to) {
        const middle = (from + to) >> 1;
        if (column[middle] < x)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

export class Graph {
    /*
     * handlers: select(node), zoom(node), menu(node, x, y), hover(node or null, box, x, y),
     * scroll(row), describe(node) for the screen reader
     */
    constructor(label, handlers) {
        this.handlers = handlers;
        this.canvas = element('canvas', { 'aria-hidden': 'true' });
        this.spacer = element('div', { class: 'graph-rows' }, this.canvas);
        this.aria = new AriaTree(label, {
            ...handlers, moved: (node) => this.moveTo(node), focused: () => this.draw(),
        });
        this.host = element('div', { class: 'graph' }, this.aria.host, this.spacer);
        this.boxes = [];
        this.tree = null;
        this.host.addEventListener('scroll', () => this.scrolled());
        this.canvas.addEventListener('mousemove', (event) => this.pointed(event));
        this.canvas.addEventListener('mouseleave', () => this.handlers.hover(null));
        this.canvas.addEventListener('click', (event) => this.clicked(event));
        this.canvas.addEventListener('contextmenu', (event) => this.menuAsked(event));
        this.observer = new ResizeObserver(() => this.draw());
        this.observer.observe(this.host);
    }

    /* look: { upward, zoom, node, matches, paint, row }; row < 0: where the zoom is, or the root */
    show(tree, look) {
        const isOther = tree !== this.tree;
        this.matchRuns = look.matches ? new MatchRuns(tree, look.matches) : null;
        if (isOther || look.zoom !== this.look?.zoom)
            this.measure(tree, look.zoom);
        const isTurned = this.look && this.look.upward !== look.upward;
        const isZoomed = this.look && this.look.zoom !== look.zoom;
        this.tree = tree;
        this.look = look;
        this.aria.show(tree, look.node, look.upward, this.firstNode());
        this.resize();
        if (look.row >= 0 || isOther || isTurned)
            this.scrollToRow(look.row >= 0 ? look.row : this.startingRow());
        if (isZoomed && !isOther)
            this.makeRoom();
        this.draw();
    }

    firstNode() {
        return this.look.zoom;
    }

    /* The rows: frames above the zoomed one, then the ranges of each level below it. */
    measure(tree, zoom) {
        this.above = [];
        for (let node = tree.parent[zoom]; node >= 0; node = tree.parent[node])
            this.above.push(node);
        this.above.reverse();
        this.ranges = [[zoom, zoom + 1]];
        if (!tree.inverted)
            this.extend(tree, Infinity);
    }

    /* Adds ranges until `count` of them are there or no frame is left below. */
    extend(tree, count, deadline) {
        const level = this.above.length;
        while (this.ranges.length < count) {
            const [from, to] = this.ranges[this.ranges.length - 1];
            if (!tree.reach(level + this.ranges.length, deadline))
                return tree.inverted && !tree.complete;
            const range = [tree.first[from], tree.first[to]];
            if (range[0] === range[1])
                return false;
            this.ranges.push(range);
        }
        return false;
    }

    get rowCount() {
        return this.above.length + this.ranges.length;
    }

    resize() {
        const width = this.host.clientWidth;
        const height = this.host.clientHeight;
        const ratio = window.devicePixelRatio || 1;
        if (this.width !== width || this.height !== height || this.ratio !== ratio) {
            Object.assign(this, { width, height, ratio });
            this.canvas.width = Math.max(1, Math.round(width * ratio));
            this.canvas.height = Math.max(1, Math.round(height * ratio));
            this.canvas.style.width = `${width}px`;
            this.canvas.style.height = `${height}px`;
        }
        this.content = Math.max(this.rowCount * ROW, height);
        const tall = Math.min(this.content, TALLEST);
        this.stretch = tall > height ? (this.content - height) / (tall - height) : 1;
        if (this.tall !== tall) {
            this.tall = tall;
            this.spacer.style.height = `${tall}px`;
        }
    }

    get offset() {
        return this.host.scrollTop * this.stretch;
    }

    rowTop(row) {
        return this.look.upward ? this.content - (row + 1) * ROW : row * ROW;
    }

    scrollToRow(row) {
        const top = this.look.upward ? this.rowTop(row) + ROW - this.height : this.rowTop(row);
        this.host.scrollTop = Math.max(0, top) / this.stretch;
    }

    /* The root's, unless what the address speaks of would be out of sight then. */
    startingRow() {
        const { zoom, node } = this.look;
        const level = this.tree.levelOf(node >= 0 ? node : zoom);
        return (level + 1) * ROW > this.height ? level - Math.floor(this.height / ROW / 2) : 0;
    }

    /* What lies beyond the zoomed frame is what one wants to see: it gets most of the height. */
    makeRoom() {
        const top = this.rowTop(this.above.length) - this.offset;
        const beyond = this.look.upward ? top : this.height - top;
        if (beyond >= this.height * 0.4)
            return;
        const move = (this.look.upward ? -1 : 1) * (this.height * 0.7 - beyond);
        this.host.scrollTop += move / this.stretch;
        this.scrollToRow(this.firstRow); /* whole rows: the address counts in rows */
    }

    /* Where a page without a row in its address begins. */
    rewind() {
        if (this.tree && this.look.row < 0)
            this.scrollToRow(this.startingRow());
    }

    /* The row nearest the root that is wholly in sight. */
    get firstRow() {
        const edge = this.look.upward ? this.content - this.offset - this.height : this.offset;
        return Math.max(0, Math.round(edge / ROW));
    }

    reveal(node) {
        const top = this.rowTop(this.tree.levelOf(node));
        if (top < this.offset)
            this.host.scrollTop = top / this.stretch;
        else if (top + ROW > this.offset + this.height)
            this.host.scrollTop = (top + ROW - this.height) / this.stretch;
    }

    scrolled() {
        if (!this.tree)
            return;
        this.draw();
        this.handlers.scroll(this.firstRow);
    }

    draw() {
        if (!this.tree || this.host.clientWidth === 0)
            return;
        const before = this.rowCount;
        if (this.tree.inverted)
            this.extendInSight();
        this.resize();
        if (this.look.upward && this.rowCount !== before)
            this.keepRootInSight(before);
        this.boxes = this.layBoxes();
        paintBoxes(this);
    }

    extendInSight() {
        const rows = Math.ceil((this.offset + 2 * this.height) / ROW) + 2;
        const wanted = rows - this.above.length;
        if (this.extend(this.tree, wanted, performance.now() + LEVEL_BUDGET_MS))
            requestAnimationFrame(() => this.draw());
    }

    /* Rows are added at the far end; in an upward graph that moves the root's row down. */
    keepRootInSight(before) {
        const grown = (this.rowCount - before) * ROW;
        if (before * ROW <= this.height)
            this.scrollToRow(0);
        else
            this.host.scrollTop += grown / this.stretch;
    }

    layBoxes() {
        const boxes = [];
        const firstRow = Math.max(0, Math.floor(this.offset / ROW));
        const rowsInSight = Math.ceil(this.height / ROW) + 1;
        for (let k = firstRow; k < firstRow + rowsInSight; k++) {
            const row = this.look.upward ? Math.round(this.content / ROW) - 1 - k : k;
            if (row >= 0 && row < this.rowCount)
                this.layRow(row, this.rowTop(row) - this.offset, boxes);
        }
        return boxes;
    }

    layRow(row, top, boxes) {
        if (row < this.above.length) {
            boxes.push({ node: this.above[row], count: 1, left: 0, top, width: this.width,
                         above: true });
            return;
        }
        const { tree, look } = this;
        const [from, to] = this.ranges[row - this.above.length];
        const scale = this.width / (tree.weight[look.zoom] || 1);
        const start = tree.x[look.zoom];
        const pixel = 1 / scale;
        for (let i = from; i < to;) {
            const left = (tree.x[i] - start) * scale;
            if (tree.weight[i] >= pixel) {
                boxes.push({ node: i, count: 1, left, top, width: tree.weight[i] * scale,
                             above: false });
                i++;
                continue;
            }
            let end = lowerBound(tree.x, i + 1, to, tree.x[i] + pixel);
            if (end - 1 > i && tree.weight[end - 1] >= pixel)
                end--;
            this.pushMerged(boxes, i, end, left, top, scale);
            i = end;
        }
    }

    /* Frames too narrow to draw, joined to such a box on the left when it touches. */
    pushMerged(boxes, from, to, left, top, scale) {
        const { tree } = this;
        const right = left + (tree.x[to - 1] + tree.weight[to - 1] - tree.x[from]) * scale;
        const last = boxes[boxes.length - 1];
        if (right <= left)
            return;
        if (last && last.count > 0 && last.merged && last.top === top &&
            left - (last.left + last.width) < 1) {
            last.count = to - last.node;
            last.width = right - last.left;
            return;
        }
        boxes.push({ node: from, count: to - from, left, top, width: right - left, above: false,
                     merged: true });
    }

    boxAt(event) {
        const place = this.canvas.getBoundingClientRect();
        const x = event.clientX - place.left;
        const y = event.clientY - place.top;
        return this.boxes.find((box) => y >= box.top && y < box.top + ROW && x >= box.left &&
                               x < box.left + Math.max(box.width, 1)) ?? null;
    }

    pointed(event) {
        const box = this.boxAt(event);
        this.canvas.style.cursor = box ? 'pointer' : 'default';
        if (this.hovered !== (box && box.node)) {
            this.hovered = box && box.node;
            paintBoxes(this);
        }
        this.handlers.hover(box ? box.node : null, box, event.clientX, event.clientY);
    }

    clicked(event) {
        const box = this.boxAt(event);
        if (!box)
            return;
        this.aria.focusNext = true;
        const node = box.merged ? this.tree.parent[box.node] : box.node;
        this.handlers.zoom(node);
    }

    menuAsked(event) {
        event.preventDefault();
        const box = this.boxAt(event);
        if (box && !box.merged)
            this.handlers.menu(box.node, event.clientX, event.clientY);
    }

    /* The keyboard went to `node`: zoom out, or in, as far as it takes to see it. */
    moveTo(node) {
        const { tree } = this;
        const zoom = this.look.zoom;
        const isInSight = tree.isAbove(node, zoom) ||
            (tree.isAbove(zoom, node) && this.pixelsOf(node, zoom) >= 2);
        this.handlers.select(node, isInSight ? zoom : this.zoomThatShows(node));
        this.reveal(node);
    }

    pixelsOf(node, zoom) {
        return this.tree.weight[node] / (this.tree.weight[zoom] || 1) * this.width;
    }

    zoomThatShows(node) {
        const parent = Math.max(this.tree.parent[node], 0);
        return this.pixelsOf(node, parent) >= 2 ? parent : node;
    }

    /* Where the frame is on the screen, for a menu opened by key. */
    placeOf(node) {
        const place = this.canvas.getBoundingClientRect();
        const box = this.boxes.find((candidate) => candidate.node === node);
        if (!box)
            return { x: place.left + 20, y: place.top + 20 };
        return { x: place.left + Math.max(box.left, 0) + Math.min(box.width / 2, 40),
                 y: place.top + box.top + ROW };
    }

    restyle() {
        theme.read();
        this.draw();
    }
}
