/*
 * linux_semihosting.c: programs that were linked for a bare machine, as picolibc's start-up code
 * and its `semihost` library make them.
 *
 * Such a program asks a debugger for what others ask the kernel for: `ebreak` between two shifts
 * that do nothing, the operation in a0, a pointer to its arguments in a1. The operations are those
 * of Arm's semihosting with words of eight bytes; qemu-riscv64 answers them too.
 *
 * Its start-up code also sets registers that only machine-level code has (mstatus to switch floats
 * on, mtvec for traps), at which qemu-riscv64 ends. Here they are granted, as words that are kept,
 * to a program that behaves as if it were alone: it runs on a stack in its own image, and has made
 * no system call yet.
 */
#include "engines/riscv/linux.h"

#include "common/memory.h"
#include "engines/riscv/image.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define EBREAK 0x00100073u

#define MAX_WORDS 4

struct operation {
    uint16_t number;
    uint8_t words; /* at a1 */
    const char *name;
    int64_t (*answer)(struct riscv_machine *machine, const uint64_t *words);
};

/* -1, and why in what SYS_ERRNO will say. */
static int64_t result_of(struct riscv_machine *machine, int64_t result)
{
    if (result < 0)
        linux_state_of(machine)->semihosting_errno = errno;
    return result;
}

/* ---- files ---- */

/* The modes of fopen, in the order of their numbers: r, rb, r+, r+b, w, ... */
static const int open_flags[] = {
    O_RDONLY,
    O_RDONLY,
    O_RDWR,
    O_RDWR,
    O_WRONLY | O_CREAT | O_TRUNC,
    O_WRONLY | O_CREAT | O_TRUNC,
    O_RDWR | O_CREAT | O_TRUNC,
    O_RDWR | O_CREAT | O_TRUNC,
    O_WRONLY | O_CREAT | O_APPEND,
    O_WRONLY | O_CREAT | O_APPEND,
    O_RDWR | O_CREAT | O_APPEND,
    O_RDWR | O_CREAT | O_APPEND,
};

/* A name that comes with its length. */
static char *copy_name(const struct riscv_machine *machine, uint64_t address, uint64_t length)
{
    char *name = NULL;

    if (length < 4096 && memory_allows(&machine->memory, address, length, MEMORY_READ)) {
        name = memory_allocate_zeroed(length + 1, 1);
        memory_read(&machine->memory, address, name, length);
    }
    errno = EFAULT;
    return name;
}

/* Handles are numbers of their own, from 1 on, as qemu-riscv64 has them: programs treat the first
 * ones differently. */
static int64_t add_handle(struct riscv_machine *machine, int file)
{
    int *files = linux_state_of(machine)->semihosting_files;

    for (int i = 0; i < LINUX_SEMIHOSTING_FILES && file >= 0; i++)
        if (!files[i]) {
            files[i] = file + 1;
            return i + 1;
        }
    result_of(machine, -1);
    if (file >= 0)
        close(file);
    return -1;
}

/* The host's file; -1, which nothing is done with, if there is no such handle. */
static int file_of(const struct riscv_machine *machine, uint64_t handle)
{
    return handle - 1 < LINUX_SEMIHOSTING_FILES
               ? linux_state_of(machine)->semihosting_files[handle - 1] - 1
               : -1;
}

/* ":tt" is the console: read, written, or, with the modes of "a", standard error. */
static int open_console(uint64_t mode)
{
    return dup(mode < 4 ? STDIN_FILENO : mode < 8 ? STDOUT_FILENO : STDERR_FILENO);
}

/* What this host can do: extended exit, and output and errors told apart. */
static int open_features(void)
{
    static const uint8_t features[] = {'S', 'H', 'F', 'B', 3};
    int file = memfd_create("features", MFD_CLOEXEC);

    if (file >= 0 && (write(file, features, sizeof features) < 0 || lseek(file, 0, SEEK_SET))) {
        close(file);
        return -1;
    }
    return file;
}

static int64_t sys_open(struct riscv_machine *machine, const uint64_t *words)
{
    char *name = copy_name(machine, words[0], words[2]);
    int file = -1;

    if (name && words[1] < sizeof open_flags / sizeof open_flags[0])
        file = !strcmp(name, ":tt")                     ? open_console(words[1])
               : !strcmp(name, ":semihosting-features") ? open_features()
                                                        : open(name, open_flags[words[1]], 0644);
    int64_t handle = add_handle(machine, file);
    free(name);
    return handle;
}

static int64_t sys_close(struct riscv_machine *machine, const uint64_t *words)
{
    int64_t result = result_of(machine, close(file_of(machine, words[0])));

    if (!result)
        linux_state_of(machine)->semihosting_files[words[0] - 1] = 0;
    return result;
}

static int64_t sys_write_character(struct riscv_machine *machine, const uint64_t *words)
{
    (void)words;
    return write(STDOUT_FILENO, linux_pointer(machine, machine->x[REGISTER_A0 + 1]), 1);
}

