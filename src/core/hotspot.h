/*
 * hotspot.h: the names of Java's compiled code, read from the memory of OpenJDK's virtual machine.
 *
 * OpenJDK writes a perf map only at its end, if it is told to, and then it is too late to know
 * where one method ends and the next begins while they run: interpreted code jumps into compiled
 * code. But the virtual machine describes its own structures, for debuggers: `gHotSpotVMStructs` is
 * a table of (type, field, offset or address). With that, an address of the code cache leads to its
 * blob, and a compiled method's blob to the names of method and class. Nothing is asked of the
 * program, and nothing in it is changed.
 *
 *   CodeCache::_heaps -> CodeHeap { memory, segment map } -> CodeBlob -> Method -> ConstMethod
 *
 * What it costs: a few dozen reads of memory for each block of Java that is translated.
 */
#ifndef TRUEFLAME_CORE_HOTSPOT_H
#define TRUEFLAME_CORE_HOTSPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jit;

/* Where fields are: offsets in their structures, or the addresses of static ones. */
struct hotspot_layout {
    uint64_t heaps, array_length, array_data;
    uint64_t heap_memory, heap_segments, heap_shift;
    uint64_t space_low, space_high;
    uint64_t block_used, block_bytes;
    uint64_t blob_name, blob_size, code_begin, code_end, code_offset, data_offset;
    uint64_t method, const_method, constants, name_index, signature_index;
    uint64_t pool_bytes, pool_holder, class_name, symbol_length, symbol_body;
};

struct hotspot {
    uint64_t structs, types; /* addresses of the tables' addresses */
    enum { HOTSPOT_UNREAD, HOTSPOT_READY, HOTSPOT_UNKNOWN } readiness;
    struct hotspot_layout layout;
};

/* A file was mapped that may be the virtual machine. */
struct hotspot *hotspot_recognise(const uint8_t *image, size_t size_bytes, uint64_t bias);

/* Is the address in a blob of the code cache? Then its name is made known to `jit`. */
void hotspot_look(struct hotspot *hotspot, struct jit *jit, uint64_t address);

#endif
