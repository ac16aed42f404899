#include "core_image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECTION_NONE,
    SECTION_TEXT,
    SECTION_PLT,
    SECTION_SYMBOLS,
    SECTION_STRINGS,
    SECTION_NAMES,
    SECTION_LINES,
    SECTION_GO,
    SECTION_RELOCATIONS,
    SECTIONS
};

static const char section_names[] =
    "\0.text\0.plt\0.symtab\0.strtab\0.shstrtab\0.debug_info\0.gopclntab";
static const uint32_t section_name_offsets[SECTIONS] = {0, 1, 7, 12, 20, 28, 38, 50, 0};

/* Bytes that grow; the memory is as long as they are, so that a sanitizer sees every overrun. */
struct bytes {
    uint8_t *items;
    size_t count;
};

static size_t append(struct bytes *bytes, const void *items, size_t count)
{
    size_t at = bytes->count;

    bytes->items = realloc(bytes->items, at + count + 1);
    memset(bytes->items + at, 0, count + 1);
    if (items)
        memcpy(bytes->items + at, items, count);
    bytes->count += count;
    return at;
}

static size_t align(struct bytes *bytes)
{
    append(bytes, NULL, -bytes->count % 8);
    return bytes->count;
}

static Elf64_Shdr append_symbols(struct bytes *file, const struct image_symbol *symbols,
                                 bool dynamic, Elf64_Shdr *strings)
{
    struct bytes names = {0};
    size_t start = align(file);

    append(&names, "", 1);
    append(file, NULL, sizeof(Elf64_Sym));
    for (; symbols && symbols->name; symbols++) {
        Elf64_Sym symbol = {
            .st_name = append(&names, symbols->name, strlen(symbols->name) + 1),
            .st_info = ELF64_ST_INFO(symbols->bind, symbols->type),
            .st_shndx = symbols->type == STT_FILE ? SHN_ABS : SECTION_TEXT,
            .st_value = symbols->start,
            .st_size = symbols->size_bytes,
        };
        append(file, &symbol, sizeof symbol);
    }
    Elf64_Shdr table = {
        .sh_type = dynamic ? SHT_DYNSYM : SHT_SYMTAB,
        .sh_offset = start,
        .sh_size = file->count - start,
        .sh_link = SECTION_STRINGS,
        .sh_entsize = sizeof(Elf64_Sym),
    };
    *strings = (Elf64_Shdr){.sh_type = SHT_STRTAB,
                            .sh_size = names.count,
                            .sh_offset = append(file, names.items, names.count)};
    free(names.items);
    return table;
}

static Elf64_Phdr append_build_id(struct bytes *file, const char *build_id)
{
    size_t start = align(file);
    size_t length = build_id ? strlen(build_id) : 0;
    Elf64_Nhdr note = {.n_namesz = 4, .n_descsz = length, .n_type = NT_GNU_BUILD_ID};

    append(file, &note, sizeof note);
    append(file, "GNU", 4);
    append(file, build_id, length);
    return (Elf64_Phdr){
        .p_type = length ? PT_NOTE : PT_NULL, .p_offset = start, .p_filesz = file->count - start};
}

/* The table first, then one description for each frame; addresses are file offsets, which a LOAD
 * segment from 0 makes true. */
static Elf64_Phdr append_frames(struct bytes *file, const struct image_frame *frames)
{
    size_t start = align(file);
    uint32_t count = 0;

    while (frames && frames[count].size_bytes)
        count++;
    append(file, (uint8_t[]){1, 0x1b, 3, 0x3b, 0, 0, 0, 0}, 8);
    append(file, &count, sizeof count);
    size_t table = append(file, NULL, 8 * count);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t first_opcode = frames[i].cold ? 0x0e : 0x41;
        uint32_t head[4] = {20, 4, 0, frames[i].size_bytes};
        int32_t row[2] = {(int32_t)(frames[i].start - start), (int32_t)(file->count - start)};
        append(file, head, sizeof head);
        append(file, (uint8_t[]){0, first_opcode, 16, 0, 0, 0, 0, 0}, 8);
        memcpy(file->items + table + 8 * i, row, sizeof row);
    }
    return (Elf64_Phdr){.p_type = count ? PT_GNU_EH_FRAME : PT_NULL,
                        .p_offset = start,
                        .p_vaddr = start,
                        .p_filesz = file->count - start};
}

