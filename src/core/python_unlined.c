/*
 * python_unlined.c: the same path without the lines of Python functions, below which the functions hang
 * that are called there. It is kept for each context that was asked for: most call again.
 */
#include "core/core.h"
#include "core/platform.h"
#include "core/python.h"

static void note_unlined(struct python *python, uint32_t number, struct context *context)
{
    const size_t chunk = number / PYTHON_UNLINED;

    if (chunk >= python->unlined_capacity) {
        size_t capacity = python->unlined_capacity ? 2 * python->unlined_capacity : 64;
        while (capacity <= chunk)
            capacity *= 2;
        struct context ***larger = platform_allocate(capacity * sizeof *larger);
        for (size_t i = 0; i < python->unlined_capacity; i++)
            larger[i] = python->unlined[i];
        platform_release(python->unlined, python->unlined_capacity * sizeof *larger);
        python->unlined = larger;
        python->unlined_capacity = capacity;
    }
    if (!python->unlined[chunk])
        python->unlined[chunk] = platform_allocate(PYTHON_UNLINED * sizeof *python->unlined[chunk]);
    python->unlined[chunk][number % PYTHON_UNLINED] = context;
}

/* NULL: nobody asked yet. */
static struct context *noted_unlined(const struct python *python, uint32_t number)
{
    const size_t chunk = number / PYTHON_UNLINED;

    if (chunk >= python->unlined_capacity || !python->unlined[chunk])
        return NULL;
    return python->unlined[chunk][number % PYTHON_UNLINED];
}

static struct context *unlined(struct core *core, struct context *context)
{
    struct python *python = &core->python;
    uint32_t number = context_number(context);
    struct context *above = context;
    size_t depth = 0;

    if (context_is_line(context))
        return context->parent;
    struct context *twin = noted_unlined(python, number);
    if (twin)
        return twin;
    twin = context;
    for (; above && !(above->function->flags & CODE_FUNCTION_PYTHON); above = above->parent)
        depth++;
    if (above && context_is_line(above)) {
        struct context **path = platform_allocate((depth + 1) * sizeof *path);
        for (size_t i = depth; i-- > 0; context = context->parent)
            path[i] = context;
        twin = above->parent;
        for (size_t i = 0; i < depth; i++)
            twin = tree_twin_of(&core->tree, twin, path[i]);
        platform_release(path, (depth + 1) * sizeof *path);
    }
    note_unlined(python, number, twin);
    return twin;
}

struct context *python_calling(struct core *core, struct context *context)
{
    return core->options.python_lines ? unlined(core, context) : context;
}
