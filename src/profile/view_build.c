/*
 * view_build.c: contexts become nodes.
 *
 * One pass over the contexts (parents come first) finds each one's node under the inlined frames
 * of the site it was called from; one pass over the counts puts the instructions where the pieces
 * of the blocks lie. Both are linear in what they read, with a hash lookup for each frame.
 */
#include "common/map.h"
#include "common/memory.h"
#include "profile/view_edit.h"

#include <stdlib.h>
#include <string.h>

struct build {
    const struct profile *profile;
    const struct view_choice *choice;
    bool inlined; /* only line detail knows what inlined functions cost */
    struct view_builder builder;
    uint32_t *frame_of;      /* by function: itself, or the one that stands for it */
    uint32_t *node_of;       /* by context: its node; NONE for roots of merged threads */
    uint8_t *chosen;         /* by context */
    uint32_t *thread_frames; /* by thread; NONE: none yet */
    struct map line_frames;  /* (function, line) -> frame */
    uint32_t root_frame;     /* where instructions of no function go; NONE until there are some */
};

/* The frame of a function while `line` executes in it. */
static uint32_t frame_at(struct build *build, uint32_t function, uint32_t line)
{
    struct view *view = build->builder.view;

    if (!line)
        return function;
    uint32_t *place = map_place(&build->line_frames, map_pair(function, line));
    if (*place == MAP_ABSENT) {
        struct view_frame frame = view->frames[function];
        frame.at_line = line;
        *place = (uint32_t)view->frame_count;
        *array_push(view->frames, view->frame_count, view->frame_capacity) = frame;
    }
    return *place;
}

/* The node of a context at a location: down its inlined functions. The first frame stands for the
 * real function, which is the context's node already, whatever the debug info calls it. */
static uint32_t node_at(struct build *build, size_t context, uint32_t location, bool by_line)
{
    const struct profile *profile = build->profile;
    struct view *view = build->builder.view;
    uint32_t node = build->node_of[context];

    if (!build->inlined || location == NONE)
        return node;
    const struct location *chain = &profile->locations[location];
    const struct location_frame *frame = &profile->location_frames[chain->first];
    if (by_line && chain->count && profile->contexts[context].parent != NONE)
        node = view_builder_child(
            &build->builder, view->parent[node],
            frame_at(build, build->frame_of[profile->contexts[context].function], frame->line), 0);
    for (uint32_t i = 1; i < chain->count; i++)
        node = view_builder_child(&build->builder, node,
                                  frame_at(build, frame[i].function, by_line ? frame[i].line : 0),
                                  VIEW_INLINED);
    return node;
}

/* The same thread in several parts is one frame. */
static uint32_t thread_node(struct build *build, const struct root *root)
{
    uint32_t *frame = &build->thread_frames[root->thread];

    if (*frame != NONE)
        return view_builder_child(&build->builder, NONE, *frame, 0);
    const struct profile *profile = build->profile;
    const struct thread *thread = &profile->threads[root->thread];
    const char *name = profile_string(profile, thread->name);
    const char *command = profile_string(profile, profile->processes[thread->process].command);
    char *text = memory_format("process %u thread %u: %s", thread->process + 1, thread->ordinal,
                               *name ? name : command);

    *frame = view_add_frame(build->builder.view, text, FUNCTION_ROOT);
    free(text);
    return view_builder_child(&build->builder, NONE, *frame, 0);
}

/* Roots in the order of their rows, so that threads come out in order. */
static void place_roots(struct build *build)
{
    const struct profile *profile = build->profile;
    const char *part = build->choice->part;

    for (size_t i = 0; i < profile->root_count; i++) {
        const struct root *root = &profile->roots[i];
        const char *name = profile_string(profile, profile->parts[root->part].name);
        build->chosen[root->context] = !part || !strcmp(part, name);
        build->node_of[root->context] = NONE;
        if (build->chosen[root->context] && build->choice->split_threads)
            build->node_of[root->context] = thread_node(build, root);
    }
}

/* V8 marks what made the code behind the first colon: JS:~f interpreted, ^ compiled at once, + and
 * * compiled to be fast. Up to Node 18 the word before it differs from tier to tier too. NULL: no
 * mark. */
static const char *tier_mark(const char *name)
{
    static const char *const kinds[] = {"JS:", "LazyCompile:", "Function:", "Eval:", "Script:"};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i]);
        if (!strncmp(name, kinds[i], length) && name[length] && strchr("~^+*", name[length]))
            return name + length;
    }
    return NULL;
}

static void strip_tiers(struct view *view)
{
    for (size_t i = 0; i < view->frame_count; i++) {
        struct view_frame *frame = &view->frames[i];
        const char *mark = frame->kind == FUNCTION_JIT ? tier_mark(frame->name) : NULL;
        if (!mark)
            continue;
        char *name = memory_format("JS:%s", mark + 1);
        frame->name = view_keep_text(view, name);
        free(name);
    }
}

