#include "children.h"

#include "core/platform.h"

struct child children[CHILDREN];

void children_follow_core(void)
{
    static uint32_t clears;

    if (clears == core.tree.cache_clears)
        return;
    clears = core.tree.cache_clears;
    for (UInt i = 0; i < CHILDREN; i++)
        children[i].key = 0;
}

/* ---- direct calls, by site ---- */

static struct call_site *call_sites;
static UInt call_site_capacity;

struct call_site *call_site(UInt site)
{
    return &call_sites[site];
}

static void make_room_for(UInt site)
{
    UInt capacity = call_site_capacity ? call_site_capacity : 4096;

    if (site < call_site_capacity)
        return;
    while (capacity <= site)
        capacity *= 2;
    struct call_site *larger = platform_allocate(capacity * sizeof *larger);
    for (UInt i = 0; i < call_site_capacity; i++)
        larger[i] = call_sites[i];
    platform_release(call_sites, call_site_capacity * sizeof *larger);
    call_sites = larger;
    call_site_capacity = capacity;
}

/* How many of a function's sites have got a slot is kept where the function begins. */
struct call_site *call_site_add(UInt site, const struct block_info *info, Addr target)
{
    make_room_for(site);
    if (!call_sites[site].target) {
        UInt slot = site % CONTEXT_SLOTS;
        if (info->function) {
            struct block_info *entry =
                block_info_at(info->function->start + info->function->module->bias);
            slot = entry->slots_given < CONTEXT_SLOTS ? entry->slots_given++ : NO_SLOT;
        }
        call_sites[site].slot = slot;
    }
    if (call_sites[site].target && call_sites[site].target != target)
        call_sites[site].varies = True;
    call_sites[site].target = target;
    return &call_sites[site];
}
