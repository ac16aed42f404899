/*
 * main.c: the native engine, a program of its own that becomes the program it is given.
 *
 *     trueflame-native [OPTIONS] -- PATH ARGV0 [ARGUMENTS...]
 *
 * It loads the program as the kernel would (load.c) and runs it from a cache of copied code
 * (translate.c, cache.c): instructions are what they were, except that branches lead to copies
 * and calls, returns and indirect jumps keep the core's shadow stack and context tree (fast.c, and
 * dispatch.c for whatever is rare). It counts exactly: totals are those of single-stepping.
 *
 *     load.c       ELF, initial stack, vdso          syscalls.c   which system calls are ours
 *     ../x86_64/decode.c  lengths, flags             maps.c       the program's memory
 *     copy.c       one instruction elsewhere         signals.c    exact states for handlers
 *     translate.c  blocks, counting                  gate.c       interrupted system calls
 *     fast.c       calls                             threads.c    threads, fork, vfork
 *     children.c   the contexts they lead to         foreseen.c   where indirect ones lead
 *     returns.c    returns                           vectors.c    the registers of the cache
 *     jumps.c      indirect jumps, entries           flags.c      where flags are free
 *     lines.c      counts per context and run        exec.c       the next program
 *     files.c      the engine's own files            limits.c     what the program may have
 *     line_place.c where a run is counted            line_counters.c  and in what
 *     dispatch.c   what leaves the cache             proc.c       /proc/self/exe
 *     record.c     the core's platform, raw files    requests.c   what the program asks for
 *     turns.c      budget, checkpoints               progress.c   how far the program is
 *     python_watch.c  Python frames                  proc_maps.c  /proc/self/maps
 *     python_fast.c   those that stay in the cache  python_counts.c  and their lines
 *     python_codes.c  the code they run              python_again.c  those that cannot be watched
 *     python_calls.c  calls that were made before
 *     repeatable.c  one processor, clock and chance  seccomp.c  filters of system calls
 *     places.c        and one set of addresses      order.c    whose turn it is
 *     waits.c         and waits with a limit         stopped.c  where a signal found a thread
 *     signal_frames.c what handlers find on the stack  shared_memory.c  of System V
 *
 * Why no libc, no vector registers in C, no TLS: the program's vector registers, its fs and its
 * heap are then never touched (but for some vector registers that code in the cache borrows), and
 * leaving the cache costs sixteen stores. What the engine needs of its own it finds through gs;
 * programs that use gs themselves are refused when they do. Why at a fixed address: everything the
 * program can see stands where it stood, whatever the build.
 *
 * Why our own decoder: see x86_64/decode.h.
 *
 * What always holds: no mapping is writable and executable; the kernel has the program's signal
 * mask; at most one signal per thread is held; one lock (cache.lock) guards the cache and the core,
 * and is taken on slow paths only.
 *
 * What is not right yet:
 *   - VmSize and SigCgt in /proc/self/status show the engine, and /proc/self/maps is a copy; a
 *     program that may be anywhere is at 0x2a500000, where it may map something itself; rseq is not
 *     there (ENOSYS): the kernel aborts a sequence by the address of its code, and what runs is a
 *     copy, so that it never would; libc and allocators do without; ptrace of the program shows
 *     copied code, so that children which ask to be traced leave the recording with their next exec.
 *   - threads that still run when another ends the process are counted up to a moment, not to an
 *     instruction; so are those that run when recording is switched on or off.
 *   - the handler of a fault sees flags that the faulting instruction would have overwritten as
 *     something else, if the engine has done without them. Indirect jumps and returns to what is no
 *     address fault where they would have gone to, not where they are. A program that steps through
 *     itself (the trap flag) gets one trap. Ticks of a timer whose handler takes
 *     longer than its period are left out, every other one at most.
 *   - a child of fork begins with an empty cache. One of vfork that is killed while it holds a lock
 *     ends its maker too, with a sentence: what the lock guards may be half changed.
 *   - 32-bit code, far branches, int 0x80, rdgsbase: refused, with a sentence, when reached.
 *   - with --repeatable threads run for other spans than under the reference engine.
 *
 * Where the time goes: a call and its return are about forty instructions more, eight of them to
 * borrow and give back two registers, which wait in vector registers; the rest is the shadow entry,
 * the child's lookup and the count's way to the contexts, whose memory is not always near. A leaf's
 * are twenty (leaves.h): a
 * third of the calls of sqlite3, a fifth of those of cc1, most of a sort. One through the PLT is
 * five more, once its slot is bound. Counting itself is one vector add for some segments. An
 * indirect jump is twenty instructions. Line detail adds two to four wherever a run of segments
 * ends, six where flags are live; in sqlite3 that is every seven instructions, by branches (two in
 * five), calls and returns (one in three), jumps. About a quarter of its samples are there, most of
 * them waiting for a counter's memory; cc1's contexts touch 30 MB of counters. A call of CPython's
 * evaluator and its return are a hundred and thirty (python_fast.c).
 * With Python's lines, a run of the evaluator is counted by two instructions and a running count of
 * the line's. Flags are not saved for that where only a call, a return or an indirect jump is ahead
 * (flags.c), and runs go on through branches backward (segments.c): before that a loop of arithmetic
 * took an eighth longer. What watching adds is mostly such events: about twenty nanoseconds for a
 * call that C makes and its return, and five for a change of lines, more where it waits for memory.
 * Before that, a program that imports much pays for its contexts: what C runs for a line of Python
 * has its own below that line, twice as many again where asyncio is imported.
 * Of a run of cc1, a call every forty instructions and 130,000 contexts, samples find 74 in a
 * hundred in blocks, 7 in what is shared or rare (entries of indirect branches, tail calls, children
 * that are not beside their context), 10 in translation and new contexts, 8 in the kernel, which
 * gives memory, 2 in the names. Of sqlite3: 82, 9, 1 and 6; most of what waits there is the
 * program's own memory.
 *
 * What a call and its return cost is not in their instructions: alone in a loop they are less than two
 * nanoseconds more. It is in the branches that are taken, of which a large program has more than the
 * processor remembers: landings, entries and side exits that take one less made cc1 and sqlite3 a
 * tenth faster, and children that are not in each other's way cc1 another tenth. And it is in what goes
 * through memory for a few instructions: with the borrowed registers in thread.spill, as they were,
 * perl and python3 take a sixth longer, sqlite3 and cc1 a twelfth. A tail call through a
 * PLT slot that leads straight on is a twentieth of sqlite3; a leaf's context that is looked for
 * only behind its return, with nothing borrowed at the call, a tenth of a sort.
 *
 * Tried, and no gain: returns by the processor's own `ret`, from calls of its own, so that it foresees
 * them (sqlite3 a tenth slower: one more jump a call; but a sqlite3 compiled to return by jumps is no
 * slower, so that there is nothing to gain); large pages for the program's own heap; a copy of the
 * cache for a child of fork (the kernel takes as long to give the pages as the child does to translate
 * what it runs); leaves that may call something on a rare way (what is translated twice costs cc1 more
 * than they gain); blocks of half or twice as many branches; large pages for what runs faster in them
 * (they are for what fills up, as giving those takes the kernel a fifth of the time); children of
 * neighbouring contexts near each other in their table (cc1 leaves the cache three times as often for
 * them); half the room for counters; to prefetch the callee's context, or its counters; places beside
 * a context that are one callee's alone, so that nobody asks whose it is; to settle the count before
 * the child is looked for, which keeps a register (sqlite3 slower, not understood); denser blocks;
 * small leaves copied into the blocks that call them, which spares two jumps (nothing to be seen in
 * sqlite3, cc1, perl or a sort); tail calls by three instructions less, or right before their target's
 * block (2 to 4 in a hundred slower); contexts that begin in every cache line instead of every other;
 * indirect calls that become direct ones after eight calls, not eight contexts (half as many samples
 * in what is shared, and not faster); at line detail, counters in the order of how many contexts use
 * them (half their memory, but no time: every function is made anew for it); saved flags in a vector
 * register, in the place of a constant; pages of counters of Python functions that do not begin at the
 * same place of the first cache; no contexts for lines of Python functions that run for the first
 * times, but what was counted since told to the core when the line changes (an import makes a third
 * fewer contexts, and what is told takes as long); what contexts that ran once counted written once for
 * all that counted alike (a sixth of the rows, and to find the like takes as long as to write them);
 * less memory for young counters, or taking back those of contexts with eight calls too; to prefetch a
 * context's slot for the Python function that is called. Without any settling of counts sqlite3 would be
 * seven in a hundred faster; twelve more instructions a call, whatever they are, make it four or five
 * slower.
 * What no engine of call paths gets around: clang compiling a file of templates has a context for every
 * 800 instructions, 15 million in all, and takes twelve times as long.
 * `record` then takes a twentieth of a second more to find names where libc's debug information is
 * installed: half of that is for inflating its sections.
 */
