/*
 * linux_start.c: what a Linux program finds when it starts.
 *
 * The layout of the stack is that of qemu-riscv64, to the byte: string functions of C libraries
 * take different paths for different alignments, so only with equal alignments are instruction
 * counts equal. The sixteen "random" bytes are fixed, so that a run can be repeated.
 *
 *     top - 8   file name, environment strings, argument strings   (downwards)
 *               16 random bytes
 *               auxiliary vector
 *               environment pointers, NULL
 *               argument pointers, NULL
 *     sp        argument count                                     (16-aligned)
 */
#include "engines/riscv/image.h"
#include "engines/riscv/linux.h"

#include "common/memory.h"
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#define STACK_BYTES      (8ull << 20) /* at least */
#define MOST_STACK_BYTES (16ull << 30)
#define STACK_TOP        0x3f00000000ull
#define MAX_STRINGS      (STACK_BYTES / 4)

/* The letters A, C, D, F, I, M as bits. */
#define HARDWARE_CAPABILITIES 0x112d

struct builder {
    struct riscv_machine *machine;
    uint64_t sp;
    uint64_t left; /* bytes of strings that still fit */
};

static size_t count_strings(const char *const *strings)
{
    size_t count = 0;

    while (strings && strings[count])
        count++;
    return count;
}

static bool push_string(struct builder *builder, const char *text)
{
    size_t size_bytes = strlen(text) + 1;

    if (size_bytes > builder->left)
        return false;
    builder->left -= size_bytes;
    builder->sp -= size_bytes;
    memcpy(memory_host(&builder->machine->memory, builder->sp), text, size_bytes);
    return true;
}

/* Pushes the strings, last first, and notes where each is. */
static bool push_strings(struct builder *builder, const char *const *strings, size_t count,
                         uint64_t *addresses)
{
    for (size_t i = count; i-- > 0;) {
        if (!push_string(builder, strings[i]))
            return false;
        addresses[i] = builder->sp;
    }
    return true;
}

static void put_word(struct builder *builder, uint64_t word)
{
    memcpy(memory_host(&builder->machine->memory, builder->sp), &word, sizeof word);
    builder->sp += sizeof word;
}

static void put_auxiliary(struct builder *builder, uint64_t random, uint64_t name)
{
    const struct riscv_image *image = builder->machine->image;
    const uint64_t vector[][2] = {
        {AT_PHDR, image->headers},
        {AT_PHENT, sizeof(Elf64_Phdr)},
        {AT_PHNUM, image->header->e_phnum},
        {AT_PAGESZ, MEMORY_PAGE},
        {AT_BASE, 0},
        {AT_FLAGS, 0},
        {AT_ENTRY, image->entry},
        {AT_UID, getuid()},
        {AT_EUID, geteuid()},
        {AT_GID, getgid()},
        {AT_EGID, getegid()},
        {AT_HWCAP, HARDWARE_CAPABILITIES},
        {AT_CLKTCK, (uint64_t)sysconf(_SC_CLK_TCK)},
        {AT_RANDOM, random},
        {AT_SECURE, 0},
        {AT_EXECFN, name},
        {AT_NULL, 0},
    };

    for (size_t i = 0; i < sizeof vector / sizeof vector[0]; i++) {
        put_word(builder, vector[i][0]);
        put_word(builder, vector[i][1]);
    }
}

#define AUXILIARY_WORDS 34

static void put_tables(struct builder *builder, const uint64_t *arguments, size_t argument_count,
                       const uint64_t *variables, size_t variable_count, uint64_t name)
{
    struct riscv_machine *machine = builder->machine;
    static const uint8_t random_bytes[16] = "trueflame-fixed";

    builder->sp -= sizeof random_bytes;
    uint64_t random = builder->sp;
    memcpy(memory_host(&machine->memory, random), random_bytes, sizeof random_bytes);
    uint64_t words = AUXILIARY_WORDS + argument_count + variable_count + 3;
    builder->sp = (builder->sp - 8 * words) & ~15ull;
    machine->x[REGISTER_SP] = builder->sp;
    put_word(builder, argument_count);
    for (size_t i = 0; i < argument_count; i++)
        put_word(builder, arguments[i]);
    put_word(builder, 0);
    for (size_t i = 0; i < variable_count; i++)
        put_word(builder, variables[i]);
    put_word(builder, 0);
    put_auxiliary(builder, random, name);
}

