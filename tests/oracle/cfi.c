/*
 * cfi.c: reads the call path by the unwind tables of the program, through libdw.
 *
 * For static programs with the C and C++ libraries inside, which are built without frame pointers
 * but with tables that hold at every instruction. Signal handlers are not followed: the tables do
 * not say which signal it was.
 */
#include "oracle.h"
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>

static pid_t next_thread(Dwfl *dwfl, void *process, void **thread)
{
    (void)dwfl;
    if (*thread)
        return 0;
    *thread = process;
    return ((struct walk *)process)->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t task, void *process, void **thread)
{
    (void)dwfl, (void)task;
    *thread = process;
    return true;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *process)
{
    (void)dwfl;
    pid_t pid = ((struct walk *)process)->pid;
    return memory_read(pid, address, word, sizeof *word) == sizeof *word;
}

/* In the order in which DWARF numbers them. */
static bool set_registers(Dwfl_Thread *thread, void *data)
{
    struct user_regs_struct user;
    if (ptrace(PTRACE_GETREGS, ((struct walk *)data)->pid, NULL, &user) < 0)
        return false;
    Dwarf_Word registers[] = {user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi,
                              user.rbp, user.rsp, user.r8,  user.r9,  user.r10, user.r11,
                              user.r12, user.r13, user.r14, user.r15, user.rip};
    return dwfl_thread_state_registers(thread, 0, 17, registers);
}

static bool symbol_is(const struct walk *walk, int symbol, const char *name)
{
    return symbol != NO_SYMBOL && strcmp(walk->image->symbols[symbol].name, name) == 0;
}

static int add_frame(Dwfl_Frame *state, void *data)
{
    struct walk *walk = data;
    Dwarf_Addr pc;
    bool is_activation;
    if (!dwfl_frame_pc(state, &pc, &is_activation))
        die("a frame without an address");
    /* A coroutine's first function was never called; this is only where it would return to. */
    if (walk->count && symbol_is(walk, image_symbol_at(walk->image, pc), "__start_context"))
        return DWARF_CB_ABORT;
    int symbol = image_symbol_at(walk->image, pc - (is_activation ? 0 : 1));
    if (symbol == NO_SYMBOL)
        die("the unwind tables lead to %#lx, where no function is", (unsigned long)pc);
    if (symbol_is(walk, symbol, "__restore_rt"))
        die("a signal handler: not followed by unwind tables");
    if (walk->count == WALK_MAX)
        die("the stack is deeper than %d frames", WALK_MAX);
    walk->frames[walk->count++] = walk->image->symbols[symbol].function;
    return DWARF_CB_OK;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
    .next_thread = next_thread,
    .get_thread = get_thread,
    .memory_read = read_word,
    .set_initial_registers = set_registers,
};

static Dwfl *open_program(const char *path, struct walk *walk)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
    };
    Dwfl *dwfl = dwfl_begin(&callbacks);
    dwfl_report_begin(dwfl);
    if (!dwfl_report_elf(dwfl, path, path, -1, 0, false))
        die("%s: %s", path, dwfl_errmsg(-1));
    dwfl_report_end(dwfl, NULL, NULL);
    if (!dwfl_attach_state(dwfl, NULL, walk->pid, &thread_callbacks, walk))
        die("%s: %s", path, dwfl_errmsg(-1));
    return dwfl;
}

void walk_stack_by_tables(struct walk *walk, const char *path)
{
    static Dwfl *dwfl;
    if (!dwfl)
        dwfl = open_program(path, walk);
    walk->count = 0;
    dwfl_getthread_frames(dwfl, walk->pid, add_frame, walk);
    if (walk->count == 0)
        die("no frames: %s", dwfl_errmsg(-1));
}
