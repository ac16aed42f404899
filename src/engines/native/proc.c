/*
 * proc.c: see proc.h.
 *
 * /proc/self/exe, whatever path leads there: its link is the program's path, and opening it opens the
 * program. What else the kernel says of a process (cmdline, environ, auxv) it is told
 * when the program is loaded (load.c).
 */
#include "core/text.h"
#include "engines/native/proc.h"
#include "engines/native/gate.h"
#include "engines/native/record.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include "engines/native/text.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

static const char *program;
static bool memory_is_open; /* the program has opened its own /proc/.../mem */

void proc_set_program(const char *path)
{
    program = path;
}

/* ---- which files are the process's own ---- */

/* The text after `prefix`, NULL if it is not there. */
static const char *after(const char *text, const char *prefix)
{
    return text && string_starts(text, prefix) ? text + strlen(prefix) : NULL;
}

/* The process of which `path` is the folder, or a thread's: /proc/PID, /proc/PID/task/TID; else 0. */
static uint64_t process_of(const char *path)
{
    const char *at = after(path, "/proc/");
    uint64_t pid = at ? text_to_number(at, &at) : 0;
    const char *task = after(at, "/task/");
    if (task)
        text_to_number(task, &task);
    return at && (!*at || (task && !*task)) ? pid : 0;
}

