#include "engines/riscv/image.h"

#include "common/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SEGMENTS   256
#define MAX_FILE_BYTES (4ull << 30)

/* Where a position-independent program is put: away from 0 and from the stack. */
#define DYNAMIC_BIAS 0x200000000ull

/* The float ABI in e_flags. */
#define FLAG_COMPRESSED 1u
#define FLAG_FLOAT_ABI  6u

static int read_bytes(struct riscv_image *image, int file, struct error *error)
{
    size_t done = 0;

    while (done < image->size_bytes) {
        ssize_t got = read(file, image->bytes + done, image->size_bytes - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set_errno(error, "cannot read %s", image->path);
        if (!got)
            return error_set(error, "%s became shorter while it was read", image->path);
        done += (size_t)got;
    }
    return OK;
}

static int read_file(struct riscv_image *image, struct error *error)
{
    struct stat status;
    int file = open(image->path, O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return error_set_errno(error, "cannot open %s", image->path);
    int result = OK;
    if (fstat(file, &status))
        result = error_set_errno(error, "cannot read %s", image->path);
    else if (!S_ISREG(status.st_mode))
        result = error_set(error, "%s is not a file", image->path);
    else if ((uint64_t)status.st_size > MAX_FILE_BYTES)
        result = error_set(error, "%s is too large for a program", image->path);
    if (result == OK) {
        image->size_bytes = (size_t)status.st_size;
        image->bytes = memory_allocate(image->size_bytes);
        result = read_bytes(image, file, error);
    }
    close(file);
    return result;
}

static int check_header(struct riscv_image *image, struct error *error)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)image->bytes;
    const char *path = image->path;

    if (image->size_bytes < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG))
        return error_set(error, "%s is not an ELF file", path);
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return error_set(error, "%s is not a 64-bit little-endian ELF file", path);
    if (header->e_machine != EM_RISCV)
        return error_set(error, "%s is not a RISC-V program (ELF machine %u)", path,
                         header->e_machine);
    if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
        return error_set(error, "%s is not an executable (ELF type %u)", path, header->e_type);
    if (header->e_phentsize != sizeof(Elf64_Phdr) || !header->e_phnum ||
        header->e_phnum > MAX_SEGMENTS)
        return error_set(error, "%s has %u program headers of %u bytes: not a program that can run",
                         path, header->e_phnum, header->e_phentsize);
    if (header->e_phoff > image->size_bytes || header->e_phoff % 8 ||
        image->size_bytes - header->e_phoff < header->e_phnum * sizeof(Elf64_Phdr))
        return error_set(error, "%s is truncated: its program headers are missing", path);
    image->header = header;
    image->segments = (const Elf64_Phdr *)(image->bytes + header->e_phoff);
    image->bias = header->e_type == ET_DYN ? DYNAMIC_BIAS : 0;
    image->compressed = header->e_flags & FLAG_COMPRESSED;
    return OK;
}

static bool overlaps(const Elf64_Phdr *a, const Elf64_Phdr *b)
{
    return a->p_vaddr < b->p_vaddr + b->p_memsz && b->p_vaddr < a->p_vaddr + a->p_memsz;
}

static int check_segment(struct riscv_image *image, const Elf64_Phdr *segment, struct error *error)
{
    const char *path = image->path;
    unsigned number = (unsigned)(segment - image->segments);

    if (segment->p_offset > image->size_bytes ||
        segment->p_filesz > image->size_bytes - segment->p_offset)
        return error_set(error, "%s is truncated: segment %u lies outside the file", path, number);
    if (segment->p_filesz > segment->p_memsz)
        return error_set(error,
                         "%s is broken: segment %u has more bytes in the file than in memory", path,
                         number);
    if (segment->p_vaddr > MEMORY_LOW_BYTES - image->bias ||
        segment->p_memsz > MEMORY_LOW_BYTES - image->bias - segment->p_vaddr)
        return error_set(error,
                         "%s cannot be loaded: segment %u is at 0x%llx with 0x%llx bytes, outside "
                         "the %llu GiB a guest has",
                         path, number, (unsigned long long)segment->p_vaddr,
                         (unsigned long long)segment->p_memsz, MEMORY_LOW_BYTES >> 30);
    for (unsigned other = 0; other < number; other++)
        if (image->segments[other].p_type == PT_LOAD && image->segments[other].p_memsz &&
            overlaps(&image->segments[other], segment))
            return error_set(error, "%s is broken: segments %u and %u overlap", path, other,
                             number);
    return OK;
}

