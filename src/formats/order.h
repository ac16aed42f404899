/*
 * order.h: children in an order a person or a test can rely on, in linear time.
 */
#ifndef TRUEFLAME_ORDER_H
#define TRUEFLAME_ORDER_H

#include "profile/view.h"

/* Links in which siblings are sorted by the bytes of their frames' names, inlined after real. */
struct view_links order_by_name(const struct view *view);

/* Links in which siblings are sorted by total, largest first; equal ones by name. */
struct view_links order_by_total(const struct view *view, const uint64_t *totals);

#endif
