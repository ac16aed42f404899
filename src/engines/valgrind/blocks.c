/*
 * blocks.c: the blocks that were translated, by guest address.
 */
#include "counters.h"
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

void blocks_make_stale(Addr start, Addr end)
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
    blocks_make_stale(start, end);
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
    blocks_make_stale(start, end);
}

void blocks_discard_stale(void)
{
    for (UInt i = 0; i < stale_count; i++)
        VG_(discard_translations)(stale[i].start, stale[i].end - stale[i].start, "trueflame");
    stale_count = 0;
}

/* ---- blocks that did not get to their end ---- */

#define NOWHERE UINT32_MAX

/* Which instruction of the block is at `address`? */
static uint32_t instruction_at(const struct block_info *info, Addr address)
{
    uint64_t at = info->address;
    uint32_t i = 0;

    while (i < info->instructions && at < address)
        at += info->lengths[i++];
    return i < info->instructions && at == address ? i : NOWHERE;
}

/* A stretch of the block that was counted as a whole when its first instruction began. */
struct counted {
    uint32_t first, end;
    Addr address;
};

static struct counted counted_with(const struct block_info *info, uint32_t instruction)
{
    struct counted counted = {
        .first = instruction, .end = instruction + 1, .address = info->address};

    while (info->marks[counted.first] == MARK_NONE)
        counted.first--;
    while (counted.end < info->instructions && info->marks[counted.end] == MARK_NONE)
        counted.end++;
    for (uint32_t i = 0; i < counted.first; i++)
        counted.address += info->lengths[i];
    return counted;
}

/* The counter of the first instructions of such a stretch, up to `end`. */
static uint32_t counter_of(const struct block_info *info, const struct counted *counted,
                           uint32_t end)
{
    return core_block(&core, counted->address, info->module, end - counted->first,
                      info->lengths + counted->first);
}

static Bool may_have_stopped(const struct block_info *info, const struct code_module *module,
                             Addr pc)
{
    uint32_t at = instruction_at(info, pc);

    if (at == NOWHERE || info->says_number || info->module != module)
        return False;
    if (!core.options.line_detail || info->marks[at] == MARK_REPEATS)
        return True;
    struct counted counted = counted_with(info, at);
    return counters_get(hot->current, counter_of(info, &counted, counted.end)) != 0;
}

struct block_info *block_stopped_at(Addr pc)
{
    const struct code_module *module = code_map_find(&core.code, pc).module;

    if (hot->block && instruction_at(numbered[hot->block], pc) != NOWHERE)
        return numbered[hot->block];
    /* A block is shorter than a page. */
    for (UInt page = 0; page < 2; page++)
        for (struct block_info *info = *page_of(pc - page * VKI_PAGE_SIZE); info;
             info = info->next_in_page)
            if (may_have_stopped(info, module, pc))
                return info;
    return NULL;
}

void block_take_back(const struct block_info *info, Addr pc)
{
    uint32_t done = instruction_at(info, pc);

    if (done == NOWHERE)
        return;
    struct counted counted = counted_with(info, done);
    if (info->marks[counted.first] == MARK_REPEATS)
        return;
    hot->instructions -= counted.end - done;
    if (!core.options.line_detail) {
        hot->current->self_instructions -= counted.end - done;
        return;
    }
    uint32_t whole = counter_of(info, &counted, counted.end);
    counters_add(hot->current, whole, -1);
    if (done == counted.first)
        return;
    uint32_t part = counter_of(info, &counted, done);
    counters_set_evaluated(part, counters_is_evaluated(whole));
    counters_add(hot->current, part, 1);
}
