#include "profile/transform.h"

#include "common/map.h"
#include "common/memory.h"
#include "profile/view_send.h"

#include <stdlib.h>
#include <string.h>

/* A bit for each frame: does it match? */
static uint8_t *frames_skipped(const struct view *view, const struct skip_rules *rules)
{
    uint8_t *skipped = memory_allocate(view->frame_count);

    for (size_t i = 0; i < view->frame_count; i++) {
        const struct view_frame *frame = &view->frames[i];
        skipped[i] =
            skip_rules_match(rules, frame->object, frame->name, frame->symbol, frame->kind);
    }
    return skipped;
}

static uint8_t *frames_matching(const struct view *view, const char *option, const char *pattern,
                                struct error *error)
{
    uint8_t *matching = memory_allocate(view->frame_count);
    bool any = false;

    for (size_t i = 0; i < view->frame_count; i++) {
        const struct view_frame *frame = &view->frames[i];
        matching[i] = frame->kind != FUNCTION_ROOT &&
                      rule_matches_function(pattern, frame->name, frame->symbol);
    }
    for (size_t i = 0; i < view->node_count && !any; i++)
        any = matching[view->frame[i]];
    if (any)
        return matching;
    free(matching);
    error_set(error, "%s=%s: no such function in the profile", option, pattern);
    return NULL;
}

struct view *view_skip(const struct view *view, const struct skip_rules *rules)
{
    struct sending sending;
    uint8_t *skipped = frames_skipped(view, rules);

    sending_start(&sending, view, "(skipped)");
    for (uint32_t i = 0; i < view->node_count; i++) {
        uint32_t parent = sent_parent(&sending, i);
        if (skipped[view->frame[i]])
            send_cost(&sending, i, parent);
        else
            send_shown(&sending, i, parent);
    }
    free(skipped);
    return sending_finish(&sending);
}

/* The thread's frame above a node, already sent; NONE where threads are merged. */
static uint32_t top_of(const struct sending *sending, const uint32_t *tops, uint32_t node)
{
    uint32_t parent = sending->old->parent[node];

    return parent == NONE ? NONE : tops[parent];
}

int view_root(const struct view *view, const char *pattern, struct view **made, struct error *error)
{
    uint8_t *matching = frames_matching(view, "--root", pattern, error);
    struct sending sending;

    *made = NULL;
    if (!matching)
        return ERROR;
    uint32_t *tops = memory_allocate(view->node_count * sizeof *tops);
    uint8_t *inside = memory_allocate_zeroed(view->node_count, 1);
    sending_start(&sending, view, "(other)");
    for (uint32_t i = 0; i < view->node_count; i++) {
        uint32_t parent = view->parent[i];
        tops[i] = top_of(&sending, tops, i);
        inside[i] = matching[view->frame[i]] || (parent != NONE && inside[parent]);
        if (view_is_thread(view, i)) {
            send_shown(&sending, i, NONE);
            tops[i] = sending.to[i];
        } else if (inside[i]) {
            bool outermost = parent == NONE || !inside[parent];
            send_shown(&sending, i, outermost ? tops[i] : sending.to[parent]);
        } else {
            send_cost(&sending, i, tops[i]);
        }
    }
    free(matching);
    free(tops);
    free(inside);
    *made = sending_finish(&sending);
    return OK;
}

int view_focus(const struct view *view, const char *pattern, struct view **made,
               struct error *error)
{
    enum { BELOW = 1, ABOVE = 2 };
    uint8_t *matching = frames_matching(view, "--focus", pattern, error);
    struct sending sending;

