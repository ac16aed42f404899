/*
 * load.c: see load.h.
 *
 * The image is mapped segment by segment, the dynamic loader likewise. The initial stack is
 * written at the top of the kernel's own, byte for byte as the kernel lays it out, so that the
 * program finds the same addresses whatever the engine was called with. With --repeatable all of
 * it lies elsewhere (places.h).
 */
#include "engines/native/files.h"
#include "engines/native/load.h"
#include "core/initial_stack.h"
#include "core/text.h"
#include "engines/native/arena.h"
#include "engines/native/layout.h"
#include "engines/native/maps.h"
#include "engines/native/places.h"
#include "engines/native/proc.h"
#include "engines/native/record.h"
#include "engines/native/python_again.h"
#include "engines/native/repeatable.h"
#include "engines/native/sys.h"
#include "engines/native/text.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PAGE        4096ul
#define HEADERS_MAX 64
#define SCRIPTS_MAX 5

struct image {
    const char *path;
    long file;
    Elf64_Ehdr header;
    Elf64_Phdr segments[HEADERS_MAX];
    uint64_t bias;
    uint64_t low;           /* its first address, before `bias` */
    uint64_t break_end;     /* one past the last byte, page-rounded */
    char interpreter[4096]; /* "" if there is none */
    bool executable_stack;
};

static const Elf64_auxv_t *auxiliary;
static uint64_t low_next = LOW_CODE_TOP;
static uint64_t vdso; /* where it is now */

void load_set_auxiliary(const Elf64_auxv_t *vector)
{
    auxiliary = vector;
}

uint64_t load_auxiliary(uint64_t type)
{
    for (const Elf64_auxv_t *row = auxiliary; row->a_type != AT_NULL; row++)
        if (row->a_type == type)
            return row->a_un.a_val;
    return 0;
}

/* ---- places below 2 GB, handed out from the top down ---- */

uint64_t load_low_place(uint64_t size_bytes)
{
    size_bytes = (size_bytes + PAGE - 1) & -PAGE;
    for (uint64_t at = low_next; at >= LOW_CODE_BOTTOM + size_bytes;) {
        struct mapping in_the_way;
        uint64_t start = at - size_bytes;
        if (!maps_next(start, &in_the_way) || in_the_way.start >= at) {
            low_next = start;
            return start;
        }
        at = in_the_way.start;
    }
    return 0;
}

void load_low_freed(uint64_t start, uint64_t end)
{
    if (start >= LOW_CODE_BOTTOM && end <= LOW_CODE_TOP && end > low_next)
        low_next = end;
}

/* ---- reading ---- */

static bool read_at(long file, void *to, size_t size, uint64_t offset)
{
    return sys(pread64, file, to, size, offset) == (long)size;
}

static void open_image(struct image *image, const char *path)
{
    image->path = path;
    image->file = sys(open, path, O_RDONLY | O_CLOEXEC);
    if (sys_failed(image->file))
        refuse_program("cannot open ", path, NULL);
}

static void read_headers(struct image *image)
{
    Elf64_Ehdr *header = &image->header;
    bool is_elf = read_at(image->file, header, sizeof *header, 0) &&
                  !memcmp(header->e_ident, ELFMAG, SELFMAG);
    if (!is_elf)
        refuse_program(image->path, " is not an ELF program", NULL);
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64)
        refuse_program(image->path, " is not a 64-bit x86 program", NULL);
    if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
        refuse_program(image->path, " is not a program", NULL);
    if (header->e_phnum > HEADERS_MAX || header->e_phentsize != sizeof(Elf64_Phdr) ||
        !read_at(image->file, image->segments, header->e_phnum * sizeof(Elf64_Phdr),
                 header->e_phoff))
        refuse_program(image->path, " has broken program headers", NULL);
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_GNU_STACK)
            image->executable_stack = segment->p_flags & PF_X;
        if (segment->p_type != PT_INTERP)
            continue;
        if (segment->p_filesz >= sizeof image->interpreter || segment->p_filesz < 2 ||
            !read_at(image->file, image->interpreter, segment->p_filesz, segment->p_offset))
            refuse_program(image->path, " has a broken interpreter name", NULL);
        image->interpreter[segment->p_filesz - 1] = 0;
    }
}

/* ---- mapping ---- */

