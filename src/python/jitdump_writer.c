#include "python/jitdump_writer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "python/output.h"

enum { RECORD_CODE_LOAD = 0, RECORD_DEBUG_INFO = 2, RECORD_UNWINDING_INFO = 4 };

struct file_header {
    uint32_t magic, version, total_bytes, elf_machine, padding, pid;
    uint64_t timestamp, flags;
};

struct record_header {
    uint32_t id, total_bytes;
    uint64_t timestamp;
};

struct code_load {
    struct record_header header;
    uint32_t pid, tid;
    uint64_t virtual_address, code_address, code_bytes, code_index;
};

struct debug_info {
    struct record_header header;
    uint64_t code_address, entries;
    struct {
        uint64_t address;
        uint32_t line, discriminator;
    } entry; /* its file name follows */
};

struct unwinding_info {
    struct record_header header;
    uint64_t unwind_bytes, eh_frame_hdr_bytes, mapped_bytes;
    uint8_t tables[JITDUMP_UNWIND_BYTES];
};

_Static_assert(sizeof(struct file_header) == 40, "as the format has it");
_Static_assert(sizeof(struct code_load) == 56, "as the format has it");
_Static_assert(sizeof(struct debug_info) == 48, "as the format has it");
_Static_assert(sizeof(struct unwinding_info) == 40 + JITDUMP_UNWIND_BYTES, "no padding");

static struct {
    struct output output;
    char directory[2048];
    void *marker; /* the mapping by which perf finds the file */
    uint64_t code_index;
} dump = {.output = OUTPUT_CLOSED};