    *made = NULL;
    if (!matching)
        return ERROR;
    uint8_t *place = memory_allocate_zeroed(view->node_count, 1);
    uint32_t *tops = memory_allocate(view->node_count * sizeof *tops);
    for (uint32_t i = 0; i < view->node_count; i++) {
        uint32_t parent = view->parent[i];
        if (matching[view->frame[i]] || (parent != NONE && place[parent] & BELOW))
            place[i] |= BELOW;
    }
    for (uint32_t i = (uint32_t)view->node_count; i-- > 0;)
        if (place[i] && view->parent[i] != NONE)
            place[view->parent[i]] |= ABOVE;
    sending_start(&sending, view, "(other)");
    for (uint32_t i = 0; i < view->node_count; i++) {
        tops[i] = top_of(&sending, tops, i);
        if (place[i] & BELOW) {
            send_shown(&sending, i, sent_parent(&sending, i));
        } else if (view_is_thread(view, i)) {
            send_shown(&sending, i, NONE);
            tops[i] = sending.to[i];
        } else {
            send_cost(&sending, i, tops[i]);
            if (place[i] & ABOVE)
                sending.to[i] = view_builder_child(&sending.builder, sent_parent(&sending, i),
                                                   view->frame[i], view->flags[i]);
        }
    }
    free(matching);
    free(place);
    free(tops);
    *made = sending_finish(&sending);
    return OK;
}

struct view *view_relabel(const struct view *view, const char *const *labels, bool join_inlined)
{
    struct view *made = view_new_like(view);
    struct profile *names = profile_new(); /* its strings number the labels */
    struct map first = {0};                /* label -> the first frame that has it */
    uint32_t *frame_to = memory_allocate(view->frame_count * sizeof *frame_to);
    uint32_t *node_to = memory_allocate(view->node_count * sizeof *node_to);
    struct view_builder builder;

    for (uint32_t i = 0; i < view->frame_count; i++) {
        uint32_t *place = map_place(&first, profile_intern(names, labels[i]));
        if (*place == MAP_ABSENT)
            *place = i;
        frame_to[i] = *place;
        made->frames[i].name = labels[i];
    }
    view_builder_start(&builder, made, view->node_count);
    for (size_t i = 0; i < view->node_count; i++) {
        uint32_t parent = view->parent[i] == NONE ? NONE : node_to[view->parent[i]];
        uint32_t node = view_builder_child(&builder, parent, frame_to[view->frame[i]],
                                           join_inlined ? 0 : view->flags[i]);
        made->self[node] += view->self[i];
        made->calls[node] += view->calls[i];
        node_to[i] = node;
    }
    view_builder_finish(&builder);
    map_free(&first);
    profile_free(names);
    free(frame_to);
    free(node_to);
    return made;
}

/* Replaces *view by what a transform made of it. */
static void replace(struct view **view, struct view *made)
{
    view_free(*view);
    *view = made;
}

typedef int transform_function(const struct view *, const char *, struct view **, struct error *);

static int replace_by_pattern(struct view **view, transform_function *transform,
                              const char *pattern, struct error *error)
{
    struct view *made;

    if (!pattern)
        return OK;
    if (transform(*view, pattern, &made, error)) {
        replace(view, NULL);
        return ERROR;
    }
    replace(view, made);
    return OK;
}

/* Without Python functions, only --python=only has anything to do. */
static bool has_python(const struct profile *profile)
{
    for (size_t i = 0; i < profile->function_count; i++)
        if (profile->functions[i].kind == FUNCTION_PYTHON)
            return true;
    return false;
}

int transforms_apply(const struct profile *profile, const struct transforms *transforms,
                     struct view **view, struct error *error)
{
    const struct skip_rules *skip = &transforms->skip;
    struct view *made;

    if (view_build(profile, &transforms->choice, view, error))
        return ERROR;
    if (transforms->python == PYTHON_ONLY || has_python(profile))
        replace(view, view_python(*view, transforms->python));
    if (skip->object_count || skip->function_count || skip->anon)
        replace(view, view_skip(*view, skip));
    if (replace_by_pattern(view, view_root, transforms->root, error) ||
        replace_by_pattern(view, view_focus, transforms->focus, error))
        return ERROR;
    if (transforms->fold_recursion)
        replace(view, view_fold_recursion(*view));
    if (transforms->invert) {
        if (view_invert(*view, &made, error)) {
            replace(view, NULL);
            return ERROR;
        }
        replace(view, made);
    }
    return OK;
}