static int protection_of(const Elf64_Phdr *segment)
{
    return (segment->p_flags & PF_R ? PROT_READ : 0) | (segment->p_flags & PF_W ? PROT_WRITE : 0) |
           (segment->p_flags & PF_X ? PROT_EXEC : 0);
}

static void map_at(const struct image *image, uint64_t at, uint64_t size, int protection, int flags,
                   uint64_t offset)
{
    long file = flags & MAP_ANONYMOUS ? -1 : image->file;
    long got = sys(mmap, at, size, protection, MAP_PRIVATE | MAP_FIXED | flags, file, offset);
    if ((uint64_t)got != at)
        refuse_program("cannot map ", image->path, NULL);
    maps_add((struct mapping){.start = at,
                              .end = at + size,
                              .file_offset = offset,
                              .protection = protection,
                              .flags = file >= 0 ? MAPPING_FILE : 0});
    if (file >= 0 && (protection & PROT_EXEC))
        record_add_file(at, at + size, offset, file);
}

static void map_segment(struct image *image, const Elf64_Phdr *segment)
{
    uint64_t start = image->bias + segment->p_vaddr, slack = start % PAGE;
    uint64_t file_end = start + segment->p_filesz, memory_end = start + segment->p_memsz;
    uint64_t mapped_end = (file_end + PAGE - 1) & -PAGE,
             whole_end = (memory_end + PAGE - 1) & -PAGE;
    int protection = protection_of(segment);
    if (segment->p_filesz)
        map_at(image, start - slack, mapped_end - (start - slack), protection, 0,
               segment->p_offset - slack);
    else
        mapped_end = start - slack;
    if (segment->p_memsz > segment->p_filesz && segment->p_filesz && (protection & PROT_WRITE) &&
        file_end % PAGE)
        memset((void *)file_end, 0, mapped_end - file_end);
    if (whole_end > mapped_end)
        map_at(image, mapped_end, whole_end - mapped_end, protection, MAP_ANONYMOUS, 0);
    if (whole_end > image->break_end)
        image->break_end = whole_end;
}

/* The program below its libraries, as the kernel has it: the dynamic loader sorts. */
static uint64_t choose_place(bool is_loader, uint64_t size_bytes)
{
    if (options.repeatable)
        return is_loader ? places_find(0, size_bytes) : PLACES_PROGRAM;
    return is_loader ? load_low_place(size_bytes + PAGE) : PIE_START;
}

static void place_image(struct image *image, bool is_loader)
{
    uint64_t low = -1ul, high = 0, alignment = PAGE;
    for (unsigned i = 0; i < image->header.e_phnum; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type != PT_LOAD)
            continue;
        if (segment->p_vaddr + segment->p_memsz < segment->p_vaddr ||
            segment->p_filesz > segment->p_memsz || (segment->p_vaddr ^ segment->p_offset) % PAGE)
            refuse_program(image->path, " has broken program headers", NULL);
        if (segment->p_vaddr < low)
            low = segment->p_vaddr & -PAGE;
        if (segment->p_vaddr + segment->p_memsz > high)
            high = segment->p_vaddr + segment->p_memsz;
        if (segment->p_align > alignment && !(segment->p_align & (segment->p_align - 1)))
            alignment = segment->p_align;
    }
    if (high <= low)
        refuse_program(image->path, " has nothing to load", NULL);
    image->bias = 0;
    image->low = low;
    if (image->header.e_type == ET_DYN) {
        uint64_t place = choose_place(is_loader, high - low + alignment - PAGE);
        if (!place)
            refuse_program("no room below 2 GB for ", image->path, NULL);
        image->bias = ((place + alignment - 1) & -alignment) - low;
    }
    if (engine_owns(image->bias + low, image->bias + high))
        refuse_program(image->path, " is linked at an address the engine uses", NULL);
    struct mapping in_the_way;
    if (maps_next(image->bias + low, &in_the_way) && in_the_way.start < image->bias + high)
        refuse_program(image->path, " is linked at an address that is taken", NULL);
}

static void map_image(struct image *image, bool is_loader)
{
    place_image(image, is_loader);
    for (unsigned i = 0; i < image->header.e_phnum; i++)
        if (image->segments[i].p_type == PT_LOAD)
            map_segment(image, &image->segments[i]);
    sys(close, image->file);
}

/* The vdso goes below the dynamic loader, where the kernel would have it, and within the reach of
 * the code cache. Its code finds its data at a fixed distance: all parts move together. */
