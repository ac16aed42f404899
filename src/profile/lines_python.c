/*
 * lines_python.c: Python lines by function, as --python shows them.
 */
#include "common/memory.h"
#include "profile/lines.h"

#include <stdlib.h>

/* Whose line a context's rows are, and whether they are its own or of a native function below. */
struct line_owner {
    uint32_t function; /* Python; NONE: none */
    bool own;
};

static bool is_plumbing(const struct profile *profile, uint32_t function)
{
    const struct function *row = &profile->functions[function];

    if (python_is_trampoline(row->kind, profile_string(profile, row->symbol)))
        return true;
    return row->kind == FUNCTION_NATIVE &&
           python_is_plumbing(profile_string(profile, profile->modules[row->module].path),
                              profile_string(profile, row->name),
                              profile_string(profile, row->symbol));
}

static struct line_owner *find_owners(const struct profile *profile)
{
    struct line_owner *owners = memory_allocate(profile->context_count * sizeof *owners);
    uint8_t *plumbing = memory_allocate_zeroed(profile->function_count, 1);

    for (size_t i = 0; i < profile->function_count; i++)
        plumbing[i] = is_plumbing(profile, (uint32_t)i);
    for (size_t i = 0; i < profile->context_count; i++) {
        const struct context *context = &profile->contexts[i];
        const struct line_owner *above = context->parent == NONE ? NULL : &owners[context->parent];
        bool python = profile->functions[context->function].kind == FUNCTION_PYTHON;
        if (python && !plumbing[context->function])
            owners[i] = (struct line_owner){.function = context->function, .own = true};
        else
            owners[i] = (struct line_owner){
                .function = above ? above->function : NONE,
                .own = above && above->own && plumbing[context->function],
            };
    }
    free(plumbing);
    return owners;
}

void python_function_lines(struct function_lines *lines, const struct profile *profile,
                           enum python_mode mode, const uint8_t *chosen)
{
    *lines = (struct function_lines){0};
    if (!profile->line_count || mode == PYTHON_NATIVE)
        return;
    struct line_owner *owners = find_owners(profile);
    for (size_t i = 0; i < profile->line_count; i++) {
        const struct line_count *row = &profile->lines[i];
        const struct line_owner *owner = &owners[row->context];
        if (owner->function == NONE || (chosen && !chosen[row->context]) ||
            (mode == PYTHON_MIXED && !owner->own))
            continue;
        *array_push(lines->rows, lines->count, lines->capacity) = (struct function_line){
            owner->function,
            {profile->functions[owner->function].file, row->line, row->instructions},
        };
    }
    free(owners);
    function_lines_finish(lines);
}
