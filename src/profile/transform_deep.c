/*
 * transform_deep.c: the transforms that look at a whole path: folding recursion and inverting.
 * Paths are a million frames long, so both walk with explicit positions, never by recursion.
 */
#include "common/memory.h"
#include "profile/transform.h"
#include "profile/view_edit.h"

#include <stdlib.h>
#include <string.h>

/*
 * Folding. While the old tree is walked depth first, `path` holds the new nodes from the root to
 * here. A frame that is on it already takes us back to its node: the path gets shorter for as long
 * as we are below. Each step overwrites at most one place of the path and one of `at`, and
 * remembers what was there in the undo record of the old node's depth.
 *
 *   old   a b a c     path after each step:  [a]  [a b]  [a]  [a c]
 */
struct fold_step {
    uint32_t length_before;          /* of the path */
    uint32_t overwritten;            /* what path[position] was */
    uint32_t frame, position_before; /* at[frame] was this */
};

struct fold {
    const struct view *old;
    struct view_builder builder;
    uint32_t *path;
    uint32_t length;
    uint32_t *at; /* by frame: its position on the path + 1, believed only if the path agrees */
    struct fold_step *steps;
    size_t step_count, step_capacity;
};

static void fold_enter(struct fold *fold, uint32_t node)
{
    const struct view *old = fold->old;
    struct view *view = fold->builder.view;
    uint32_t frame = old->frame[node], position = fold->at[frame];
    struct fold_step step = {fold->length, 0, frame, position};

    if (position && position <= fold->length && view->frame[fold->path[position - 1]] == frame) {
        fold->length = position;
        step.overwritten = fold->path[position - 1];
    } else {
        uint32_t parent = fold->length ? fold->path[fold->length - 1] : NONE;
        step.overwritten = fold->path[fold->length];
        fold->path[fold->length] =
            view_builder_child(&fold->builder, parent, frame, old->flags[node]);
        fold->at[frame] = ++fold->length;
    }
    uint32_t made = fold->path[fold->length - 1];
    view->self[made] += old->self[node];
    view->calls[made] += old->calls[node];
    *array_push(fold->steps, fold->step_count, fold->step_capacity) = step;
}

static void fold_leave(struct fold *fold)
{
    struct fold_step step = fold->steps[--fold->step_count];

    fold->path[fold->length - 1] = step.overwritten;
    fold->at[step.frame] = step.position_before;
    fold->length = step.length_before;
}

struct view *view_fold_recursion(const struct view *view)
{
    struct view_links links = view_link(view);
    struct fold fold = {
        .old = view,
        .path = memory_allocate_zeroed(view->frame_count + 1, sizeof(uint32_t)),
        .at = memory_allocate_zeroed(view->frame_count + 1, sizeof(uint32_t)),
    };
    uint32_t node = links.first_child[view->node_count];

    view_builder_start(&fold.builder, view_new_like(view), view->node_count);
    while (node != NONE) {
        fold_enter(&fold, node);
        if (links.first_child[node] != NONE) {
            node = links.first_child[node];
            continue;
        }
        while (node != NONE) {
            fold_leave(&fold);
            if (links.next_sibling[node] != NONE) {
                node = links.next_sibling[node];
                break;
            }
            node = view->parent[node];
        }
    }
    struct view *made = fold.builder.view;
    view_builder_finish(&fold.builder);
    view_links_free(&links);
    free(fold.path);
    free(fold.at);
    free(fold.steps);
    return made;
}

/* Each node with a cost of its own is a path; it is laid down leaf first. A thread's frame stays
 * on top. */
int view_invert(const struct view *view, struct view **made, struct error *error)
{
    struct view_builder builder;
    uint32_t *tops = memory_allocate((view->node_count + 1) * sizeof *tops);
    uint64_t steps = 0;

    view_builder_start(&builder, view_new_like(view), view->node_count);
    for (uint32_t i = 0; i < view->node_count; i++) {
        uint32_t parent = view->parent[i];
        tops[i] = parent == NONE ? NONE : tops[parent];
        if (view_is_thread(view, i))
            tops[i] = view_builder_child(&builder, NONE, view->frame[i], 0);
        uint32_t under = tops[i];
        if (view->self[i] == 0 && view->calls[i] == 0)
            continue;
        for (uint32_t at = i; at != NONE && !view_is_thread(view, at); at = view->parent[at]) {
            under = view_builder_child(&builder, under, view->frame[at], view->flags[at]);
            if (at == i)
                builder.view->calls[under] += view->calls[i];
            if (++steps > INVERT_MOST_NODES)
                goto too_many;
            if (view->self[i] == 0)
                break;
        }
        if (under != NONE)
            builder.view->self[under] += view->self[i];
    }
    *made = builder.view;
    view_builder_finish(&builder);
    free(tops);
    return OK;

too_many:
    view_free(builder.view);
    view_builder_finish(&builder);
    free(tops);
    *made = NULL;
    return error_set(error,
                     "--invert: the paths have more than %d frames in all; try "
                     "--fold-recursion with it",
                     INVERT_MOST_NODES);
}