static uint64_t move_vdso(void)
{
    uint64_t old = load_auxiliary(AT_SYSINFO_EHDR), start = 0, end = 0;
    struct mapping part;
    for (uint64_t at = 0; maps_next(at, &part); at = part.end) {
        if (!(part.flags & MAPPING_VDSO))
            continue;
        start = start ? start : part.start;
        end = part.end;
    }
    uint64_t place = end ? load_low_place(end - start) : 0;
    if (!place)
        return old;
    for (uint64_t at = start; at < end && maps_next(at, &part) && part.start < end;
         at += part.end - part.start) {
        uint64_t to = place + (part.start - start), size = part.end - part.start;
        if ((uint64_t)sys(mremap, part.start, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
            refuse_program("the vdso cannot be moved", NULL);
        maps_remove(part.start, part.end);
        part.start = to;
        part.end = to + size;
        maps_add(part);
    }
    return old - start + place;
}

static uint64_t remove_vdso(void)
{
    struct mapping part;
    for (uint64_t at = 0; maps_next(at, &part); at = part.end)
        if (part.flags & MAPPING_VDSO) {
            sys(munmap, part.start, part.end - part.start);
            maps_remove(part.start, part.end);
        }
    return 0;
}

/* The headers as the program sees them: PT_PHDR, or inside the first segment. */
static uint64_t headers_address(const struct image *image)
{
    for (unsigned i = 0; i < image->header.e_phnum; i++)
        if (image->segments[i].p_type == PT_PHDR)
            return image->bias + image->segments[i].p_vaddr;
    for (unsigned i = 0; i < image->header.e_phnum; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD && segment->p_offset <= image->header.e_phoff &&
            image->header.e_phoff < segment->p_offset + segment->p_filesz)
            return image->bias + segment->p_vaddr + image->header.e_phoff - segment->p_offset;
    }
    return 0;
}

/* ---- the initial stack ---- */

static unsigned list_length(char **list)
{
    unsigned count = 0;
    while (list[count])
        count++;
    return count;
}

static uint64_t auxiliary_value(const Elf64_auxv_t *row, const struct image *image,
                                const struct image *loader)
{
    switch (row->a_type) {
    case AT_PHDR:
        return headers_address(image);
    case AT_PHNUM:
        return image->header.e_phnum;
    case AT_PHENT:
        return sizeof(Elf64_Phdr);
    case AT_BASE:
        return loader ? loader->bias : 0;
    case AT_SYSINFO_EHDR:
        return vdso;
    case AT_ENTRY:
        return image->bias + image->header.e_entry;
    default:
        return row->a_un.a_val;
    }
}

/* /proc/self/cmdline, environ, auxv and stat, for whoever looks; a kernel that refuses shows the
 * engine's. */
static void tell_kernel(const struct program *program, const struct image *image,
                        struct prctl_mm_map map)
{
    map.start_code = map.start_data = image->bias + image->low;
    map.end_code = map.end_data = image->break_end - 1;
    map.start_brk = program->break_start; /* syscalls.c makes the heap; this gives it its name */
    map.brk = map.start_brk + PAGE;
    map.start_stack = program->stack_pointer;
    map.exe_fd = -1;
    sys(prctl, PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map);
}

/* The kernel's rows, in its order. */
static unsigned take_rows(const struct image *image, const struct image *loader,
                          struct auxiliary *rows, unsigned most)
{
    unsigned count = 0;
    for (const Elf64_auxv_t *row = auxiliary; row->a_type != AT_NULL && count < most - 1; row++)
        rows[count++] = (struct auxiliary){row->a_type, auxiliary_value(row, image, loader)};
    rows[count++] = (struct auxiliary){AT_NULL, 0};
    return count;
}

static unsigned fixed_rows(const struct image *image, const struct image *loader,
                           struct auxiliary *rows)
{
    const struct program_facts facts = {
        .headers = headers_address(image),
        .header_count = image->header.e_phnum,
        .loader = loader ? loader->bias : 0,
        .entry = image->bias + image->header.e_entry,
        .user = load_auxiliary(AT_UID),
        .effective_user = load_auxiliary(AT_EUID),
        .group = load_auxiliary(AT_GID),
        .effective_group = load_auxiliary(AT_EGID),
        .secure = load_auxiliary(AT_SECURE),
    };
    initial_stack_fixed_rows(&facts, rows);
    return INITIAL_STACK_FIXED_ROWS;
}

/* The kernel's stack ends at a page's end, after the path it was given and 8 zero bytes. */
static uint64_t kernel_stack_top(void)
{
    const char *path = (const char *)load_auxiliary(AT_EXECFN);
    return ((uint64_t)path + strlen(path) + 1 + 8 + PAGE - 1) & -PAGE;
}

static void put_stack(struct program *program, const char *called, const struct image *image,
                      const struct image *loader)
{
    uint64_t top = options.repeatable ? PLACES_STACK_TOP : kernel_stack_top();
    struct auxiliary rows[64];
    uint8_t random[16];
    memcpy(random, (void *)load_auxiliary(AT_RANDOM), 16);
    if (options.repeatable)
        repeatable_random(random, sizeof random);
    struct initial_stack stack = {
        .path = called,
        .arguments = program->arguments,
        .environment = program->environment,
        .random = random,
        .rows = rows,
        .row_count = options.repeatable ? fixed_rows(image, loader, rows)
                                        : take_rows(image, loader, rows, 64),
    };
    initial_stack_put(&stack, top);
    program->stack_pointer = stack.stack_pointer;
    tell_kernel(program, image,
                (struct prctl_mm_map){
                    .arg_start = stack.argument_start,
                    .arg_end = stack.argument_end,
                    .env_start = stack.argument_end,
                    .env_end = stack.environment_end,
                    .auxv = (void *)stack.auxiliary,
                    .auxv_size = stack.row_count * sizeof *rows,
                });
}

/* ---- scripts ---- */

struct script {
    char line[256];
    char *interpreter, *argument; /* argument NULL: none */
};

/* #! interpreter [argument] */
static bool read_script(long file, struct script *script)
{
    long size = sys(pread64, file, script->line, sizeof script->line - 1, 0);
    if (size < 2 || script->line[0] != '#' || script->line[1] != '!')
        return false;
    script->line[size] = 0;
    char *at = script->line + 2, *end;
    while (*at == ' ' || *at == '\t')
        at++;
    script->interpreter = at;
    while (*at && *at != ' ' && *at != '\t' && *at != '\n')
        at++;
    for (end = at; *end && *end != '\n';)
        end++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = 0;
    script->argument = NULL;
    if (end == at)
        return true;
    *at++ = 0;
    while (*at == ' ' || *at == '\t')
        at++;
    script->argument = *at ? at : NULL;
    return true;
}

/* The interpreter runs with the script's path as its argument. */
static bool take_script(struct program *program, long file)
{
    struct script script;
    if (!read_script(file, &script))
        return false;
    unsigned count = list_length(program->arguments), put = 0;
    char **arguments = arena_allocate((count + 4) * sizeof *arguments);
    arguments[put++] = script.interpreter;
    if (script.argument)
        arguments[put++] = script.argument;
    arguments[put++] = (char *)program->path;
    for (unsigned i = 1; i < count; i++)
        arguments[put++] = program->arguments[i];
    program->arguments = text_keep_list(arguments);
    program->path = program->arguments[0];
    return true;
}

/* Set-uid files keep their rights only if the kernel runs them itself. Nothing changes for one whose
 * rights the process has. */
static bool changes_user(long file)
{
    struct stat status;
    const mode_t group_too = S_ISGID | S_IXGRP;
    if (sys_failed(sys(fstat, file, &status)))
        return true;
    return (status.st_mode & S_ISUID && status.st_uid != sys(geteuid)) ||
           ((status.st_mode & group_too) == group_too && status.st_gid != sys(getegid));
}

/* Is the program linked where the engine is? As a few emulators are, and the engine itself. */
static bool wants_our_place(long file, const Elf64_Ehdr *header)
{
    Elf64_Phdr segment;
    if (header->e_type != ET_EXEC)
        return false;
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (read_at(file, &segment, sizeof segment, header->e_phoff + i * sizeof segment) &&
            segment.p_type == PT_LOAD &&
            engine_owns(segment.p_vaddr, segment.p_vaddr + segment.p_memsz))
            return true;
    return false;
}

/* NULL: the engine can run it. */
static const char *foreign(long file, const Elf64_Ehdr *header)
{
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64)
        return "it is no program of 64-bit x86";
    if (changes_user(file))
        return "it is set-uid";
    return wants_our_place(file, header) ? "it is linked to where the engine is" : NULL;
}

