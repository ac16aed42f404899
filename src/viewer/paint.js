/*
 * paint.js: the boxes of a graph, onto its canvas.
 *
 * Colours come from the style sheet's variables, so that light, dark and print have one home.
 * A box that has room carries its name, or a shorter form of it. What is not said by colour:
 * inlined frames are pale with a dotted edge and slanted letters, merged ones hatched, vanished
 * ones striped, new ones framed.
 */

export const ROW = 20; /* pixels */
const FONT = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const PADDING = 4;
const NARROWEST_TEXT = 18;

/* What the style sheet says now. */
export const theme = {
    read() {
        const style = getComputedStyle(document.documentElement);
        for (const name of ['paper', 'ink', 'soft', 'quiet', 'merged', 'match', 'match-ink', 'faded',
                            'accent', 'scheme'])
            this[name] = style.getPropertyValue(`--${name}`).trim();
        this.dark = this.scheme === 'dark';
        this.patterns = new Map();
    },
};

function stripes(context, colour, step, slope) {
    const key = `${colour}${step}${slope}`;
    if (!theme.patterns.has(key)) {
        const tile = document.createElement('canvas');
        tile.width = tile.height = step;
        const pen = tile.getContext('2d');
        pen.strokeStyle = colour;
        pen.lineWidth = 1;
        pen.beginPath();
        for (const shift of [-step, 0, step]) {
            pen.moveTo(shift, slope > 0 ? 0 : step);
            pen.lineTo(shift + step, slope > 0 ? step : 0);
        }
        pen.stroke();
        theme.patterns.set(key, context.createPattern(tile, 'repeat'));
    }
    return theme.patterns.get(key);
}

/* Widths of texts, measured once each. */
const widths = new Map();

function widthOf(context, text, italic) {
    const key = italic ? `/${text}` : text;
    let width = widths.get(key);
    if (width === undefined) {
        if (widths.size > 50000)
            widths.clear();
        width = context.measureText(text).width;
        widths.set(key, width);
    }
    return width;
}

function fitText(context, forms, room, italic) {
    for (const form of forms) {
        if (form.length * 3 > room)
            continue;
        if (widthOf(context, form, italic) <= room)
            return form;
    }
    const shortest = forms[forms.length - 1];
    let length = Math.min(shortest.length, Math.floor(room / 3));
    while (length > 1) {
        const cut = `${shortest.slice(0, length)}…`;
        const width = widthOf(context, cut, italic);
        if (width <= room)
            return cut;
        length = Math.min(length - 1, Math.floor(length * room / width));
    }
    return '';
}

function paintText(context, box, text, colour, room, italic) {
    context.font = italic ? `italic ${FONT}` : FONT;
    const forms = Array.isArray(text) ? text : [text];
    const fitted = fitText(context, forms, room, italic);
    if (fitted === '')
        return;
    context.fillStyle = colour;
    context.fillText(fitted, Math.max(box.left, 0) + PADDING, box.top + ROW / 2 + 0.5);
}

function paintMerged(context, graph, box, width) {
    const matched = graph.matchRuns?.any(box.node, box.node + box.count);
    context.fillStyle = matched ? theme.match : theme.merged;
    context.fillRect(box.left, box.top, width, ROW - 1);
    if (width > 2) {
        context.fillStyle = stripes(context, theme.quiet, 4, 1);
        context.fillRect(box.left, box.top, width, ROW - 1);
    }
}

/* paint(node) of the look says: { fill, forms, inlined, fate } */
function paintFrame(context, graph, box, width) {
    const frame = graph.look.paint(box.node);
    const matched = graph.matchRuns?.any(box.node, box.node + 1);
    const isFaded = box.above || (graph.matchRuns && !matched);
    const fill = matched ? theme.match : frame.fill;
    context.fillStyle = theme.paper;
    context.fillRect(box.left, box.top, width, ROW - 1);
    context.globalAlpha = isFaded ? 0.4 : frame.inlined ? 0.5 : 1;
    context.fillStyle = fill;
    context.fillRect(box.left, box.top, width, ROW - 1);
    context.globalAlpha = 1;
    if (frame.inlined && width > 3)
        dottedEdge(context, box, width);
    if (frame.fate === 'gone') {
        context.fillStyle = stripes(context, theme.quiet, 7, -1);
        context.fillRect(box.left, box.top, width, ROW - 1);
    } else if (frame.fate === 'new' && width > 10) {
        context.strokeStyle = theme.soft;
        context.lineWidth = 1;
        context.strokeRect(box.left + 1.5, box.top + 1.5, width - 3, ROW - 4);
    }
    const room = Math.min(width, graph.width - Math.max(box.left, 0)) - 2 * PADDING;
    if (room >= NARROWEST_TEXT - 2 * PADDING) {
        const isOnMatch = matched && !frame.inlined && !box.above;
        paintText(context, box, frame.forms, isOnMatch ? theme['match-ink'] : theme.ink, room,
                  frame.inlined);
    }
}

function dottedEdge(context, box, width) {
    context.strokeStyle = theme.quiet;
    context.lineWidth = 1;
    context.setLineDash([2, 2]);
    context.strokeRect(box.left + 0.5, box.top + 0.5, width - 1, ROW - 2);
    context.setLineDash([]);
}

function paintOutline(context, box, width, colour, thickness) {
    const inset = thickness / 2;
    context.strokeStyle = colour;
    context.lineWidth = thickness;
    context.strokeRect(box.left + inset, box.top + inset, Math.max(width - thickness, 1),
                       ROW - 1 - thickness);
}

export function paintBoxes(graph) {
    const context = graph.canvas.getContext('2d');
    if (!theme.paper)
        theme.read();
    context.setTransform(graph.ratio, 0, 0, graph.ratio, 0, 0);
    context.clearRect(0, 0, graph.width, graph.height);
    context.textBaseline = 'middle';
    context.font = FONT;
    const selected = graph.look.node;
    for (const box of graph.boxes) {
        const gap = box.width > 4 ? 1 : box.width > 2 ? 0.5 : 0;
        const width = Math.max(box.width - gap, 0.8);
        (box.merged ? paintMerged : paintFrame)(context, graph, box, width);
        if (box.node === graph.hovered)
            paintOutline(context, box, width, theme.quiet, 1.5);
    }
    const chosen = graph.boxes.find((box) => !box.merged && box.node === selected);
    if (chosen)
        paintOutline(context, chosen, Math.max(chosen.width - 1, 2),
                     graph.aria.hasFocus ? theme.accent : theme.ink, graph.aria.hasFocus ? 3 : 2);
}