static int compare_names(const void *left, const void *right, void *opaque)
{
    const struct view_frame *frames = opaque;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = strcmp(frames[a].name, frames[b].name);

    return order ? order : a < b ? -1 : a > b;
}

/* Code that is made again is at another address, and yet the same function: the first row of a name
 * stands for all. */
static void join_copies(struct build *build)
{
    const struct view *view = build->builder.view;
    uint32_t *rows = memory_allocate(view->frame_count * sizeof *rows);
    size_t count = 0;

    for (size_t i = 0; i < view->frame_count; i++) {
        build->frame_of[i] = (uint32_t)i;
        if (view->frames[i].kind == FUNCTION_JIT && !build->choice->split_copies)
            rows[count++] = (uint32_t)i;
    }
    if (count)
        qsort_r(rows, count, sizeof *rows, compare_names, view->frames);
    for (size_t i = 1; i < count; i++)
        if (!strcmp(view->frames[rows[i]].name, view->frames[rows[i - 1]].name))
            build->frame_of[rows[i]] = build->frame_of[rows[i - 1]];
    free(rows);
}

static void place_context(struct build *build, size_t index)
{
    const struct profile *profile = build->profile;
    const struct context *context = &profile->contexts[index];

    build->chosen[index] = build->chosen[context->parent];
    if (!build->chosen[index])
        return;
    uint32_t parent = build->node_of[context->parent];
    if (context->site != NONE) {
        const struct site *site = &profile->sites[context->site];
        /* Calls from several places, taken together, come from no one line. */
        parent = node_at(build, context->parent, site->location,
                         build->choice->by_line && site->next == NONE);
    }
    uint32_t node =
        view_builder_child(&build->builder, parent, build->frame_of[context->function], 0);
    build->node_of[index] = node;
    build->builder.view->calls[node] += context->calls;
}

static void add_self(struct build *build, size_t context, uint32_t location, uint64_t instructions)
{
    if (instructions == 0)
        return;
    uint32_t node = node_at(build, context, location, build->choice->by_line);
    if (node == build->node_of[context] && build->profile->contexts[context].parent == NONE) {
        if (build->root_frame == NONE)
            build->root_frame = view_add_frame(build->builder.view, "(skipped)", FUNCTION_MARKER);
        node = view_builder_child(&build->builder, node, build->root_frame, 0);
    }
    build->builder.view->self[node] += instructions;
}

static void spread_count(struct build *build, const struct block_count *count)
{
    const struct block *block = &build->profile->blocks[count->block];
    const struct piece *piece = &build->profile->pieces[block->first_piece];

    if (!block->piece_count)
        add_self(build, count->context, NONE, count->count * block->instructions);
    for (uint32_t i = 0; i < block->piece_count; i++, piece++)
        add_self(build, count->context, piece->location, count->count * piece->instructions);
}

static void spread_instructions(struct build *build)
{
    const struct profile *profile = build->profile;

    for (size_t i = 0; i < profile->context_count && !build->inlined; i++)
        if (build->chosen[i])
            add_self(build, i, NONE, profile->contexts[i].self_instructions);
    for (size_t i = 0; i < profile->count_count && build->inlined; i++)
        if (build->chosen[profile->counts[i].context])
            spread_count(build, &profile->counts[i]);
}

static bool has_part(const struct profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->part_count; i++)
        if (!strcmp(profile_string(profile, profile->parts[i].name), name))
            return true;
    return false;
}

int view_build(const struct profile *profile, const struct view_choice *choice, struct view **view,
               struct error *error)
{
    struct build build = {.profile = profile, .choice = choice, .root_frame = NONE};

    build.inlined = profile->meta.detail == DETAIL_LINE && !choice->no_inline;

    *view = NULL;
    if (choice->part && !has_part(profile, choice->part))
        return error_set(error, "no part is named '%s'", choice->part);
    build.node_of = memory_allocate(profile->context_count * sizeof *build.node_of);
    build.chosen = memory_allocate_zeroed(profile->context_count, 1);
    build.thread_frames = memory_allocate(profile->thread_count * sizeof *build.thread_frames);
    memset(build.thread_frames, 0xff, profile->thread_count * sizeof *build.thread_frames);
    view_builder_start(&build.builder, view_new(profile), profile->context_count);
    if (choice->merge_tiers)
        strip_tiers(build.builder.view);
    build.frame_of = memory_allocate(profile->function_count * sizeof *build.frame_of);
    join_copies(&build);
    place_roots(&build);
    for (size_t i = 0; i < profile->context_count; i++)
        if (profile->contexts[i].parent != NONE)
            place_context(&build, i);
    spread_instructions(&build);
    *view = build.builder.view;
    view_builder_finish(&build.builder);
    free(build.frame_of);
    free(build.node_of);
    free(build.chosen);
    free(build.thread_frames);
    map_free(&build.line_frames);
    return OK;
}