static long check_file(long file, char *next, size_t next_size, const char **why)
{
    Elf64_Ehdr header;
    struct script script;
    next[0] = 0;
    if (read_script(file, &script)) {
        struct string_builder builder = {next, 0, next_size};
        string_add(&builder, script.interpreter);
        return 0;
    }
    if (!read_at(file, &header, sizeof header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG))
        return -ENOEXEC;
    *why = foreign(file, &header);
    return *why ? LOAD_FOREIGN : 0;
}

long load_check(const char *path, const char **why)
{
    char next[256], name[256];
    for (unsigned depth = 0; depth < SCRIPTS_MAX; depth++) {
        long allowed = sys(access, path, 1 /* X_OK */);
        if (sys_failed(allowed))
            return allowed;
        struct stat status;
        long found = sys(stat, path, &status);
        if (sys_failed(found))
            return found;
        if (!S_ISREG(status.st_mode))
            return -EACCES;
        long file = files_open(path, O_RDONLY);
        *why = "it may be executed, but not read";
        if (sys_failed(file))
            return LOAD_FOREIGN;
        long state = check_file(file, next, sizeof next, why);
        sys(close, file);
        if (state || !next[0])
            return state;
        memcpy(name, next, sizeof name);
        path = name;
    }
    return -ELOOP;
}

