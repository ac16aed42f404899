/*
 * A slot of the PLT that the program itself points elsewhere, and back, after it has been called
 * and jumped through many times: each goes to where the slot points then, on every path to it.
 *
 * build: dynamic -Wl,-z,lazy
 * with: libplt.so = plt_library.c -Wl,-z,lazy
 * link: libplt.so
 * below other library_leaf:
 *     library_leaf 4500
 *     other 1800
 * paths:
 *     main;caller;library_leaf
 *     main;caller;other
 *     main;again;caller;library_leaf
 *     main;again;caller;other
 *     main;library_leaf
 *     main;other
 * never:
 *     library_leaf;other
 *     other;library_leaf
 */
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

void library_leaf(void);
extern ElfW(Dyn) _DYNAMIC[];
extern volatile unsigned long library_sink;

static unsigned long others;

NOINLINE void other(void)
{
    others++;
}

NOINLINE void caller(void)
{
    library_leaf();
    others += 0x10000;
}

NOINLINE void again(void)
{
    caller();
    others += 0x100000000;
}

NOINLINE void tail(void)
{
    others += 0x1000;
    library_leaf(); /* a jump into the PLT */
}

static ElfW(Addr) value_of(ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return entry->d_un.d_ptr;
    return 0;
}

static ElfW(Addr) * slot_of(const char *name, ElfW(Addr) base)
{
    const ElfW(Rela) *relocation = (const ElfW(Rela) *)value_of(DT_JMPREL);
    const ElfW(Rela) *end = (const ElfW(Rela) *)(value_of(DT_JMPREL) + value_of(DT_PLTRELSZ));
    const ElfW(Sym) *symbols = (const ElfW(Sym) *)value_of(DT_SYMTAB);
    const char *strings = (const char *)value_of(DT_STRTAB);
    for (; relocation < end; relocation++)
        if (!strcmp(strings + symbols[ELF64_R_SYM(relocation->r_info)].st_name, name))
            return (ElfW(Addr) *)(base + relocation->r_offset);
    return NULL;
}

static inline __attribute__((always_inline)) void call_often(void)
{
    for (int i = 0; i < 100; i++) {
        caller();
        again();
        tail();
    }
}

int main(void)
{
    ElfW(Addr) *slot = slot_of("library_leaf", _r_debug.r_map->l_addr);
    for (int round = 0; round < 3; round++) {
        call_often();
        ElfW(Addr) before = *slot;
        *slot = (ElfW(Addr))other;
        call_often();
        *slot = before;
    }
    printf("%lx %lu\n", others, library_sink);
    return 0;
}
