#include "formats/labels.h"

#include "common/map.h"
#include "common/memory.h"

#include <inttypes.h>
#include <stdlib.h>

static bool has_address(const struct view_frame *frame)
{
    return frame->function != NONE && (frame->kind == FUNCTION_NATIVE ||
                                       frame->kind == FUNCTION_ANON || frame->kind == FUNCTION_JIT);
}

static char *raw_label(const struct view *view, const struct view_frame *frame)
{
    if (!has_address(frame) || view->profile->functions[frame->function].only_inlined ||
        frame->start == 0)
        return memory_duplicate_string(frame->name);
    return memory_format("%s+0x%" PRIx64, frame->object, frame->start);
}

/* Functions of one name in one object: name and module are strings of the profile, so their
 * numbers do for a key. */
static uint64_t identity(const struct view *view, const struct view_frame *frame)
{
    const struct function *function = &view->profile->functions[frame->function];

    return map_pair(function->module, function->name);
}

static bool is_copy(const struct view *view, const struct view_frame *frame)
{
    return has_address(frame) && !view->profile->functions[frame->function].only_inlined;
}

static void full_labels(struct labels *labels, const struct view *view)
{
    struct map copies = {0};

    for (size_t i = 0; i < view->frame_count; i++) {
        if (!is_copy(view, &view->frames[i]))
            continue;
        uint32_t *count = map_place(&copies, identity(view, &view->frames[i]));
        *count = *count == MAP_ABSENT ? 1 : *count + 1;
    }
    for (size_t i = 0; i < view->frame_count; i++) {
        const struct view_frame *frame = &view->frames[i];
        if (!has_address(frame) || !*frame->object)
            labels->texts[i] = memory_duplicate_string(frame->name);
        else if (frame->kind == FUNCTION_JIT ||
                 (is_copy(view, frame) && map_find(&copies, identity(view, frame)) > 1))
            labels->texts[i] =
                memory_format("%s (%s+0x%" PRIx64 ")", frame->name, frame->object, frame->start);
        else
            labels->texts[i] = memory_format("%s (%s)", frame->name, frame->object);
    }
    map_free(&copies);
}

void labels_make(struct labels *labels, const struct view *view, enum frames_style style)
{
    labels->count = view->frame_count;
    labels->texts = memory_allocate(labels->count * sizeof *labels->texts);
    if (style == FRAMES_FULL) {
        full_labels(labels, view);
        return;
    }
    for (size_t i = 0; i < view->frame_count; i++)
        labels->texts[i] = style == FRAMES_RAW ? raw_label(view, &view->frames[i])
                                               : memory_duplicate_string(view->frames[i].name);
}

void labels_free(struct labels *labels)
{
    for (size_t i = 0; i < labels->count; i++)
        free(labels->texts[i]);
    free(labels->texts);
    *labels = (struct labels){0};
}