static int64_t sys_write_string(struct riscv_machine *machine, const uint64_t *words)
{
    const char *text = linux_text(machine, machine->x[REGISTER_A0 + 1], SIZE_MAX);

    (void)words;
    return text ? write(STDOUT_FILENO, text, strlen(text)) : -1;
}

/* Writing and reading give the number of bytes that were not. */
static int64_t sys_write(struct riscv_machine *machine, const uint64_t *words)
{
    ssize_t done = write(file_of(machine, words[0]), linux_pointer(machine, words[1]), words[2]);

    return result_of(machine, done) < 0 ? (int64_t)words[2] : (int64_t)words[2] - done;
}

static int64_t sys_read(struct riscv_machine *machine, const uint64_t *words)
{
    ssize_t done = read(file_of(machine, words[0]), linux_pointer(machine, words[1]), words[2]);

    return result_of(machine, done) < 0 ? -1 : (int64_t)words[2] - done;
}

static int64_t sys_read_character(struct riscv_machine *machine, const uint64_t *words)
{
    uint8_t character;

    (void)machine, (void)words;
    return read(STDIN_FILENO, &character, 1) == 1 ? character : -1;
}

static int64_t sys_is_error(struct riscv_machine *machine, const uint64_t *words)
{
    (void)machine;
    return (int64_t)words[0] < 0;
}

static int64_t sys_is_terminal(struct riscv_machine *machine, const uint64_t *words)
{
    return isatty(file_of(machine, words[0]));
}

static int64_t sys_seek(struct riscv_machine *machine, const uint64_t *words)
{
    return result_of(machine, lseek(file_of(machine, words[0]), (off_t)words[1], SEEK_SET)) < 0 ? -1
                                                                                                : 0;
}

static int64_t sys_length(struct riscv_machine *machine, const uint64_t *words)
{
    struct stat status;

    return result_of(machine, fstat(file_of(machine, words[0]), &status)) < 0 ? -1 : status.st_size;
}

static int64_t sys_temporary_name(struct riscv_machine *machine, const uint64_t *words)
{
    char name[64];
    int length = snprintf(name, sizeof name, "/tmp/semihosting.%d.%llu", (int)getpid(),
                          (unsigned long long)words[1] & 255);

    return (uint64_t)length < words[2] &&
                   memory_write(&machine->memory, words[0], name, (size_t)length + 1)
               ? 0
               : -1;
}

static int64_t sys_remove(struct riscv_machine *machine, const uint64_t *words)
{
    char *name = copy_name(machine, words[0], words[1]);
    int64_t result = result_of(machine, name ? remove(name) : -1);

    free(name);
    return result;
}

static int64_t sys_rename(struct riscv_machine *machine, const uint64_t *words)
{
    char *from = copy_name(machine, words[0], words[1]);
    char *to = copy_name(machine, words[2], words[3]);
    int64_t result = result_of(machine, from && to ? rename(from, to) : -1);

    free(from);
    free(to);
    return result;
}

/* ---- time, arguments, the end ---- */

static int64_t sys_clock(struct riscv_machine *machine, const uint64_t *words)
{
    (void)words;
    return machine->options.repeatable ? (int64_t)(machine_retired(machine) / 10000000)
                                       : (int64_t)clock() / (CLOCKS_PER_SEC / 100);
}

static int64_t sys_time(struct riscv_machine *machine, const uint64_t *words)
{
    (void)words;
    return machine->options.repeatable ? (int64_t)(linux_now(machine) / 1000000000) : time(NULL);
}

static int64_t sys_errno(struct riscv_machine *machine, const uint64_t *words)
{
    (void)words;
    return linux_state_of(machine)->semihosting_errno;
}

/* All arguments in one string; the answer goes into the two words that were given. */
static int64_t sys_arguments(struct riscv_machine *machine, const uint64_t *words)
{
    const char *alone[] = {machine->options.path, NULL};
    const char *const *arguments = machine->options.arguments ? machine->options.arguments : alone;
    uint64_t length = 0, block = machine->x[REGISTER_A0 + 1];

    for (size_t i = 0; arguments[i]; i++) {
        size_t size_bytes = strlen(arguments[i]);
        if (length + size_bytes + 2 > words[1] ||
            (i && !memory_write(&machine->memory, words[0] + length - 1, " ", 1)) ||
            !memory_write(&machine->memory, words[0] + length, arguments[i], size_bytes + 1))
            return -1;
        length += size_bytes + 1;
    }
    length -= length != 0;
    return memory_write(&machine->memory, block + 8, &length, sizeof length) ? 0 : -1;
}

/* Heap base and limit, stack base and limit: the program's own layout, which 0 stands for. */
static int64_t sys_heap(struct riscv_machine *machine, const uint64_t *words)
{
    static const uint64_t unknown[4];

    return memory_write(&machine->memory, words[0], unknown, sizeof unknown) ? 0 : -1;
}

#define APPLICATION_EXIT 0x20026

static int64_t sys_exit(struct riscv_machine *machine, const uint64_t *words)
{
    machine_stop(machine, RISCV_EXITED, words[0] == APPLICATION_EXIT ? (int)(words[1] & 0xff) : 1,
                 "%s", "");
    return 0;
}

