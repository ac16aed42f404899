/* elf_frames.c: see elf_frames.h. */
#include "core/elf_frames.h"
#include "core/grow.h"
#include "core/platform.h"
#include "core/sort.h"

/* ---- descriptions ---- */

/* Does this frame description begin with the state a function is entered in? A cold part's
 * begins by changing the frame before its first instruction. Reads only what is needed: the first
 * opcodes after the header. */
static bool starts_function(const struct image *image, uint64_t entry_offset)
{
    const uint32_t *head = image_words(image, entry_offset, 24);

    if (!head || head[0] < 20 || head[0] > 0xffff)
        return true;
    const uint8_t *entry = image_at(image, entry_offset, (uint64_t)head[0] + 4);
    if (!entry)
        return true;
    /* length, CIE pointer, start (4, pc-relative), size (4), augmentation length, data */
    uint64_t at = 16;
    uint8_t augmentation = entry[at++];
    if (augmentation & 0x80)
        return true;
    at += augmentation;
    if (at >= (uint64_t)head[0] + 4)
        return true;
    uint8_t opcode = entry[at];
    enum { DEF_CFA = 0x0c, DEF_CFA_REGISTER = 0x0d, DEF_CFA_OFFSET = 0x0e };
    return opcode != DEF_CFA && opcode != DEF_CFA_REGISTER && opcode != DEF_CFA_OFFSET;
}

/* The offset of the description behind this one. What several have in common (a CIE: the second word
 * is 0) stands between them and is none; a file with many in a row is no linker's. */
static uint64_t next_entry(const struct image *image, uint64_t entry)
{
    const unsigned most_in_common = 16;

    for (unsigned i = 0; i <= most_in_common; i++) {
        const uint32_t *head = image_words(image, entry, 8);
        if (!head || !head[0] || head[0] == UINT32_MAX)
            break;
        entry += (uint64_t)head[0] + 4;
        head = image_words(image, entry, 8);
        if (!head || !head[0] || head[1])
            return entry;
    }
    return UINT64_MAX;
}

static uint64_t offset_to_address(const struct image *image, uint64_t offset, bool *found)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD && offset >= segment->p_offset &&
            offset - segment->p_offset < segment->p_filesz) {
            *found = true;
            return segment->p_vaddr + (offset - segment->p_offset);
        }
    }
    *found = false;
    return 0;
}

static bool frame_before(const void *a, const void *b)
{
    return ((const struct elf_frame *)a)->start < ((const struct elf_frame *)b)->start;
}

/* .eh_frame_hdr holds a sorted table of (function start, its description), both relative to the
 * table's own address: the only layout that linkers write. */
static void collect(struct elf_frames *frames, const struct image *image, const Elf64_Phdr *segment)
{
    const uint8_t *header = image_words(image, segment->p_offset, 12);

    if (!header || header[0] != 1 || header[2] != 0x03 || header[3] != 0x3b)
        return;
    uint32_t count = *(const uint32_t *)(header + 8);
    const int32_t *table = image_at(image, segment->p_offset + 12, (uint64_t)count * 8);
    bool found;
    uint64_t base = offset_to_address(image, segment->p_offset, &found);
    if (!table || !found || !count)
        return;
    frames->items = platform_allocate(count * sizeof *frames->items);
    frames->capacity = count;
    for (uint32_t j = 0; j < count; j++) {
        uint64_t start = base + (int64_t)table[2 * j];
        uint64_t entry = segment->p_offset + (int64_t)table[2 * j + 1];
        const uint32_t *size_bytes = image_words(image, entry + 12, 4);
        if (!size_bytes || !*size_bytes)
            continue;
        frames->items[frames->count++] =
            (struct elf_frame){.start = start,
                               .end = start + *size_bytes,
                               .in_mid_frame = !starts_function(image, entry),
                               .entry = entry};
    }
    sort_items(frames->items, frames->count, sizeof *frames->items, frame_before);
}

/* ---- their order ---- */

/* An offset that a description is looked for at, or is at. */
struct mark {
    uint64_t offset;
    struct elf_frame *frame;
};

struct marks {
    struct mark *items;
    size_t count, capacity;
};

static void mark_add(struct marks *marks, uint64_t offset, struct elf_frame *frame)
{
    GROW(marks->items, marks->count, marks->capacity, 256);
    marks->items[marks->count++] = (struct mark){offset, frame};
}

static bool mark_before(const void *a, const void *b)
{
    return ((const struct mark *)a)->offset < ((const struct mark *)b)->offset;
}

static void sort_marks(struct marks *marks)
{
    sort_items(marks->items, marks->count, sizeof *marks->items, mark_before);
}

/* Nearly all are described in the order that they lie in. Only those that are not are sorted: what
 * follows the one, `ends`, is the beginning of another, `heads`. */
static void find_order(struct elf_frames *frames, const struct image *image)
{
    struct marks ends = {0}, heads = {0};

    for (size_t i = 0; i < frames->count; i++)
        frames->items[i].next = next_entry(image, frames->items[i].entry);
    for (size_t i = 0; i < frames->count; i++) {
        struct elf_frame *frame = &frames->items[i];
        bool follows = i > 0 && frame[-1].next == frame->entry;
        if (follows) {
            frame->before = frame - 1;
            continue;
        }
        mark_add(&heads, frame->entry, frame);
        if (i > 0)
            mark_add(&ends, frame[-1].next, frame - 1);
    }
    if (frames->count)
        mark_add(&ends, frames->items[frames->count - 1].next, &frames->items[frames->count - 1]);
    sort_marks(&ends);
    sort_marks(&heads);
    for (size_t i = 0, j = 0; i < heads.count; i++) {
        while (j < ends.count && ends.items[j].offset < heads.items[i].offset)
            j++;
        if (j < ends.count && ends.items[j].offset == heads.items[i].offset)
            heads.items[i].frame->before = ends.items[j].frame;
    }
    platform_release(ends.items, ends.capacity * sizeof *ends.items);
    platform_release(heads.items, heads.capacity * sizeof *heads.items);
}

void elf_read_frames(struct elf_frames *frames, const struct image *image)
{
    *frames = (struct elf_frames){0};
    for (size_t i = 0; i < image->segment_count && !frames->count; i++)
        if (image->segments[i].p_type == PT_GNU_EH_FRAME)
            collect(frames, image, &image->segments[i]);
}

void elf_find_parts(struct elf_frames *frames, const struct image *image)
{
    find_order(frames, image);
    for (size_t i = 0; i < frames->count; i++) {
        struct elf_frame *frame = &frames->items[i];
        const struct elf_frame *before = frame->before;
        if (before && (frame->in_mid_frame || frame->start < before->start))
            frame->after = before->start;
    }
}

void elf_release_frames(struct elf_frames *frames)
{
    platform_release(frames->items, frames->capacity * sizeof *frames->items);
}
