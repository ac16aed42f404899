/*
 * platform.h: the few things an engine provides to the core.
 *
 * The core is linked into a Valgrind tool, into an engine without libc, and into an ordinary
 * program, so it includes nothing of libc and asks its engine for memory and files. The compiler
 * may call memcpy and memset of its own accord; every engine has those.
 */
#ifndef TRUEFLAME_CORE_PLATFORM_H
#define TRUEFLAME_CORE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed memory; a page and more is aligned to a cache line. Never returns NULL: without memory
 * there is no profile to save, so the engine says so and ends. */
void *platform_allocate(size_t size_bytes);
void platform_release(void *memory, size_t size_bytes);

/* A whole file, read-only. False if it cannot be had. Released with platform_unmap_file. */
bool platform_map_file(const char *path, const uint8_t **bytes, size_t *size_bytes);
void platform_unmap_file(const uint8_t *bytes, size_t size_bytes);

/* What is at `path` now. For a file, also up to *size_bytes bytes of it from `offset` on; sets
 * *size_bytes to how many there were. Follows no link, waits for no pipe, keeps nothing open. */
enum platform_look {
    PLATFORM_FILE,
    PLATFORM_ABSENT,
    PLATFORM_LINK,    /* a symbolic link */
    PLATFORM_OTHER,   /* a pipe, a folder, a device */
    PLATFORM_REFUSED, /* there, but cannot be opened */
};

struct platform_file {
    uint64_t device, inode, size_bytes;
    uint32_t owner;
};

enum platform_look platform_look_at(const char *path, uint64_t offset, void *buffer,
                                    size_t *size_bytes, struct platform_file *file);

/* Where the link leads: a path and a NUL. False if it cannot be read. */
bool platform_read_link(const char *path, char *target, size_t room_bytes);

/* CLOCK_MONOTONIC as the program sees it, in nanoseconds. */
uint64_t platform_clock(void);

/* Of the program: its number, and the user whose rights it has. */
uint64_t platform_process(void);
uint32_t platform_user(void);

/* The mapping of the program that `address` lies in: [*start, *end). False if unmapped. Tells two
 * stacks apart that were mapped separately. */
bool platform_find_mapping(uint64_t address, uint64_t *start, uint64_t *end);

/* Copies the program's memory [address, address + size_bytes). False if it is not all readable. */
bool platform_read(uint64_t address, void *buffer, size_t size_bytes);

/* Blocks that were translated for [start, end) must ask again which function they belong to:
 * a function without a symbol turned out to begin there. */
void platform_function_found(uint64_t start, uint64_t end);

/* The same, where [start, end) is known to have such blocks: the name of its code changed. */
void platform_code_renamed(uint64_t start, uint64_t end);

/* A stretch of the program's code. */
struct platform_stretch {
    uint64_t start, end;
};

/* Is the code in `part`, which is described as if it were of its own, a part of the function `whole`
 * that the compiler put elsewhere? `in_mid_frame`: no function begins as it does. The engine looks at
 * the jumps in both; one that cannot says no. */
bool platform_is_part(struct platform_stretch whole, struct platform_stretch part,
                      bool in_mid_frame);

_Noreturn void platform_fail(const char *sentence);

#endif
