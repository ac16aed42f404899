/*
 * package.c: looks for paths in dpkg's lists of installed files, as `dpkg -S` does, without running
 * anything.
 *
 * Debian builds a PACKAGE-dbgsym for every package with code; glibc is the exception and has had
 * libc6-dbg since before those. Packages made before /lib became a link to /usr/lib list their
 * files without /usr, and a path may lead over a link, so each is looked for in up to four
 * spellings. There are some thousand lists with 200 000 lines, few of which have the length of
 * one that is looked for; reading ends when all are found. Most files are in a package that is called
 * after them (libsqlite3.so.0 in libsqlite3-0): those lists are read first, and often are enough.
 * One's own program is in none of them, which is known without reading any: packages keep to the
 * system's directories.
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

static bool begins_with(const char *path, const char *directory)
{
    return strncmp(path, directory, strlen(directory)) == 0;
}

/* Whether it is where packages put programs and libraries; what is no path ([vdso]) is not. */
static bool may_be_packaged(const char *path)
{
    static const char *const directories[] = {"/usr/", "/bin/", "/sbin/", "/lib", "/opt/"};
    bool may = false;

    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        may |= begins_with(path, directories[i]);
    return may && !begins_with(path, "/usr/local/");
}

static void add_spelling(struct search *search, const char *path, size_t wanted)
{
    *array_push(search->spellings, search->count, search->capacity) =
        (struct spelling){.path = memory_duplicate_string(path), .wanted = wanted};
    search->lengths[strlen(path) % LENGTHS] = true;
}

/* Returns whether the path may be in a list. */
static bool add_spellings(struct search *search, const char *path, size_t wanted)
{
    if (!may_be_packaged(path))
        return false;
    add_spelling(search, path, wanted);
    if (begins_with(path, "/usr/"))
        add_spelling(search, path + 4, wanted);
    return true;
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
    size_t size = 0, room;
    ssize_t got;

    do { /* what is read short of the room is the end */
        search->text = memory_grow(search->text, &search->text_capacity, size + LIST_BYTES, 1);
        room = search->text_capacity - size;
        got = read(descriptor, search->text + size, room);
        size += got > 0 ? (size_t)got : 0;
    } while (got == (ssize_t)room);
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

/* What the names of a file and of its package begin with, both without `lib`: up to the first digit
 * or mark. */
static size_t stem_of(const char **name)
{
    if (strncmp(*name, "lib", 3) == 0)
        *name += 3;
    return strspn(*name, "abcdefghijklmnopqrstuvwxyz+");
}

static bool is_called_after(const char *list, const char *path)
{
    const char *name = strrchr(path, '/');

    name = name ? name + 1 : path;
    size_t length = stem_of(&name);
    stem_of(&list);
    if (length == 0 || strncmp(list, name, length) != 0)
        return false;
    /* libz is in zlib1g; but little begins with z else. */
    return length > 1 || strncmp(list + length, "lib", 3) == 0;
}

static bool is_likely(const struct search *search, const char *list)
{
    for (size_t i = 0; i < search->count; i++)
        if (is_called_after(list, search->spellings[i].path))
            return true;
    return false;
}

static char **list_names(DIR *directory, size_t *count)
{
    struct dirent *entry;
    char **names = NULL;
    size_t capacity = 0;

    while ((entry = readdir(directory))) {
        size_t length = strlen(entry->d_name);
        if (length > 5 && strcmp(entry->d_name + length - 5, ".list") == 0)
            *array_push(names, *count, capacity) = memory_duplicate_string(entry->d_name);
    }
    return names;
}

static void read_lists(struct search *search, const char *database)
{
    DIR *directory = opendir(database);
    size_t count = 0;

    if (!directory)
        return;
    char **names = list_names(directory, &count);
    for (int likely = 1; likely >= 0; likely--)
        for (size_t i = 0; i < count && search->missing; i++)
            if (is_likely(search, names[i]) == likely)
                read_list(search, dirfd(directory), names[i]);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    closedir(directory);
}

void packages_with_debug_info(const char *database, size_t count, const char *const *paths,
                              char **packages)
{
    struct search search = {.packages = packages};

    for (size_t i = 0; i < count; i++) {
        char *real = realpath(paths[i], NULL);
        packages[i] = NULL;
        bool may = add_spellings(&search, paths[i], i);
        if (real && strcmp(real, paths[i]) != 0)
            may |= add_spellings(&search, real, i);
        search.missing += may;
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
