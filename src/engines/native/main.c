/*
 * main.c: the native engine, a program of its own.
 *
 *     trueflame-native [OPTIONS] -- PATH ARGV0 [ARGUMENTS...]
 *
 * It becomes the program at PATH. It has no libc, uses only general registers and no TLS, so the
 * program's vector registers, its fs and its heap are never touched; what it needs of its own it
 * finds through gs. Statically linked at an address of its own (layout.h).
 */
#include "core/text.h"
#include "engines/native/arena.h"
#include "engines/native/cache.h"
#include "engines/native/exec.h"
#include "engines/native/load.h"
#include "engines/native/maps.h"
#include "engines/native/proc.h"
#include "engines/native/record.h"
#include "engines/native/signals.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include "engines/native/text.h"
#include "engines/native/threads.h"

void engine_main(uint64_t *stack) __attribute__((noreturn));

#define ADDR_NO_RANDOMIZE 0x0040000
#define RANDOMIZE_AGAIN   "--randomize-again"

static bool randomize_again;

/* The kernel lays out the engine's address space, which becomes the program's, the same way every
 * time: the engine executes itself once more to have it so, and gives the setting back after. */
static void fix_addresses(unsigned count, char **arguments, char **environment)
{
    long personality = sys(personality, 0xffffffff);
    if (personality & ADDR_NO_RANDOMIZE)
        return;
    char *list[count + 2];
    list[0] = arguments[0];
    list[1] = RANDOMIZE_AGAIN;
    for (unsigned i = 1; i <= count; i++)
        list[i + 1] = arguments[i];
    sys(personality, personality | ADDR_NO_RANDOMIZE);
    sys(execve, "/proc/self/exe", list, environment);
    sys(personality, personality);
}

static const char *option_value(const char *argument, const char *name)
{
    return string_starts(argument, name) ? argument + strlen(name) : NULL;
}

static uint64_t parse_number(const char *text)
{
    uint64_t number = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        number = number * 10 + (*text - '0');
    return number;
}

static void parse_option(const char *argument)
{
    const char *value;
    if ((value = option_value(argument, "--run-folder=")))
        options.run_folder = text_keep(value); /* the stack it is on becomes the program's */
    else if ((value = option_value(argument, "--max-contexts=")))
        options.max_contexts = parse_number(value);
    else if (!strcmp(argument, "--print-total"))
        options.print_total = true;
    else if (!strcmp(argument, "--detail=line"))
        options.line_detail = true;
    else if (!strcmp(argument, "--tail-calls=keep"))
        options.keep_tail_calls = true;
    else if (!strcmp(argument, "--start=off"))
        options.start_off = true;
    else if (!strcmp(argument, "--children=no"))
        options.follow_children = false;
    else if (!strcmp(argument, RANDOMIZE_AGAIN))
        randomize_again = true;
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
    fix_addresses(count, arguments, environment);
    options.follow_children = true;
    char **rest = parse_arguments(arguments);
    struct program program = {.path = rest[0], .arguments = rest + 1, .environment = environment};

    exec_init(arguments);
    cache_init();
    record_init(program.arguments);
    maps_init();
    load_program(&program);
    syscalls_init(&program);
    if (randomize_again)
        sys(personality, sys(personality, 0xffffffff) & ~(long)ADDR_NO_RANDOMIZE);
    struct native_thread *thread = threads_first(program.stack_pointer);
    thread->pc = program.entry;
    signals_install_all(thread);
    thread_start(thread);
}