#include "core/text.h"
#include "engines/native/arena.h"
#include "engines/native/cache.h"
#include "engines/native/exec.h"
#include "engines/native/fast.h"
#include "engines/native/limits.h"
#include "engines/native/load.h"
#include "engines/native/maps.h"
#include "engines/native/proc.h"
#include "engines/native/python_again.h"
#include "engines/native/record.h"
#include "engines/native/repeatable.h"
#include "engines/native/signals.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include "engines/native/text.h"
#include "engines/native/threads.h"
#include "engines/native/turns.h"
#include "engines/native/vectors.h"

void engine_main(uint64_t *stack) __attribute__((noreturn));

#define ADDR_NO_RANDOMIZE 0x0040000
#define RANDOMIZE_AGAIN   "--randomize-again"

static bool randomize_again;

/* The kernel lays out the engine's address space, which becomes the program's, the same way every
 * time: the engine executes itself once more to have it so, and gives the setting back after. */
static void fix_addresses(uint64_t *stack, char **environment)
{
    long personality = sys(personality, 0xffffffff);
    if (personality & ADDR_NO_RANDOMIZE)
        return;
    /* With one more, the list begins one word lower, where its length was; it may be of any length. */
    char **list = (char **)stack, *called = list[1];
    list[0] = called;
    list[1] = RANDOMIZE_AGAIN;
    sys(personality, personality | ADDR_NO_RANDOMIZE);
    sys(execve, "/proc/self/exe", list, environment);
    sys(personality, personality);
    list[1] = called;
}