/* `li a7, 139 (rt_sigreturn); ecall`, on a page of its own above the stack. */
static int put_trampoline(struct riscv_machine *machine, struct error *error)
{
    static const uint32_t code[] = {0x08b00893, 0x00000073};

    if (memory_map(&machine->memory, STACK_TOP, MEMORY_PAGE, MEMORY_READ | MEMORY_WRITE, error))
        return ERROR;
    memcpy(memory_host(&machine->memory, STACK_TOP), code, sizeof code);
    memory_protect(&machine->memory, STACK_TOP, MEMORY_PAGE, MEMORY_READ | MEMORY_EXECUTE);
    linux_state_of(machine)->trampoline = STACK_TOP;
    return OK;
}

/* As the host's limit has it, as for any program: who wants to go deeper raises that. A repeatable
 * run has the same addresses everywhere. */
static uint64_t stack_bytes(const struct riscv_machine *machine)
{
    struct rlimit limit;

    if (machine->options.repeatable || getrlimit(RLIMIT_STACK, &limit) ||
        limit.rlim_cur <= STACK_BYTES)
        return STACK_BYTES;
    return limit.rlim_cur < MOST_STACK_BYTES ? limit.rlim_cur & ~(MEMORY_PAGE - 1)
                                             : MOST_STACK_BYTES;
}

static int map_stack(struct riscv_machine *machine, struct error *error)
{
    struct linux_state *state = linux_state_of(machine);
    uint64_t size_bytes = stack_bytes(machine), start = STACK_TOP - size_bytes;

    if (!memory_is_free(&machine->memory, start, size_bytes + MEMORY_PAGE))
        return error_set(error, "%s cannot be loaded: it has a segment where its stack is",
                         machine->image->path);
    /* Nested functions of GCC are called by way of code on the stack. */
    unsigned permissions =
        MEMORY_READ | MEMORY_WRITE | (machine->image->runs_stack ? MEMORY_EXECUTE : 0);
    if (memory_map(&machine->memory, start, size_bytes, permissions, error))
        return ERROR;
    /* What stays free below keeps a runaway recursion from reaching a mapping. */
    state->map_limit = state->map_full = start - 256 * MEMORY_PAGE;
    state->stack_bytes = size_bytes;
    return OK;
}

int linux_prepare_stack(struct riscv_machine *machine, struct error *error)
{
    const char *alone[] = {machine->options.path, NULL};
    const char *const *arguments = machine->options.arguments ? machine->options.arguments : alone;
    const char *const *variables = machine->options.variables;
    size_t argument_count = count_strings(arguments), variable_count = count_strings(variables);
    struct builder builder = {.machine = machine, .sp = STACK_TOP - 8, .left = MAX_STRINGS};

    if (map_stack(machine, error) || put_trampoline(machine, error))
        return ERROR;

    uint64_t *addresses =
        memory_allocate_zeroed(argument_count + variable_count, sizeof *addresses);
    bool fits = push_string(&builder, machine->options.path);
    uint64_t name = builder.sp;
    fits = fits && push_strings(&builder, variables, variable_count, addresses + argument_count) &&
           push_strings(&builder, arguments, argument_count, addresses) &&
           8 * (argument_count + variable_count) < MAX_STRINGS;
    if (fits)
        put_tables(&builder, addresses, argument_count, addresses + argument_count, variable_count,
                   name);
    free(addresses);
    return fits ? OK : error_set(error, "arguments and environment are too long for the guest");
}
