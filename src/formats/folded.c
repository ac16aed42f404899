/*
 * folded.c: folded stacks: one line a call path, root first, `;` between frames, the self count
 * last. Lines are sorted by their frames, each frame by its bytes (not by the whole line, in which
 * a `;` would sort after a space or a parenthesis and tear siblings apart).
 *
 * Nodes are put in order once, by counting sort over the ranks of their labels, so the walk writes
 * lines as it meets them; the text of the path so far is kept and only its end changes.
 */
#include "common/map.h"
#include "common/memory.h"
#include "formats/formats.h"
#include "formats/labels.h"
#include "formats/order.h"
#include "profile/transform.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* There is no escaping in the format: what would end a frame or a line is replaced. */
static void make_harmless(struct labels *labels)
{
    for (size_t i = 0; i < labels->count; i++)
        for (char *at = labels->texts[i]; (at = strpbrk(at, ";\n\r")); at++)
            *at = *at == ';' ? ':' : ' ';
}

struct path {
    char *text;
    size_t length, capacity;
};

static void path_push(struct path *path, const char *label, bool inlined)
{
    size_t label_length = strlen(label);

    path->text = memory_grow(path->text, &path->capacity, path->length + label_length + 6, 1);
    if (path->length)
        path->text[path->length++] = ';';
    memcpy(path->text + path->length, label, label_length);
    path->length += label_length;
    if (inlined) {
        memcpy(path->text + path->length, "_[i]", 4);
        path->length += 4;
    }
}

static void write_line(const struct path *path, uint64_t count, FILE *stream)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, " %" PRIu64 "\n", count);

    fwrite_unlocked(path->text, 1, path->length, stream);
    fwrite_unlocked(digits, 1, (size_t)length, stream);
}

/* Depth first; `ends` remembers where the path's text ended before each frame on it. */
static void write_paths(const struct view *view, const struct view_links *links, bool annotate,
                        FILE *stream)
{
    struct path path = {0};
    size_t *ends = NULL, depth = 0, capacity = 0;
    uint32_t node = links->first_child[view->node_count];

    while (node != NONE) {
        *array_push(ends, depth, capacity) = path.length;
        path_push(&path, view->frames[view->frame[node]].name,
                  annotate && view->flags[node] & VIEW_INLINED);
        if (view->self[node])
            write_line(&path, view->self[node], stream);
        if (links->first_child[node] != NONE) {
            node = links->first_child[node];
            continue;
        }
        while (node != NONE) {
            path.length = ends[--depth];
            if (links->next_sibling[node] != NONE) {
                node = links->next_sibling[node];
                break;
            }
            node = view->parent[node];
        }
    }
    free(ends);
    free(path.text);
}

/* Do no two frames of the tree share a label, and no two siblings differ in inlining only? Then the
 * view can be written as it is; a joined copy of it takes time and memory. */
static bool labels_tell_apart(const struct view *view, const struct labels *labels, bool annotate)
{
    struct profile *texts = profile_new();
    struct map owner = {0};
    bool apart = true;

    for (size_t i = 0; i < view->node_count && apart; i++)
        apart = annotate || !(view->flags[i] & VIEW_INLINED);
    for (uint32_t i = 0; i < view->frame_count && apart; i++) {
        uint32_t *place = map_place(&owner, profile_intern(texts, labels->texts[i]));
        apart = *place == MAP_ABSENT;
        *place = i;
    }
    map_free(&owner);
    profile_free(texts);
    return apart;
}

/* The view with labels for names, sharing everything else. */
static void write_as_it_is(const struct view *view, const struct labels *labels, bool annotate,
                           FILE *stream)
{
    struct view shown = *view;

    shown.frames = memory_allocate(view->frame_count * sizeof *shown.frames);
    for (size_t i = 0; i < view->frame_count; i++) {
        shown.frames[i] = view->frames[i];
        shown.frames[i].name = labels->texts[i];
    }
    struct view_links links = order_by_name(&shown);
    write_paths(&shown, &links, annotate, stream);
    view_links_free(&links);
    free(shown.frames);
}

static int folded_write(const struct view *view, const struct export_options *options, FILE *stream,
                        struct error *error)
{
    struct labels labels;

    (void)error;
    labels_make(&labels, view, options->frames);
    make_harmless(&labels);
    if (labels_tell_apart(view, &labels, options->annotate)) {
        write_as_it_is(view, &labels, options->annotate, stream);
    } else {
        struct view *joined =
            view_relabel(view, (const char *const *)labels.texts, !options->annotate);
        struct view_links links = order_by_name(joined);
        write_paths(joined, &links, options->annotate, stream);
        view_links_free(&links);
        view_free(joined);
    }
    labels_free(&labels);
    return OK;
}

const struct export_format format_folded = {
    .name = "folded",
    .summary = "one line a call path: frame;frame;frame COUNT",
    .long_paths = true,
    .write = folded_write,
};
