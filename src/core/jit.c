/*
 * jit.c: the table of named code. See jit.h.
 */
#include "core/jit.h"
#include "core/core.h"
#include "core/grow.h"
#include "core/platform.h"
#include "core/text.h"

#define MIX 0x9e3779b97f4a7c15u

/* ---- pages ---- */

static size_t page_slot(const struct jit *jit, uint64_t page)
{
    size_t at = (page * MIX >> 32) & (jit->page_capacity - 1);

    while (jit->pages[at].page && jit->pages[at].page != page + 1)
        at = (at + 1) & (jit->page_capacity - 1);
    return at;
}

static struct jit_page *find_page(const struct jit *jit, uint64_t page)
{
    if (!jit->page_capacity)
        return NULL;
    struct jit_page *found = &jit->pages[page_slot(jit, page)];
    return found->page ? found : NULL;
}

static void pages_grow(struct jit *jit)
{
    struct jit_page *old = jit->pages;
    size_t old_capacity = jit->page_capacity;

    jit->page_capacity = old_capacity ? 2 * old_capacity : 1024;
    jit->pages = platform_allocate(jit->page_capacity * sizeof *old);
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].page)
            jit->pages[page_slot(jit, old[i].page - 1)] = old[i];
    platform_release(old, old_capacity * sizeof *old);
}

static struct jit_page *page_of(struct jit *jit, uint64_t page)
{
    if (2 * jit->page_count >= jit->page_capacity)
        pages_grow(jit);
    struct jit_page *found = &jit->pages[page_slot(jit, page)];
    if (!found->page) {
        found->page = page + 1;
        jit->page_count++;
    }
    return found;
}

/* Bits for the 16-byte pieces of a page that [start, end) touches, 64 of them at a time. */
static uint64_t piece_bits(uint64_t page, unsigned word, uint64_t start, uint64_t end)
{
    uint64_t from = page * JIT_PAGE_BYTES + word * 1024u, bits = ~(uint64_t)0;

    if (end <= from || start >= from + 1024)
        return 0;
    if (start > from)
        bits &= ~(uint64_t)0 << ((start - from) / 16);
    if (end < from + 1024)
        bits &= ~(uint64_t)0 >> (63 - (end - 1 - from) / 16);
    return bits;
}

static bool take_translated(struct jit_page *page, uint64_t start, uint64_t end)
{
    bool any = false;

    for (unsigned i = 0; i < 4; i++) {
        uint64_t bits = piece_bits(page->page - 1, i, start, end);
        any |= (page->translated[i] & bits) != 0;
        page->translated[i] &= ~bits;
    }
    return any;
}

void jit_translated(struct jit *jit, uint64_t address)
{
    struct jit_page *page = page_of(jit, address / JIT_PAGE_BYTES);
    unsigned piece = address % JIT_PAGE_BYTES / 16;

    page->translated[piece / 64] |= (uint64_t)1 << piece % 64;
}

/* ---- entries ---- */

/* Was there a block in [start, end)? It is forgotten. */
static bool forget_translated(struct jit *jit, uint64_t start, uint64_t end)
{
    uint64_t first = start / JIT_PAGE_BYTES, last = (end - 1) / JIT_PAGE_BYTES;
    bool any = false;

    if (last - first < jit->page_capacity) {
        for (uint64_t page = first; page <= last; page++) {
            struct jit_page *found = find_page(jit, page);
            any |= found && take_translated(found, start, end);
        }
        return any;
    }
    for (size_t i = 0; i < jit->page_capacity; i++)
        if (jit->pages[i].page && jit->pages[i].page - 1 >= first && jit->pages[i].page - 1 <= last)
            any |= take_translated(&jit->pages[i], start, end);
    return any;
}

/* Puts the entry in front of the list, and drops from it what is now covered for good. */
static void list_add(struct jit_node **list, struct jit_entry *entry)
{
    struct jit_node *node = platform_allocate(sizeof *node);

    for (struct jit_node **at = list; *at;) {
        struct jit_node *old = *at;
        if (old->entry->start < entry->start || old->entry->end > entry->end) {
            at = &old->next;
            continue;
        }
        *at = old->next;
        platform_release(old, sizeof *old);
    }
    *node = (struct jit_node){.entry = entry, .next = *list};
    *list = node;
}

