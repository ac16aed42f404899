/* cache.c: see cache.h. */
#include "engines/native/cache.h"
#include "engines/native/fast.h"
#include "engines/native/files.h"
#include "engines/native/jumps.h"
#include "engines/native/layout.h"
#include "engines/native/limits.h"
#include "engines/native/returns.h"
#include "engines/native/sys.h"
#include "engines/native/text.h"
#include "engines/native/translation.h"
#include <asm/mman.h>
#include <sys/mman.h>

#define FIRST_SLOTS 16384
/* Memory that is not used costs nothing, and rows had better not be moved. */
#define FIRST_EXITS  (1u << 20)
#define FIRST_BLOCKS (1u << 18)
#define CODE_GRAIN   64
#define PAGE_LISTS   16384
#define ROOM         65536 /* more than the largest block and all that goes with it */
#define HUGE_PAGE    (2u << 20)
#define HUGE_AFTER   (128u << 10)

/* Of the source of one. */
#define BLOCK_BYTES_MAX ((uint64_t)INSTRUCTIONS_MAX * INSTRUCTION_LENGTH_MAX)

struct cache cache;

/* Rows of a table that an old generation had, from `next` on: used again before new ones. */
struct row_range {
    uint32_t next, end;
};

static struct {
    uint32_t size;                        /* of the whole cache */
    struct row_range blocks[2], exits[2]; /* of the first generation in each region */
    struct row_range old_blocks, old_exits;
    uint32_t shared_exits; /* rows of the code that all blocks share */
} regions = {.size = CACHE_SIZE};

/* Blocks by the page that their source begins in: no block is longer than a page. */
static uint32_t pages[PAGE_LISTS];

static uint32_t *page_list(uint64_t page)
{
    return &pages[page % PAGE_LISTS];
}

static unsigned region(void)
{
    return cache.generation % 2;
}

static uint32_t region_start(unsigned number)
{
    return number ? regions.size / 2 : CACHE_DATA_BYTES;
}

static uint32_t region_end(unsigned number)
{
    return number ? regions.size : regions.size / 2;
}

static uint32_t cold_start(unsigned number)
{
    return region_start(number) + (region_end(number) - region_start(number)) / 8 * 5;
}

static void begin_region(void)
{
    cache.hot = region_start(region());
    cache.cold = cold_start(region());
    cache.stubs = region_end(region());
    if (cache.shared_end > cache.cold && !region())
        cache.cold = cache.shared_end;
}

void cache_limit(uint64_t size_bytes)
{
    const uint64_t least = 4 * CACHE_DATA_BYTES;
    if (size_bytes < least)
        size_bytes = least;
    if (size_bytes < CACHE_SIZE)
        regions.size = size_bytes & -4096ul;
}

/* Parts of the cache that are one page each, or could not be made so. */
static bool huge[CACHE_SIZE / HUGE_PAGE];

static void make_huge(uint32_t offset)
{
    if (huge[offset / HUGE_PAGE])
        return;
    huge[offset / HUGE_PAGE] = true;
    (void)*(volatile uint8_t *)cache_writable(offset); /* the kernel wants a page to begin with */
    sys(madvise, CACHE_START + (offset & -HUGE_PAGE), HUGE_PAGE, MADV_COLLAPSE);
}

/* Is what is at `offset` going to be filled? If what is before it has been, or it has begun to. */
static bool fills(uint32_t offset)
{
    return offset % HUGE_PAGE > HUGE_AFTER || (offset > HUGE_PAGE && huge[offset / HUGE_PAGE - 1]);
}

/* Translated code is several times as large as the program's own: on small pages the processor would
 * look for one of them most of the time. What begins to fill is made one large page, if the kernel
 * knows how; small programs need none. */
void cache_keep_huge(void)
{
    if (fills(cache.hot))
        make_huge(cache.hot);
    if (fills(cache.cold))
        make_huge(cache.cold);
}

