/*
 * main.c: the native engine, a program of its own.
 *
 *     trueflame-native [OPTIONS] -- PATH ARGV0 [ARGUMENTS...]
 *
 * It becomes the program at PATH. It has no libc, uses only general registers and no TLS, so the
 * program's vector registers, its fs and its heap are never touched; what it needs of its own it
 * finds through gs. Statically linked at an address of its own (layout.h).
 */
#include "engines/native/arena.h"
#include "engines/native/cache.h"
#include "engines/native/load.h"
#include "engines/native/maps.h"
#include "engines/native/record.h"
#include "engines/native/signals.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include "engines/native/text.h"
#include <asm/prctl.h>

void engine_main(uint64_t *stack) __attribute__((noreturn));

void thread_set_gs(struct native_thread *thread)
{
    sys(arch_prctl, ARCH_SET_GS, thread);
}

struct native_thread *thread_new(void)
{
    struct native_thread *thread = arena_allocate(sizeof *thread);
    uint8_t *stack = arena_allocate(ENGINE_STACK_BYTES);
    thread->self = thread;
    thread->stack_top = (uint64_t)stack + ENGINE_STACK_BYTES;
    thread->exit_entry = thread_leave_cache;
    thread->flags = 0x202;
    return thread;
}

static const char *option_value(const char *argument, const char *name)
{
    return string_starts(argument, name) ? argument + strlen(name) : NULL;
}

static void parse_option(const char *argument)
{
    const char *value;
    if ((value = option_value(argument, "--folder=")))
        options.folder = value;
    else if (!strcmp(argument, "--print-total"))
        options.print_total = true;
    else if (!strcmp(argument, "--detail=line"))
        options.line_detail = true;
    else if (!strcmp(argument, "--tail-calls=keep"))
        options.keep_tail_calls = true;
    else if (!strcmp(argument, "--start=off"))
        options.start_off = true;
    else
        refuse_program("unknown option ", argument, NULL);
}

static char **parse_arguments(char **arguments)
{
    char **at = arguments + 1;
    for (; *at && strcmp(*at, "--"); at++)
        parse_option(*at);
    if (!at[0] || !at[1] || !at[2])
        refuse_program("usage: trueflame-native [OPTIONS] -- PATH ARGV0 [ARGUMENTS...]", NULL);
    return at + 1;
}

void engine_main(uint64_t *stack)
{
    unsigned count = stack[0];
    char **arguments = (char **)(stack + 1), **environment = arguments + count + 1, **end = environment;
    while (*end)
        end++;
    load_set_auxiliary((const Elf64_auxv_t *)(end + 1));
    char **rest = parse_arguments(arguments);
    struct program program = {.path = rest[0], .arguments = rest + 1, .environment = environment};

    cache_init();
    record_init();
    maps_init();
    load_program(&program);
    syscalls_init(&program);
    struct native_thread *thread = thread_new();
    thread->thread = core_thread_new(&core, program.stack_pointer);
    thread->hot = *thread->thread->hot;
    thread->thread->hot = &thread->hot;
    thread->tid = sys(gettid);
    thread->pc = program.entry;
    thread->registers[REGISTER_RSP] = program.stack_pointer;
    thread_set_gs(thread);
    signals_init_thread(thread);
    signals_init();
    thread_start(thread);
}
