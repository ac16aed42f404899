#include "profile/view_send.h"

#include "common/memory.h"
#include <stdlib.h>

void sending_start(struct sending *sending, const struct view *old, const char *rest)
{
    *sending = (struct sending){.old = old, .rest = rest, .rest_frame = NONE};
    sending->to = memory_allocate(old->node_count * sizeof *sending->to);
    view_builder_start(&sending->builder, view_new_like(old), old->node_count);
}

struct view *sending_finish(struct sending *sending)
{
    struct view *view = sending->builder.view;

    view_builder_finish(&sending->builder);
    free(sending->to);
    return view;
}

uint32_t sent_parent(const struct sending *sending, uint32_t node)
{
    uint32_t parent = sending->old->parent[node];

    return parent == NONE ? NONE : sending->to[parent];
}

void send_shown(struct sending *sending, uint32_t node, uint32_t parent)
{
    const struct view *old = sending->old;
    uint32_t made =
        view_builder_child(&sending->builder, parent, old->frame[node], old->flags[node]);

    sending->to[node] = made;
    sending->builder.view->self[made] += old->self[node];
    sending->builder.view->calls[made] += old->calls[node];
}

void send_cost(struct sending *sending, uint32_t node, uint32_t target)
{
    struct view *view = sending->builder.view;

    sending->to[node] = target;
    if (sending->old->self[node] == 0)
        return;
    if (target == NONE || view_is_thread(view, target)) {
        if (sending->rest_frame == NONE)
            sending->rest_frame = view_add_frame(view, sending->rest, FUNCTION_MARKER);
        target = view_builder_child(&sending->builder, target, sending->rest_frame, 0);
    }
    view->self[target] += sending->old->self[node];
}
