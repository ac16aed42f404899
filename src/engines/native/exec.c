/*
 * exec.c: see exec.h.
 *
 * The kernel is asked to run the engine again, with the program's path and arguments behind its
 * own. Once it has agreed there is no way back, so whatever would have failed must fail before:
 * the file and, for scripts, the interpreter are looked at here. What the engine could not run
 * (another kind of program, set-uid) is executed as it is, outside the recording.
 */
#include "engines/native/exec.h"
#include "core/text.h"
#include "engines/native/arena.h"
#include "engines/native/cache.h"
#include "engines/native/gate.h"
#include "engines/native/limits.h"
#include "engines/native/load.h"
#include "engines/native/proc.h"
#include "engines/native/record.h"
#include "engines/native/seccomp.h"
#include "engines/native/sys.h"
#include "engines/native/syscalls.h"
#include "engines/native/text.h"
#include "engines/native/threads.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static char **own_arguments;
static unsigned own_count;   /* up to and with "--" */
static char **program_words; /* what comes then: the path and the arguments */
static char engine_path[4096];

void exec_init(char **arguments)
{
    own_arguments = arguments;
    unsigned all = 0;
    while (strcmp(arguments[all], "--"))
        all++;
    char **kept = arena_allocate((all + 1) * sizeof *kept);
    for (unsigned i = 0; i <= all; i++)
        if (!string_starts(arguments[i], LIMITS_OPTION)) /* others may hold by then */
            kept[own_count++] = text_keep(arguments[i]);
    own_arguments = kept;
    program_words = text_keep_list(arguments + all + 1);
    long length = sys(readlink, "/proc/self/exe", engine_path, sizeof engine_path - 1);
    if (length <= 0)
        refuse_program("cannot find /proc/self/exe", NULL);
}

/* A list of the program's with room for `before` more in front; NULL if it cannot be read. */
static char **take_list(uint64_t address, unsigned before, unsigned *count)
{
    unsigned capacity = 64;
    char **list = arena_allocate((before + capacity) * sizeof *list);
    for (*count = 0; address; (*count)++) {
        if (*count + 1 == capacity) {
            char **larger = arena_allocate((before + 2 * capacity) * sizeof *larger);
            memcpy(larger, list, (before + capacity) * sizeof *list);
            arena_release(list, (before + capacity) * sizeof *list);
            list = larger;
            capacity *= 2;
        }
        if (!gate_copy(&list[before + *count], (void *)(address + 8ul * *count), 8))
            return NULL;
        if (!list[before + *count])
            break;
    }
    list[before + *count] = NULL;
    return list;
}

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

/* The engine's own options in front of a list of words; their number. */
struct engine_words {
    char *limits[LIMITS_MOST];
    unsigned limit_count, count;
};

static struct engine_words engine_words(void)
{
    struct engine_words words;
    words.limit_count = limits_options(words.limits);
    words.count = own_count + words.limit_count;
    return words;
}

static void put_engine_words(const struct engine_words *words, char **list)
{
    memcpy(list, own_arguments, (own_count - 1) * sizeof *list);
    memcpy(list + own_count - 1, words->limits, words->limit_count * sizeof *list);
    list[words->count - 1] = "--";
}

static long execute_engine(char **words, char **environment)
{
    long old_personality = sys(personality, 0xffffffff);
    sys(personality, old_personality | 0x0040000 /* ADDR_NO_RANDOMIZE */);
    limits_before_exec();
    long result = sys(execve, engine_path, words, environment);
    limits_exec_failed();
    sys(personality, old_personality);
    return result;
}

static long run_engine(struct native_thread *thread, const char *path, uint64_t arguments,
                       uint64_t environment)
{
    unsigned count, variables;
    struct engine_words own = engine_words();
    char **list = take_list(arguments, own.count + 1, &count);
    char **environment_list = take_list(environment, 0, &variables);
    if (!list || !environment_list)
        return -EFAULT;
    put_engine_words(&own, list);
    list[own.count] = (char *)path;
    if (!count)
        list[own.count + 1] = "", list[own.count + 2] = NULL;
    if (!thread->is_vfork) {
        lock_take(&cache.lock);
        record_finish(0);
        lock_give(&cache.lock);
    }
    return execute_engine(list, environment_list);
}

void exec_once_more(char **environment)
{
    struct engine_words own = engine_words();
    unsigned count = 0;
    while (program_words[count])
        count++;
    char **list = arena_allocate((own.count + count + 1) * sizeof *list);
    put_engine_words(&own, list);
    memcpy(list + own.count, program_words, count * sizeof *list);
    execute_engine(list, environment);
}

