#include "profile/view.h"

#include "common/memory.h"
#include "profile/view_edit.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct view_texts {
    unsigned users;
    char **texts;
    size_t text_count, text_capacity;
};

/* The five columns grow together, so one capacity serves them all. */
static void grow_columns(struct view *view)
{
    size_t capacity = view->node_capacity ? 2 * view->node_capacity : 64;

    view->parent = memory_resize(view->parent, capacity * sizeof *view->parent);
    view->frame = memory_resize(view->frame, capacity * sizeof *view->frame);
    view->flags = memory_resize(view->flags, capacity * sizeof *view->flags);
    view->self = memory_resize(view->self, capacity * sizeof *view->self);
    view->calls = memory_resize(view->calls, capacity * sizeof *view->calls);
    view->node_capacity = capacity;
}

static struct view *view_alloc(const struct profile *profile, struct view_texts *texts)
{
    struct view *view = memory_allocate_zeroed(1, sizeof *view);

    view->profile = profile;
    view->texts = texts;
    texts->users++;
    grow_columns(view); /* so that the columns of an empty view are not NULL */
    return view;
}

/* Keeps `made` in the pool instead of the caller having to free it. */
static const char *keep_made(struct view *view, char *made)
{
    *array_push(view->texts->texts, view->texts->text_count, view->texts->text_capacity) = made;
    return made;
}

static const char *shown_name(struct view *view, const struct function *function)
{
    const struct profile *profile = view->profile;
    const char *name = profile_string(profile, function->name);

    if (!*name) {
        const char *path = profile_string(profile, profile->modules[function->module].path);
        const char *slash = strrchr(path, '/');
        return keep_made(view,
                         memory_format("%s+0x%" PRIx64, slash ? slash + 1 : path, function->start));
    }
    if (function->kind == FUNCTION_PYTHON && strncmp(name, "py::", 4))
        return keep_made(view,
                         memory_format("py::%s:%s", name, profile_string(profile, function->file)));
    return name;
}

const char *view_keep_text(struct view *view, const char *text)
{
    return keep_made(view, memory_duplicate_string(text));
}

struct view *view_new(const struct profile *profile)
{
    struct view *view = view_alloc(profile, memory_allocate_zeroed(1, sizeof(struct view_texts)));

    view->frame_count = view->frame_capacity = profile->function_count;
    view->frames = memory_allocate(view->frame_count * sizeof *view->frames);
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct function *function = &profile->functions[i];
        const struct module *module = &profile->modules[function->module];
        view->frames[i] = (struct view_frame){
            .name = shown_name(view, function),
            .object = profile_string(profile, module->path),
            .symbol = profile_string(profile, function->symbol),
            .file = profile_string(profile, function->file),
            .line = function->line,
            .function = (uint32_t)i,
            .start = function->start,
            .kind = function->kind,
            .module_kind = module->kind,
        };
    }
    return view;
}

struct view *view_new_like(const struct view *view)
{
    struct view *made = view_alloc(view->profile, view->texts);

    made->frame_count = made->frame_capacity = view->frame_count;
    made->frames = memory_allocate(view->frame_count * sizeof *made->frames);
    memcpy(made->frames, view->frames, view->frame_count * sizeof *made->frames);
    return made;
}

void view_free(struct view *view)
{
    if (!view)
        return;
    if (--view->texts->users == 0) {
        for (size_t i = 0; i < view->texts->text_count; i++)
            free(view->texts->texts[i]);
        free(view->texts->texts);
        free(view->texts);
    }
    free(view->frames);
    free(view->parent);
    free(view->frame);
    free(view->flags);
    free(view->self);
    free(view->calls);
    free(view);
}

uint32_t view_add_frame(struct view *view, const char *name, enum function_kind kind)
{
    *array_push(view->frames, view->frame_count, view->frame_capacity) = (struct view_frame){
        .name = view_keep_text(view, name),
        .object = "",
        .symbol = "",
        .file = "",
        .function = NONE,
        .kind = kind,
        .module_kind = MODULE_MARKER,
    };
    return (uint32_t)view->frame_count - 1;
}

bool view_is_thread(const struct view *view, uint32_t node)
{
    return view->frames[view->frame[node]].kind == FUNCTION_ROOT;
}

static uint64_t node_hash(uint32_t parent, uint32_t frame, uint8_t flags)
{
    uint64_t hash = ((uint64_t)parent << 32 | frame) * 0x9e3779b97f4a7c15ull;

    hash ^= hash >> 32;
    return (hash + flags) * 0xd6e8feb86659fd93ull >> 20;
}

