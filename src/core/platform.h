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

/* The mapping of the program that `address` lies in: [*start, *end). False if unmapped. Tells two
 * stacks apart that were mapped separately. */
bool platform_find_mapping(uint64_t address, uint64_t *start, uint64_t *end);

/* Copies the program's memory [address, address + size_bytes). False if it is not all readable. */
bool platform_read(uint64_t address, void *buffer, size_t size_bytes);

/* Blocks that were translated for [start, end) must ask again which function they belong to:
 * a function without a symbol turned out to begin there. */
void platform_function_found(uint64_t start, uint64_t end);

_Noreturn void platform_fail(const char *sentence);

#endif
