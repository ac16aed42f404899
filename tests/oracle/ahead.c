/*
 * ahead.c: runs a program at full speed up to its next request, while nothing is recorded.
 *
 * The start-up of a static C++ program takes minutes to step through. Every place in the program
 * that can make a request gets a breakpoint on its last instruction; stepping goes on from there.
 */
#include "oracle.h"
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

static const uint8_t request_code[] = {0x48, 0xc1, 0xc7, 0x03, 0x48, 0xc1, 0xc7, 0x0d, 0x48, 0xc1,
                                       0xc7, 0x3d, 0x48, 0xc1, 0xc7, 0x33, 0x48, 0x87, 0xdb};
enum { LAST_INSTRUCTION = 16, BREAKPOINT = 0xcc, ORIGINAL = 0x48 };

void ahead_find_requests(struct ahead *ahead, const struct image *image)
{
    const Elf64_Ehdr *header = image->file;
    const char *file = image->file;
    const Elf64_Phdr *segment = (const Elf64_Phdr *)(file + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++, segment++) {
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        const char *start = file + segment->p_offset, *end = start + segment->p_filesz;
        for (const char *place = start;
             (place = memmem(place, (size_t)(end - place), request_code, sizeof request_code));
             place++) {
            if (ahead->count == AHEAD_MAX)
                die("more than %d requests in the program", AHEAD_MAX);
            ahead->addresses[ahead->count++] =
                segment->p_vaddr + (uint64_t)(place - start) + LAST_INSTRUCTION;
        }
    }
}

static void write_byte(pid_t task, uint64_t address, uint8_t byte)
{
    long word = ptrace(PTRACE_PEEKTEXT, task, address, NULL);
    word = (word & ~0xffl) | byte;
    if (ptrace(PTRACE_POKETEXT, task, address, word) < 0)
        die("no breakpoint can be set at %#lx", (unsigned long)address);
}

void ahead_set(const struct ahead *ahead, pid_t task)
{
    for (size_t i = 0; i < ahead->count; i++)
        write_byte(task, ahead->addresses[i], BREAKPOINT);
}

void ahead_clear(const struct ahead *ahead, pid_t task)
{
    for (size_t i = 0; i < ahead->count; i++)
        write_byte(task, ahead->addresses[i], ORIGINAL);
}

bool ahead_is_request(const struct ahead *ahead, uint64_t address)
{
    for (size_t i = 0; i < ahead->count; i++)
        if (ahead->addresses[i] == address)
            return true;
    return false;
}