/* Functions that the entry takes code from, at their beginning, have been replaced. */
static void retire_functions(struct jit_node *list, const struct jit_entry *by)
{
    for (; list; list = list->next)
        if (list->entry->function && list->entry->start >= by->start &&
            list->entry->start < by->end)
            list->entry->function->flags |= CODE_FUNCTION_GONE;
}

static struct jit_entry *list_find(struct jit_node *list, uint64_t address)
{
    while (list && (address < list->entry->start || address >= list->entry->end))
        list = list->next;
    return list ? list->entry : NULL;
}

struct jit_entry *jit_index_find(const struct jit *jit, uint64_t address)
{
    const struct jit_page *page = find_page(jit, address / JIT_PAGE_BYTES);
    struct jit_entry *entry = page ? list_find(page->entries, address) : NULL;
    struct jit_entry *large = list_find(jit->large, address);

    /* A small one inside a large one is meant to be there. */
    return entry ? entry : large;
}

void jit_index_add(struct jit *jit, struct jit_entry *entry)
{
    if (entry->end - entry->start > JIT_LARGE_BYTES) {
        list_add(&jit->large, entry);
        return;
    }
    for (uint64_t page = entry->start / JIT_PAGE_BYTES; page <= (entry->end - 1) / JIT_PAGE_BYTES;
         page++)
        list_add(&page_of(jit, page)->entries, entry);
}

/* From now on: what the entry covers is another function. */
static void replace_code(struct jit *jit, struct jit_entry *entry)
{
    uint64_t last = (entry->end - 1) / JIT_PAGE_BYTES;

    retire_functions(jit->large, entry);
    for (uint64_t page = entry->start / JIT_PAGE_BYTES;
         page <= last && entry->end - entry->start <= JIT_LARGE_BYTES; page++) {
        const struct jit_page *found = find_page(jit, page);
        retire_functions(found ? found->entries : NULL, entry);
    }
    jit_index_add(jit, entry);
    if (!forget_translated(jit, entry->start, entry->end))
        return;
    platform_code_renamed(entry->start, entry->end);
    tree_cache_clear(&jit->core->tree);
}

static struct jit_entry *add_entry(struct jit *jit, struct jit_entry fields)
{
    struct jit_entry *entry = platform_allocate(sizeof *entry);

    *entry = fields;
    GROW(jit->entries, jit->entry_count, jit->entry_capacity, 1024);
    return jit->entries[jit->entry_count++] = entry;
}

static bool says_the_same(const struct jit_entry *entry, uint64_t start, uint64_t end,
                          const char *name, size_t name_length)
{
    return entry && entry->start == start && entry->end == end &&
           text_equal_n(entry->name, name, name_length) && !entry->name[name_length];
}

/* Does the entry still have all that it covers? A newer one may have taken a part, in its middle. */
static bool is_whole(const struct jit *jit, const struct jit_entry *entry)
{
    uint64_t last = (entry->end - 1) / JIT_PAGE_BYTES;

    if (entry->end - entry->start > JIT_LARGE_BYTES)
        return jit->large->entry == entry;
    for (uint64_t page = entry->start / JIT_PAGE_BYTES; page <= last; page++) {
        const struct jit_page *found = find_page(jit, page);
        const struct jit_node *node = found ? found->entries : NULL;
        while (node && (node->entry->start >= entry->end || node->entry->end <= entry->start))
            node = node->next;
        if (!node || node->entry != entry)
            return false;
    }
    return true;
}

void jit_add(struct jit *jit, uint64_t start, uint64_t end, const char *name, size_t name_length,
             uint64_t time, const struct jit_lines *lines, bool live)
{
    struct jit_entry *known = live ? jit_index_find(jit, start) : NULL;

    /* Both files of one writer, or a writer that repeats itself. */
    if (says_the_same(known, start, end, name, name_length) && is_whole(jit, known)) {
        known->lines = known->lines ? known->lines : lines;
        return;
    }
    char *kept = platform_allocate(name_length + 1);
    __builtin_memcpy(kept, name, name_length);
    struct jit_entry *entry = add_entry(
        jit,
        (struct jit_entry){.start = start, .end = end, .time = time, .name = kept, .lines = lines});
    if (live)
        replace_code(jit, entry);
}

