#include "profile/diff.h"

#include "common/map.h"
#include "common/memory.h"
#include "profile/diff_files.h"
#include "profile/view_edit.h"

#include <stdlib.h>
#include <string.h>

struct overlay {
    struct diff *diff;
    struct view_builder builder;
    struct profile *keys; /* numbers the identities of frames */
    struct map frame_of;  /* identity -> frame of the tree */
    size_t column_capacity;
    char *old_name, *new_name; /* a file that was renamed; NULL: none was */
    struct diff_files *files;  /* source files, which are part of names */
};

/* What an object is known by: its file name, without the version of a shared library. */
static char *object_identity(const char *object)
{
    const char *slash = strrchr(object, '/');
    char *identity = memory_duplicate_string(slash ? slash + 1 : object);
    char *version = strstr(identity, ".so.");

    if (version)
        version[strlen(".so")] = 0;
    return identity;
}

static uint8_t *frames_used(const struct view *view)
{
    uint8_t *used = memory_allocate_zeroed(view->frame_count, 1);

    for (size_t i = 0; i < view->node_count; i++)
        used[view->frame[i]] = 1;
    return used;
}

/* The only file of `view` that `other` does not have, to be freed; NULL: none, or several. */
static char *only_file_missing_in(const struct view *view, const struct view *other)
{
    struct profile *known = profile_new(); /* strings with a number of `other` come first */
    char *only = NULL;
    bool several = false;

    for (int pass = 0; pass < 2; pass++) {
        const struct view *at = pass ? view : other;
        size_t known_count = known->string_count;
        uint8_t *used = frames_used(at);
        for (size_t i = 0; i < at->frame_count; i++) {
            const struct view_frame *frame = &at->frames[i];
            if (!used[i] || frame->module_kind != MODULE_FILE || !*frame->object)
                continue;
            char *identity = object_identity(frame->object);
            bool missing = profile_intern(known, identity) >= known_count;
            if (pass && missing && only && strcmp(only, identity))
                several = true;
            if (pass && missing && !only)
                only = memory_duplicate_string(identity);
            free(identity);
        }
        free(used);
    }
    profile_free(known);
    if (several) {
        free(only);
        only = NULL;
    }
    return only;
}

static uint32_t tree_frame(struct overlay *overlay, const struct view_frame *frame, bool is_base)
{
    struct view *tree = overlay->diff->tree;
    char *name =
        is_base ? diff_files_name(overlay->files, frame) : memory_duplicate_string(frame->name);
    char *object = object_identity(frame->object);
    bool renamed = overlay->old_name && overlay->new_name && !strcmp(object, overlay->old_name);
    char *identity =
        memory_format("%d\n%s\n%s", frame->kind, renamed ? overlay->new_name : object, name);
    uint32_t *place = map_place(&overlay->frame_of, profile_intern(overlay->keys, identity));

    if (*place == MAP_ABSENT) {
        *array_push(tree->frames, tree->frame_count, tree->frame_capacity) = *frame;
        struct view_frame *kept = &tree->frames[tree->frame_count - 1];
        kept->name = view_keep_text(tree, name);
        kept->function = NONE; /* of which profile would it be? */
        *place = (uint32_t)tree->frame_count - 1;
    }
    free(identity);
    free(object);
    free(name);
    return *place;
}

/* Makes the columns as long as the tree, the new part zeroed. */
static void grow_columns(struct overlay *overlay)
{
    struct diff *diff = overlay->diff;
    size_t before = overlay->column_capacity, after = diff->tree->node_capacity;

    if (before == after)
        return;
    diff->base_self = memory_resize(diff->base_self, after * sizeof(uint64_t));
    diff->base_calls = memory_resize(diff->base_calls, after * sizeof(uint64_t));
    diff->presence = memory_resize(diff->presence, after);
    memset(diff->base_self + before, 0, (after - before) * sizeof(uint64_t));
    memset(diff->base_calls + before, 0, (after - before) * sizeof(uint64_t));
    memset(diff->presence + before, 0, after - before);
    overlay->column_capacity = after;
}

static uint8_t presence_bits(bool is_base, bool inlined)
{
    if (is_base)
        return DIFF_IN_BASE | (inlined ? DIFF_INLINED_IN_BASE : DIFF_CALLED_IN_BASE);
    return DIFF_IN_NEW | (inlined ? DIFF_INLINED_IN_NEW : DIFF_CALLED_IN_NEW);
}

