/*
 * elf_file.c: opens ELF files with libelf, which maps them and checks what it hands out.
 *
 * Code ranges come from the section headers; a file without any (some packers strip them) is
 * described by its program headers instead. They tell real addresses from the zeros and other
 * fillers that linkers leave in symbol tables and debug info where they discarded code.
 */
#include "symbols/elf_file.h"
#include "common/memory.h"

#include <elfutils/libdwelf.h>
#include <endian.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Debug info gets three to five times smaller by compression. */
#define MOST_COMPRESSION 64
#define LEAST_BOMB_BYTES (64 << 20)

static int compare_ranges(const void *left, const void *right)
{
    const struct code_range *a = left, *b = right;

    return a->start < b->start ? -1 : a->start > b->start;
}

static void add_code_range(struct elf_file *file, uint64_t start, uint64_t size_bytes)
{
    uint64_t end;

    if (size_bytes == 0 || __builtin_add_overflow(start, size_bytes, &end))
        return;
    *array_push(file->code, file->code_count, file->code_capacity) =
        (struct code_range){.start = start, .end = end};
}

static void find_code_sections(struct elf_file *file)
{
    Elf_Scn *section = NULL;

    while ((section = elf_nextscn(file->elf, section))) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && (header.sh_flags & SHF_EXECINSTR))
            add_code_range(file, header.sh_addr, header.sh_size);
    }
}

static void find_code_segments(struct elf_file *file)
{
    size_t count = 0;

    elf_getphdrnum(file->elf, &count);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (gelf_getphdr(file->elf, (int)i, &header) && header.p_type == PT_LOAD &&
            (header.p_flags & PF_X))
            add_code_range(file, header.p_vaddr, header.p_memsz);
    }
}

static char *read_build_id(Elf *elf)
{
    const void *bits = NULL;
    ssize_t length = dwelf_elf_gnu_build_id(elf, &bits);

    if (length < 0)
        length = 0;
    char *hex = memory_allocate((size_t)length * 2 + 1);
    for (ssize_t i = 0; i < length; i++) {
        hex[2 * i] = "0123456789abcdef"[((const uint8_t *)bits)[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[((const uint8_t *)bits)[i] & 15];
    }
    hex[2 * length] = '\0';
    return hex;
}

static int check_header(const struct elf_file *file, const char *path, struct error *error)
{
    GElf_Ehdr header;

    if (!file->elf || elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &header))
        return error_set(error, "%s is not an ELF file", path);
    if (header.e_ident[EI_DATA] != ELFDATA2LSB)
        return error_set(error, "%s is a big-endian ELF file", path);
    /* dwz writes the common parts of debug info to files that pass for object files. */
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN && header.e_type != ET_REL)
        return error_set(error, "%s is neither an executable nor a shared library", path);
    /* Four billion program headers that are not there would be looked for one by one. */
    size_t segments = 0, size_bytes = 0;
    elf_getphdrnum(file->elf, &segments);
    elf_rawfile(file->elf, &size_bytes);
    if (segments > size_bytes / sizeof(Elf32_Phdr))
        return error_set(error, "%s is broken: it has no room for %zu program headers", path,
                         segments);
    return OK;
}

/* The kernel's own code has no file, but it is mapped into this process too: a copy of that. The
 * build id tells whether the program ran on the same kernel. */
static int open_vdso(void)
{
    const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    int descriptor = image ? memfd_create("vdso", MFD_CLOEXEC) : -1;

    if (descriptor < 0)
        return -1;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
    size_t size_bytes = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    if (write(descriptor, image, size_bytes) == (ssize_t)size_bytes)
        return descriptor;
    close(descriptor);
    return -1;
}

int elf_file_open(struct elf_file *file, const char *path, struct error *error)
{
    *file = (struct elf_file){.descriptor = -1};
    elf_version(EV_CURRENT);
    /* Opening a pipe would wait for a writer; a path in a profile can be anything. */
    file->descriptor = strcmp(path, ELF_FILE_VDSO) == 0
                           ? open_vdso()
                           : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->descriptor < 0)
        return error_set_errno(error, "cannot open %s", path);
    struct stat status;
    if (fstat(file->descriptor, &status) < 0 || !S_ISREG(status.st_mode)) {
        elf_file_close(file);
        return error_set(error, "%s is not a file", path);
    }
    file->elf = elf_begin(file->descriptor, ELF_C_READ_MMAP, NULL);
    if (check_header(file, path, error) != OK) {
        elf_file_close(file);
        return ERROR;
    }
    file->path = memory_duplicate_string(path);
    file->build_id = read_build_id(file->elf);
    find_code_sections(file);
    if (file->code_count == 0)
        find_code_segments(file);
    if (file->code_count)
        qsort(file->code, file->code_count, sizeof *file->code, compare_ranges);
    return OK;
}

void elf_file_close(struct elf_file *file)
{
    if (!file->elf && !file->path && file->descriptor <= 0)
        return;
    elf_end(file->elf);
    close(file->descriptor);
    free(file->path);
    free(file->build_id);
    free(file->code);
    *file = (struct elf_file){.descriptor = -1};
}

Elf_Data *elf_file_section(Elf *elf, const char *name)
{
    size_t names;
    Elf_Scn *section = NULL;

    if (elf_getshdrstrndx(elf, &names) < 0)
        return NULL;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        const char *found;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
            !(found = elf_strptr(elf, names, header.sh_name)) || strcmp(found, name) != 0)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        return data && data->d_buf && data->d_size ? data : NULL;
    }
    return NULL;
}

/* What a section is to be once decompressed; 0 when it is not compressed. */
static uint64_t decompressed_bytes(Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
    GElf_Chdr compression;
    Elf_Data *data;

    if (header->sh_flags & SHF_COMPRESSED)
        return gelf_getchdr(section, &compression) ? compression.ch_size : 0;
    /* The older form: "ZLIB", then the size, most significant byte first. */
    if (strncmp(name, ".zdebug", 7) != 0 || !(data = elf_rawdata(section, NULL)) ||
        data->d_size < 12)
        return 0;
    uint64_t size_bytes;
    memcpy(&size_bytes, (const char *)data->d_buf + 4, sizeof size_bytes);
    return be64toh(size_bytes);
}

bool elf_file_is_bomb(const struct elf_file *file)
{
    size_t names, file_bytes = 0;
    Elf_Scn *section = NULL;
    uint64_t sum = 0;

    elf_rawfile(file->elf, &file_bytes);
    if (elf_getshdrstrndx(file->elf, &names) < 0)
        return false;
    while ((section = elf_nextscn(file->elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
            continue;
        const char *name = elf_strptr(file->elf, names, header.sh_name);
        if (__builtin_add_overflow(sum, decompressed_bytes(section, &header, name ? name : ""),
                                   &sum))
            return true;
    }
    return sum > LEAST_BOMB_BYTES && sum / MOST_COMPRESSION > file_bytes;
}

const struct code_range *elf_file_code_at(const struct elf_file *file, uint64_t address)
{
    size_t low = 0, high = file->code_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (file->code[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == file->code_count || file->code[low].start > address)
        return NULL;
    return &file->code[low];
}
