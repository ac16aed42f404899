/* maps.c: see maps.h. */
#include "engines/native/maps.h"
#include "engines/native/arena.h"
#include "engines/native/layout.h"
#include "engines/native/sys.h"
#include "engines/native/text.h"
#include <fcntl.h>
#include <sys/mman.h>

struct lock maps_lock;

static struct {
    struct mapping *rows;
    size_t count, capacity;
    uint64_t newest; /* number */
} maps;

/* The first row that ends after `address`. */
static size_t first_after(uint64_t address)
{
    size_t low = 0, high = maps.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (maps.rows[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void insert_row(size_t at, struct mapping mapping)
{
    if (maps.count == maps.capacity) {
        size_t old = maps.capacity * sizeof *maps.rows;
        size_t larger = maps.capacity ? maps.capacity * 2 : 256;
        struct mapping *rows = arena_allocate(larger * sizeof *rows);
        memcpy(rows, maps.rows, old);
        arena_release(maps.rows, old);
        maps.rows = rows;
        maps.capacity = larger;
    }
    memmove(maps.rows + at + 1, maps.rows + at, (maps.count - at) * sizeof *maps.rows);
    maps.rows[at] = mapping;
    maps.count++;
}

/* No mapping up to this number crosses `address` afterwards. */
static void cut_until(uint64_t address, uint64_t newest)
{
    size_t at = first_after(address);
    if (at == maps.count || maps.rows[at].start >= address || maps.rows[at].number > newest)
        return;
    struct mapping upper = maps.rows[at];
    upper.file_offset += address - upper.start;
    upper.start = address;
    maps.rows[at].end = address;
    insert_row(at + 1, upper);
}

static void cut(uint64_t address)
{
    cut_until(address, UINT64_MAX);
}

static void remove_rows(uint64_t start, uint64_t end, uint64_t newest)
{
    cut_until(start, newest);
    cut_until(end, newest);
    size_t at = first_after(start), kept = at;
    for (; at < maps.count && maps.rows[at].start < end; at++)
        if (maps.rows[at].number > newest)
            maps.rows[kept++] = maps.rows[at];
    memmove(maps.rows + kept, maps.rows + at, (maps.count - at) * sizeof *maps.rows);
    maps.count -= at - kept;
}

void maps_add(struct mapping mapping)
{
    lock_take(&maps_lock);
    remove_rows(mapping.start, mapping.end, UINT64_MAX);
    mapping.number = ++maps.newest;
    insert_row(first_after(mapping.start), mapping);
    lock_give(&maps_lock);
}

void maps_remove(uint64_t start, uint64_t end)
{
    maps_remove_until(start, end, UINT64_MAX);
}

void maps_remove_until(uint64_t start, uint64_t end, uint64_t newest)
{
    lock_take(&maps_lock);
    remove_rows(start, end, newest);
    lock_give(&maps_lock);
}

uint64_t maps_newest(void)
{
    lock_take(&maps_lock);
    uint64_t newest = maps.newest;
    lock_give(&maps_lock);
    return newest;
}

void maps_protect(uint64_t start, uint64_t end, uint32_t protection)
{
    lock_take(&maps_lock);
    cut(start);
    cut(end);
    for (size_t at = first_after(start); at < maps.count && maps.rows[at].start < end; at++)
        maps.rows[at].protection = protection;
    lock_give(&maps_lock);
}

bool maps_next(uint64_t address, struct mapping *out)
{
    lock_take(&maps_lock);
    size_t at = first_after(address);
    bool found = at < maps.count;
    if (found)
        *out = maps.rows[at];
    lock_give(&maps_lock);
    return found;
}

bool maps_find(uint64_t address, struct mapping *out)
{
    return maps_next(address, out) && out->start <= address;
}

bool maps_may_change(uint64_t pc)
{
    struct mapping mapping;
    if (!maps_find(pc, &mapping))
        return true;
    return (mapping.protection & PROT_WRITE) || (mapping.flags & MAPPING_SHARED);
}

uint64_t maps_executable_end(uint64_t pc)
{
    uint64_t end = pc;
    lock_take(&maps_lock);
    for (size_t at = first_after(pc); at < maps.count; at++) {
        const struct mapping *mapping = &maps.rows[at];
        if (mapping->start > end || !(mapping->protection & PROT_EXEC))
            break;
        end = mapping->end;
    }
    lock_give(&maps_lock);
    return end;
}

static uint64_t parse_hex(const char **text)
{
    uint64_t value = 0;
    for (;; (*text)++) {
        char c = **text;
        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value * 16 + (c - 'a' + 10);
        else
            return value;
    }
}

/* One line of /proc/self/maps: start-end rwxp offset device inode path */
static void add_line(const char *line)
{
    struct mapping mapping = {0};
    mapping.start = parse_hex(&line);
    line++;
    mapping.end = parse_hex(&line);
    line++;
    mapping.protection = (line[0] == 'r' ? PROT_READ : 0) | (line[1] == 'w' ? PROT_WRITE : 0) |
                         (line[2] == 'x' ? PROT_EXEC : 0);
    if (engine_owns(mapping.start, mapping.end) || mapping.end > 0x800000000000)
        return;
    for (unsigned spaces = 0; *line && spaces < 4; line++)
        spaces += *line == ' ';
    while (*line == ' ')
        line++;
    if (string_starts(line, "[vdso]") || string_starts(line, "[vvar"))
        mapping.flags = MAPPING_FILE | MAPPING_VDSO; /* nobody writes it */
    if (string_starts(line, "[stack]") && maps.count)
        mapping.start = maps.rows[maps.count - 1].end; /* it grows, and is the last */
    maps_add(mapping);
}

void maps_init(void)
{
    static char text[16384];
    long file = sys(open, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t size = 0;
    for (long got; size + 1 < sizeof text; size += got) {
        got = sys(read, file, text + size, sizeof text - 1 - size);
        if (got <= 0)
            break;
    }
    sys(close, file);
    text[size] = 0;
    for (char *line = text; *line;) {
        add_line(line);
        while (*line && *line != '\n')
            line++;
        if (*line)
            line++;
    }
}
