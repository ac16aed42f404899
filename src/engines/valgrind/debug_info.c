/*
 * debug_info.c: Valgrind does not read the symbols, lines and unwind tables of what the program
 * maps.
 *
 * It would read them all, before the program's first instruction runs in them, for the stack traces
 * that its other tools print: a third of a second for a compiler, more than half of what it takes
 * to start a program here at all. Nothing else of Valgrind needs them, and this tool prints no
 * traces: function ranges come from core/code.h, names after the run from src/symbols. What is lost
 * are the names in Valgrind's own words about a program that dies of a fault.
 *
 * There is no option for it, so the linker puts this function before Valgrind's (--wrap, in
 * meson.build).
 */
#include "engine.h"

struct _DebugInfo;
Bool __wrap_vgModuleLocal_read_elf_debug_info(struct _DebugInfo *info);

/* False: there was nothing to read. */
Bool __wrap_vgModuleLocal_read_elf_debug_info(struct _DebugInfo *info)
{
    (void)info;
    return False;
}
