/*
 * jit_read.c: follows the perf map and the jitdumps that the program writes. See jit.h.
 */
#include "core/core.h"
#include "core/grow.h"
#include "core/jit.h"
#include "core/platform.h"
#include "core/text.h"

#define READ_BYTES        65536u
#define MOST_RECORD_BYTES (64u << 20) /* of a jitdump: what has more is no code */
#define V8_PADDING        0xdeadbeefu
#define ELF_HEADER_BYTES  0x40u

/* ---- files ---- */

static void choose_map(struct jit *jit)
{
    static const char prefix[] = "/tmp/perf-", suffix[] = ".map";

    __builtin_memcpy(jit->map_path, prefix, sizeof prefix);
    size_t length = sizeof prefix - 1;
    length += text_from_number(jit->map_path + length, platform_process());
    __builtin_memcpy(jit->map_path + length, suffix, sizeof suffix);
    perf_map_open(jit->map, jit->map_path, platform_user());
}

void jit_init(struct jit *jit, struct core *core)
{
    *jit = (struct jit){.core = core, .began = platform_clock()};
    jit->map = platform_allocate(sizeof *jit->map);
    choose_map(jit);
}

void jit_forked(struct jit *jit)
{
    choose_map(jit);
    jit->dumps = NULL;
    jit->active = false;
}

/* The part of the path behind the last slash. */
static const char *base_name(const char *path)
{
    const char *base = path;

    for (; *path; path++)
        if (*path == '/')
            base = path + 1;
    return base;
}

/* `perf-`, digits, `.map` or the like. */
static bool is_numbered(const char *name, const char *prefix, const char *suffix)
{
    if (!text_starts_with(name, prefix))
        return false;
    name += text_length(prefix);
    const char *digits = name;
    text_to_number(digits, &name);
    return name > digits && text_equal(name, suffix);
}

bool jit_is_dump(const char *path)
{
    return is_numbered(base_name(path), "jit-", ".dump");
}

/* ---- perf maps ---- */

struct map_reading {
    struct jit *jit;
    uint64_t time;
};

static void take_map_entry(void *context, const struct perf_map_entry *entry)
{
    const struct map_reading *reading = context;
    uint64_t end = entry->start + entry->size_bytes;

    if (end > entry->start)
        jit_add(reading->jit, entry->start, end, entry->name, entry->name_length, reading->time,
                NULL, true);
}

static void look_at_map(struct jit *jit, bool last)
{
    struct map_reading reading = {.jit = jit, .time = platform_clock()};
    const char *complaint = last ? perf_map_close(jit->map, take_map_entry, &reading)
                                 : perf_map_read(jit->map, take_map_entry, &reading);

    if (complaint)
        core_note(jit->core, jit->map_path, complaint);
    jit->active |= jit->map->parser.entries > 0;
}

/* ---- jitdumps ---- */

static void dump_known(struct jit *jit, const char *path)
{
    for (struct jit_dump *dump = jit->dumps; dump; dump = dump->next)
        if (text_equal(dump->path, path))
            return;
    struct jit_dump *dump = platform_allocate(sizeof *dump);
    *dump = (struct jit_dump){.path = text_keep(path), .next = jit->dumps};
    jit->dumps = dump;
    jit->active = true;
}

void jit_dump_mapped(struct jit *jit, const char *path)
{
    dump_known(jit, path);
    jit_look(jit);
}

/* V8 gives addresses as they will be in the ELF files that `perf inject` makes, behind a header. So
 * does LLVM, whose entries show by where they end. */
static uint64_t line_shift(const struct jit_dump *dump, const struct jit_lines *lines,
                           const struct jitdump_load *load)
{
    uint64_t end = load->code_address + load->code_bytes;

    if (dump->reader.padding == V8_PADDING)
        return ELF_HEADER_BYTES;
    bool behind = false;
    for (uint32_t i = 0; i < lines->count; i++) {
        if (lines->items[i].address < load->code_address + ELF_HEADER_BYTES)
            return 0;
        behind |= lines->items[i].address >= end;
    }
    return behind ? ELF_HEADER_BYTES : 0;
}

static struct jit_lines *lines_new(uint32_t count)
{
    struct jit_lines *lines = platform_allocate(sizeof *lines + count * sizeof(struct jit_line));

    lines->count = count;
    return lines;
}

static void take_lines(struct jit_dump *dump, struct jitdump_lines *record)
{
    struct jitdump_lines counted = *record;
    struct jitdump_line line;
    uint32_t count = 0;
    const char *file = "";

    dump->lines = NULL;
    dump->lines_address = record->code_address;
    while (count < UINT32_MAX && jitdump_next_line(&counted, &line))
        count++;
    if (!count)
        return;
    struct jit_lines *lines = lines_new(count);
    for (uint32_t i = 0; i < count && jitdump_next_line(record, &line); i++) {
        /* Texts are kept for good: the same one as before is the same text. */
        file = text_equal(file, line.file) ? file : text_keep(line.file);
        uint32_t at = i;
        for (; at && lines->items[at - 1].address > line.address; at--)
            lines->items[at] = lines->items[at - 1];
        lines->items[at] =
            (struct jit_line){.address = line.address, .line = line.line, .file = file};
    }
    dump->lines = lines;
}

