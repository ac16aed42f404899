/* initial_stack.c: see initial_stack.h. */
#include "core/initial_stack.h"
#include "core/processor.h"
#include "core/text.h"

#include <elf.h>

#define AT_SIGNAL_ROOM 51 /* AT_MINSIGSTKSZ, which elf.h may not have */

static void copy_bytes(uint64_t to, const void *from, uint64_t size)
{
    const uint8_t *in = from;
    for (uint64_t i = 0; i < size; i++)
        ((uint8_t *)to)[i] = in[i];
}

static uint64_t put_string(uint64_t at, const char *text)
{
    uint64_t size = text_length(text) + 1;
    copy_bytes(at - size, text, size);
    return at - size;
}

static unsigned list_length(char *const *list)
{
    unsigned count = 0;
    while (list[count])
        count++;
    return count;
}

/* Downwards, the last one highest. */
static uint64_t put_strings(uint64_t at, char *const *list)
{
    for (unsigned i = list_length(list); i-- > 0;)
        at = put_string(at, list[i]);
    return at;
}

/* Their addresses, one after the other from `first` on, and a NULL. */
static uint64_t *put_addresses(uint64_t *out, char *const *list, uint64_t first)
{
    for (; *list; list++) {
        *out++ = first;
        first += text_length(*list) + 1;
    }
    *out++ = 0;
    return out;
}

void initial_stack_put(struct initial_stack *stack, uint64_t top)
{
    unsigned count = list_length(stack->arguments);
    uint64_t words =
        1 + count + 1 + list_length(stack->environment) + 1 + 2 * (uint64_t)stack->row_count;
    uint64_t at = top - 8;
    copy_bytes(at, &(uint64_t){0}, 8);
    at = stack->environment_end = put_string(at, stack->path);
    at = stack->argument_end = put_strings(at, stack->environment);
    at = stack->argument_start = put_strings(at, stack->arguments);
    uint64_t platform = put_string(at & -16ul, "x86_64");
    uint64_t random = platform - 16;
    copy_bytes(random, stack->random, 16);
    stack->stack_pointer = (random - words * 8) & -16ul;
    uint64_t *out = (uint64_t *)stack->stack_pointer;
    *out++ = count;
    out = put_addresses(out, stack->arguments, stack->argument_start);
    out = put_addresses(out, stack->environment, stack->argument_end);
    stack->auxiliary = (uint64_t)out;
    for (unsigned i = 0; i < stack->row_count; i++) {
        uint64_t type = stack->rows[i].type;
        *out++ = type;
        *out++ = type == AT_EXECFN     ? stack->environment_end
                 : type == AT_PLATFORM ? platform
                 : type == AT_RANDOM   ? random
                                       : stack->rows[i].value;
    }
}

void initial_stack_fixed_rows(const struct program_facts *facts,
                              struct auxiliary rows[INITIAL_STACK_FIXED_ROWS])
{
    const struct auxiliary fixed[INITIAL_STACK_FIXED_ROWS] = {
        {AT_SIGNAL_ROOM, PROCESSOR_SIGNAL_ROOM_BYTES},
        {AT_HWCAP, PROCESSOR_HWCAP},
        {AT_PAGESZ, 4096},
        {AT_CLKTCK, 100},
        {AT_PHDR, facts->headers},
        {AT_PHENT, sizeof(Elf64_Phdr)},
        {AT_PHNUM, facts->header_count},
        {AT_BASE, facts->loader},
        {AT_FLAGS, 0},
        {AT_ENTRY, facts->entry},
        {AT_UID, facts->user},
        {AT_EUID, facts->effective_user},
        {AT_GID, facts->group},
        {AT_EGID, facts->effective_group},
        {AT_SECURE, facts->secure},
        {AT_RANDOM, 0},
        {AT_EXECFN, 0},
        {AT_PLATFORM, 0},
        {AT_NULL, 0},
    };
    for (unsigned i = 0; i < INITIAL_STACK_FIXED_ROWS; i++)
        rows[i] = fixed[i];
}