static void fill_slots(struct view_builder *builder, size_t slot_count)
{
    const struct view *view = builder->view;
    size_t mask = slot_count - 1;

    free(builder->slots);
    builder->slots = memory_allocate_zeroed(slot_count, sizeof *builder->slots);
    builder->slot_count = slot_count;
    for (size_t i = 0; i < view->node_count; i++) {
        size_t at = node_hash(view->parent[i], view->frame[i], view->flags[i]) & mask;
        while (builder->slots[at])
            at = (at + 1) & mask;
        builder->slots[at] = (uint32_t)i + 1;
    }
}

void view_builder_start(struct view_builder *builder, struct view *view, size_t expected_nodes)
{
    size_t slot_count = 1024;

    while (slot_count < 2 * expected_nodes)
        slot_count *= 2;
    *builder = (struct view_builder){.view = view};
    fill_slots(builder, slot_count);
}

static uint32_t add_node(struct view *view, uint32_t parent, uint32_t frame, uint8_t flags)
{
    if (view->node_count == view->node_capacity)
        grow_columns(view);
    assert(view->node_count < NONE - 1);
    uint32_t node = (uint32_t)view->node_count++;
    view->parent[node] = parent;
    view->frame[node] = frame;
    view->flags[node] = flags;
    view->self[node] = 0;
    view->calls[node] = 0;
    return node;
}

uint32_t view_builder_child(struct view_builder *builder, uint32_t parent, uint32_t frame,
                            uint8_t flags)
{
    struct view *view = builder->view;
    size_t mask = builder->slot_count - 1;
    size_t at = node_hash(parent, frame, flags) & mask;

    for (uint32_t slot; (slot = builder->slots[at]); at = (at + 1) & mask) {
        uint32_t node = slot - 1;
        if (view->parent[node] == parent && view->frame[node] == frame &&
            view->flags[node] == flags)
            return node;
    }
    uint32_t node = add_node(view, parent, frame, flags);
    builder->slots[at] = node + 1;
    if (2 * view->node_count > builder->slot_count)
        fill_slots(builder, 2 * builder->slot_count);
    return node;
}

void view_builder_finish(struct view_builder *builder)
{
    free(builder->slots);
    *builder = (struct view_builder){0};
}

uint64_t view_total(const struct view *view)
{
    uint64_t total = 0;

    for (size_t i = 0; i < view->node_count; i++)
        total += view->self[i];
    return total;
}

uint64_t *view_totals(const struct view *view)
{
    uint64_t *totals = memory_allocate(view->node_count * sizeof *totals);

    memcpy(totals, view->self, view->node_count * sizeof *totals);
    for (size_t i = view->node_count; i-- > 0;)
        if (view->parent[i] != NONE)
            totals[view->parent[i]] += totals[i];
    return totals;
}

uint64_t view_path_frames(const struct view *view)
{
    uint32_t *depths = memory_allocate(view->node_count * sizeof *depths);
    uint64_t frames = 0;

    for (size_t i = 0; i < view->node_count; i++) {
        depths[i] = view->parent[i] == NONE ? 1 : depths[view->parent[i]] + 1;
        frames += view->self[i] ? depths[i] : 0;
    }
    free(depths);
    return frames;
}

struct view_links view_link(const struct view *view)
{
    size_t count = view->node_count;
    struct view_links links = {
        .first_child = memory_allocate((count + 1) * sizeof(uint32_t)),
        .next_sibling = memory_allocate((count + 1) * sizeof(uint32_t)),
    };

    memset(links.first_child, 0xff, (count + 1) * sizeof(uint32_t));
    for (size_t i = count; i-- > 0;) {
        size_t parent = view->parent[i] == NONE ? count : view->parent[i];
        links.next_sibling[i] = links.first_child[parent];
        links.first_child[parent] = (uint32_t)i;
    }
    return links;
}

void view_links_free(struct view_links *links)
{
    free(links->first_child);
    free(links->next_sibling);
    *links = (struct view_links){0};
}

/*
 * A node's total counts for its function unless the function stands above it on the path. Walking
 * the tree depth first, `open[frame]` says how many nodes of the frame are on the path now.
 */
struct function_cost *view_function_costs(const struct view *view)
{
    struct function_cost *costs = memory_allocate_zeroed(view->frame_count, sizeof *costs);
    uint32_t *open = memory_allocate_zeroed(view->frame_count, sizeof *open);
    uint64_t *totals = view_totals(view);
    struct view_links links = view_link(view);
    uint32_t node = links.first_child[view->node_count];

    while (node != NONE) {
        uint32_t frame = view->frame[node];
        costs[frame].self += view->self[node];
        costs[frame].calls += view->calls[node];
        if (open[frame]++ == 0)
            costs[frame].total += totals[node];
        if (links.first_child[node] != NONE) {
            node = links.first_child[node];
            continue;
        }
        while (node != NONE) {
            open[view->frame[node]]--;
            if (links.next_sibling[node] != NONE) {
                node = links.next_sibling[node];
                break;
            }
            node = view->parent[node];
        }
    }
    view_links_free(&links);
    free(totals);
    free(open);
    return costs;
}
