/*
 * package.c: looks for a path in dpkg's lists of installed files, as `dpkg -S` does, without
 * running anything.
 *
 * Debian builds a PACKAGE-dbgsym for every package with code; glibc is the exception and has had
 * libc6-dbg since before those. Packages made before /lib became a link to /usr/lib list their
 * files without /usr, so both spellings are looked for.
 */
#include "symbols/package.h"
#include "common/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_line(const char *text, size_t size_bytes, const char *line)
{
    size_t length = strlen(line);

    for (const char *at = text; (at = memmem(at, size_bytes - (size_t)(at - text), line, length));
         at++) {
        bool starts = at == text || at[-1] == '\n';
        bool ends = at + length == text + size_bytes || at[length] == '\n';
        if (starts && ends)
            return true;
    }
    return false;
}

static bool list_names(int directory, const char *list, const char *path)
{
    bool found = false;
    struct stat status;
    int descriptor = openat(directory, list, O_RDONLY | O_CLOEXEC);

    if (descriptor < 0)
        return false;
    if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
        size_t size_bytes = (size_t)status.st_size;
        char *text = mmap(NULL, size_bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (text != MAP_FAILED) {
            found = has_line(text, size_bytes, path) ||
                    (strncmp(path, "/usr/", 5) == 0 && has_line(text, size_bytes, path + 4));
            munmap(text, size_bytes);
        }
    }
    close(descriptor);
    return found;
}

static char *debug_package_of(const char *list)
{
    size_t length = strcspn(list, ":"); /* libc6:amd64.list */

    if (!list[length])
        length = strlen(list) - strlen(".list");
    if (length == 5 && strncmp(list, "libc6", 5) == 0)
        return memory_duplicate_string("libc6-dbg");
    return memory_format("%.*s-dbgsym", (int)length, list);
}

char *package_with_debug_info(const char *database, const char *path)
{
    char *package = NULL;
    char *real = realpath(path, NULL);
    DIR *directory = opendir(database);
    struct dirent *entry;

    while (directory && !package && (entry = readdir(directory))) {
        size_t length = strlen(entry->d_name);
        if (length <= 5 || strcmp(entry->d_name + length - 5, ".list") != 0)
            continue;
        if (list_names(dirfd(directory), entry->d_name, path) ||
            (real && strcmp(real, path) != 0 &&
             list_names(dirfd(directory), entry->d_name, real)))
            package = debug_package_of(entry->d_name);
    }
    if (directory)
        closedir(directory);
    free(real);
    return package;
}