static const char *option_value(const char *argument, const char *name)
{
    return string_starts(argument, name) ? argument + strlen(name) : NULL;
}

static uint64_t parse_number(const char *text)
{
    const char *end;
    return text_to_number(text, &end);
}

/* Kept: the stack it is on becomes the program's. */
static void take_run_folder(const char *path)
{
    static char error_path[4096];
    struct string_builder builder = {error_path, 0, sizeof error_path};
    options.run_folder = text_keep(path);
    string_add(&builder, path);
    string_add(&builder, "/error");
    refuse_into(error_path);
}

static void parse_option(const char *argument)
{
    const char *value;
    if ((value = option_value(argument, "--run-folder=")))
        take_run_folder(value);
    else if ((value = option_value(argument, "--max-contexts=")))
        options.max_contexts = parse_number(value);
    else if ((value = option_value(argument, "--cache-size=")))
        cache_limit(parse_number(value));
    else if ((value = option_value(argument, "--budget=")))
        options.budget = parse_number(value);
    else if ((value = option_value(argument, "--checkpoint=")))
        options.checkpoint = parse_number(value);
    else if ((value = option_value(argument, "--python-retry=")))
        options.python_retry = parse_number(value);
    else if ((value = option_value(argument, "--trampolines=")))
        options.trampolines = text_keep(value);
    else if ((value = option_value(argument, LIMITS_OPTION)))
        limits_take_option(value);
    else if (!strcmp(argument, "--print-total"))
        options.print_total = true;
    else if (!strcmp(argument, "--detail=line"))
        options.line_detail = true;
    else if (!strcmp(argument, "--tail-calls=keep"))
        options.keep_tail_calls = true;
    else if (!strcmp(argument, "--start=off"))
        options.start_off = true;
    else if (!strcmp(argument, "--progress"))
        options.progress = true;
    else if (!strcmp(argument, "--repeatable"))
        options.repeatable = true;
    else if (!strcmp(argument, "--python=yes"))
        options.python = true;
    else if (!strcmp(argument, "--python-seed"))
        options.python_seed = true;
    else if (!strcmp(argument, "--children=no"))
        options.follow_children = false;
    else if (!strcmp(argument, "--without=avx512"))
        options.narrow_vectors = true;
    else if (!strcmp(argument, "--without=loop"))
        options.slow_loop = true;
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
    char **arguments = (char **)(stack + 1), **environment = arguments + count + 1,
         **end = environment;
    while (*end)
        end++;
    load_set_auxiliary((const Elf64_auxv_t *)(end + 1));
    fix_addresses(stack, environment);
    options.follow_children = true;
    char **rest = parse_arguments(arguments);
    struct program program = {.path = rest[0], .arguments = rest + 1, .environment = environment};

    exec_init(arguments);
    if (!vectors_init(options.narrow_vectors))
        refuse_program("the processor has no AVX", NULL);
    limits_init((uint64_t)stack);
    cache_init();
    record_init(program.arguments);
    turns_init();
    repeatable_init();
    fast_init();
    maps_init();
    load_program(&program);
    python_begin(&program);
    syscalls_init(&program);
    if (randomize_again)
        sys(personality, sys(personality, 0xffffffff) & ~(long)ADDR_NO_RANDOMIZE);
    struct native_thread *thread = threads_first(program.stack_pointer);
    thread->pc = program.entry;
    arena_program_runs();
    signals_install_all(thread);
    thread_start(thread);
}
