/*
 * svg.c: a still flame graph, 1200 pixels wide, for documents and chats. Roots at the bottom, each
 * frame as wide as its share of all instructions, siblings in order of name.
 *
 * It is drawn from the tree, so a function has one box under its caller whatever its siblings are
 * called. Boxes narrower than a tenth of a pixel cannot be seen and are not drawn; neither are rows
 * beyond MOST_ROWS, and the picture says so. Colours come from the name, the same in every picture.
 */
#include "common/memory.h"
#include "formats/formats.h"
#include "formats/order.h"
#include "formats/text.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH        1200.0
#define MARGIN       10.0
#define ROW          17
#define HEADER       44
#define FOOTER       24
#define LEAST_PIXELS 0.1
#define MOST_ROWS    1000
#define CHARACTER    7.0 /* width of one, at the font size used */

static void write_escaped(FILE *stream, const char *text, size_t most)
{
    for (size_t i = 0; text[i] && i < most; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '<')
            fputs("&lt;", stream);
        else if (byte == '>')
            fputs("&gt;", stream);
        else if (byte == '&')
            fputs("&amp;", stream);
        else if (byte == '"')
            fputs("&quot;", stream);
        else if (byte < 0x20 || byte >= 0x7f)
            putc('?', stream); /* XML allows no other way to be safe with bytes of no encoding */
        else
            putc(byte, stream);
    }
}

/* Warm colours; inlined frames a little paler. */
static void write_colour(FILE *stream, const struct view_frame *frame, bool inlined)
{
    uint32_t hash = 2166136261u;

    for (const char *at = frame->name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    unsigned red = 205 + hash % 50, green = hash / 64 % 180 + 40, blue = hash / 16384 % 60;
    if (frame->kind == FUNCTION_PYTHON) {
        unsigned swap = red;
        red = blue + 70;
        blue = swap;
    }
    if (inlined)
        green = green + (255 - green) / 3, blue = blue + (255 - blue) / 3;
    fprintf(stream, "rgb(%u,%u,%u)", red, green, blue);
}

struct canvas {
    const struct view *view;
    FILE *stream;
    uint64_t total;
    double pixels_per_instruction;
    int height;
    size_t hidden_rows;
};

static void draw(struct canvas *canvas, uint32_t node, size_t depth, uint64_t from,
                 uint64_t instructions)
{
    const struct view_frame *frame = &canvas->view->frames[canvas->view->frame[node]];
    bool inlined = canvas->view->flags[node] & VIEW_INLINED;
    double x = MARGIN + (double)from * canvas->pixels_per_instruction;
    double width = (double)instructions * canvas->pixels_per_instruction;
    int y = canvas->height - FOOTER - ((int)depth + 1) * ROW;
    char grouped[GROUPED_BYTES];
    size_t characters = width > 4 ? (size_t)((width - 4) / CHARACTER) : 0;

    fputs("<g><title>", canvas->stream);
    write_escaped(canvas->stream, frame->name, SIZE_MAX);
    fprintf(canvas->stream,
            "%s: %s instructions, %.2f%%</title><rect x=\"%.2f\" y=\"%d\" "
            "width=\"%.2f\" height=\"%d\" rx=\"1\" fill=\"",
            inlined ? " (inlined)" : "", text_grouped(grouped, instructions),
            text_percent(instructions, canvas->total), x, y, width, ROW - 1);
    write_colour(canvas->stream, frame, inlined);
    fputs("\"/>", canvas->stream);
    if (characters >= 3) {
        bool fits = strlen(frame->name) <= characters;
        fprintf(canvas->stream, "<text x=\"%.2f\" y=\"%d\">", x + 3, y + 12);
        write_escaped(canvas->stream, frame->name, fits ? SIZE_MAX : characters - 2);
        fprintf(canvas->stream, "%s</text>", fits ? "" : "..");
    }
    fputs("</g>\n", canvas->stream);
}

/* Calls `draw` for every box that can be seen, or, with no canvas, only finds the deepest row. */
static size_t walk(const struct view *view, const struct view_links *links, const uint64_t *totals,
                   double pixels_per_instruction, struct canvas *canvas)
{
    uint64_t *froms = memory_allocate(view->node_count * sizeof *froms);
    uint32_t node = links->first_child[view->node_count];
    size_t depth = 0, rows = 0;
    uint64_t from = 0;

    while (node != NONE) {
        bool seen = (double)totals[node] * pixels_per_instruction >= LEAST_PIXELS;
        froms[node] = from;
        if (seen && depth >= MOST_ROWS && canvas)
            canvas->hidden_rows++;
        seen = seen && depth < MOST_ROWS;
        if (seen && canvas)
            draw(canvas, node, depth, from, totals[node]);
        if (seen && depth + 1 > rows)
            rows = depth + 1;
        if (seen && links->first_child[node] != NONE) {
            node = links->first_child[node];
            depth++;
            continue;
        }
        while (node != NONE && links->next_sibling[node] == NONE) {
            node = view->parent[node];
            depth--;
        }
        if (node != NONE) {
            from = froms[node] + totals[node];
            node = links->next_sibling[node];
        }
    }
    free(froms);
    return rows;
}

static int svg_write(const struct view *view, const struct export_options *options, FILE *stream,
                     struct error *error)
{
    uint64_t *totals = view_totals(view);
    struct view_links links = order_by_name(view);
    struct canvas canvas = {.view = view, .stream = stream, .total = view_total(view)};
    char grouped[GROUPED_BYTES];

    (void)error;
    if (canvas.total)
        canvas.pixels_per_instruction = (WIDTH - 2 * MARGIN) / (double)canvas.total;
    size_t rows = walk(view, &links, totals, canvas.pixels_per_instruction, NULL);
    canvas.height = HEADER + FOOTER + (int)rows * ROW;
    fprintf(stream,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%d\" "
            "viewBox=\"0 0 %g %d\" font-family=\"monospace\" font-size=\"11.5\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%g\" y=\"24\" font-size=\"16\" text-anchor=\"middle\">",
            WIDTH, canvas.height, WIDTH, canvas.height, WIDTH / 2);
    write_escaped(stream, options->title, 120);
    fputs("</text>\n", stream);
    walk(view, &links, totals, canvas.pixels_per_instruction, &canvas);
    fprintf(stream, "<text x=\"%g\" y=\"%d\">%s instructions", MARGIN, canvas.height - 8,
            text_grouped(grouped, canvas.total));
    if (canvas.hidden_rows)
        fprintf(stream, "; rows above %d are not drawn (fold recursion to see less depth)",
                MOST_ROWS);
    fputs("</text>\n</svg>\n", stream);
    view_links_free(&links);
    free(totals);
    return OK;
}

const struct export_format format_svg = {
    .name = "svg",
    .summary = "a still flame graph, 1200 pixels wide",
    .write = svg_write,
};