/* Go's: a header, the names, a row for each function, then what there is to say of each. */
static Elf64_Shdr append_go_functions(struct bytes *file, const struct image_go_function *functions,
                                      bool is_loaded_anywhere, Elf64_Shdr *relocations)
{
    struct bytes names = {0}, rows = {0};
    uint64_t count = 0, start = align(file);

    if (!functions)
        return (Elf64_Shdr){0};
    while (functions[count].name)
        count++;
    for (uint64_t i = 0; i <= count; i++) {
        uint32_t row[2] = {functions[i].start - CODE_START, (uint32_t)(8 * count + 8 + 8 * i)};
        append(&rows, row, sizeof row);
    }
    for (uint64_t i = 0; i < count; i++) {
        uint32_t described[2] = {
            functions[i].start - CODE_START,
            (uint32_t)append(&names, functions[i].name, strlen(functions[i].name) + 1)};
        append(&rows, described, sizeof described);
    }
    uint64_t words[8] = {
        count,           0, is_loaded_anywhere ? 0 : CODE_START, 72, 72 + names.count, 0, 0,
        72 + names.count};
    append(file, (uint8_t[]){0xf0, 0xff, 0xff, 0xff, 0, 0, 1, 8}, 8);
    append(file, words, sizeof words);
    append(file, names.items, names.count);
    append(file, rows.items, rows.count);
    Elf64_Shdr table = {.sh_type = SHT_PROGBITS,
                        .sh_addr = 0x10000,
                        .sh_offset = start,
                        .sh_size = file->count - start};
    Elf64_Rela relocation = {.r_offset = table.sh_addr + 24, .r_addend = CODE_START};
    *relocations = (Elf64_Shdr){.sh_type = SHT_RELA,
                                .sh_offset = align(file),
                                .sh_size = is_loaded_anywhere ? sizeof relocation : 0};
    append(file, &relocation, sizeof relocation);
    free(names.items);
    free(rows.items);
    return table;
}

uint8_t *core_image_make(const struct image_parts *parts, size_t *size_bytes)
{
    struct bytes file = {0};
    Elf64_Ehdr header = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = SECTIONS,
        .e_shstrndx = SECTION_NAMES,
        .e_phnum = 3,
    };
    Elf64_Shdr sections[SECTIONS] = {
        [SECTION_TEXT] = {.sh_type = SHT_PROGBITS,
                          .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                          .sh_addr = CODE_START,
                          .sh_size = CODE_END - CODE_START},
        [SECTION_PLT] = {.sh_type = SHT_PROGBITS,
                         .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                         .sh_addr = PLT_START,
                         .sh_size = PLT_END - PLT_START},
        [SECTION_LINES] = {.sh_type = SHT_PROGBITS},
    };

    append(&file, NULL, sizeof header);
    sections[SECTION_SYMBOLS] =
        append_symbols(&file, parts->symbols, parts->dynamic, &sections[SECTION_STRINGS]);
    Elf64_Phdr segments[3] = {append_build_id(&file, parts->build_id),
                              append_frames(&file, parts->frames)};
    sections[SECTION_GO] = append_go_functions(
        &file, parts->go_functions, parts->is_loaded_anywhere, &sections[SECTION_RELOCATIONS]);
    sections[SECTION_NAMES] =
        (Elf64_Shdr){.sh_type = SHT_STRTAB,
                     .sh_size = sizeof section_names,
                     .sh_offset = append(&file, section_names, sizeof section_names)};
    for (unsigned i = 0; i < SECTIONS; i++)
        sections[i].sh_name = section_name_offsets[i];
    if (!parts->has_lines)
        sections[SECTION_LINES].sh_name = 0;
    header.e_shoff = align(&file);
    append(&file, sections, sizeof sections);
    header.e_phoff = file.count;
    segments[2] = (Elf64_Phdr){
        .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = UINT32_MAX, .p_memsz = UINT32_MAX};
    append(&file, segments, sizeof segments);
    memcpy(file.items, &header, sizeof header);
    *size_bytes = file.count;
    return file.items;
}