static uint64_t now_nsec(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* perf 7 unwinds through functions of a dump only if that is in /tmp itself. */
static int choose_directory(struct error *error)
{
    const char *wanted = getenv("TRUEFLAME_JITDUMP_DIR");

    if (!wanted || !*wanted)
        wanted = "/tmp";
    if (strlen(wanted) >= sizeof dump.directory)
        return error_set(error, "TRUEFLAME_JITDUMP_DIR: the path is too long");
    strcpy(dump.directory, wanted);
    return OK;
}

#define MOST_DIGITS    200
#define DUMP_FUNCTIONS 1000000000u /* so many have numbers of their own */

/* A process long gone had our number, or an earlier program of this one, before it called exec, has
 * written there. To perf, which knows a dump by its name, zeros make no difference to a number. The
 * objects that it makes are known by the process and by the functions' numbers. */
static int create_file(struct error *error)
{
    char path[sizeof dump.directory + MOST_DIGITS + 16];
    struct stat status;
    int least = snprintf(NULL, 0, "%d", (int)getpid()), digits = least;

    for (;; digits++) {
        snprintf(path, sizeof path, "%s/jit-%0*d.dump", dump.directory, digits, (int)getpid());
        if (digits == MOST_DIGITS || lstat(path, &status) != 0)
            break;
    }
    dump.code_index = (uint64_t)(digits - least) * DUMP_FUNCTIONS;
    return output_create(&dump.output, path, error);
}

static int write_header(struct error *error)
{
    struct file_header header = {
        .magic = 0x4A695444, /* "JiTD" in this machine's byte order */
        .version = 1,
        .total_bytes = sizeof header,
        .elf_machine = TEMPLATE_ELF_MACHINE,
        .pid = (uint32_t)getpid(),
        .timestamp = now_nsec(),
    };
    struct iovec piece = {.iov_base = &header, .iov_len = sizeof header};
    return output_append(&dump.output, &piece, 1, error);
}

static int open_dump(struct error *error)
{
    if (create_file(error) != OK)
        return ERROR;
    if (write_header(error) != OK)
        return ERROR;
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    dump.marker =
        mmap(NULL, page_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump.output.descriptor, 0);
    if (dump.marker == MAP_FAILED)
        return error_set_errno(error, "cannot map %s executable, by which perf would find it",
                               dump.output.path);
    return OK;
}

int jitdump_writer_open(struct error *error)
{
    if (choose_directory(error) != OK)
        return ERROR;
    return open_dump(error);
}

int jitdump_writer_after_fork(struct error *error)
{
    if (dump.output.descriptor < 0)
        return error_set(error, "no jitdump was open before the fork");
    output_close(&dump.output);
    munmap(dump.marker, (size_t)sysconf(_SC_PAGESIZE));
    return open_dump(error);
}

const char *jitdump_writer_path(void)
{
    return dump.output.path;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

/* perf lays the tables directly behind the code, rounded up to 8; all addresses in them are
 * relative, so the same bytes serve every trampoline. */
static void fill_tables(uint8_t *tables)
{
    uint8_t *header = tables + JITDUMP_EH_FRAME_BYTES;

    memset(tables, 0, JITDUMP_UNWIND_BYTES);
    memcpy(tables, template_eh_frame, sizeof template_eh_frame);
    put_u32(tables + TEMPLATE_PC_BEGIN_OFFSET,
            (uint32_t) - (JITDUMP_CODE_BYTES + TEMPLATE_PC_BEGIN_OFFSET));

    header[0] = 1;    /* version */
    header[1] = 0x1b; /* address of .eh_frame: relative to itself, signed 4 bytes */
    header[2] = 0x03; /* number of table entries: unsigned 4 bytes */
    header[3] = 0x3b; /* table entries: relative to this header, signed 4 bytes */
    put_u32(header + 4, (uint32_t) - (JITDUMP_EH_FRAME_BYTES + 4));
    put_u32(header + 8, 1);
    put_u32(header + 12, (uint32_t) - (JITDUMP_EH_FRAME_BYTES + JITDUMP_CODE_BYTES));
    put_u32(header + 16, (uint32_t) - (JITDUMP_EH_FRAME_BYTES - TEMPLATE_FDE_OFFSET));
}

int jitdump_writer_add(const void *address, const char *name, size_t name_length, const char *file,
                       unsigned line, struct error *error)
{
    uint64_t code_address = (uintptr_t)address, time = now_nsec();
    size_t file_bytes = strlen(file) + 1;
    struct unwinding_info unwinding = {
        .header = {RECORD_UNWINDING_INFO, sizeof unwinding, time},
        .unwind_bytes = JITDUMP_UNWIND_BYTES,
        .eh_frame_hdr_bytes = JITDUMP_HEADER_BYTES,
        .mapped_bytes = JITDUMP_TABLE_BYTES,
    };
    struct debug_info debug = {
        .header = {RECORD_DEBUG_INFO, (uint32_t)(sizeof debug + file_bytes), time},
        .code_address = code_address,
        .entries = 1,
        .entry = {.address = code_address, .line = line},
    };
    struct code_load load = {
        .header = {RECORD_CODE_LOAD, (uint32_t)(sizeof load + name_length + 1 + TEMPLATE_CODE_SIZE),
                   time},
        .pid = (uint32_t)getpid(),
        .tid = (uint32_t)syscall(SYS_gettid),
        .virtual_address = code_address,
        .code_address = code_address,
        .code_bytes = TEMPLATE_CODE_SIZE,
        .code_index = dump.code_index++,
    };
    fill_tables(unwinding.tables);
    struct iovec pieces[] = {
        {.iov_base = &unwinding, .iov_len = sizeof unwinding},
        {.iov_base = &debug, .iov_len = sizeof debug},
        {.iov_base = (char *)file, .iov_len = file_bytes},
        {.iov_base = &load, .iov_len = sizeof load},
        {.iov_base = (char *)name, .iov_len = name_length},
        {.iov_base = "", .iov_len = 1},
        {.iov_base = (uint8_t *)template_code, .iov_len = TEMPLATE_CODE_SIZE},
    };
    return output_append(&dump.output, pieces, sizeof pieces / sizeof *pieces, error);
}
