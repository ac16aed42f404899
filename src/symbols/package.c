/*
 * package.c: looks for paths in dpkg's lists of installed files, as `dpkg -S` does, without running
 * anything.
 *
 * Debian builds a PACKAGE-dbgsym for every package with code; glibc is the exception and has had
 * libc6-dbg since before those. Packages made before /lib became a link to /usr/lib list their
 * files without /usr, and a path may lead over a link, so each is looked for in up to four
 * spellings. There are some thousand lists with 200 000 lines, few of which have the length of
 * one that is looked for; reading ends when all are found.
 */
#include "symbols/package.h"
#include "common/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct spelling {
    char *path;
    size_t wanted; /* which of the paths it is */
};

#define LENGTHS    256
#define LIST_BYTES 65536 /* more than most lists have */

struct search {
    struct spelling *spellings; /* sorted */
    size_t count, capacity;
    char **packages;
    size_t missing;        /* packages that are not known yet */
    bool lengths[LENGTHS]; /* of spellings, by their last byte */
    char *text;            /* of the list that is read */
    size_t text_capacity;
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

static void add_spelling(struct search *search, const char *path, size_t wanted)
{
    *array_push(search->spellings, search->count, search->capacity) =
        (struct spelling){.path = memory_duplicate_string(path), .wanted = wanted};
    search->lengths[strlen(path) % LENGTHS] = true;
}

static void add_spellings(struct search *search, const char *path, size_t wanted)
{
    add_spelling(search, path, wanted);
    if (strncmp(path, "/usr/", 5) == 0)
        add_spelling(search, path + 4, wanted);
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
        if (!search->spellings[low].path[length] && !*package) {
            *package = debug_package_of(list);
            search->missing--;
        }
    }
}

/* Reading is faster than mapping for files as small as these. */
static size_t read_text(struct search *search, int descriptor)
{
    size_t size = 0;
    ssize_t got;

    do {
        search->text = memory_grow(search->text, &search->text_capacity, size + LIST_BYTES, 1);
        got = read(descriptor, search->text + size, search->text_capacity - size);
        size += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    return size;
}

static void read_list(struct search *search, int directory, const char *list)
{
    int descriptor = openat(directory, list, O_RDONLY | O_CLOEXEC);

    if (descriptor < 0)
        return;
    size_t size = read_text(search, descriptor);
    close(descriptor);
    const char *end = search->text + size;
    for (const char *line = search->text, *next; line < end; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end - line));
        if (!next)
            next = end;
        if (next > line && search->lengths[(size_t)(next - line) % LENGTHS])
            look_up_line(search, line, (size_t)(next - line), list);
    }
}

static void read_lists(struct search *search, const char *database)
{
    DIR *directory = opendir(database);
    struct dirent *entry;

    while (directory && search->missing && (entry = readdir(directory))) {
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
    struct search search = {.packages = packages, .missing = count};

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
    free(search.text);
}
