/*
 * elf_frames.h: what the descriptions of frames (.eh_frame) say of functions that have no symbol.
 *
 * Each describes one stretch of code: a function, or the part of one that the compiler put elsewhere
 * because it is seldom run (`f.cold`). Which it is they do not say, but compilers write the
 * description of a part right behind that of its function, and linkers keep that order:
 *
 *   descriptions   f   f.cold   g   h   h.cold        memory   f.cold h.cold ... f  g  h
 *
 * So one that does not begin as functions do, or that lies before the one it is described behind, may
 * be a part of that: `after`. Whether it is, its code says (platform_is_part).
 */
#ifndef TRUEFLAME_CORE_ELF_FRAMES_H
#define TRUEFLAME_CORE_ELF_FRAMES_H

#include "core/elf_image.h"

struct elf_frame {
    uint64_t start, end;
    uint64_t after;           /* where the function begins that it may be a part of; 0: none */
    bool in_mid_frame;        /* its first instruction has a frame that no function begins with */
    uint64_t entry, next;     /* offsets in the file of its description and of the one behind it */
    struct elf_frame *before; /* the one that is described before it, NULL if that is not known */
};

/* In the order of their starts. */
struct elf_frames {
    struct elf_frame *items;
    size_t count, capacity;
};

/* All but `after`. Released by elf_release_frames. */
void elf_read_frames(struct elf_frames *frames, const struct image *image);

/* And that too. */
void elf_find_parts(struct elf_frames *frames, const struct image *image);

void elf_release_frames(struct elf_frames *frames);

#endif
