/*
 * left_out.c: what Valgrind would do for each program and nobody here needs.
 *
 * Debug information. Valgrind reads the symbols, lines and unwind tables of all that the program
 * maps, before it runs there, for the stack traces that its other tools print: a third of a second
 * for a compiler, more than half of what it takes to start a program here at all. Nothing else of
 * Valgrind needs them: function ranges come from core/code.h, names after the run from src/symbols.
 * What is lost are the names in Valgrind's own words about a program that dies of a fault.
 *
 * Checks of the IR. VEX checks each block several times over, for mistakes of its own and of a
 * tool: a twentieth of the time of a program that runs much code seldom. The tests run enough
 * blocks to know without. Build with -DCHECK_IR to have them, when changing what is emitted.
 *
 * There are no options for these, so the linker puts these functions before Valgrind's (--wrap, in
 * meson.build).
 */
#include "engine.h"

#include "libvex_ir.h"

struct _DebugInfo;
Bool __wrap_vgModuleLocal_read_elf_debug_info(struct _DebugInfo *info);

/* False: there was nothing to read. */
Bool __wrap_vgModuleLocal_read_elf_debug_info(struct _DebugInfo *info)
{
    (void)info;
    return False;
}

void __real_sanityCheckIRSB(const IRSB *block, const HChar *caller, Bool must_be_flat,
                            IRType guest_word);
void __wrap_sanityCheckIRSB(const IRSB *block, const HChar *caller, Bool must_be_flat,
                            IRType guest_word);

void __wrap_sanityCheckIRSB(const IRSB *block, const HChar *caller, Bool must_be_flat,
                            IRType guest_word)
{
#ifdef CHECK_IR
    __real_sanityCheckIRSB(block, caller, must_be_flat, guest_word);
#else
    (void)block, (void)caller, (void)must_be_flat, (void)guest_word;
#endif
}
