#include "core_script.h"

#include "core/platform.h"
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEGABYTE 0x100000u

const char *const script_functions[] = {"main",    "f",  "g",     "h",      "handler", "swap",
                                        "longjmp", "co", "start", "f.cold", NULL};
unsigned functions_found;

/* What the core allocates lives as long as its process. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* ---- the platform ---- */

/* The scripted program has no memory to read. */
bool platform_read(uint64_t address, void *buffer, size_t size_bytes)
{
    (void)address;
    (void)buffer;
    (void)size_bytes;
    return false;
}

bool platform_find_mapping(uint64_t address, uint64_t *start, uint64_t *end)
{
    *start = address / MEGABYTE * MEGABYTE;
    *end = *start + MEGABYTE;
    return *start != 0;
}

void platform_code_renamed(uint64_t start, uint64_t end)
{
    (void)start;
    (void)end;
}

bool (*script_is_part)(struct platform_stretch whole, struct platform_stretch part,
                       bool in_mid_frame);

bool platform_is_part(struct platform_stretch whole, struct platform_stretch part,
                      bool in_mid_frame)
{
    return script_is_part && script_is_part(whole, part, in_mid_frame);
}

void platform_function_found(uint64_t start, uint64_t end)
{
    assert_true(start < end);
    functions_found++;
}

/* ---- the machine ---- */

struct registers {
    uint64_t pc, sp;
};

struct word {
    uint64_t address, value;
};

struct machine {
    struct core core;
    struct code_module *module;
    struct thread *threads[8];     /* by number */
    struct registers registers[8]; /* of those that do not run */
    struct registers kept[26];
    struct registers interrupted[16];
    unsigned interrupted_count;
    unsigned running;
    struct registers now;
    struct word *memory; /* newest last; the last with an address counts */
    size_t word_count, word_capacity;
};

struct core *machine_core(struct machine *machine)
{
    return &machine->core;
}

uint64_t machine_place(const char *name)
{
    size_t length = strcspn(name, "+");
    uint64_t offset = name[length] ? strtoull(name + length + 1, NULL, 0) : 0;

    if (*name >= '0' && *name <= '9')
        return strtoull(name, NULL, 0);
    if (!strncmp(name, "plt", length))
        return SCRIPT_BIAS + PLT_START + offset;
    for (unsigned i = 0; script_functions[i]; i++)
        if (strlen(script_functions[i]) == length && !strncmp(script_functions[i], name, length))
            return SCRIPT_BIAS + CODE_START + 0x100 * i + offset;
    fail_msg("no such place: %s", name);
    return 0;
}

static struct code_module *add_program(struct core *core, bool has_lines)
{
    struct image_symbol symbols[16] = {{0}};
    size_t size_bytes;

    for (unsigned i = 0; script_functions[i]; i++)
        symbols[i] = (struct image_symbol){script_functions[i], CODE_START + 0x100 * i, 0x100,
                                           STT_FUNC, STB_GLOBAL};
    uint8_t *image = core_image_make(
        &(struct image_parts){.symbols = symbols, .has_lines = has_lines}, &size_bytes);
    struct code_module *module =
        code_map_add_image(&core->code, "/program", image, size_bytes, SCRIPT_BIAS + CODE_START,
                           SCRIPT_BIAS + PLT_END, SCRIPT_BIAS);
    free(image);
    return module;
}

static struct thread *running(struct machine *machine)
{
    return machine->threads[machine->running];
}

static void begin_thread(struct machine *machine, unsigned number, uint64_t pc, uint64_t sp)
{
    machine->registers[machine->running] = machine->now;
    machine->running = number;
    machine->now = (struct registers){.pc = pc, .sp = sp};
    machine->threads[number] = core_thread_new(&machine->core, sp);
    assert_int_equal(machine->threads[number]->number, number);
    core_mismatch(&machine->core, running(machine), pc, sp);
}

struct machine *machine_new(const struct core_options *options, bool has_lines)
{
    struct machine *machine = calloc(1, sizeof *machine);

    core_init(&machine->core, options);
    machine->module = add_program(&machine->core, has_lines);
    begin_thread(machine, 1, machine_place("main"), SCRIPT_STACK);
    return machine;
}

void machine_free(struct machine *machine)
{
    free(machine->memory);
    free(machine);
}

static void memory_write(struct machine *machine, uint64_t address, uint64_t value)
{
    if (machine->word_count == machine->word_capacity) {
        machine->word_capacity = machine->word_capacity ? 2 * machine->word_capacity : 64;
        machine->memory =
            realloc(machine->memory, machine->word_capacity * sizeof *machine->memory);
    }
    machine->memory[machine->word_count++] = (struct word){address, value};
}

static uint64_t memory_read(struct machine *machine, uint64_t address)
{
    for (size_t i = machine->word_count; i-- > 0;)
        if (machine->memory[i].address == address)
            return machine->memory[i].value;
    fail_msg("nothing was written at 0x%" PRIx64, address);
    return 0;
}

/* ---- the engine ---- */

