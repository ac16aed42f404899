/*
 * linux_self.c: what a process is told of itself. On the host it is trueflame: its files in /proc,
 * and its threads' names, are not the guest's.
 */
#include "engines/riscv/image.h"
#include "engines/riscv/linux.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The file's name, if the path is that of a file about this process. */
static const char *own_file(const char *path)
{
    static const char folder[] = "/proc/", self[] = "self/";

    if (strncmp(path, folder, sizeof folder - 1))
        return NULL;
    path += sizeof folder - 1;
    if (!strncmp(path, self, sizeof self - 1))
        return path + sizeof self - 1;
    char *end;
    return strtol(path, &end, 10) == getpid() && *end == '/' ? end + 1 : NULL;
}

/* The guest's own program, which on the host is another. */
const char *linux_resolve_path(const struct riscv_machine *machine, const char *path)
{
    const char *name = own_file(path);

    return name && !strcmp(name, "exe") ? machine->image->path : path;
}

static void write_maps(const struct riscv_machine *machine, int file)
{
    uint64_t start, end = 0;
    unsigned permissions;

    while (memory_next_mapping(&machine->memory, end, &start, &end, &permissions)) {
        bool is_stack = machine->x[REGISTER_SP] - start < end - start;
        bool is_image = start < machine->image->end && end > machine->image->entry;
        dprintf(file, "%08llx-%08llx %c%c%cp 00000000 00:00 0%s%s\n", (unsigned long long)start,
                (unsigned long long)end, permissions & MEMORY_READ ? 'r' : '-',
                permissions & MEMORY_WRITE ? 'w' : '-', permissions & MEMORY_EXECUTE ? 'x' : '-',
                is_stack || is_image ? "          " : "",
                is_stack   ? "[stack]"
                : is_image ? machine->image->path
                           : "");
    }
}

static void write_arguments(const struct riscv_machine *machine, int file)
{
    const char *alone[] = {machine->options.path, NULL};

    for (const char *const *argument = machine->options.arguments ? machine->options.arguments
                                                                  : alone;
         *argument; argument++)
        dprintf(file, "%s%c", *argument, 0);
}

static void write_name(const struct riscv_machine *machine, int file)
{
    dprintf(file, "%s\n", linux_thread_of(machine)->name);
}

int64_t linux_open_own(const struct riscv_machine *machine, const char *path)
{
    static const struct {
        const char *name;
        void (*write)(const struct riscv_machine *machine, int file);
    } files[] = {{"maps", write_maps}, {"cmdline", write_arguments}, {"comm", write_name}};
    const char *name = own_file(path);

    for (size_t i = 0; name && i < sizeof files / sizeof files[0]; i++)
        if (!strcmp(name, files[i].name)) {
            int file = memfd_create(name, MFD_CLOEXEC);
            if (file < 0)
                return -errno;
            files[i].write(machine, file);
            lseek(file, 0, SEEK_SET);
            return file;
        }
    return -ENOENT;
}

/* ---- names of threads ---- */

void linux_name_first_thread(struct riscv_machine *machine)
{
    const char *path = machine->options.path, *slash = strrchr(path, '/');

    snprintf(linux_thread_of(machine)->name, LINUX_NAME_BYTES, "%s", slash ? slash + 1 : path);
}

static int64_t set_name(struct riscv_machine *machine, uint64_t address)
{
    char name[LINUX_NAME_BYTES] = "";

    for (size_t i = 0; i < sizeof name - 1; i++) {
        if (!memory_read(&machine->memory, address + i, &name[i], 1))
            return -EFAULT;
        if (!name[i])
            break;
    }
    memcpy(linux_thread_of(machine)->name, name, sizeof name);
    return 0;
}

/* The process is not the guest's alone, so that hardly anything can be changed about it. */
int64_t linux_prctl(struct riscv_machine *machine, const uint64_t *arguments)
{
    switch (arguments[0]) {
    case PR_SET_NAME:
        return set_name(machine, arguments[1]);
    case PR_GET_NAME:
        return memory_write(&machine->memory, arguments[1], linux_thread_of(machine)->name,
                            LINUX_NAME_BYTES)
                   ? 0
                   : -EFAULT;
    case PR_GET_DUMPABLE:
        return 1;
    case PR_GET_PDEATHSIG: {
        const int none = 0;
        return memory_write(&machine->memory, arguments[1], &none, sizeof none) ? 0 : -EFAULT;
    }
    default:
        return 0;
    }
}