static void note_segment(struct riscv_image *image, const Elf64_Phdr *segment)
{
    uint64_t start = image->bias + segment->p_vaddr, end = start + segment->p_memsz;
    uint64_t headers = image->header->e_phoff;

    if (end > image->end)
        image->end = end;
    if (headers >= segment->p_offset && headers - segment->p_offset < segment->p_filesz)
        image->headers = start + headers - segment->p_offset;
    if (!(segment->p_flags & PF_X))
        return;
    if (!image->code_end || start < image->code_start)
        image->code_start = start;
    if (end > image->code_end)
        image->code_end = end;
}

static bool is_executable_at(const struct riscv_image *image, uint64_t address)
{
    for (unsigned i = 0; i < image->header->e_phnum; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_memsz)
            return true;
    }
    return false;
}

static int check_segments(struct riscv_image *image, struct error *error)
{
    for (unsigned i = 0; i < image->header->e_phnum; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_INTERP)
            return error_set(error, "%s is dynamically linked; link it with -static", image->path);
        if (segment->p_type == PT_GNU_STACK)
            image->runs_stack = segment->p_flags & PF_X;
        if (segment->p_type != PT_LOAD || !segment->p_memsz)
            continue;
        if (check_segment(image, segment, error))
            return ERROR;
        note_segment(image, segment);
    }
    if (!image->end)
        return error_set(error, "%s has nothing to load", image->path);
    uint64_t entry = image->header->e_entry;
    if (!is_executable_at(image, entry) || entry % (image->compressed ? 2 : 4))
        return error_set(error, "%s is broken: its entry 0x%llx is no code", image->path,
                         (unsigned long long)entry);
    image->entry = image->bias + entry;
    return OK;
}

/* What the file has of a segment; NULL if it lies outside. Only segments that are loaded have been
 * checked, and an empty one is not. */
static const uint8_t *segment_bytes(const struct riscv_image *image, const Elf64_Phdr *segment)
{
    if (segment->p_offset > image->size_bytes ||
        segment->p_filesz > image->size_bytes - segment->p_offset)
        return NULL;
    return image->bytes + segment->p_offset;
}

/* A note that says the file was made for Linux, as every glibc start file puts in. */
static bool has_linux_note(const struct riscv_image *image)
{
    for (unsigned i = 0; i < image->header->e_phnum; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        const uint8_t *at = segment_bytes(image, segment);
        if (segment->p_type != PT_NOTE || !at)
            continue;
        uint64_t left = segment->p_filesz;
        Elf64_Nhdr note;
        while (left >= sizeof note) {
            memcpy(&note, at, sizeof note);
            uint64_t size_bytes = sizeof note + (((uint64_t)note.n_namesz + 3) & ~3ull) +
                                  (((uint64_t)note.n_descsz + 3) & ~3ull);
            if (size_bytes > left)
                break;
            if (note.n_type == NT_GNU_ABI_TAG && note.n_namesz == 4 &&
                !memcmp(at + sizeof note, "GNU", 4))
                return true;
            at += size_bytes;
            left -= size_bytes;
        }
    }
    return false;
}

/* The call to a debugger that programs for bare machines make: see linux_semihosting.c. */
static bool has_semihosting(const struct riscv_image *image)
{
    static const uint32_t call[] = {0x01f01013, 0x00100073, 0x40705013};

    for (unsigned i = 0; i < image->header->e_phnum; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        const uint8_t *bytes = segment_bytes(image, segment);
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && bytes &&
            memmem(bytes, segment->p_filesz, call, sizeof call))
            return true;
    }
    return false;
}

static enum riscv_abi guess_abi(const struct riscv_image *image)
{
    const Elf64_Ehdr *header = image->header;

    if (header->e_type == ET_DYN || header->e_ident[EI_OSABI] == ELFOSABI_GNU ||
        header->e_flags & FLAG_FLOAT_ABI || has_linux_note(image) || has_semihosting(image))
        return RISCV_ABI_LINUX;
    return RISCV_ABI_LAMBDA;
}

int image_read(struct riscv_image *image, const char *path, struct error *error)
{
    *image = (struct riscv_image){.path = memory_duplicate_string(path)};
    if (read_file(image, error) || check_header(image, error) || check_segments(image, error)) {
        image_release(image);
        return ERROR;
    }
    image->abi = guess_abi(image);
    return OK;
}

void image_release(struct riscv_image *image)
{
    free(image->path);
    free(image->bytes);
    *image = (struct riscv_image){0};
}