static void run_instructions(struct machine *machine, uint64_t count)
{
    struct core *core = &machine->core;
    struct thread *thread = running(machine);
    struct code_place place = code_map_find(&core->code, machine->now.pc);

    if (place.function != thread->hot->current->code || thread->hot->pending_site)
        core_mismatch(core, thread, machine->now.pc, machine->now.sp);
    thread->hot->current->self_instructions += count;
    machine->now.pc += count;
}

static void do_call(struct machine *machine, uint64_t target)
{
    struct core *core = &machine->core;
    struct registers *now = &machine->now;
    struct code_place place = code_map_find(&core->code, now->pc);

    memory_write(machine, now->sp - 8, now->pc + 5);
    core_call(core, running(machine), tree_site(&core->tree, now->pc, place.module), target,
              now->pc + 5, now->sp);
    *now = (struct registers){.pc = target, .sp = now->sp - 8};
}

static void do_return(struct machine *machine)
{
    uint64_t target = memory_read(machine, machine->now.sp);

    machine->now = (struct registers){.pc = target, .sp = machine->now.sp + 8};
    if (!core_return_fast(running(machine), target, machine->now.sp))
        core_return(&machine->core, running(machine), target, machine->now.sp);
}

static void do_jump(struct machine *machine, uint64_t target)
{
    struct hot *hot = running(machine)->hot;

    machine->now.pc = target;
    if (hot->top[-1].stack_pointer - 8 - machine->now.sp > hot->reach)
        core_jump(&machine->core, running(machine), target, machine->now.sp);
}

static void do_signal(struct machine *machine, unsigned number, uint64_t handler, uint64_t stack)
{
    machine->interrupted[machine->interrupted_count++] = machine->now;
    core_signal_in(&machine->core, running(machine), number, machine->now.sp, stack != 0);
    machine->now.sp = (stack ? stack : machine->now.sp - 512) - 8;
    machine->now.pc = handler;
    core_mismatch(&machine->core, running(machine), handler, machine->now.sp);
}

static void do_signal_return(struct machine *machine)
{
    core_signal_out(&machine->core, running(machine), 0, 0);
    machine->now = machine->interrupted[--machine->interrupted_count];
    struct hot *hot = running(machine)->hot;
    if (code_map_find(&machine->core.code, machine->now.pc).function != hot->current->code)
        core_mismatch(&machine->core, running(machine), machine->now.pc, machine->now.sp);
}

static void switch_thread(struct machine *machine, unsigned number)
{
    machine->registers[machine->running] = machine->now;
    machine->running = number;
    machine->now = machine->registers[number];
    core_resume(&machine->core, running(machine));
}

/* ---- the language ---- */

static bool stack_word(struct machine *machine, const char *word, const char *argument)
{
    struct registers *now = &machine->now;
    struct registers *kept = &machine->kept[(unsigned char)(*argument - 'A') % 26];

    if (!strcmp(word, "push"))
        now->sp -= strtoull(argument, NULL, 0);
    else if (!strcmp(word, "pop"))
        now->sp += strtoull(argument, NULL, 0);
    else if (!strcmp(word, "stack"))
        now->sp = strtoull(argument, NULL, 0);
    else if (!strcmp(word, "write"))
        memory_write(machine, now->sp -= 8, machine_place(argument));
    else if (!strcmp(word, "keep") || !strcmp(word, "mark"))
        *kept = *now;
    else if (!strcmp(word, "use"))
        now->sp = kept->sp;
    else if (!strcmp(word, "setjmp"))
        *kept = (struct registers){.pc = memory_read(machine, now->sp), .sp = now->sp + 8};
    else
        return false;
    return true;
}

static bool control_word(struct machine *machine, const char *word, const char *argument)
{
    const struct registers *kept = &machine->kept[(unsigned char)(*argument - 'A') % 26];

    if (!strcmp(word, "run")) {
        run_instructions(machine, strtoull(argument, NULL, 0));
    } else if (!strcmp(word, "goto")) {
        machine->now.pc = machine_place(argument);
    } else if (!strcmp(word, "jump")) {
        do_jump(machine, machine_place(argument));
    } else if (!strcmp(word, "call")) {
        do_call(machine, machine_place(argument));
    } else if (!strcmp(word, "ret")) {
        do_return(machine);
    } else if (!strcmp(word, "longjmp")) {
        machine->now.sp = kept->sp;
        do_jump(machine, kept->pc);
    } else if (!strcmp(word, "sigreturn")) {
        do_signal_return(machine);
    } else if (!strcmp(word, "switch")) {
        switch_thread(machine, strtoull(argument, NULL, 0));
    } else if (!strcmp(word, "end")) {
        core_thread_end(&machine->core, running(machine));
        switch_thread(machine, 1);
    } else {
        return false;
    }
    return true;
}

static bool request_word(struct machine *machine, const char *word, const char *argument)
{
    struct core *core = &machine->core;

    if (!strcmp(word, "start"))
        core_start(core);
    else if (!strcmp(word, "stop"))
        core_stop(core);
    else if (!strcmp(word, "zero"))
        core_zero(core);
    else if (!strcmp(word, "dump"))
        core_dump(core, argument);
    else if (!strcmp(word, "label"))
        core_label(core, argument);
    else if (!strcmp(word, "fork"))
        core_forked(core, running(machine));
    else
        return false;
    core_resume(core, running(machine));
    return true;
}