static bool same_file(const char *path, const char *other)
{
    struct stat one, two;
    return !sys_failed(sys(stat, path, &one)) && !sys_failed(sys(stat, other, &two)) &&
           one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

/* A name of the file at `path` that is good when descriptors are closed: NULL if there is none, as
 * for a file in memory. */
static const char *lasting_name(const char *path, char *name, size_t size)
{
    static const char by_descriptor[] = "/proc/self/fd/";
    if (!string_starts(path, by_descriptor))
        return path;
    char link[sizeof by_descriptor + 24];
    struct string_builder builder = {link, 0, sizeof link};
    const char *rest;
    uint64_t number = text_to_number(path + strlen(by_descriptor), &rest);
    string_add(&builder, by_descriptor);
    string_add_number(&builder, number, 10);
    long length = sys(readlink, link, name, size - 1);
    if (sys_failed(length))
        return NULL;
    name[length] = 0;
    builder = (struct string_builder){name, length, size};
    string_add(&builder, rest);
    return same_file(path, name) ? name : NULL;
}

/* Where the call has its arguments. */
struct exec {
    const char *path;
    unsigned path_register;
    uint64_t arguments, environment;
    bool leaves; /* it does what the engine does not */
};

/* Why the next program runs without the engine, beside what is said of its file; NULL: it need not. */
static const char *why_outside(const struct native_thread *thread, const struct exec *exec,
                               const char *name)
{
    if (thread->is_traced)
        return "it asked to be traced";
    if (thread->filters)
        return "there are filters of system calls";
    if (exec->leaves)
        return "links are not to be followed";
    return name ? NULL : "it is a file in memory";
}

/* The user is told of it after the run, unless that is what was asked for. */
static void note_outside(const char *program, const char *why)
{
    char complaint[128];
    struct string_builder builder = {complaint, 0, sizeof complaint};
    string_add(&builder, "was executed outside of the recording: ");
    string_add(&builder, why);
    if (options.follow_children)
        core_note(&core, program, complaint);
}

static long replace_outside(struct native_thread *thread, const char *program, const char *why)
{
    lock_take(&cache.lock);
    uint32_t notes = core.note_count;
    note_outside(program, why);
    if (!thread->is_vfork)
        record_finish(0);
    lock_give(&cache.lock);
    seccomp_hand_over(thread);
    limits_before_exec();
    long result = syscalls_pass_on(thread);
    limits_exec_failed();
    lock_take(&cache.lock);
    core.note_count = notes;
    lock_give(&cache.lock);
    return result;
}

/* The program is replaced: by itself under the engine, or without it. */
static long replace(struct native_thread *thread, const struct exec *exec)
{
    char buffer[PATH_BYTES], found[PATH_BYTES];
    bool is_link = proc_is_exe(AT_FDCWD, exec->path, found);
    const char *program = is_link ? found : exec->path, *why;
    long state = load_check(program, &why);
    if (state < 0)
        return state;
    const char *name = lasting_name(program, buffer, sizeof buffer);
    if (state != LOAD_FOREIGN)
        why = why_outside(thread, exec, name);
    if (!why && options.follow_children)
        return run_engine(thread, name, exec->arguments, exec->environment);
    if (is_link)
        thread->registers[exec->path_register] = (uint64_t)program;
    return replace_outside(thread, program, why ? why : "");
}

long exec_call_execve(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    char path[4096];
    if (!take_path(r[REGISTER_RDI], path, sizeof path))
        return -EFAULT;
    struct exec exec = {path, REGISTER_RDI, r[REGISTER_RSI], r[REGISTER_RDX], false};
    return replace(thread, &exec);
}

/* A file by descriptor is run by its name in /proc, as the kernel would call a script. */
long exec_call_execveat(struct native_thread *thread)
{
    const uint64_t *r = thread->registers;
    char path[4096], full[4200];
    if (!take_path(r[REGISTER_RSI], path, sizeof path))
        return -EFAULT;
    struct string_builder builder = {full, 0, sizeof full};
    int folder = r[REGISTER_RDI];
    if (path[0] != '/' && folder != AT_FDCWD) {
        string_add(&builder, "/proc/self/fd/");
        string_add_number(&builder, folder, 10);
        if (path[0])
            string_add(&builder, "/");
        else if (!(r[REGISTER_R8] & AT_EMPTY_PATH))
            return -ENOENT;
    }
    string_add(&builder, path);
    struct exec exec = {full, REGISTER_RSI, r[REGISTER_RDX], r[REGISTER_R10],
                        r[REGISTER_R8] & AT_SYMLINK_NOFOLLOW};
    return replace(thread, &exec);
}