static uint64_t page_down(uint64_t address)
{
    return address & ~(MEMORY_PAGE - 1);
}

static uint64_t page_up(uint64_t address)
{
    return page_down(address + MEMORY_PAGE - 1);
}

static unsigned permissions_of(const Elf64_Phdr *segment, bool all_writable)
{
    unsigned permissions = (segment->p_flags & PF_R ? MEMORY_READ : 0) |
                           (segment->p_flags & PF_W ? MEMORY_WRITE : 0) |
                           (segment->p_flags & PF_X ? MEMORY_EXECUTE | MEMORY_READ : 0);
    return all_writable ? permissions | MEMORY_READ | MEMORY_WRITE : permissions;
}

/* Segments may share a page: it is mapped once, and has what each of them is allowed. */
static int map_segment(const struct riscv_image *image, struct guest_memory *memory,
                       const Elf64_Phdr *segment, struct error *error)
{
    uint64_t start = image->bias + segment->p_vaddr;
    uint64_t first = page_down(start), end = page_up(start + segment->p_memsz);

    while (first < end && memory_allows(memory, first, 1, MEMORY_WRITE))
        first += MEMORY_PAGE;
    while (first < end && memory_allows(memory, end - 1, 1, MEMORY_WRITE))
        end -= MEMORY_PAGE;
    if (first < end && memory_map(memory, first, end - first, MEMORY_READ | MEMORY_WRITE, error))
        return ERROR;
    memcpy(memory_host(memory, start), image->bytes + segment->p_offset, segment->p_filesz);
    return OK;
}

static bool is_loaded(const struct riscv_image *image, uint64_t address, uint64_t size_bytes)
{
    for (unsigned i = 0; i < image->header->e_phnum; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        uint64_t start = image->bias + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && start < address + size_bytes &&
            address < start + segment->p_memsz)
            return true;
    }
    return false;
}

/* Programs for bare machines expect their data where they would lie in read-only memory (the
 * "physical" address), from where their start-up code copies them. */
static void put_source(const struct riscv_image *image, struct guest_memory *memory,
                       const Elf64_Phdr *segment)
{
    uint64_t address = image->bias + segment->p_paddr, size_bytes = segment->p_filesz;
    struct error ignored;

    if (segment->p_paddr == segment->p_vaddr || !segment->p_paddr || !size_bytes ||
        !memory_is_range(address, size_bytes) || is_loaded(image, address, size_bytes) ||
        memory_ensure(memory, address, size_bytes, &ignored))
        return;
    memcpy(memory_host(memory, address), image->bytes + segment->p_offset, size_bytes);
}

static void protect_page(const struct riscv_image *image, struct guest_memory *memory,
                         uint64_t page, bool all_writable)
{
    unsigned permissions = 0;

    for (unsigned i = 0; i < image->header->e_phnum; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        uint64_t start = image->bias + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && segment->p_memsz && page_down(start) <= page &&
            page < page_up(start + segment->p_memsz))
            permissions |= permissions_of(segment, all_writable);
    }
    memory_protect(memory, page, MEMORY_PAGE, permissions);
}

static void protect_segment(const struct riscv_image *image, struct guest_memory *memory,
                            const Elf64_Phdr *segment, bool all_writable)
{
    uint64_t start = image->bias + segment->p_vaddr;
    uint64_t first = page_down(start), last = page_down(start + segment->p_memsz - 1);

    if (last - first > MEMORY_PAGE)
        memory_protect(memory, first + MEMORY_PAGE, last - first - MEMORY_PAGE,
                       permissions_of(segment, all_writable));
    protect_page(image, memory, first, all_writable);
    protect_page(image, memory, last, all_writable);
}

int image_load(const struct riscv_image *image, struct guest_memory *memory, bool all_writable,
               struct error *error)
{
    for (unsigned i = 0; i < image->header->e_phnum; i++)
        if (image->segments[i].p_type == PT_LOAD && image->segments[i].p_memsz &&
            map_segment(image, memory, &image->segments[i], error))
            return ERROR;
    for (unsigned i = 0; i < image->header->e_phnum && !all_writable; i++)
        if (image->segments[i].p_type == PT_LOAD && image->segments[i].p_memsz)
            put_source(image, memory, &image->segments[i]);
    for (unsigned i = 0; i < image->header->e_phnum; i++)
        if (image->segments[i].p_type == PT_LOAD && image->segments[i].p_memsz)
            protect_segment(image, memory, &image->segments[i], all_writable);
    return OK;
}
