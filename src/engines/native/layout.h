/*
 * layout.h: where things are. Addresses of the engine's own, chosen so that the program's are
 * those it would have had alone, and the places inside `struct native_thread` that code without a C
 * compiler (entry.S, the code cache) needs.
 *
 *   0x00010000 .. 0x0fffffff   left to the program (programs linked at a fixed address)
 *   0x2a500000 ..              the program itself, if it can be anywhere (PIE): at no round address,
 *                              as those are what programs choose that map something themselves
 *   .. 0x5fffffff              its dynamic loader and libraries, from the top down
 *   0x60000000 .. 0x6fffffff   contexts, which four bytes can name there
 *   0x70000000 .. 0x7fdfffff   the code cache as it is executed
 *   .. 0x7fff6fff              nobody's: a program that wants its code near a library's, as Ruby's
 *                              compiler does, would have it begin here and end above 2 GB, and
 *                              some of its addresses shorter than others; what comes next is the
 *                              address sanitizer's
 *   0x650000000000 ..          the engine: its own image, then its memory
 *   0x7f..                     kernel's choice: the program's stack, mappings, vdso
 *
 * Code below 2 GB reaches the cache and the cache reaches it with 32-bit displacements, and
 * return addresses are pushed as 32-bit immediates. That is for speed only: code anywhere else
 * runs too. The high range is unused by the fixed layouts of the address and thread sanitizers.
 */
#ifndef TRUEFLAME_NATIVE_LAYOUT_H
#define TRUEFLAME_NATIVE_LAYOUT_H

#define PIE_START       0x2a500000
#define LOW_CODE_BOTTOM 0x10000000
#define LOW_CODE_TOP    0x60000000
#define CONTEXTS_START  0x60000000
#define CONTEXTS_END    0x70000000
#define CACHE_START     0x70000000
#define CACHE_SIZE      0x0fe00000
#define LOW_END         0x7fff7000
#define ENGINE_START    0x650000000000 /* also in meson.build */
#define ARENA_START     0x650100000000
#define ARENA_END       0x65f000000000
#define CACHE_WRITE     0x650010000000 /* the cache as it is written */
#define PIE_BREAK_START 0x555556000000 /* the heap of a program without a fixed address */

/* struct native_thread, from gs:0 */
#define THREAD_SELF         0x00
#define THREAD_REGISTERS    0x08
#define THREAD_FLAGS        0x88
#define THREAD_PC           0x90
#define THREAD_CACHE_PC     0x98
#define THREAD_EXIT_ID      0xa0
#define THREAD_TARGET       0xa8
#define THREAD_STACK        0xb0
#define THREAD_EXIT_ENTRY   0xb8
#define THREAD_INSTRUCTIONS 0xc0
#define THREAD_PENDING      0xd0
#define THREAD_CACHE_ENTRY  0xd8
#define THREAD_SPILL        0x100
#define THREAD_INNER_ENTRY  0x380

#define VECTORS_BORROWED 8 /* at most; vectors.h */

#endif
