/* record.c: see record.h. */
#include "engines/native/record.h"
#include "core/platform.h"
#include "core/raw.h"
#include "core/text.h"
#include "engines/native/arena.h"
#include "engines/native/cache.h"
#include "engines/native/maps.h"
#include "engines/native/sys.h"
#include "engines/native/text.h"
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/mman.h>

struct core core;
struct options options;

void *platform_allocate(size_t size_bytes)
{
    return arena_allocate(size_bytes);
}

void platform_release(void *memory, size_t size_bytes)
{
    arena_release(memory, size_bytes);
}

bool platform_map_file(const char *path, const uint8_t **bytes, size_t *size_bytes)
{
    long file = sys(open, path, O_RDONLY | O_CLOEXEC);
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

bool platform_find_mapping(uint64_t address, uint64_t *start, uint64_t *end)
{
    struct mapping mapping;
    if (!maps_find(address, &mapping))
        return false;
    *start = mapping.start;
    *end = mapping.end;
    return true;
}

void platform_function_found(uint64_t start, uint64_t end)
{
    cache_invalidate(start, end);
}

void platform_fail(const char *sentence)
{
    fail(sentence, NULL);
}

void record_init(void)
{
    struct core_options core_options = {
        .line_detail = options.line_detail,
        .keep_tail_calls = options.keep_tail_calls,
        .start_off = options.start_off,
        .max_contexts = options.max_contexts,
    };
    core_init(&core, &core_options);
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

struct file_sink {
    struct raw_sink sink;
    long file;
};

static void file_write(struct raw_sink *sink, const void *bytes, uint64_t size_bytes)
{
    struct file_sink *to = (struct file_sink *)sink;
    while (size_bytes) {
        long written = sys(write, to->file, bytes, size_bytes);
        if (written <= 0)
            return;
        bytes = (const char *)bytes + written;
        size_bytes -= written;
    }
}

static void write_raw(int exit_status)
{
    char path[4096];
    struct string_builder builder = {path, 0, sizeof path};
    long pid = sys(getpid);
    string_add(&builder, options.folder);
    string_add(&builder, "/");
    string_add_number(&builder, pid, 10);
    string_add(&builder, ".raw");
    struct file_sink sink = {{file_write}, sys(open, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    if (sys_failed(sink.file)) {
        say("cannot write ", path, NULL);
        return;
    }
    struct raw_process process = {
        .pid = pid,
        .parent_pid = sys(getppid),
        .started_by = RAW_FIRST,
        .ending = RAW_EXIT,
        .exit_status = exit_status,
        .engine = "native",
        .command = "",
    };
    raw_write(&core, &process, &sink.sink);
    sys(close, sink.file);
}

void record_finish(struct native_thread *thread, int exit_status)
{
    record_settle(thread);
    if (options.print_total) {
        char number[32];
        text_from_number(number, thread->instructions);
        say("instructions: ", number, NULL);
    }
    if (options.folder)
        write_raw(exit_status);
}