static void take_load(struct jit *jit, struct jit_dump *dump, const struct jitdump_load *load,
                      uint64_t time, bool live)
{
    struct jit_lines *lines = dump->lines_address == load->code_address ? dump->lines : NULL;
    uint64_t end = load->code_address + load->code_bytes;
    size_t length = text_length(load->name);

    dump->lines = NULL;
    if (end < load->code_address || !length)
        return;
    if (lines) {
        uint64_t shift = line_shift(dump, lines, load);
        for (uint32_t i = 0; i < lines->count; i++)
            lines->items[i].address -= shift;
    }
    if (length > PERF_MAP_LONGEST_NAME_BYTES)
        length = PERF_MAP_LONGEST_NAME_BYTES;
    jit_add(jit, load->code_address, end, load->name, length, time, lines, live);
}

/* What is there now, whoever said so: the newest entry that begins at the address. */
static const struct jit_entry *newest_at(const struct jit *jit, uint64_t start)
{
    for (size_t i = jit->entry_count; i-- > 0;)
        if (jit->entries[i]->start == start && jit->entries[i]->name)
            return jit->entries[i];
    return NULL;
}

static void take_move(struct jit *jit, const struct jitdump_move *move, uint64_t time, bool live)
{
    const struct jit_entry *old = newest_at(jit, move->old_address);
    struct jit_lines *lines = NULL;

    if (!old || move->new_address + move->code_bytes < move->new_address)
        return;
    if (old->lines) {
        lines = lines_new(old->lines->count);
        for (uint32_t i = 0; i < lines->count; i++) {
            lines->items[i] = old->lines->items[i];
            lines->items[i].address += move->new_address - move->old_address;
        }
    }
    jit_add(jit, move->new_address, move->new_address + move->code_bytes, old->name,
            text_length(old->name), time, lines, live);
}

static void take_record(struct jit *jit, struct jit_dump *dump, struct jitdump_record *record,
                        uint64_t now, bool live)
{
    /* Ticks of the processor say nothing about our clock, nor does a clock that stands still for the
     * program (--repeatable): then it is when the record was read that counts. */
    bool other_clock =
        dump->reader.processor_time || record->time > now || record->time < jit->began;
    uint64_t time = other_clock ? now : record->time;

    switch (record->kind) {
    case JITDUMP_LOAD:
        take_load(jit, dump, &record->load, time, live);
        break;
    case JITDUMP_MOVE:
        take_move(jit, &record->move, time, live);
        break;
    case JITDUMP_LINES:
        take_lines(dump, &record->lines);
        break;
    case JITDUMP_UNWIND: /* how to unwind it: the stack is known here without */
    case JITDUMP_CLOSE:
        break;
    }
}

/* Room for READ_BYTES more. */
static void make_room(struct jit_dump *dump)
{
    if (dump->capacity - dump->length >= READ_BYTES)
        return;
    size_t capacity = dump->capacity ? 2 * dump->capacity : 4 * READ_BYTES;
    uint8_t *bytes = platform_allocate(capacity);
    __builtin_memcpy(bytes, dump->bytes, dump->length);
    platform_release(dump->bytes, dump->capacity);
    dump->bytes = bytes;
    dump->capacity = capacity;
}

/* Drops the first `count` of the bytes that are held; more than those: skips in the file too. */
static void drop_bytes(struct jit_dump *dump, uint64_t count)
{
    dump->offset += count;
    if (count >= dump->length) {
        dump->length = 0;
        return;
    }
    dump->length -= count;
    __builtin_memmove(dump->bytes, dump->bytes + count, dump->length);
}

/* The record that is not complete yet is larger than any that means something. */
static void skip_monster(struct jit *jit, struct jit_dump *dump)
{
    uint32_t total_bytes;

    if (dump->length < 16)
        return;
    __builtin_memcpy(&total_bytes, dump->bytes + 4, sizeof total_bytes);
    if (dump->reader.swapped)
        total_bytes = __builtin_bswap32(total_bytes);
    if (total_bytes <= MOST_RECORD_BYTES)
        return;
    core_note(jit->core, dump->path, "has a record that is too large; it is left out");
    drop_bytes(dump, total_bytes);
}