struct code_function *jit_function_of(struct jit_entry *entry)
{
    if (entry->function)
        return entry->function;
    /* A module of its own: blocks and call sites at the same addresses are others in another. */
    struct code_module *module = platform_allocate(sizeof *module);
    *module = (struct code_module){.path = "[jit]", .kind = CODE_JIT, .raw_id = CODE_NO_ID};
    struct code_function *function = platform_allocate(sizeof *function);
    *function = (struct code_function){
        .module = module,
        .start = entry->start,
        .end = entry->end,
        .flags = CODE_FUNCTION_JIT,
        .raw_id = CODE_NO_ID,
        .name = entry->name,
        .jit = entry,
    };
    return entry->function = function;
}

struct code_function *jit_find(struct jit *jit, uint64_t address)
{
    struct jit_entry *entry = jit_index_find(jit, address);

    return entry ? jit_function_of(entry) : NULL;
}

static bool list_remove(struct jit_node **list, uint64_t start, uint64_t end)
{
    bool any = false;

    while (*list) {
        struct jit_node *node = *list;
        if (node->entry->start >= end || node->entry->end <= start) {
            list = &node->next;
            continue;
        }
        *list = node->next;
        if (node->entry->function)
            node->entry->function->flags |= CODE_FUNCTION_GONE;
        platform_release(node, sizeof *node);
        any = true;
    }
    return any;
}

void jit_remove(struct jit *jit, uint64_t start, uint64_t end)
{
    uint64_t first = start / JIT_PAGE_BYTES, last = (end - 1) / JIT_PAGE_BYTES;
    bool seen = false;

    if (!jit->page_capacity || start >= end)
        return;
    for (size_t i = 0; i < jit->page_capacity && last - first >= jit->page_capacity; i++)
        if (jit->pages[i].page && jit->pages[i].page - 1 >= first && jit->pages[i].page - 1 <= last)
            seen |= list_remove(&jit->pages[i].entries, start, end);
    for (uint64_t page = first; page <= last && last - first < jit->page_capacity; page++) {
        struct jit_page *found = find_page(jit, page);
        if (found)
            seen |= list_remove(&found->entries, start, end);
    }
    seen |= forget_translated(jit, start, end);
    if (!seen)
        return;
    list_remove(&jit->large, start, end);
    /* For questions that come late: there is nothing here from now on. */
    add_entry(jit, (struct jit_entry){.start = start, .end = end, .time = platform_clock()});
    code_map_forget_called(&jit->core->code, start, end);
    tree_cache_clear(&jit->core->tree);
}

/* ---- unnamed code ---- */

static size_t block_slot(const struct jit *jit, uint64_t address)
{
    size_t at = (address * MIX >> 20) & (jit->block_capacity - 1);

    while (jit->blocks[at].address && jit->blocks[at].address != address)
        at = (at + 1) & (jit->block_capacity - 1);
    return at;
}

static void blocks_grow(struct jit *jit)
{
    struct jit_block *old = jit->blocks;
    size_t old_capacity = jit->block_capacity;

    jit->block_capacity = old_capacity ? 2 * old_capacity : 1024;
    jit->blocks = platform_allocate(jit->block_capacity * sizeof *old);
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].address)
            jit->blocks[block_slot(jit, old[i].address)] = old[i];
    platform_release(old, old_capacity * sizeof *old);
}

bool jit_unnamed_changed(struct jit *jit, uint64_t address, const uint8_t *bytes, size_t count)
{
    uint64_t glance = count;

    /* Where nothing is ever going to have a name, all is one and the same. */
    if (!jit->active)
        return false;
    for (size_t i = 0; i < count; i++)
        glance = (glance ^ bytes[i]) * 1099511628211u;
    if (2 * jit->block_count >= jit->block_capacity)
        blocks_grow(jit);
    struct jit_block *block = &jit->blocks[block_slot(jit, address)];
    if (block->address && block->glance == glance)
        return false;
    bool changed = block->address != 0;
    jit->block_count += !changed;
    *block = (struct jit_block){.address = address, .glance = glance, .time = platform_clock()};
    if (changed) {
        platform_code_renamed(address, address + 1);
        tree_cache_clear(&jit->core->tree);
    }
    return changed;
}

uint64_t jit_block_since(const struct jit *jit, uint64_t address)
{
    return jit->block_capacity ? jit->blocks[block_slot(jit, address)].time : 0;
}