static void lay_over(struct overlay *overlay, const struct view *view, bool is_base)
{
    struct diff *diff = overlay->diff;
    uint32_t *frames = memory_allocate(view->frame_count * sizeof *frames);
    uint32_t *nodes = memory_allocate(view->node_count * sizeof *nodes);

    memset(frames, 0xff, view->frame_count * sizeof *frames);
    for (size_t i = 0; i < view->node_count; i++) {
        uint32_t *frame = &frames[view->frame[i]];
        if (*frame == NONE)
            *frame = tree_frame(overlay, &view->frames[view->frame[i]], is_base);
        uint32_t parent = view->parent[i] == NONE ? NONE : nodes[view->parent[i]];
        uint32_t node = view_builder_child(&overlay->builder, parent, *frame, 0);
        grow_columns(overlay);
        nodes[i] = node;
        diff->presence[node] |= presence_bits(is_base, view->flags[i] & VIEW_INLINED);
        if (is_base) {
            diff->base_self[node] += view->self[i];
            diff->base_calls[node] += view->calls[i];
        } else {
            diff->tree->self[node] += view->self[i];
            diff->tree->calls[node] += view->calls[i];
        }
    }
    free(frames);
    free(nodes);
}

/* The tree as it would be with the base's costs; owns nothing. */
static struct view base_view(const struct diff *diff)
{
    struct view view = *diff->tree;

    view.self = diff->base_self;
    view.calls = diff->base_calls;
    return view;
}

static void sum_up(struct diff *diff)
{
    struct view base = base_view(diff);

    free(diff->base_total);
    free(diff->new_total);
    diff->base_total = view_totals(&base);
    diff->new_total = view_totals(diff->tree);
    diff->base_sum = view_total(&base);
    diff->new_sum = view_total(diff->tree);
}

struct diff *diff_make(const struct view *base, const struct view *new)
{
    struct diff *diff = memory_allocate_zeroed(1, sizeof *diff);
    struct overlay overlay = {.diff = diff, .keys = profile_new()};

    overlay.old_name = only_file_missing_in(base, new);
    overlay.new_name = only_file_missing_in(new, base);
    overlay.files = diff_files_pair(base, new);
    diff->tree = view_new_like(new);
    diff->tree->frame_count = 0; /* it gets the frames of both */
    view_builder_start(&overlay.builder, diff->tree, new->node_count);
    grow_columns(&overlay);
    lay_over(&overlay, new, false);
    lay_over(&overlay, base, true);
    for (size_t i = 0; i < diff->tree->node_count; i++) {
        uint8_t side = diff->presence[i] & DIFF_IN_NEW ? DIFF_INLINED_IN_NEW : DIFF_INLINED_IN_BASE;
        diff->tree->flags[i] = diff->presence[i] & side ? VIEW_INLINED : 0;
    }
    sum_up(diff);
    view_builder_finish(&overlay.builder);
    profile_free(overlay.keys);
    map_free(&overlay.frame_of);
    free(overlay.old_name);
    free(overlay.new_name);
    diff_files_free(overlay.files);
    return diff;
}

void diff_free(struct diff *diff)
{
    if (!diff)
        return;
    view_free(diff->tree);
    free(diff->base_self);
    free(diff->base_calls);
    free(diff->base_total);
    free(diff->new_total);
    free(diff->presence);
    free(diff);
}

/* Each count becomes the difference of two running sums, so nothing is lost to rounding. */
void diff_normalise(struct diff *diff)
{
    unsigned __int128 running = 0;
    uint64_t given = 0;

    if (diff->base_sum == 0)
        return;
    for (size_t i = 0; i < diff->tree->node_count; i++) {
        running += diff->base_self[i];
        uint64_t scaled = (uint64_t)(running * diff->new_sum / diff->base_sum);
        diff->base_self[i] = scaled - given;
        given = scaled;
    }
    sum_up(diff);
}

struct diff_function *diff_functions(const struct diff *diff)
{
    struct view base = base_view(diff);
    struct function_cost *base_costs = view_function_costs(&base);
    struct function_cost *new_costs = view_function_costs(diff->tree);
    struct diff_function *functions = memory_allocate(diff->tree->frame_count * sizeof *functions);

    for (size_t i = 0; i < diff->tree->frame_count; i++)
        functions[i] = (struct diff_function){base_costs[i], new_costs[i]};
    free(base_costs);
    free(new_costs);
    return functions;
}

const char *diff_inlining(const struct diff *diff, uint32_t node)
{
    enum {
        BASE = DIFF_INLINED_IN_BASE | DIFF_CALLED_IN_BASE,
        NEW = DIFF_INLINED_IN_NEW | DIFF_CALLED_IN_NEW
    };
    uint8_t presence = diff->presence[node];

    if (!(presence & DIFF_IN_BASE) || !(presence & DIFF_IN_NEW))
        return NULL;
    if ((presence & BASE) == DIFF_CALLED_IN_BASE && (presence & NEW) == DIFF_INLINED_IN_NEW)
        return "now inlined";
    if ((presence & BASE) == DIFF_INLINED_IN_BASE && (presence & NEW) == DIFF_CALLED_IN_NEW)
        return "no longer inlined";
    return NULL;
}

const char *diff_status(const struct diff *diff, uint32_t node)
{
    if (!(diff->presence[node] & DIFF_IN_BASE))
        return "new";
    if (!(diff->presence[node] & DIFF_IN_NEW))
        return "vanished";
    return "changed";
}
