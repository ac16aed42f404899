/*
 * table.js: a table of any length: only the rows in sight are elements.
 *
 * An ARIA grid: the header's buttons sort, arrow keys move along the rows, the selected row holds
 * the focus. Rows are reused as they scroll.
 */
import { element, TALLEST } from './dom.js';

const ROW_HEIGHT = 26; /* pixels, as the style sheet has it */
const MARGIN = 6; /* rows made above and below what is seen */
const PRINTED = 120; /* rows on paper */

export class Table {
    /*
     * columns: [{ id, title, hint, numeric, hasNote, longest(keys) -> characters,
     *             cell(key) -> { text, note, bar, title } }]
     * handlers: sort(id), select(key), open(key), menu(key, x, y), scroll(row)
     */
    constructor(label, columns, handlers) {
        this.columns = columns;
        this.handlers = handlers;
        this.header = element('div', { role: 'row', class: 'table-header' });
        this.rows = element('div', { class: 'table-rows', role: 'presentation' });
        this.grid = element('div', { role: 'grid', 'aria-label': label, class: 'table' },
                            element('div', { role: 'rowgroup', class: 'table-top' }, this.header),
                            element('div', { role: 'rowgroup', class: 'table-body' }, this.rows));
        this.host = element('div', { class: 'table-scroll' }, this.grid);
        this.host.addEventListener('scroll', () => {
            this.draw();
            this.handlers.scroll(Math.round(this.host.scrollTop / ROW_HEIGHT));
        });
        this.rows.addEventListener('keydown', (event) => this.pressed(event));
        this.rows.addEventListener('contextmenu', (event) => this.menuAsked(event));
        new ResizeObserver(() => this.draw()).observe(this.host);
        this.keys = [];
        this.selected = -1;
    }

    /*
     * Numbers are never cut short: a numeric column is as wide as its longest text, which
     * `longest(keys)` of the column tells without making all of them.
     */
    setWidths(keys) {
        let characters = 0;
        let pixels = 180 + 140;
        const widths = this.columns.map((column) => {
            if (!column.numeric)
                return column.id === 'name' ? 'minmax(180px, 1fr)' : '140px';
            const room = column.hasNote ? 104 : 24;
            const length = Math.max(column.longest(keys), column.title.length + 2) + 1;
            characters += length;
            pixels += room;
            return `calc(${length}ch + ${room}px)`;
        });
        this.grid.style.setProperty('--columns', widths.join(' '));
        this.grid.style.minWidth = `calc(${characters}ch + ${pixels}px)`;
    }

    /* keys: what each row is of, in order; selected: one of them or -1 */
    show(keys, selected, sort, ascending, row) {
        const isOther = keys !== this.keys;
        if (isOther)
            this.setWidths(keys);
        this.keys = keys;
        this.selected = selected;
        this.showHeader(sort, ascending);
        this.grid.setAttribute('aria-rowcount', keys.length + 1);
        if (isOther) {
            this.rows.style.height = `${Math.min(keys.length * ROW_HEIGHT, TALLEST)}px`;
            this.host.scrollTop = Math.max(row, 0) * ROW_HEIGHT;
        }
        this.draw();
    }

    showHeader(sort, ascending) {
        const hadFocus = this.header.contains(document.activeElement)
            ? document.activeElement.dataset.column : null;
        this.header.replaceChildren(...this.columns.map((column) => {
            const isSorted = column.id === sort;
            const order = ascending ? 'ascending' : 'descending';
            return element('div', {
                role: 'columnheader', class: column.numeric ? 'number' : 'text',
                'aria-sort': isSorted ? order : 'none',
            }, element('button', {
                type: 'button', 'data-column': column.id, title: column.hint,
                onclick: () => this.handlers.sort(column.id),
            }, column.title, element('span', { 'aria-hidden': 'true', class: 'arrow' },
                                     isSorted ? (ascending ? '▲' : '▼') : '')));
        }));
        if (hadFocus)
            this.header.querySelector(`[data-column="${hadFocus}"]`)?.focus();
    }