static int64_t sys_elapsed(struct riscv_machine *machine, const uint64_t *words)
{
    uint64_t now = linux_now(machine);

    (void)words;
    return memory_write(&machine->memory, machine->x[REGISTER_A0 + 1], &now, sizeof now) ? 0 : -1;
}

static int64_t sys_tick_frequency(struct riscv_machine *machine, const uint64_t *words)
{
    (void)machine, (void)words;
    return 1000000000;
}

static const struct operation operations[] = {
    {0x01, 3, "semihosting_open", sys_open},
    {0x02, 1, "semihosting_close", sys_close},
    {0x03, 0, "semihosting_writec", sys_write_character},
    {0x04, 0, "semihosting_write0", sys_write_string},
    {0x05, 3, "semihosting_write", sys_write},
    {0x06, 3, "semihosting_read", sys_read},
    {0x07, 0, "semihosting_readc", sys_read_character},
    {0x08, 1, "semihosting_iserror", sys_is_error},
    {0x09, 1, "semihosting_istty", sys_is_terminal},
    {0x0a, 2, "semihosting_seek", sys_seek},
    {0x0c, 1, "semihosting_flen", sys_length},
    {0x0d, 3, "semihosting_tmpnam", sys_temporary_name},
    {0x0e, 2, "semihosting_remove", sys_remove},
    {0x0f, 4, "semihosting_rename", sys_rename},
    {0x10, 0, "semihosting_clock", sys_clock},
    {0x11, 0, "semihosting_time", sys_time},
    {0x13, 0, "semihosting_errno", sys_errno},
    {0x15, 2, "semihosting_get_cmdline", sys_arguments},
    {0x16, 1, "semihosting_heapinfo", sys_heap},
    {0x18, 2, "semihosting_exit", sys_exit},
    {0x20, 2, "semihosting_exit_extended", sys_exit},
    {0x30, 0, "semihosting_elapsed", sys_elapsed},
    {0x31, 0, "semihosting_tickfreq", sys_tick_frequency},
};

static const struct operation *find_operation(uint64_t number)
{
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (operations[i].number == number)
            return &operations[i];
    return NULL;
}

bool linux_is_semihosting(const struct riscv_machine *machine)
{
    uint32_t word = 0;

    memory_read(&machine->memory, machine->pc - 4, &word, sizeof word);
    return word == EBREAK;
}

const char *linux_semihosting_name(const struct riscv_machine *machine)
{
    const struct operation *operation = find_operation(machine->x[REGISTER_A0]);

    return operation ? operation->name : "semihosting";
}

void linux_semihosting(struct riscv_machine *machine)
{
    const struct operation *operation = find_operation(machine->x[REGISTER_A0]);
    uint64_t words[MAX_WORDS] = {0};
    int64_t result = -1;

    if (operation && memory_read(&machine->memory, machine->x[REGISTER_A0 + 1], words,
                                 operation->words * sizeof *words))
        result = operation->answer(machine, words);
    machine->x[REGISTER_A0] = (uint64_t)result;
}

/* ---- alone on the machine ---- */

#define MAX_RAM   (1ull << 30)
#define MAX_FRAME 4096

/* The writable segment that the stack lies in or behind; NULL: the stack is the kernel's, or there
 * is a kernel. */
static const Elf64_Phdr *ram_of_stack(const struct riscv_machine *machine)
{
    const struct riscv_image *image = machine->image;
    const Elf64_Phdr *best = NULL;
    uint64_t sp = machine->x[REGISTER_SP] - image->bias;

    if (linux_state_of(machine)->has_called)
        return NULL;
    for (unsigned i = 0; i < image->header->e_phnum; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_W &&
            sp - segment->p_vaddr < MAX_RAM && (!best || segment->p_vaddr > best->p_vaddr))
            best = segment;
    }
    return best;
}

bool linux_touch(struct riscv_machine *machine, uint64_t address)
{
    const Elf64_Phdr *ram = ram_of_stack(machine);
    uint64_t sp = machine->x[REGISTER_SP];
    struct error ignored;

    if (!ram || memory_allows(&machine->memory, address, 1, MEMORY_MAPPED))
        return false;
    /* The frame that is being made lies above the stack pointer. */
    uint64_t start = machine->image->bias + ram->p_vaddr, end = sp + MAX_FRAME;
    return address - start < end - start && memory_is_range(start, end - start) &&
           !memory_ensure(&machine->memory, start, (sp > address ? sp : address) + 8 - start,
                          &ignored);
}

/* mstatus, mie, mtvec, mscratch, mepc, mcause, mtval, mip. Once granted they stay. */
uint64_t *linux_machine_csr(struct riscv_machine *machine, unsigned csr)
{
    static const uint16_t kept[] = {0x300, 0x304, 0x305, 0x340, 0x341, 0x342, 0x343, 0x344};
    struct linux_state *state = linux_state_of(machine);

    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (kept[i] == csr && (state->is_alone || ram_of_stack(machine))) {
            state->is_alone = true;
            return &state->machine_csrs[i];
        }
    return NULL;
}