static void read_records(struct jit *jit, struct jit_dump *dump)
{
    uint64_t now = platform_clock();
    struct jitdump_record record;
    bool live = !dump->delayed;

    if (!dump->open) {
        if (dump->length < JITDUMP_HEADER_BYTES)
            return;
        const char *complaint = jitdump_open(&dump->reader, dump->bytes, dump->length);
        if (complaint) {
            core_note(jit->core, dump->path, complaint);
            dump->refused = true;
            return;
        }
        dump->open = true;
    } else {
        jitdump_extend(&dump->reader, dump->bytes, dump->length);
        dump->reader.position = 0;
    }
    while (jitdump_next(&dump->reader, &record))
        take_record(jit, dump, &record, now, live);
    if (dump->reader.lost) {
        core_note(jit->core, dump->path, "is damaged; what follows the damage is not used");
        dump->refused = true;
    }
    drop_bytes(dump, dump->reader.position < dump->length || !dump->length ? dump->reader.position
                                                                           : dump->length);
    skip_monster(jit, dump);
}

static const char *complaint_about(enum platform_look look, const struct platform_file *found,
                                   uint32_t user)
{
    if (look == PLATFORM_LINK)
        return "is a symbolic link; its names are not used";
    if (look == PLATFORM_OTHER)
        return "is not a file; its names are not used";
    if (look == PLATFORM_REFUSED)
        return "cannot be read; its names are not used";
    return found->owner != user && found->owner ? "belongs to another user; its names are not used"
                                                : NULL;
}

static void begin_anew(struct jit_dump *dump, const struct platform_file *found)
{
    dump->device = found->device;
    dump->inode = found->inode;
    dump->offset = dump->length = 0;
    dump->open = dump->delayed = false;
}

/* A piece that ends inside a record came out of a buffer, and the next record may be waiting there
 * while its code runs. Looked at before anything is taken from the piece. */
static bool ends_inside_record(const struct jit_dump *dump)
{
    struct jitdump_reader reader = dump->reader;
    struct jitdump_record record;

    if (!dump->open) {
        if (jitdump_open(&reader, dump->bytes, dump->length))
            return false;
    } else {
        jitdump_extend(&reader, dump->bytes, dump->length);
        reader.position = 0;
    }
    while (jitdump_next(&reader, &record))
        ;
    return reader.position != dump->length;
}

static void look_at_dump(struct jit *jit, struct jit_dump *dump)
{
    struct platform_file found;

    while (!dump->refused) {
        make_room(dump);
        size_t length = READ_BYTES;
        enum platform_look look = platform_look_at(dump->path, dump->offset + dump->length,
                                                   dump->bytes + dump->length, &length, &found);
        if (look == PLATFORM_ABSENT)
            return;
        const char *complaint = complaint_about(look, &found, platform_user());
        if (complaint) {
            core_note(jit->core, dump->path, complaint);
            return;
        }
        if (found.inode != dump->inode || found.device != dump->device ||
            found.size_bytes < dump->offset + dump->length) {
            begin_anew(dump, &found);
            continue;
        }
        if (!length)
            return;
        dump->length += length;
        if (length < READ_BYTES)
            dump->delayed |= ends_inside_record(dump);
        read_records(jit, dump);
    }
}

/* ---- when to look ---- */

void jit_look(struct jit *jit)
{
    look_at_map(jit, false);
    for (struct jit_dump *dump = jit->dumps; dump; dump = dump->next)
        look_at_dump(jit, dump);
}

void jit_look_for(struct jit *jit, uint64_t address)
{
    if (jit->hotspot)
        hotspot_look(jit->hotspot, jit, address);
}

void jit_look_last(struct jit *jit)
{
    const struct perf_map_parser *parser = &jit->map->parser;

    look_at_map(jit, true);
    if (parser->bad_lines)
        core_note(jit->core, jit->map_path, "has lines that name no code; they are left out");
    if (parser->cut_names)
        core_note(jit->core, jit->map_path, "has names of more than 8192 bytes; they are cut");
    for (struct jit_dump *dump = jit->dumps; dump; dump = dump->next)
        look_at_dump(jit, dump);
}

static bool read_path(uint64_t address, char *path, size_t room_bytes)
{
    for (size_t i = 0; i < room_bytes; i++) {
        if (!platform_read(address + i, path + i, 1))
            return false;
        if (!path[i])
            return true;
    }
    return false;
}

/* The program opened a file: is it one of those? */
static void opened(struct jit *jit, uint64_t path_address, int64_t descriptor)
{
    char path[4096], link[40] = "/proc/self/fd/", target[4096];

    if (!read_path(path_address, path, sizeof path))
        return;
    if (is_numbered(base_name(path), "perf-", ".map")) {
        jit->active = true;
        jit_look(jit);
    }
    if (!jit_is_dump(path) || descriptor < 0)
        return;
    text_from_number(link + 14, (uint64_t)descriptor);
    if (platform_read_link(link, target, sizeof target))
        dump_known(jit, target);
}

void jit_system_call(struct jit *jit, uint64_t number, const uint64_t *arguments, int64_t result)
{
    switch (number) {
    case 2:  /* open */
    case 85: /* creat */
        opened(jit, arguments[0], result);
        break;
    case 257: /* openat */
    case 437: /* openat2 */
        opened(jit, arguments[1], result);
        break;
    default:
        if (jit->active)
            jit_look(jit);
    }
}
