/*
 * view_edit.h: making views, for src/profile only.
 *
 * view_builder_child finds or adds a node by (parent, frame, flags) through a hash table that lives
 * as long as the builder. Adding children of existing nodes only keeps parents first.
 */
#ifndef TRUEFLAME_VIEW_EDIT_H
#define TRUEFLAME_VIEW_EDIT_H

#include "profile/view.h"

struct view_builder {
    struct view *view;
    uint32_t *slots; /* node + 1, 0 free; open addressing, at most half full */
    size_t slot_count;
};

/* An empty view of the profile's functions. */
struct view *view_new(const struct profile *profile);

/* An empty view that has the frames of `view` and shares its texts. */
struct view *view_new_like(const struct view *view);

/* Adds a made-up frame; `name` is copied. */
uint32_t view_add_frame(struct view *view, const char *name, enum function_kind kind);

/* Copies a text into the pool that this view and those made from it share. */
const char *view_keep_text(struct view *view, const char *text);

void view_builder_start(struct view_builder *builder, struct view *view, size_t expected_nodes);
uint32_t view_builder_child(struct view_builder *builder, uint32_t parent, uint32_t frame,
                            uint8_t flags);
void view_builder_finish(struct view_builder *builder);

#endif