static void run_line(struct machine *machine, char *line)
{
    char *words[4] = {"", "", "", ""};
    unsigned count = 0;

    for (char *word = strtok(line, " "); word && count < 4; word = strtok(NULL, " "))
        words[count++] = word;
    if (!count)
        return;
    if (!strcmp(words[0], "signal"))
        do_signal(machine, strtoul(words[1], NULL, 0), machine_place(words[2]),
                  strtoull(words[3], NULL, 0));
    else if (!strcmp(words[0], "thread"))
        begin_thread(machine, strtoul(words[1], NULL, 0), machine_place(words[2]),
                     strtoull(words[3], NULL, 0));
    else if (!stack_word(machine, words[0], words[1]) &&
             !control_word(machine, words[0], words[1]) &&
             !request_word(machine, words[0], words[1]))
        fail_msg("no such word: %s", words[0]);
}

void machine_run(struct machine *machine, const char *script)
{
    while (*script) {
        size_t length = strcspn(script, "\n;");
        char *line = strndup(script, length);
        run_line(machine, line);
        free(line);
        script += length + (script[length] != '\0');
    }
}

/* ---- what came out ---- */

static void print_place(FILE *out, const struct machine *machine, uint64_t address)
{
    uint64_t inside = address - SCRIPT_BIAS - CODE_START;
    uint64_t count = sizeof script_functions / sizeof *script_functions - 1;

    (void)machine;
    if (inside < 0x100 * count && inside % 0x100)
        fprintf(out, "%s+%" PRIu64, script_functions[inside / 0x100], inside % 0x100);
    else if (inside < 0x100 * count)
        fputs(script_functions[inside / 0x100], out);
    else
        fprintf(out, "0x%" PRIx64, address);
}

static void print_path(FILE *out, struct machine *machine, const struct context *context,
                       bool sites)
{
    const struct context *path[64];
    unsigned depth = 0;

    for (; context->parent; context = context->parent)
        path[depth++] = context;
    if (!depth)
        fputs("(root)", out);
    while (depth-- > 0) {
        const struct code_function *function = path[depth]->function;
        if (function->name)
            fputs(function->name, out);
        else
            print_place(out, machine, function->start + function->module->bias);
        if (sites && path[depth]->site) {
            fputs(path[depth]->flags & CONTEXT_ALL_SITES ? "@any" : "@", out);
            if (!(path[depth]->flags & CONTEXT_ALL_SITES))
                print_place(out, machine, machine->core.tree.sites[path[depth]->site].address);
        }
        fputs(depth ? ";" : "", out);
    }
}

static const struct plane_root *root_of(const struct core *core, const struct context *context)
{
    while (context->parent)
        context = context->parent;
    for (uint32_t i = 0; i < core->root_count; i++)
        if (core->roots[i].context == context)
            return &core->roots[i];
    fail_msg("a context without a root");
    return NULL;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *machine_tree(struct machine *machine, uint32_t plane, bool sites)
{
    const struct core *core = &machine->core;
    char **lines = calloc(core->tree.count, sizeof *lines);
    size_t count = 0, size_bytes;
    char *text;

    for (uint32_t i = 0; i < core->tree.count; i++) {
        const struct context *context = tree_context(&core->tree, i);
        const struct plane_root *root = root_of(core, context);
        if (root->plane != plane || (!context->self_instructions && !context->calls))
            continue;
        FILE *line = open_memstream(&lines[count++], &size_bytes);
        if (core->thread_count > 1)
            fprintf(line, "%u ", root->thread->number);
        print_path(line, machine, context, sites);
        fprintf(line, " %" PRIu64 " %" PRIu64 "\n", context->self_instructions, context->calls);
        fclose(line);
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    FILE *out = open_memstream(&text, &size_bytes);
    for (size_t i = 0; i < count; i++) {
        fputs(lines[i], out);
        free(lines[i]);
    }
    fclose(out);
    free(lines);
    return text;
}

void machine_assert_tree(struct machine *machine, uint32_t plane, const char *expected)
{
    char *tree = machine_tree(machine, plane, false);

    assert_string_equal(tree, expected);
    free(tree);
}

void machine_assert_repairs(struct machine *machine, const char *expected)
{
    char text[256] = "";

    for (unsigned i = 0; i < REPAIR_KINDS; i++)
        if (machine->core.repairs[i])
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s %" PRIu64,
                     *text ? ", " : "", repair_names[i], machine->core.repairs[i]);
    assert_string_equal(text, expected);
}

void script_gives(const char *script, const char *tree, const char *repairs)
{
    struct machine *machine = machine_new(&(struct core_options){0}, false);

    machine_run(machine, script);
    machine_assert_tree(machine, 1, tree);
    machine_assert_repairs(machine, repairs);
    machine_free(machine);
}
