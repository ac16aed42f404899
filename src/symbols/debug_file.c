/*
 * debug_file.c: the search for files, on this machine only unless debuginfod was asked for.
 *
 * A file is taken only if it is the right one: the build id must agree, or for a .gnu_debuglink
 * without build ids the checksum. The order is that of gdb and elfutils, with the directories of
 * --debug-dir first:
 *   the module        PATH, DIR/PATH, DIR/NAME, DIR/.build-id/xx/yyyy
 *   by build id       DIR/.build-id/xx/yyyy.debug, then the same under /usr/lib/debug
 *   by debug link     beside the module, in .debug/ beside it, in DIR, DIR/its directory,
 *                     /usr/lib/debug/its directory
 *   a package         beside the module or the debug file, in DIR: NAME.dwp
 */
#include "symbols/debug_file.h"
#include "common/memory.h"

#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define SYSTEM_DEBUG_DIRECTORY "/usr/lib/debug"

/* What a file must be to be taken; a NULL or "" build id asks for nothing. */
struct wanted {
    const char *build_id;
    const uint32_t *checksum;
};

static bool checksum_agrees(const struct elf_file *file, uint32_t checksum)
{
    size_t size_bytes = 0;
    const char *bytes = elf_rawfile(file->elf, &size_bytes);

    return bytes && crc32_z(0, (const Bytef *)bytes, size_bytes) == checksum;
}

/* Takes the path over. */
static bool try_path(char *path, const struct wanted *wanted, struct elf_file *found)
{
    struct error ignored;
    bool has_build_id = wanted->build_id && *wanted->build_id;
    bool taken = false;

    if (elf_file_open(found, path, &ignored) == OK) {
        if (has_build_id && *found->build_id)
            taken = strcmp(found->build_id, wanted->build_id) == 0;
        else
            taken = wanted->checksum ? checksum_agrees(found, *wanted->checksum) : !has_build_id;
        if (!taken)
            elf_file_close(found);
    }
    free(path);
    return taken;
}