/* Where the kernel finds the folder `path`, from `folder` on if it is relative. */
static bool resolve(long folder, const char *path, char *to, size_t size)
{
    char link[32];
    struct string_builder builder = {link, 0, sizeof link};
    long file = sys(openat, folder, *path ? path : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (sys_failed(file))
        return false;
    string_add(&builder, "/proc/self/fd/");
    string_add_number(&builder, file, 10);
    long length = sys(readlink, link, to, size - 1);
    sys(close, file);
    if (sys_failed(length))
        return false;
    to[length] = 0;
    return true;
}

/* A path of the program's, copied; false if it is too long or not there. Never beyond a page that it
 * may end in. */
static bool take_path(uint64_t address, char path[PATH_BYTES])
{
    for (size_t length = 0; length < PATH_BYTES;) {
        size_t step = 64 - (address + length) % 64;
        step = step > PATH_BYTES - length ? PATH_BYTES - length : step;
        if (!gate_copy(path + length, (const char *)address + length, step))
            return false;
        for (size_t end = length + step; length < end; length++)
            if (!path[length])
                return true;
    }
    return false;
}

/* What the path at `address` names in the process's own folder of /proc, or its thread's, however it
 * gets there: one of the files that show the engine. Of another process under the engine, `exe`. */
enum own_file { OWN_NONE, OWN_EXE, OWN_MAPS, OWN_SMAPS, OWN_STATUS, OWN_STAT, OWN_MEM };

/* `program` is the one that it is the link of, if it is that. */
static enum own_file own_file(long folder, uint64_t address, char program_path[PATH_BYTES])
{
    static const char *const names[] = {
        [OWN_EXE] = "exe",       [OWN_MAPS] = "maps", [OWN_SMAPS] = "smaps",
        [OWN_STATUS] = "status", [OWN_STAT] = "stat", [OWN_MEM] = "mem"};
    char path[PATH_BYTES];
    size_t name = 0;
    if (!take_path(address, path))
        return OWN_NONE;
    for (size_t i = 0; path[i]; i++)
        if (path[i] == '/')
            name = i + 1;
    enum own_file file = OWN_EXE;
    while (file <= OWN_MEM && strcmp(path + name, names[file]))
        file++;
    path[name] = 0;
    if (file > OWN_MEM || !resolve(folder, path, program_path, PATH_BYTES))
        return OWN_NONE;
    uint64_t pid = process_of(program_path);
    if (!pid || (file != OWN_EXE && pid != (uint64_t)sys(getpid)))
        return OWN_NONE;
    if (pid != (uint64_t)sys(getpid))
        return proc_program_of(pid, program_path, PATH_BYTES) ? OWN_EXE : OWN_NONE;
    struct string_builder builder = {program_path, 0, PATH_BYTES};
    string_add(&builder, program);
    return file;
}

bool proc_is_exe(long folder, const char *path, char program_path[PATH_BYTES])
{
    return own_file(folder, (uint64_t)path, program_path) == OWN_EXE;
}

/* ---- system calls ---- */

static long put_link(const char *path, uint64_t to, uint64_t size)
{
    if ((int64_t)size <= 0)
        return -EINVAL;
    size_t length = strlen(path);
    if (length > size)
        length = size;
    return gate_copy((void *)to, path, length) ? (long)length : -EFAULT;
}

long proc_call_readlink(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    char path[PATH_BYTES];
    if (own_file(AT_FDCWD, r[REGISTER_RDI], path) == OWN_EXE)
        return put_link(path, r[REGISTER_RSI], r[REGISTER_RDX]);
    return syscalls_pass_on(thread);
}

long proc_call_readlinkat(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    char path[PATH_BYTES];
    if (own_file((int)r[REGISTER_RDI], r[REGISTER_RSI], path) == OWN_EXE)
        return put_link(path, r[REGISTER_RDX], r[REGISTER_R10]);
    return syscalls_pass_on(thread);
}

/* The call, with the program's path in place of /proc/self/exe. */
static long call_on(struct native_thread *thread, unsigned path_register, const char *path)
{
    uint64_t kept = thread->registers[path_register];
    thread->registers[path_register] = (uint64_t)path;
    long result = syscalls_pass_on(thread);
    thread->registers[path_register] = kept;
    return result;
}

/* A process's is another one than that of its first thread. */
static long open_copy(struct native_thread *thread, enum proc_file kind, uint64_t flags)
{
    long file = syscalls_pass_on(thread);
    bool is_read = !(flags & (O_PATH | O_ACCMODE)) && file >= 0;
    return options.repeatable && is_read ? proc_copy(file, kind, flags) : file;
}

static long open_file(struct native_thread *thread, long folder, unsigned path_register,
                      uint64_t flags)
{
    char path[PATH_BYTES];
    switch (own_file(folder, thread->registers[path_register], path)) {
    case OWN_EXE:
        return flags & O_NOFOLLOW ? syscalls_pass_on(thread) : call_on(thread, path_register, path);
    case OWN_MAPS:
        return proc_open_maps("/proc/self/maps", flags);
    case OWN_SMAPS:
        return proc_open_maps("/proc/self/smaps", flags);
    case OWN_STATUS:
        return open_copy(thread, PROC_STATUS, flags);
    case OWN_STAT:
        return open_copy(thread, PROC_STAT, flags);
    case OWN_MEM:
        memory_is_open = true;
        return syscalls_pass_on(thread);
    default:
        return syscalls_pass_on(thread);
    }
}

long proc_call_open(struct native_thread *thread)
{
    return open_file(thread, AT_FDCWD, REGISTER_RDI, thread->registers[REGISTER_RSI]);
}

long proc_call_openat(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    return open_file(thread, (int)r[REGISTER_RDI], REGISTER_RSI, r[REGISTER_RDX]);
}

long proc_call_path(struct native_thread *thread)
{
    char path[PATH_BYTES];
    if (own_file(AT_FDCWD, thread->registers[REGISTER_RDI], path) != OWN_EXE)
        return syscalls_pass_on(thread);
    return call_on(thread, REGISTER_RDI, path);
}

/* The link itself is as the kernel has it. */
static long call_path_at(struct native_thread *thread, uint64_t flags)
{
    const uint64_t *r = thread->registers;
    char path[PATH_BYTES];
    if ((flags & AT_SYMLINK_NOFOLLOW) ||
        own_file((int)r[REGISTER_RDI], r[REGISTER_RSI], path) != OWN_EXE)
        return syscalls_pass_on(thread);
    return call_on(thread, REGISTER_RSI, path);
}

long proc_call_path_at(struct native_thread *thread)
{
    return call_path_at(thread, 0);
}

long proc_call_newfstatat(struct native_thread *thread)
{
    return call_path_at(thread, thread->registers[REGISTER_R10]);
}

long proc_call_statx(struct native_thread *thread)
{
    return call_path_at(thread, thread->registers[REGISTER_RDX]);
}

/* ---- memory that is written as a file ---- */

/* Is the file the memory of this process? Its link says so, whatever path it was opened by. */
static bool is_own_memory(int file)
{
    char link[32], path[64];
    struct string_builder builder = {link, 0, sizeof link};
    string_add(&builder, "/proc/self/fd/");
    string_add_number(&builder, file, 10);
    long length = sys(readlink, link, path, sizeof path - 1);
    if (sys_failed(length) || length < 4 || memcmp(path + length - 4, "/mem", 4) != 0)
        return false;
    path[length - 4] = 0;
    return process_of(path) == (uint64_t)sys(getpid);
}

/* The kernel writes also where the program may not: into code. Julia's compiler, and those who put
 * breakpoints into themselves, change it so. */
static long call_write(struct native_thread *thread, bool has_offset)
{
    const uint64_t *r = thread->registers;
    int file = (int)r[REGISTER_RDI];
    if (!memory_is_open || !is_own_memory(file))
        return syscalls_pass_on(thread);
    uint64_t start = has_offset ? r[REGISTER_R10] : (uint64_t)sys(lseek, file, 0, SEEK_CUR);
    long result = syscalls_pass_on(thread);
    if (result > 0)
        syscalls_code_changed(start, start + result);
    return result;
}

long proc_call_write(struct native_thread *thread)
{
    return call_write(thread, false);
}

long proc_call_pwrite(struct native_thread *thread)
{
    return call_write(thread, true);
}
