/*
 * blocks.c: the blocks that were translated, by guest address.
 */
#include "engine.h"

#include "core/platform.h"

#include "pub_tool_libcbase.h"
#include "pub_tool_vki.h"

#define BUCKETS 65536

static struct block_info *buckets[BUCKETS];

/* Blocks by number: a number below 2^31 is stored by one instruction, a pointer takes two. */
static struct block_info **numbered;
static uint32_t numbered_count = 1, numbered_capacity;

static void number_block(struct block_info *info)
{
    if (numbered_count >= numbered_capacity) {
        uint32_t capacity = numbered_capacity ? 2 * numbered_capacity : 8192;
        struct block_info **larger = platform_allocate(capacity * sizeof *larger);
        for (uint32_t i = 0; i < numbered_capacity; i++)
            larger[i] = numbered[i];
        platform_release(numbered, numbered_capacity * sizeof *larger);
        numbered = larger;
        numbered_capacity = capacity;
    }
    info->number = numbered_count;
    numbered[numbered_count++] = info;
}

struct block_info *block_executing(void)
{
    return hot.block ? numbered[hot.block] : NULL;
}

static struct block_info **bucket_of(Addr address)
{
    return &buckets[(address * TREE_MIX) >> 48];
}

/* The blocks that begin in one page; pages with the same hash share a list. */
static struct block_info *pages[BUCKETS];

static struct block_info **page_of(Addr address)
{
    return &pages[((address / VKI_PAGE_SIZE) * TREE_MIX) >> 48];
}

struct block_info *block_info_at(Addr address)
{
    struct block_info **bucket = bucket_of(address);

    for (struct block_info *info = *bucket; info; info = info->next)
        if (info->address == address)
            return info;
    struct block_info *info = platform_allocate(sizeof *info);
    info->address = address;
    info->next = *bucket;
    *bucket = info;
    info->next_in_page = *page_of(address);
    *page_of(address) = info;
    number_block(info);
    return info;
}

/* Where functions were discovered, or code was given another name, after some of their blocks had
 * been translated. Valgrind can discard translations only around system calls; until the next one
 * the old blocks go on, which know a little less: a jump between the two functions passes for one
 * inside. */
static struct stale {
    Addr start, end;
} stale[32];
static UInt stale_count;

static void add_stale(Addr start, Addr end)
{
    if (stale_count < sizeof stale / sizeof *stale) {
        stale[stale_count++] = (struct stale){.start = start, .end = end};
        return;
    }
    struct stale *last = &stale[stale_count - 1];
    last->start = last->start < start ? last->start : start;
    last->end = last->end > end ? last->end : end;
}

void platform_code_renamed(uint64_t start, uint64_t end)
{
    add_stale(start, end);
}

static Bool is_translated(Addr start, Addr end)
{
    for (Addr page = VG_PGROUNDDN(start); page < end; page += VKI_PAGE_SIZE)
        for (struct block_info *info = *page_of(page); info; info = info->next_in_page)
            if (info->address >= start && info->address < end && info->instructions)
                return True;
    return False;
}

void platform_function_found(uint64_t start, uint64_t end)
{
    if (!is_translated(start, end))
        return;
    tree_cache_clear(&core.tree);
    add_stale(start, end);
}

void blocks_discard_stale(void)
{
    for (UInt i = 0; i < stale_count; i++)
        VG_(discard_translations)(stale[i].start, stale[i].end - stale[i].start, "trueflame");
    stale_count = 0;
}

uint32_t block_instructions_before(const struct block_info *info, Addr address)
{
    uint64_t at = info->address;
    uint32_t count = 0;

    while (count < info->instructions && at < address)
        at += info->lengths[count++];
    return count;
}

void block_take_back(struct thread *thread, uint32_t done)
{
    const struct block_info *info = block_executing();
    uint32_t first = done, end = done + 1;
    uint64_t address = info->address;

    if (done >= info->instructions)
        return;
    /* The segment that instruction `done` is in was counted as a whole when it began. */
    while (info->marks[first] == MARK_NONE)
        first--;
    while (end < info->instructions && info->marks[end] == MARK_NONE)
        end++;
    if (info->marks[first] == MARK_REPEATS)
        return;
    thread->hot->instructions -= end - done;
    if (!core.options.line_detail) {
        thread->hot->current->self_instructions -= end - done;
        return;
    }
    for (uint32_t i = 0; i < first; i++)
        address += info->lengths[i];
    uint32_t whole = core_block(&core, address, info->module, end - first, info->lengths + first);
    counts_miss(&core.counts, thread->hot->current->key + whole)->count--;
    if (done == first)
        return;
    uint32_t part = core_block(&core, address, info->module, done - first, info->lengths + first);
    counts_miss(&core.counts, thread->hot->current->key + part)->count++;
}