static const char *const *debug_directories(const struct symbols_options *options)
{
    static const char *const none[] = {NULL};

    return options && options->debug_dirs ? options->debug_dirs : none;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool is_build_id(const char *text)
{
    return strlen(text) > 2 && strspn(text, "0123456789abcdef") == strlen(text);
}

static bool try_build_id(const char *directory, const char *build_id, const char *suffix,
                         struct elf_file *found)
{
    struct wanted wanted = {.build_id = build_id};

    return try_path(
        memory_format("%s/.build-id/%.2s/%s%s", directory, build_id, build_id + 2, suffix), &wanted,
        found);
}

int debug_file_find_module(const char *path, const char *build_id,
                           const struct symbols_options *options, struct elf_file *found,
                           struct error *error)
{
    struct wanted wanted = {.build_id = build_id};
    struct error here;
    int status = elf_file_open(found, path, &here);

    if (status == OK && (!*build_id || strcmp(found->build_id, build_id) == 0))
        return OK;
    if (status == OK) {
        error_set(&here, "%s is not the file that ran: its build id is %s, not %s", path,
                  *found->build_id ? found->build_id : "missing", build_id);
        elf_file_close(found);
    }
    for (const char *const *directory = debug_directories(options); *directory; directory++)
        if (try_path(memory_format("%s/%s", *directory, path), &wanted, found) ||
            try_path(memory_format("%s/%s", *directory, file_name(path)), &wanted, found) ||
            (is_build_id(build_id) && try_build_id(*directory, build_id, "", found)))
            return OK;
    *error = here;
    return ERROR;
}

/* libdebuginfod is loaded only here, so that nothing can reach the network without being asked. */
static bool ask_debuginfod(const char *build_id, struct elf_file *found)
{
    struct wanted wanted = {.build_id = build_id};
    bool taken = false;
    char *path = NULL;
    void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return false;
    void *(*begin)(void) = (void *(*)(void))dlsym(library, "debuginfod_begin");
    void (*end)(void *) = (void (*)(void *))dlsym(library, "debuginfod_end");
    int (*find)(void *, const unsigned char *, int, char **) =
        (int (*)(void *, const unsigned char *, int, char **))dlsym(library,
                                                                    "debuginfod_find_debuginfo");
    void *client = begin && end && find ? begin() : NULL;
    if (client) {
        /* A length of 0 says that the build id is given as hex digits. */
        int descriptor = find(client, (const unsigned char *)build_id, 0, &path);
        if (descriptor >= 0)
            close(descriptor);
        if (path)
            taken = try_path(path, &wanted, found);
        end(client);
    }
    dlclose(library);
    return taken;
}

static bool find_by_link(const struct elf_file *module, const struct symbols_options *options,
                         struct elf_file *found)
{
    GElf_Word checksum;
    const char *name = dwelf_elf_gnu_debuglink(module->elf, &checksum);

    if (!name || !*name)
        return false;
    struct wanted wanted = {.build_id = module->build_id, .checksum = &checksum};
    int length = (int)(file_name(module->path) - module->path);
    char *directory = memory_format("%.*s", length, module->path);
    bool taken = try_path(memory_format("%s%s", directory, name), &wanted, found) ||
                 try_path(memory_format("%s.debug/%s", directory, name), &wanted, found);
    for (const char *const *extra = debug_directories(options); *extra && !taken; extra++)
        taken = try_path(memory_format("%s/%s", *extra, name), &wanted, found) ||
                try_path(memory_format("%s/%s%s", *extra, directory, name), &wanted, found);
    if (!taken)
        taken = try_path(memory_format(SYSTEM_DEBUG_DIRECTORY "/%s%s", directory, name), &wanted,
                         found);
    free(directory);
    return taken;
}

bool debug_file_find(const char *build_id, const struct elf_file *module,
                     const struct symbols_options *options, struct elf_file *found)
{
    if (is_build_id(build_id)) {
        for (const char *const *extra = debug_directories(options); *extra; extra++)
            if (try_build_id(*extra, build_id, ".debug", found))
                return true;
        if (try_build_id(SYSTEM_DEBUG_DIRECTORY, build_id, ".debug", found))
            return true;
    }
    if (module && find_by_link(module, options, found))
        return true;
    return options && options->debuginfod && is_build_id(build_id) &&
           ask_debuginfod(build_id, found);
}

static char *hex_of(const uint8_t *bytes, size_t count)
{
    char *hex = memory_allocate(2 * count + 1);

    for (size_t i = 0; i < count; i++) {
        hex[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    hex[2 * count] = '\0';
    return hex;
}

bool debug_file_find_alternate(const struct elf_file *file, const struct symbols_options *options,
                               struct elf_file *found)
{
    *found = (struct elf_file){.descriptor = -1};
    /* A path, its zero, and the build id to the end. (libdw would decompress all to say as much.) */
    Elf_Data *link = elf_file_section(file->elf, ".gnu_debugaltlink");
    const char *name = link ? link->d_buf : NULL;
    size_t name_bytes = name ? strnlen(name, link->d_size) + 1 : 0;
    if (!name || name_bytes >= link->d_size)
        return false;
    const uint8_t *bits = (const uint8_t *)name + name_bytes;
    size_t length = link->d_size - name_bytes;
    char *build_id = hex_of(bits, length);
    struct wanted wanted = {.build_id = build_id};
    int directory_length = (int)(file_name(file->path) - file->path);
    bool taken =
        name[0] == '/'
            ? try_path(memory_duplicate_string(name), &wanted, found)
            : try_path(memory_format("%.*s%s", directory_length, file->path, name), &wanted, found);
    for (const char *const *extra = debug_directories(options); *extra && !taken; extra++)
        taken = (is_build_id(build_id) && try_build_id(*extra, build_id, ".debug", found)) ||
                try_path(memory_format("%s/%s", *extra, file_name(name)), &wanted, found) ||
                try_path(memory_format("%s/.dwz/%s", *extra, file_name(name)), &wanted, found);
    if (!taken && is_build_id(build_id))
        taken = try_build_id(SYSTEM_DEBUG_DIRECTORY, build_id, ".debug", found);
    if (!taken)
        try_path(memory_format(SYSTEM_DEBUG_DIRECTORY "/.dwz/%s", file_name(name)), &wanted, found);
    free(build_id);
    return true;
}

/* Nothing in a package tells whose it is; but its units are found by numbers that no others have. */
bool debug_file_find_package(const char *path, const struct symbols_options *options,
                             struct elf_file *found)
{
    struct wanted any = {0};
    bool taken = try_path(memory_format("%s.dwp", path), &any, found);

    for (const char *const *extra = debug_directories(options); *extra && !taken; extra++)
        taken = try_path(memory_format("%s/%s.dwp", *extra, file_name(path)), &any, found);
    return taken;
}
