/*
 * python_memory.h: what a CPython has in its memory, which is the engine's too.
 *
 * Whatever was never looked at may not be where the layout says, so the engine is asked whether it can be
 * read. But most of it the interpreter is about to use itself: once it is clear that things are where the
 * layout says, that is read as it is. This is done at each Python call, so it is inline.
 */
#ifndef TRUEFLAME_CORE_PYTHON_MEMORY_H
#define TRUEFLAME_CORE_PYTHON_MEMORY_H

#include "core/python.h"

#define PYTHON_LOWEST_ADDRESS 65536 /* nothing is mapped below */

/* What a frame's memory says. */
struct python_frame {
    uint64_t previous;
    uint64_t code;
    unsigned owner;
    bool is_entry; /* the evaluator was called for it */
};

static inline uint64_t python_word_at(const uint8_t *bytes, unsigned offset)
{
    uint64_t word;

    __builtin_memcpy(&word, bytes + offset, sizeof word);
    return word;
}

static inline uint32_t python_half_at(const uint8_t *bytes, unsigned offset)
{
    uint32_t half;

    __builtin_memcpy(&half, bytes + offset, sizeof half);
    return half;
}

/* Less than a page of the program's memory; NULL if it cannot be read. */
const uint8_t *python_bytes_at(uint64_t address, size_t size_bytes);

/* What a code object that was believed holds is there as long as it is, and what the evaluator was
 * called with is too. */
static inline const uint8_t *python_held_bytes(const struct python_module *module, uint64_t address,
                                               size_t size_bytes)
{
    return module->checked && address >= PYTHON_LOWEST_ADDRESS
               ? (const uint8_t *)(uintptr_t)address
               : python_bytes_at(address, size_bytes);
}

/* A frame that a word on the program's stack says is another matter: who moves stacks about moves that
 * word too. */
static inline const uint8_t *python_live_bytes(const struct python_module *module, uint64_t address,
                                               size_t size_bytes)
{
    return module->layout.has_c_frame ? python_bytes_at(address, size_bytes)
                                      : python_held_bytes(module, address, size_bytes);
}

/* A word that the interpreter itself is about to use. */
static inline bool python_read_word(const struct python_module *module, uint64_t address,
                                    uint64_t *word)
{
    const uint8_t *bytes = python_held_bytes(module, address, sizeof *word);

    if (bytes)
        *word = python_word_at(bytes, 0);
    return bytes;
}

/* False: there are no bytes. */
static inline bool python_frame_from(const struct python_layout *layout, const uint8_t *bytes,
                                     struct python_frame *frame)
{
    if (!bytes)
        return false;
    frame->previous = python_word_at(bytes, layout->frame_previous);
    frame->code = python_word_at(bytes, layout->frame_code) & ~(uint64_t)7;
    frame->owner = layout->frame_owner ? bytes[layout->frame_owner] : 0;
    frame->is_entry = layout->frame_is_entry ? bytes[layout->frame_is_entry]
                      : layout->frame_owner  ? frame->owner >= layout->shim_owner
                                             : true;
    return true;
}

static inline bool python_read_frame(const struct python_module *module, uint64_t address,
                                     struct python_frame *frame)
{
    return python_frame_from(&module->layout,
                             python_live_bytes(module, address, PYTHON_FRAME_BYTES), frame);
}

/* The same of one that the evaluator was called with. */
static inline bool python_read_called_frame(const struct python_module *module, uint64_t address,
                                            struct python_frame *frame)
{
    return python_frame_from(&module->layout,
                             python_held_bytes(module, address, PYTHON_FRAME_BYTES), frame);
}

#endif