static void open_program(struct program *program, struct image *image)
{
    for (unsigned depth = 0; depth < SCRIPTS_MAX; depth++) {
        open_image(image, program->path);
        if (!take_script(program, image->file))
            return;
        sys(close, image->file);
    }
    refuse_program(program->path, " is a script for a script for a script", NULL);
}

/* The name of the process, as exec sets it: the file's. */
static void name_process(const char *path)
{
    const char *name = path;
    for (const char *at = path; *at; at++)
        if (*at == '/')
            name = at + 1;
    sys(prctl, PR_SET_NAME, name);
}

/* What /proc/self/exe would say. */
static void note_program(long file)
{
    static char path[4096];
    char link[64];
    struct string_builder builder = {link, 0, sizeof link};
    string_add(&builder, "/proc/self/fd/");
    string_add_number(&builder, file, 10);
    if (sys(readlink, link, path, sizeof path - 1) > 0)
        proc_set_program(path);
}

/* For functions made on the stack: those nested in others, of GNU C. */
static void make_stack_executable(uint64_t sp)
{
    const int protection = PROT_READ | PROT_WRITE | PROT_EXEC;
    struct mapping stack;
    sys(mprotect, sp & -PAGE, PAGE, protection | PROT_GROWSDOWN);
    if (!maps_find(sp, &stack))
        return;
    sys(mprotect, sp & -PAGE, stack.end - (sp & -PAGE), protection);
    maps_protect(stack.start, stack.end, protection);
}

static uint64_t choose_break(const struct image *image)
{
    if (options.repeatable)
        return places_keep_heap();
    return image->header.e_type == ET_EXEC ? image->break_end : PIE_BREAK_START;
}

void load_program(struct program *program)
{
    static struct image image, loader;
    program->arguments = text_keep_list(program->arguments);
    program->environment = text_keep_list(program->environment);
    program->path = text_keep(program->path);
    const char *called = program->path; /* not a script's interpreter */
    open_program(program, &image);
    python_fix_seed(program);
    read_headers(&image);
    if (changes_user(image.file) && sys(getuid))
        refuse_program(program->path, " is set-uid, and would lose its rights", NULL);
    note_program(image.file);
    map_image(&image, false);
    program->entry = image.bias + image.header.e_entry;
    bool dynamic = image.interpreter[0];
    if (dynamic) {
        open_image(&loader, image.interpreter);
        read_headers(&loader);
        map_image(&loader, true);
        program->entry = loader.bias + loader.header.e_entry;
    }
    program->break_start = choose_break(&image);
    vdso = options.repeatable ? remove_vdso() : move_vdso();
    struct mapping part;
    if (vdso && maps_find(vdso, &part))
        record_add_vdso(vdso, part.end);
    if (options.repeatable)
        places_make_stack();
    put_stack(program, called, &image, dynamic ? &loader : NULL);
    if (image.executable_stack)
        make_stack_executable(program->stack_pointer);
    name_process(called); /* last: by then all else is the program's, whoever looks */
}
