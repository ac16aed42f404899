/*
 * proc_maps.c: /proc/self/maps and smaps as they would be without the engine.
 *
 * The program gets a file in memory with the kernel's lines, as of the moment it was opened, less
 * those for the engine's own memory. With --repeatable also of /proc/self/status and stat, without
 * what chance had a part in. And which program another process runs under the engine: the one that its
 * headers are mapped from.
 */
#include "engines/native/arena.h"
#include "engines/native/proc.h"
#include "engines/native/sys.h"
#include "engines/native/text.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define LINE_MAX 8192

struct filter {
    long from, to;
    char line[LINE_MAX];
    size_t size;
    enum proc_file kind;
    bool drops; /* the lines of a mapping of ours */
    bool failed;
};

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *take_hex(const char *at, const char *end, uint64_t *value)
{
    for (*value = 0; at < end && digit(*at) >= 0; at++)
        *value = *value * 16 + digit(*at);
    return at;
}

/* START-END ...: a mapping; smaps has further lines for each, which begin otherwise. */
static bool is_heading(const struct filter *filter, uint64_t *start, uint64_t *end)
{
    const char *last = filter->line + filter->size;
    const char *at = take_hex(filter->line, last, start);
    if (at == filter->line || at == last || *at != '-')
        return false;
    const char *second = at + 1;
    at = take_hex(second, last, end);
    return at != second && at < last && *at == ' ';
}

/* How often the kernel has switched to something else, and what of its signals all processes of the
 * user's wait for: as if nothing else ran. The numbers are as wide as they are large, and libffi reads
 * the lines for each callback that a program makes: Python's ctypes would count another way each time. */
static void clear_status(struct filter *filter)
{
    static const char *const names[] = {"voluntary_ctxt_switches:\t",
                                        "nonvoluntary_ctxt_switches:\t", "SigQ:\t"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (filter->size <= length || memcmp(filter->line, names[i], length))
            continue;
        size_t end = length;
        while (end < filter->size && filter->line[end] >= '0' && filter->line[end] <= '9')
            end++;
        filter->line[length++] = '0';
        memmove(filter->line + length, filter->line + end, filter->size - end);
        filter->size -= end - length;
    }
}

/* Of proc(5): what it and its children took, when it began, where it runs, its memory. CPython reads the
 * line for each fork from 3.12 on. */
static bool is_by_chance(unsigned field)
{
    return (field >= 10 && field <= 17) || field == 22 || field == 24 || field == 39 ||
           (field >= 42 && field <= 44);
}

/* PID (NAME) STATE PPID ...: of the name, which may have anything in it, the last parenthesis ends it. */
static void clear_stat(struct filter *filter)
{
    size_t at = filter->size;
    while (at && filter->line[at - 1] != ')')
        at--;
    size_t kept = at;
    for (unsigned field = 2; at < filter->size;) {
        char c = filter->line[kept++] = filter->line[at++];
        if (c != ' ' || !is_by_chance(++field))
            continue;
        while (at < filter->size && filter->line[at] >= '0' && filter->line[at] <= '9')
            at++;
        filter->line[kept++] = '0';
    }
    filter->size = kept;
}

static void end_line(struct filter *filter)
{
    uint64_t start, end;
    if (filter->kind == PROC_STATUS)
        clear_status(filter);
    else if (filter->kind == PROC_STAT)
        clear_stat(filter);
    else if (is_heading(filter, &start, &end))
        filter->drops = engine_owns(start, end);
    if (!filter->drops && sys(write, filter->to, filter->line, filter->size) != (long)filter->size)
        filter->failed = true;
    filter->size = 0;
}

static void copy_lines(struct filter *filter)
{
    char buffer[4096];
    for (long got; (got = sys(read, filter->from, buffer, sizeof buffer)) > 0;)
        for (long i = 0; i < got; i++) {
            filter->line[filter->size++] = buffer[i];
            if (buffer[i] == '\n' || filter->size == LINE_MAX)
                end_line(filter);
        }
    if (filter->size)
        end_line(filter);
}

/* As `file` may be what opening it has said: -errno. */
long proc_copy(long file, enum proc_file kind, uint64_t flags)
{
    struct filter filter = {.from = file, .kind = kind};
    if (sys_failed(filter.from))
        return filter.from;
    filter.to = sys(memfd_create, "maps", MFD_CLOEXEC);
    if (sys_failed(filter.to)) {
        sys(close, filter.from);
        return filter.to;
    }
    copy_lines(&filter);
    sys(lseek, filter.to, 0, 0);
    sys(close, filter.from);
    if (filter.failed) {
        sys(close, filter.to);
        return -ENOMEM;
    }
    /* The lowest free descriptor, as the kernel would have chosen it. */
    long result = sys(fcntl, filter.to, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
    sys(close, filter.to);
    return result;
}

long proc_open_maps(const char *path, uint64_t flags)
{
    return proc_copy(sys(open, path, O_RDONLY | O_CLOEXEC), PROC_MAPS, flags);
}

/* ---- other processes ---- */

static long open_of(uint64_t pid, const char *name)
{
    char path[64];
    struct string_builder builder = {path, 0, sizeof path};
    string_add(&builder, "/proc/");
    string_add_number(&builder, pid, 10);
    string_add(&builder, name);
    return sys(open, path, O_RDONLY | O_CLOEXEC);
}

static bool runs_engine(uint64_t pid)
{
    struct stat own, other;
    long file = open_of(pid, "/exe");
    if (sys_failed(file))
        return false;
    bool same = !sys_failed(sys(fstat, file, &other)) &&
                !sys_failed(sys(stat, "/proc/self/exe", &own)) && own.st_ino == other.st_ino &&
                own.st_dev == other.st_dev;
    sys(close, file);
    return same;
}

/* Where its program's headers are: the engine has told the kernel. */
static uint64_t headers_of(uint64_t pid)
{
    uint64_t vector[128] = {0}, headers = 0; /* Elf64_auxv_t */
    long file = open_of(pid, "/auxv");
    if (sys_failed(file))
        return 0;
    sys(read, file, vector, sizeof vector - 16);
    sys(close, file);
    for (unsigned i = 0; vector[i] && i < 126; i += 2)
        if (vector[i] == 3 /* AT_PHDR */)
            headers = vector[i + 1];
    return headers;
}

/* START-END PROTECTION OFFSET DEVICE INODE     PATH */
static bool take_mapped_path(const struct filter *filter, char *path, size_t size)
{
    const char *at = filter->line, *end = filter->line + filter->size - 1;
    while (at < end && *at != '/')
        at++;
    size_t length = end - at;
    if (at == end || length >= size)
        return false;
    memcpy(path, at, length);
    path[length] = 0;
    return true;
}

bool proc_program_of(uint64_t pid, char *path, size_t size)
{
    uint64_t headers = runs_engine(pid) ? headers_of(pid) : 0, start, end;
    struct filter filter = {.from = headers ? open_of(pid, "/maps") : -1};
    bool found = false;
    if (sys_failed(filter.from))
        return false;
    for (char c; !found && sys(read, filter.from, &c, 1) == 1;) {
        filter.line[filter.size++] = c;
        if (c != '\n' && filter.size < LINE_MAX)
            continue;
        found = is_heading(&filter, &start, &end) && headers >= start && headers < end &&
                take_mapped_path(&filter, path, size);
        filter.size = 0;
    }
    sys(close, filter.from);
    return found;
}
