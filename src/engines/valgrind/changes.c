/*
 * changes.c: code of a file that the program changes where it is mapped.
 *
 * Valgrind compares, each time that a block runs, what stands in memory with what it translated;
 * but not where a file is mapped, since nobody changes libraries, and they are most of what runs.
 * Some programs do, though: those that unpack or patch themselves. So what is mapped from a file
 * and can be written is compared as well, and what was translated before it could be written is
 * translated again. Others map a file twice, and write their code in one place that they execute in
 * the other: a file that was mapped to be written by all is compared wherever it is mapped.
 */
#include "engine.h"

#include "core/tree.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_vki.h"

#include "libvex.h"

typedef UInt check_function(void *opaque, VexRegisterUpdates *updates,
                            const VexGuestExtents *extents);

static check_function *valgrind_check;

static const NSegment *file_segment(Addr address)
{
    const NSegment *segment = VG_(am_find_nsegment)(address);

    return segment && segment->kind == SkFileC ? segment : NULL;
}

/* Files that were mapped to be written by all. Two that share a place cost time, no more. */
#define FILES 4096
static Bool is_shared[FILES];

static Bool *shared(const NSegment *segment)
{
    return &is_shared[(segment->ino + segment->dev) * TREE_MIX / (UINT64_MAX / FILES + 1)];
}

void changes_note_mapping(Addr start, UWord protection, UWord flags)
{
    const NSegment *segment = file_segment(start);

    if (segment && (flags & VKI_MAP_SHARED) && (protection & VKI_PROT_WRITE))
        *shared(segment) = True;
}

/* Bit n: stretch n is to be compared. */
static UInt check(void *opaque, VexRegisterUpdates *updates, const VexGuestExtents *extents)
{
    UInt compared = valgrind_check(opaque, updates, extents);

    for (UInt i = 0; i < extents->n_used; i++) {
        const NSegment *segment = file_segment(extents->base[i]);
        if (segment && (segment->hasW || *shared(segment)))
            compared |= 1u << i;
    }
    return compared;
}

VexTranslateResult __real_LibVEX_Translate(VexTranslateArgs *arguments);
VexTranslateResult __wrap_LibVEX_Translate(VexTranslateArgs *arguments);

VexTranslateResult __wrap_LibVEX_Translate(VexTranslateArgs *arguments)
{
    valgrind_check = arguments->needs_self_check;
    arguments->needs_self_check = check;
    return __real_LibVEX_Translate(arguments);
}

void changes_expected(Addr start, Addr end)
{
    const NSegment *segment = file_segment(start);

    if (start < end && segment && segment->hasT)
        blocks_make_stale(start, end);
}
