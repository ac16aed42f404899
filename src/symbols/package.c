/*
 * package.c: looks for paths in dpkg's lists of installed files, as `dpkg -S` does, without running
 * anything.
 *
 * Debian builds a PACKAGE-dbgsym for every package with code; glibc is the exception and has had
 * libc6-dbg since before those. Packages made before /lib became a link to /usr/lib list their
 * files without /usr, and a path may lead over a link, so each is looked for in up to four
 * spellings. Some thousand lists with 200 000 lines take about 30 ms.
 */
#include "symbols/package.h"
#include "common/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct spelling {
    char *path;
    size_t wanted; /* which of the paths it is */
};

struct search {
    struct spelling *spellings; /* sorted */
    size_t count, capacity;
    char **packages;
};

static char *debug_package_of(const char *list)
{
    size_t length = strcspn(list, ":"); /* libc6:amd64.list */

    if (!list[length])
        length = strlen(list) - strlen(".list");
    if (length == 5 && strncmp(list, "libc6", 5) == 0)
        return memory_duplicate_string("libc6-dbg");
    return memory_format("%.*s-dbgsym", (int)length, list);
}

static int compare_spellings(const void *left, const void *right)
{
    return strcmp(((const struct spelling *)left)->path, ((const struct spelling *)right)->path);
}

static void add_spellings(struct search *search, const char *path, size_t wanted)
{
    *array_push(search->spellings, search->count, search->capacity) =
        (struct spelling){.path = memory_duplicate_string(path), .wanted = wanted};
    if (strncmp(path, "/usr/", 5) == 0)
        *array_push(search->spellings, search->count, search->capacity) =
            (struct spelling){.path = memory_duplicate_string(path + 4), .wanted = wanted};
}

/* `line` is `length` bytes, not terminated. */
static void look_up_line(struct search *search, const char *line, size_t length, const char *list)
{
    size_t low = 0, high = search->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *path = search->spellings[middle].path;
        int order = strncmp(path, line, length);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < search->count && strncmp(search->spellings[low].path, line, length) == 0; low++) {
        char **package = &search->packages[search->spellings[low].wanted];
        if (!search->spellings[low].path[length] && !*package)
            *package = debug_package_of(list);
    }
}

static void read_list(struct search *search, int directory, const char *list)
{
    struct stat status;
    int descriptor = openat(directory, list, O_RDONLY | O_CLOEXEC);

    if (descriptor < 0)
        return;
    char *text = MAP_FAILED;
    if (fstat(descriptor, &status) == 0 && status.st_size > 0)
        text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    if (text == MAP_FAILED)
        return;
    const char *end = text + status.st_size;
    for (const char *line = text, *next; line < end; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end - line));
        if (!next)
            next = end;
        if (next > line)
            look_up_line(search, line, (size_t)(next - line), list);
    }
    munmap(text, (size_t)status.st_size);
}

static void read_lists(struct search *search, const char *database)
{
    DIR *directory = opendir(database);
    struct dirent *entry;

    while (directory && (entry = readdir(directory))) {
        size_t length = strlen(entry->d_name);
        if (length > 5 && strcmp(entry->d_name + length - 5, ".list") == 0)
            read_list(search, dirfd(directory), entry->d_name);
    }
    if (directory)
        closedir(directory);
}

void packages_with_debug_info(const char *database, size_t count, const char *const *paths,
                              char **packages)
{
    struct search search = {.packages = packages};

    for (size_t i = 0; i < count; i++) {
        char *real = realpath(paths[i], NULL);
        packages[i] = NULL;
        add_spellings(&search, paths[i], i);
        if (real && strcmp(real, paths[i]) != 0)
            add_spellings(&search, real, i);
        free(real);
    }
    if (search.count) {
        qsort(search.spellings, search.count, sizeof *search.spellings, compare_spellings);
        read_lists(&search, database);
    }
    for (size_t i = 0; i < search.count; i++)
        free(search.spellings[i].path);
    free(search.spellings);
}
