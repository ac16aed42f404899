/* record.c: see record.h. */
#include "engines/native/files.h"
#include "engines/native/record.h"
#include "core/platform.h"
#include "core/raw.h"
#include "core/text.h"
#include "engines/native/arena.h"
#include "engines/native/cache.h"
#include "engines/native/gate.h"
#include "engines/native/line_counters.h"
#include "engines/native/maps.h"
#include "engines/native/sys.h"
#include "engines/native/text.h"
#include "engines/native/threads.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

struct core core;
struct options options;

/* What is large will be filled; but few of the first contexts may be used. */
void *platform_allocate(size_t size_bytes)
{
    return arena_allocate_filled(size_bytes, false);
}

void platform_release(void *memory, size_t size_bytes)
{
    arena_release(memory, size_bytes);
}

bool platform_map_file(const char *path, const uint8_t **bytes, size_t *size_bytes)
{
    long file = files_open(path, O_RDONLY);
    if (sys_failed(file))
        return false;
    long size = sys(lseek, file, 0, 2 /* SEEK_END */);
    bool mapped = size > 0;
    if (mapped) {
        void *memory = arena_map_file(file, size);
        mapped = memory != NULL;
        *bytes = memory;
        *size_bytes = size;
    }
    sys(close, file);
    return mapped;
}

void platform_unmap_file(const uint8_t *bytes, size_t size_bytes)
{
    sys(munmap, bytes, size_bytes);
}

enum platform_look platform_look_at(const char *path, uint64_t offset, void *buffer,
                                    size_t *size_bytes, struct platform_file *file)
{
    struct stat status;
    long opened = files_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (sys_failed(opened))
        return opened == -ENOENT  ? PLATFORM_ABSENT
               : opened == -ELOOP ? PLATFORM_LINK
                                  : PLATFORM_REFUSED;
    if (sys_failed(sys(fstat, opened, &status)) || !S_ISREG(status.st_mode)) {
        sys(close, opened);
        return PLATFORM_OTHER;
    }
    *file = (struct platform_file){status.st_dev, status.st_ino, status.st_size, status.st_uid};
    long got = *size_bytes ? sys(pread64, opened, buffer, *size_bytes, offset) : 0;
    *size_bytes = got > 0 ? got : 0;
    sys(close, opened);
    return PLATFORM_FILE;
}

bool platform_read_link(const char *path, char *target, size_t room_bytes)
{
    long length = sys(readlink, path, target, room_bytes - 1);
    if (length <= 0)
        return false;
    target[length] = 0;
    return true;
}

uint64_t platform_clock(void)
{
    struct timespec now;
    sys(clock_gettime, 1 /* CLOCK_MONOTONIC */, &now);
    return now.tv_sec * 1000000000ul + now.tv_nsec;
}

uint64_t platform_process(void)
{
    return sys(getpid);
}

uint32_t platform_user(void)
{
    return sys(geteuid);
}

bool platform_find_mapping(uint64_t address, uint64_t *start, uint64_t *end)
{
    struct mapping mapping;
    if (!maps_find(address, &mapping))
        return false;
    *start = mapping.start;
    *end = mapping.end;
    return true;
}

bool platform_read(uint64_t address, void *buffer, size_t size_bytes)
{
    return gate_copy(buffer, (const void *)address, size_bytes);
}

void platform_function_found(uint64_t start, uint64_t end)
{
    cache_invalidate(start, end);
}

void platform_code_renamed(uint64_t start, uint64_t end)
{
    cache_invalidate(start, end);
    threads_forget_children();
}

void platform_fail(const char *sentence)
{
    fail(sentence, NULL);
}

static struct raw_process process = {.engine = "native"};

static const char *join(char **list)
{
    size_t size = 1;
    for (char **at = list; *at; at++)
        size += strlen(*at) + 1;
    struct string_builder builder = {arena_allocate(size), 0, size};
    for (char **at = list; *at; at++) {
        if (at != list)
            string_add(&builder, " ");
        string_add(&builder, *at);
    }
    return builder.text;
}

static void raw_path(char *path, size_t size, const char *suffix)
{
    struct string_builder builder = {path, 0, size};
    string_add(&builder, options.run_folder);
    string_add(&builder, "/");
    string_add_number(&builder, process.pid, 10);
    string_add(&builder, ".");
    string_add_number(&builder, process.image, 10);
    string_add(&builder, ".raw");
    string_add(&builder, suffix);
}