    draw() {
        const hadFocus = this.rows.contains(document.activeElement);
        const { from, to, count } = this.rowsInSight();
        this.rows.style.height = `${Math.min(count * ROW_HEIGHT, TALLEST)}px`;
        const made = [];
        const chosen = this.keys.indexOf(this.selected);
        if (chosen >= 0 && chosen < count && (chosen < from || chosen >= to))
            made.push(this.row(chosen, true));
        for (let i = from; i < to; i++)
            made.push(this.row(i, chosen < 0 ? i === from : i === chosen));
        this.rows.replaceChildren(...made);
        if (hadFocus || this.focusNext)
            this.focus();
        this.focusNext = false;
    }

    /* On paper there is no scrolling: the first rows, and no empty pages after them. */
    rowsInSight() {
        const count = this.keys.length;
        if (matchMedia('print').matches)
            return { from: 0, to: Math.min(count, PRINTED), count: Math.min(count, PRINTED) };
        const from = Math.max(0, Math.floor(this.host.scrollTop / ROW_HEIGHT) - MARGIN);
        const seen = Math.ceil(this.host.clientHeight / ROW_HEIGHT);
        return { from, to: Math.min(count, from + seen + 2 * MARGIN), count };
    }

    row(index, isStop) {
        const key = this.keys[index];
        const row = element('div', {
            role: 'row', class: 'table-row', 'aria-rowindex': index + 2,
            'aria-selected': String(key === this.selected), tabindex: isStop ? 0 : -1,
            'data-key': key, onclick: () => this.choose(key), ondblclick: () =>
                this.handlers.open(key),
        }, ...this.columns.map((column) => this.cell(column, key)));
        row.style.top = `${index * ROW_HEIGHT}px`;
        return row;
    }

    cell(column, key) {
        const content = column.cell(key);
        const { text, note, bar, title } = typeof content === 'string' ? { text: content } : content;
        const cell = element('div', {
            role: 'gridcell', class: column.numeric ? 'number' : 'text', title,
        }, element('span', { class: 'value' }, text),
        note === undefined ? null : element('span', { class: 'note' }, note));
        if (bar !== undefined)
            cell.style.setProperty('--bar', `${Math.max(0, Math.min(1, bar)) * 100}%`);
        return cell;
    }

    focus() {
        this.rows.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
    }

    choose(key) {
        this.focusNext = true;
        this.handlers.select(key);
    }

    pressed(event) {
        if (event.altKey || event.ctrlKey || event.metaKey)
            return;
        const page = Math.max(1, Math.floor(this.host.clientHeight / ROW_HEIGHT) - 2);
        const at = this.keys.indexOf(this.selected);
        const last = this.keys.length - 1;
        const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page,
                        PageUp: at - page, Home: 0, End: last };
        if (event.key === 'Enter' && at >= 0) {
            event.preventDefault();
            event.stopPropagation();
            this.handlers.open(this.selected);
        } else if (Object.hasOwn(moves, event.key)) {
            event.preventDefault();
            event.stopPropagation();
            const index = Math.max(0, Math.min(last, moves[event.key]));
            this.revealRow(index);
            this.choose(this.keys[index]);
        }
    }

    revealRow(index) {
        const top = index * ROW_HEIGHT;
        const height = this.host.clientHeight - this.header.offsetHeight;
        if (top < this.host.scrollTop)
            this.host.scrollTop = top;
        else if (top + ROW_HEIGHT > this.host.scrollTop + height)
            this.host.scrollTop = top + ROW_HEIGHT - height;
    }

    menuAsked(event) {
        const row = event.target.closest('[data-key]');
        if (!row)
            return;
        event.preventDefault();
        this.handlers.menu(Number(row.dataset.key), event.clientX, event.clientY);
    }

    placeOf(key) {
        const row = this.rows.querySelector(`[data-key="${key}"]`) ?? this.host;
        const place = row.getBoundingClientRect();
        return { x: place.left + 40, y: Math.max(place.top + ROW_HEIGHT, 0) };
    }
}
