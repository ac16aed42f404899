/*
 * proc.c: see proc.h.
 *
 * /proc/self/exe, also by pid and through task: its link is the program's path, and opening it
 * opens the program. What else the kernel says of a process (cmdline, environ, auxv) it is told
 * when the program is loaded (load.c).
 */
#include "engines/native/proc.h"
#include "engines/native/gate.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include "engines/native/text.h"
#include <errno.h>

static const char *program;

void proc_set_program(const char *path)
{
    program = path;
}

const char *proc_program(void)
{
    return program;
}

/* The text after `prefix`, NULL if it is not there. */
static const char *after(const char *text, const char *prefix)
{
    return text && string_starts(text, prefix) ? text + strlen(prefix) : NULL;
}

static const char *after_number(const char *text, uint64_t number)
{
    char digits[24];
    struct string_builder builder = {digits, 0, sizeof digits};
    string_add_number(&builder, number, 10);
    return after(text, digits);
}

/* What `path` names below the process's own folder of /proc, or its thread's; NULL: elsewhere. */
static const char *own_file(const char *path)
{
    const char *rest = after(path, "/proc/");
    const char *next = after(rest, "self/");
    if (!next)
        next = after(rest, "thread-self/");
    if (!next && rest)
        next = after(after_number(rest, sys(getpid)), "/");
    const char *task = after(next, "task/");
    if (task) {
        while (*task >= '0' && *task <= '9')
            task++;
        next = after(task, "/");
    }
    return next;
}

bool proc_is_exe(const char *path)
{
    const char *file = own_file(path);
    return file && !strcmp(file, "exe");
}

static bool is_maps(const char *path)
{
    const char *file = own_file(path);
    return file && (!strcmp(file, "maps") || !strcmp(file, "smaps"));
}

/* A path of the program's, copied; false if it is too long or not there. */
static bool take_path(uint64_t address, char *path, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!gate_copy(path + i, (const char *)address + i, 1))
            return false;
        if (!path[i])
            return true;
    }
    return false;
}

static bool names_exe(uint64_t address)
{
    char path[64];
    return take_path(address, path, sizeof path) && proc_is_exe(path);
}

static long put_link(uint64_t to, uint64_t size)
{
    if ((int64_t)size <= 0)
        return -EINVAL;
    size_t length = strlen(program);
    if (length > size)
        length = size;
    return gate_copy((void *)to, program, length) ? (long)length : -EFAULT;
}

long proc_call_readlink(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    if (names_exe(r[REGISTER_RDI]))
        return put_link(r[REGISTER_RSI], r[REGISTER_RDX]);
    return syscalls_pass_on(thread);
}

long proc_call_readlinkat(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    if (names_exe(r[REGISTER_RSI]))
        return put_link(r[REGISTER_RDX], r[REGISTER_R10]);
    return syscalls_pass_on(thread);
}

/* The call, with the program's path in place of /proc/self/exe. */
static long call_on_program(struct native_thread *thread, unsigned path_register)
{
    uint64_t kept = thread->registers[path_register];
    if (!names_exe(kept))
        return syscalls_pass_on(thread);
    thread->registers[path_register] = (uint64_t)program;
    long result = syscalls_pass_on(thread);
    thread->registers[path_register] = kept;
    return result;
}

static long open_file(struct native_thread *thread, unsigned path_register, unsigned flags_register)
{
    char path[64];
    if (take_path(thread->registers[path_register], path, sizeof path) && is_maps(path))
        return proc_open_maps(path, thread->registers[flags_register]);
    return call_on_program(thread, path_register);
}

long proc_call_open(struct native_thread *thread)
{
    return open_file(thread, REGISTER_RDI, REGISTER_RSI);
}

long proc_call_openat(struct native_thread *thread)
{
    return open_file(thread, REGISTER_RSI, REGISTER_RDX);
}

long proc_call_path(struct native_thread *thread)
{
    return call_on_program(thread, REGISTER_RDI);
}

long proc_call_path_at(struct native_thread *thread)
{
    return call_on_program(thread, REGISTER_RSI);
}