/* Two views of one file cannot be copied by a fork, only shared: the child gets none. */
static void map_cache(void)
{
    long file = files_create_memory("trueflame");
    uint64_t limit;
    files_begin_large(&limit);
    bool made = !sys_failed(file) && !sys_failed(sys(ftruncate, file, regions.size));
    files_end_large(limit);
    if (!made)
        refuse_program("no memory for the code cache", NULL);
    long writable = sys(mmap, CACHE_WRITE, regions.size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE, file, 0);
    long executable = sys(mmap, CACHE_START, regions.size, PROT_READ | PROT_EXEC,
                          MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE, file, 0);
    if (writable != (long)CACHE_WRITE || executable != CACHE_START)
        refuse_program("no room for the code cache", NULL);
    sys(madvise, CACHE_WRITE, regions.size, MADV_DONTFORK);
    sys(madvise, CACHE_START, regions.size, MADV_DONTFORK);
    sys(close, file);
    cache.generation = cache.shared_end = 0;
    begin_region();
    cache.exit_count = cache.block_count = 1;
    make_huge(0); /* the tables, half of which are about to be written */
}

void cache_init(void)
{
    _Static_assert(CACHE_WRITE == 0x650010000000ul, "cache_writable");
    cache_limit(limits_share(regions.size));
    map_cache();
    cache.exit_capacity = FIRST_EXITS;
    cache.exits = arena_allocate_filled(FIRST_EXITS * sizeof *cache.exits, true);
    cache.block_capacity = FIRST_BLOCKS;
    cache.blocks = arena_allocate_filled(FIRST_BLOCKS * sizeof *cache.blocks, true);
    cache.slots = arena_allocate(FIRST_SLOTS * sizeof *cache.slots);
    cache.slot_mask = FIRST_SLOTS - 1;
    cache.by_code = arena_allocate(regions.size / CODE_GRAIN * sizeof *cache.by_code);
}

void cache_restart(void)
{
    uint64_t code_bytes = regions.size / CODE_GRAIN * sizeof *cache.by_code;
    memset(pages, 0, sizeof pages);
    memset(huge, 0, sizeof huge);
    map_cache();
    memset(cache.slots, 0, ((size_t)cache.slot_mask + 1) * sizeof *cache.slots);
    arena_release(cache.by_code, code_bytes);
    cache.by_code = arena_allocate(code_bytes);
    regions.old_blocks = regions.old_exits = (struct row_range){0};
}

static uint32_t hash(uint64_t pc, unsigned leaf)
{
    return (uint32_t)(((pc + (leaf ? 1ul << 47 : 0)) * 0x9e3779b97f4a7c15u) >> 40);
}

/* `leaf`: BLOCK_LEAF or 0. */
static struct block *find(uint64_t pc, unsigned leaf)
{
    for (uint32_t at = hash(pc, leaf) & cache.slot_mask;; at = (at + 1) & cache.slot_mask) {
        uint32_t number = cache.slots[at];
        if (!number)
            return NULL;
        struct block *block = &cache.blocks[number];
        if (block->pc == pc && (block->flags & (BLOCK_DEAD | BLOCK_LEAF)) == leaf)
            return block;
    }
}

struct block *cache_find(uint64_t pc)
{
    return find(pc, 0);
}

struct block *cache_find_leaf(uint64_t pc)
{
    return find(pc, BLOCK_LEAF);
}

/* Takes the slot of a dead block too: code that is made anew in one place would fill them all. */
static void insert(uint32_t number)
{
    const struct block *block = &cache.blocks[number];
    uint32_t at = hash(block->pc, block->flags & BLOCK_LEAF) & cache.slot_mask;
    while (cache.slots[at] && !(cache.blocks[cache.slots[at]].flags & BLOCK_DEAD))
        at = (at + 1) & cache.slot_mask;
    cache.slots[at] = number;
}

static void grow_slots(void)
{
    size_t old_bytes = ((size_t)cache.slot_mask + 1) * sizeof *cache.slots;
    uint32_t *old = cache.slots;
    cache.slot_mask = cache.slot_mask * 2 + 1;
    cache.slots = arena_allocate(old_bytes * 2);
    arena_release(old, old_bytes);
    for (uint32_t number = 1; number < cache.block_count; number++)
        if (!(cache.blocks[number].flags & BLOCK_DEAD))
            insert(number);
}

static void *grow(void *rows, uint32_t *capacity, size_t row_bytes)
{
    size_t old_bytes = *capacity * row_bytes;
    void *larger = arena_allocate_filled(old_bytes * 2, false);
    memcpy(larger, rows, old_bytes);
    arena_release(rows, old_bytes);
    *capacity *= 2;
    return larger;
}

