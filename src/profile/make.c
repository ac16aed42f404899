#include "profile/make.h"

#include "common/memory.h"

#include <stdlib.h>
#include <string.h>

static uint32_t module_of(struct profile_maker *maker, const char *path, enum module_kind kind)
{
    struct profile *profile = maker->profile;
    uint32_t string = profile_intern(profile, path);
    uint32_t *place = map_place(&maker->modules, string);

    if (*place == MAP_ABSENT) {
        *array_push(profile->modules, profile->module_count, profile->module_capacity) =
            (struct module){.path = string, .kind = kind, .symbols = SYMBOLS_TABLE};
        *place = (uint32_t)profile->module_count - 1;
    }
    return *place;
}

static uint32_t add_function(struct profile *profile, uint32_t module, uint32_t name,
                             enum function_kind kind)
{
    *array_push(profile->functions, profile->function_count, profile->function_capacity) =
        (struct function){.module = module, .name = name, .kind = kind};
    return (uint32_t)profile->function_count - 1;
}

static uint32_t add_context(struct profile *profile, uint32_t parent, uint32_t function)
{
    *array_push(profile->contexts, profile->context_count, profile->context_capacity) =
        (struct context){.parent = parent, .function = function, .site = NONE};
    return (uint32_t)profile->context_count - 1;
}

void maker_start(struct profile_maker *maker, const char *engine)
{
    struct profile *profile = profile_new();

    *maker = (struct profile_maker){.profile = profile};
    profile->meta = (struct meta){
        .engine = profile_intern(profile, engine),
        .exit_status = -1,
        .symbolized = 1,
    };
    *array_push(profile->processes, profile->process_count, profile->process_capacity) =
        (struct process){.parent = NONE, .exit_status = -1};
    *array_push(profile->threads, profile->thread_count, profile->thread_capacity) =
        (struct thread){.ordinal = 1};
    *array_push(profile->parts, profile->part_count, profile->part_capacity) = (struct part){0};
    uint32_t markers = module_of(maker, "(markers)", MODULE_MARKER);
    uint32_t root =
        add_function(profile, markers, profile_intern(profile, "(root)"), FUNCTION_ROOT);
    *array_push(profile->roots, profile->root_count, profile->root_capacity) =
        (struct root){.context = add_context(profile, NONE, root)};
}

/* "py::QUALNAME:FILE", as every tool that tells Python functions writes them: in whatever object
 * the code was made, the function is the file's. */
static uint32_t python_function(struct profile_maker *maker, const char *name)
{
    const char *colon = strchr(name + 4, ':');
    char *qualified = memory_format("%.*s", (int)(colon - name - 4), name + 4);
    uint32_t module = module_of(maker, colon + 1, MODULE_PYTHON);
    uint32_t string = profile_intern(maker->profile, qualified);
    uint32_t *place = map_place(&maker->functions, map_pair(module, string));

    if (*place == MAP_ABSENT) {
        *place = add_function(maker->profile, module, string, FUNCTION_PYTHON);
        maker->profile->functions[*place].file = maker->profile->modules[module].path;
    }
    free(qualified);
    return *place;
}

uint32_t maker_function(struct profile_maker *maker, const char *name, const char *object)
{
    if (!strncmp(name, "py::", 4) && strchr(name + 4, ':'))
        return python_function(maker, name);
    uint32_t module = module_of(maker, object, MODULE_FILE);
    uint32_t string = profile_intern(maker->profile, *name ? name : "[unknown]");
    uint32_t *place = map_place(&maker->functions, map_pair(module, string));

    if (*place == MAP_ABSENT)
        *place = add_function(maker->profile, module, string, FUNCTION_NATIVE);
    return *place;
}

static uint32_t process_of(struct profile_maker *maker, uint32_t process_id, const char *command)
{
    struct profile *profile = maker->profile;
    uint32_t *place = map_place(&maker->processes, process_id);

    if (*place == MAP_ABSENT) {
        if (maker->processes.count > 1)
            *array_push(profile->processes, profile->process_count, profile->process_capacity) =
                (struct process){.parent = NONE, .exit_status = -1};
        *place = (uint32_t)profile->process_count - 1;
        profile->processes[*place].command = profile_intern(profile, command);
    }
    return *place;
}

uint32_t maker_thread(struct profile_maker *maker, uint32_t process_id, uint32_t thread_id,
                      const char *command)
{
    struct profile *profile = maker->profile;
    uint32_t process = process_of(maker, process_id, command);
    uint32_t *place = map_place(&maker->threads, map_pair(process, thread_id));

    if (*place != MAP_ABSENT)
        return *place;
    uint32_t ordinal = 1;
    for (size_t i = 0; i < profile->thread_count && maker->first_thread_named; i++)
        ordinal += profile->threads[i].process == process;
    if (maker->first_thread_named) {
        uint32_t root = add_context(profile, NONE, profile->contexts[0].function);
        *array_push(profile->threads, profile->thread_count, profile->thread_capacity) =
            (struct thread){.process = process, .ordinal = ordinal};
        *array_push(profile->roots, profile->root_count, profile->root_capacity) =
            (struct root){.context = root, .thread = (uint32_t)profile->thread_count - 1};
    }
    maker->first_thread_named = true;
    profile->threads[profile->thread_count - 1].name = profile_intern(profile, command);
    *place = profile->roots[profile->root_count - 1].context;
    return *place;
}

uint32_t maker_context(struct profile_maker *maker, uint32_t parent, uint32_t function)
{
    uint32_t *place = map_place(&maker->contexts, map_pair(parent, function));

    if (*place == MAP_ABSENT)
        *place = add_context(maker->profile, parent, function);
    return *place;
}

int maker_add(struct profile_maker *maker, uint32_t context, uint64_t instructions, uint64_t calls)
{
    struct context *row = &maker->profile->contexts[context];
    uint64_t instruction_sum, call_sum;

    /* If the sums over all contexts fit, every sum does. */
    if (__builtin_add_overflow(maker->instructions, instructions, &instruction_sum) ||
        __builtin_add_overflow(maker->calls, calls, &call_sum))
        return ERROR;
    maker->instructions = instruction_sum;
    maker->calls = call_sum;
    row->self_instructions += instructions;
    row->calls += calls;
    return OK;
}

struct profile *maker_finish(struct profile_maker *maker)
{
    struct profile *profile = maker->profile;

    maker->profile = NULL;
    maker_discard(maker);
    return profile;
}

void maker_discard(struct profile_maker *maker)
{
    profile_free(maker->profile);
    map_free(&maker->modules);
    map_free(&maker->functions);
    map_free(&maker->contexts);
    map_free(&maker->processes);
    map_free(&maker->threads);
    *maker = (struct profile_maker){0};
}
