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

ULong __wrap_vgPlain_di_notify_mmap(Addr start, Bool may_be_writable, Int file);

/* 0: nothing to read. Not even the mapping may be noted: Valgrind would add those of a file that is
 * mapped again to those before, and give up when two lie at the same place. */
ULong __wrap_vgPlain_di_notify_mmap(Addr start, Bool may_be_writable, Int file)
{
    (void)start, (void)may_be_writable, (void)file;
    return 0;
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