struct block *cache_add_block(uint64_t pc)
{
    static uint32_t made; /* not begun again: contexts may still know changes to old blocks */
    const struct block fresh = {.pc = pc, .number = ++made};
    if (regions.old_blocks.next < regions.old_blocks.end) {
        struct block *block = &cache.blocks[regions.old_blocks.next++];
        arena_release(block->marks, block->mark_count * sizeof *block->marks);
        arena_release(block->segments, block->segment_count * sizeof *block->segments);
        *block = fresh;
        return block;
    }
    if (cache.block_count == cache.block_capacity)
        cache.blocks = grow(cache.blocks, &cache.block_capacity, sizeof *cache.blocks);
    struct block *block = &cache.blocks[cache.block_count++];
    *block = fresh;
    return block;
}

uint32_t cache_add_exit(void)
{
    if (regions.old_exits.next < regions.old_exits.end) {
        cache.exits[regions.old_exits.next] = (struct exit){0};
        return regions.old_exits.next++;
    }
    if (cache.exit_count == cache.exit_capacity)
        cache.exits = grow(cache.exits, &cache.exit_capacity, sizeof *cache.exits);
    cache.exits[cache.exit_count] = (struct exit){0};
    return cache.exit_count++;
}

void cache_publish(struct block *block)
{
    uint32_t number = block - cache.blocks;
    for (uint32_t at = block->code; at < block->code + block->code_size; at += CODE_GRAIN)
        if (!cache.by_code[at / CODE_GRAIN])
            cache.by_code[at / CODE_GRAIN] = number;
    uint32_t last = (block->code + block->code_size - 1) / CODE_GRAIN;
    if (!cache.by_code[last])
        cache.by_code[last] = number;
    insert(number);
    uint32_t *list = page_list(block->pc >> 12);
    block->next_in_page = *list;
    *list = number;
    if (cache.block_count * 2 > cache.slot_mask)
        grow_slots();
}

/* The blocks of a generation lie in the order of their numbers; a grain knows the first in it. */
struct block *cache_find_code(uint64_t address)
{
    if (address < CACHE_START || address >= CACHE_START + CACHE_SIZE)
        return NULL;
    uint32_t offset = address - CACHE_START;
    uint32_t number = cache.by_code[offset / CODE_GRAIN];
    for (; number && number < cache.block_count; number++) {
        struct block *block = &cache.blocks[number];
        if ((block->code < regions.size / 2) != (offset < regions.size / 2))
            continue; /* of the other region's generation */
        if (block->code > offset)
            return NULL;
        if (offset < block->code + block->code_size)
            return block;
    }
    return NULL;
}

static bool has_room(uint32_t bytes)
{
    return cache.hot + bytes < cold_start(region()) && cache.cold + bytes < cache.stubs;
}

bool cache_is_full(void)
{
    return !has_room(ROOM);
}

bool cache_has_room(void)
{
    return has_room(4 * ROOM);
}

void cache_keep_shared(void)
{
    cache.shared_end = cache.cold;
    regions.shared_exits = cache.exit_count;
}

bool cache_is_old(uint64_t code)
{
    uint32_t offset = code - CACHE_START;
    bool shared = offset >= cold_start(0) && offset < cache.shared_end;
    return !shared && (offset < region_start(region()) || offset >= region_end(region()));
}

void cache_patch(uint32_t offset, uint32_t value)
{
    __atomic_store_n((uint32_t *)cache_writable(offset), value, __ATOMIC_RELEASE);
}

static void patch(uint32_t offset, uint64_t to)
{
    cache_patch(offset, to - (CACHE_START + offset + 4));
}

void cache_link(uint32_t id, struct block *to, uint64_t code)
{
    struct exit *exit = &cache.exits[id];
    if (!exit->patch || exit->linked || (cache.blocks[exit->block].flags & BLOCK_DEAD))
        return;
    exit->next_incoming = to->incoming;
    to->incoming = id;
    if (exit->branch && exit->before == to->before && code == CACHE_START + to->code) {
        exit->linked = LINK_BRANCH;
        patch(exit->branch, code - to->before_bytes);
    } else {
        exit->linked = LINK_PATCH;
        patch(exit->patch, code);
    }
}

