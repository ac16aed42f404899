/*
 * view_send.h: the frame most transforms are made on, for transforms only.
 *
 * They send each old node to a new one, or to none, looking only at where its parent went; nodes
 * come parents first, so one loop does it. Costs that go nowhere are collected in one frame at the
 * top, called `rest`.
 */
#ifndef TRUEFLAME_VIEW_SEND_H
#define TRUEFLAME_VIEW_SEND_H

#include "profile/view_edit.h"

struct sending {
    const struct view *old;
    struct view_builder builder;
    uint32_t *to;     /* by old node: the new one, NONE where nothing above it is shown */
    const char *rest; /* name of the frame for costs that go nowhere */
    uint32_t rest_frame;
};

void sending_start(struct sending *sending, const struct view *old, const char *rest);

/* The new view; the sending is over. */
struct view *sending_finish(struct sending *sending);

/* Where the parent of an old node went. */
uint32_t sent_parent(const struct sending *sending, uint32_t node);

/* The node is shown, as a child of the new node `parent`. */
void send_shown(struct sending *sending, uint32_t node, uint32_t parent);

/* The node is not shown: its cost joins the new node `target`, or the rest where that is no
 * function. */
void send_cost(struct sending *sending, uint32_t node, uint32_t target);

#endif