/* A pid that left a file here was another program before it called exec. */
static void choose_image(void)
{
    char path[4096];
    process.image = 0;
    if (!options.run_folder)
        return;
    for (raw_path(path, sizeof path, ""); !sys_failed(sys(access, path, 0));
         raw_path(path, sizeof path, ""))
        process.image++;
}

void record_init(char **command)
{
    struct core_options core_options = {
        .line_detail = options.line_detail,
        .python_lines = options.line_detail,
        .keep_tail_calls = options.keep_tail_calls,
        .calls_push = true,
        .tops_are_late = true,
        .keeps_children = true,
        .start_off = options.start_off,
        .max_contexts = options.max_contexts,
    };
    core_init(&core, &core_options);
    core.tree.by_entry = !options.line_detail;
    core.tree.allocate = arena_allocate_low;
    core.tree.nobody = arena_allocate_low(sizeof *core.tree.nobody);
    if (options.line_detail)
        core.tree.made = line_counters_context_made;
    process.pid = sys(getpid);
    lock_is_of(process.pid);
    process.parent_pid = sys(getppid);
    process.command = join(command);
    choose_image();
    process.started_by = process.image ? RAW_EXEC : RAW_FIRST;
}

void record_forked(struct native_thread *thread)
{
    thread->instructions = thread->calls = 0;
    core_forked(&core, thread->thread);
    process.parent_pid = process.pid;
    process.parent_image = process.image;
    process.pid = sys(getpid);
    lock_is_of(process.pid);
    process.fork_ordinal = thread->forks;
    process.started_by = RAW_FORK;
    thread->forks = 0;
    choose_image();
}

void record_add_file(uint64_t start, uint64_t end, uint64_t offset, long file)
{
    char link[64], path[4096];
    struct string_builder builder = {link, 0, sizeof link};
    string_add(&builder, "/proc/self/fd/");
    string_add_number(&builder, file, 10);
    long length = sys(readlink, link, path, sizeof path - 1);
    if (length <= 0)
        return;
    path[length] = 0;
    code_map_add_file(&core.code, path, start, end, offset);
}

void record_add_vdso(uint64_t start, uint64_t end)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)start;
    uint64_t size = header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize;
    if (size <= end - start)
        code_map_add_image(&core.code, "[vdso]", (const uint8_t *)start, size, start, end, start);
}

struct file_sink {
    struct raw_sink sink;
    long file;
    bool failed;
};

static void file_write(struct raw_sink *sink, const void *bytes, uint64_t size_bytes)
{
    struct file_sink *to = (struct file_sink *)sink;
    while (size_bytes) {
        long written = sys(write, to->file, bytes, size_bytes);
        if (written <= 0) {
            to->failed = true;
            return;
        }
        bytes = (const char *)bytes + written;
        size_bytes -= written;
    }
}

static void write_raw(uint64_t ending, int exit_status)
{
    char path[4096], final[4096];
    raw_path(path, sizeof path, ".new");
    raw_path(final, sizeof final, "");
    struct file_sink sink = {{file_write}, files_open(path, O_WRONLY | O_CREAT | O_TRUNC), false};
    uint64_t limit;
    /* Nobody else knows of it if the program has forbidden itself to make files. One that outlives the
     * recording finds no folder. */
    if (sink.file == -EACCES || sink.file == -EPERM || sink.file == -EROFS)
        say("the counts of a process are lost: it may not write ", path, NULL);
    if (sys_failed(sink.file))
        return;
    process.ending = ending;
    process.exit_status = exit_status;
    files_begin_large(&limit);
    raw_write(&core, &process, &sink.sink);
    files_end_large(limit);
    sys(close, sink.file);
    if (!sink.failed) /* else the name that it keeps tells `record` */
        files_rename(path, final);
}

void record_write(uint64_t ending, int exit_status)
{
    threads_settle_all();
    if (options.run_folder)
        write_raw(ending, exit_status);
}

bool record_is_first_program(void)
{
    return options.python_retry == process.pid && process.started_by == RAW_FIRST;
}

void record_forget(void)
{
    char path[4096];
    raw_path(path, sizeof path, "");
    sys(unlink, path);
}

void record_finish(int exit_status)
{
    record_write(RAW_EXIT, exit_status);
    if (options.print_total) {
        char number[32];
        uint64_t total = 0;
        for (uint32_t i = core.tree.inherited; i < core.tree.count; i++)
            total += tree_context(&core.tree, i)->self_instructions;
        text_from_number(number, total);
        say("instructions: ", number, NULL);
    }
}