static void unlink_exit(struct exit *exit)
{
    if (exit->linked == LINK_BRANCH)
        patch(exit->branch, exit->landing);
    else
        patch(exit->patch, CACHE_START + exit->stub);
    exit->linked = LINK_NONE;
}

static void unlink_block(struct block *block)
{
    for (uint32_t id = block->incoming, next; id; id = next) {
        struct exit *exit = &cache.exits[id];
        next = exit->next_incoming;
        unlink_exit(exit);
    }
    block->incoming = 0;
    block->flags |= BLOCK_DEAD;
    jumps_forget(block);
}

void cache_unlink_all(void)
{
    for (uint32_t id = 1; id < cache.exit_count; id++) {
        struct exit *exit = &cache.exits[id];
        if (exit->linked)
            unlink_exit(exit);
    }
    for (uint32_t number = 1; number < cache.block_count; number++)
        cache.blocks[number].incoming = 0;
    jumps_forget_all();
}

/* What the generation two before this had is free: its rows, if it was the first in its region (the
 * few that a later one had besides are lost). */
static struct row_range rows_to_use(struct row_range first[2], uint32_t begin, uint32_t count)
{
    unsigned next = region();
    if (cache.generation == 1)
        first[0] = (struct row_range){begin, count};
    if (cache.generation == 2)
        first[1] = (struct row_range){first[0].end, count};
    return cache.generation < 2 ? (struct row_range){0} : first[next];
}

void cache_next_generation(void)
{
    cache_unlink_all();
    for (uint32_t number = 1; number < cache.block_count; number++)
        cache.blocks[number].flags |= BLOCK_DEAD;
    memset(cache.slots, 0, ((size_t)cache.slot_mask + 1) * sizeof *cache.slots);
    memset(pages, 0, sizeof pages);
    cache.generation++;
    regions.old_blocks = rows_to_use(regions.blocks, 1, cache.block_count);
    regions.old_exits = rows_to_use(regions.exits, regions.shared_exits, cache.exit_count);
    begin_region();
    uint32_t first = region_start(region()) / CODE_GRAIN, last = region_end(region()) / CODE_GRAIN;
    memset(cache.by_code + first, 0, (last - first) * sizeof *cache.by_code);
    returns_forget_code(CACHE_START + region_start(region()), CACHE_START + region_end(region()));
}

/* True: there were some. Nothing leads to them any more, but not a byte of them is changed: a thread
 * may stand anywhere in one, or be about to enter, and runs the old instructions once more, as if it had
 * been a little faster. Those that only are to be made anew stay in the list, until their source does
 * change. */
static bool invalidate_in_list(uint32_t *list, uint64_t start, uint64_t end, bool changed)
{
    bool any = false;
    while (*list) {
        struct block *block = &cache.blocks[*list];
        bool within = block->pc < end && block->pc + block->source_size > start;
        if (within) {
            unlink_block(block);
            any = true;
        }
        if (within && changed)
            *list = block->next_in_page;
        else
            list = &block->next_in_page;
    }
    return any;
}

static bool invalidate_blocks(uint64_t start, uint64_t end, bool changed)
{
    _Static_assert(BLOCK_BYTES_MAX < 4096, "a block is within two pages");
    uint64_t first = start >> 12, last = (end - 1) >> 12;
    bool any = false;
    first -= first > 0;
    if (last - first >= PAGE_LISTS) {
        first = 0;
        last = PAGE_LISTS - 1;
    }
    for (uint64_t page = first; page <= last; page++)
        any |= invalidate_in_list(page_list(page), start, end, changed);
    return any;
}

/* A call's landing is in its block, which may be in the range though the return address is not. */
void cache_invalidate(uint64_t start, uint64_t end)
{
    uint64_t first = start > BLOCK_BYTES_MAX ? start - BLOCK_BYTES_MAX : 0;
    uint64_t last = end < -BLOCK_BYTES_MAX ? end + BLOCK_BYTES_MAX : end;
    if (start < end && invalidate_blocks(start, end, true))
        returns_forget(first, last);
}

void cache_remake(uint64_t pc)
{
    invalidate_blocks(pc, pc + 1, false);
}

void cache_remake_function(const struct code_function *function)
{
    for (uint32_t number = 1; number < cache.block_count; number++) {
        struct block *block = &cache.blocks[number];
        if (block->function == function && !(block->flags & BLOCK_DEAD))
            unlink_block(block);
    }
}
