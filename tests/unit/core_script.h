/*
 * core_script.h: the core on its own, driven by a script of what a program does.
 *
 * The script is run by a machine of two registers, pc and sp, and a memory of return addresses;
 * around it stands the plainest engine there can be. One word of the language a line:
 *
 *   run N            N instructions, a byte each, from pc on
 *   goto PLACE       control goes there and nobody is told: a direct jump, or falling through
 *   jump PLACE       an indirect jump
 *   call PLACE       return addresses are 5 bytes after the call
 *   ret              to what sp points at
 *   push N  pop N    sp goes N bytes down, up
 *   stack ADDRESS    sp goes to another stack, or anywhere
 *   write PLACE      a return address is pushed that no call put there
 *   keep A  use A    sp is stored as A, is loaded from A
 *   setjmp A         sp and pc as they will be when the function that runs now has returned
 *   longjmp A        loads both, with an indirect jump
 *   mark A           as setjmp, of this place
 *   signal N PLACE [ADDRESS]   a handler is started, on the stack given or on the running one
 *   sigreturn        back to what was interrupted
 *   thread N PLACE ADDRESS     the N-th thread begins (once), with this sp
 *   switch N         to a thread that has begun
 *   end              the running thread ends, the first one goes on
 *   fork start stop zero       dump NAME   label TEXT
 *
 * A PLACE is a number, or a function of the program in the machine with an offset: f, f+0x10.
 * Lines are separated by newlines or semicolons. Every megabyte of addresses is one mapping.
 */
#ifndef TRUEFLAME_CORE_SCRIPT_H
#define TRUEFLAME_CORE_SCRIPT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/core.h"
#include "core/platform.h"
#include "core_image.h"

/* The program of every script. Functions lie 0x100 apart from CODE_START on, in this order. */
extern const char *const script_functions[];
#define SCRIPT_BIAS  0x400000u
#define SCRIPT_STACK 0x7f0ff000u /* of the first thread, which has begun at main */

struct machine;

/* A machine whose program has (not) line information. To be freed. */
struct machine *machine_new(const struct core_options *options, bool has_lines);
void machine_free(struct machine *machine);
struct core *machine_core(struct machine *machine);
uint64_t machine_place(const char *name);

void machine_run(struct machine *machine, const char *script);

/* The tree of a plane: 0 is what was not recorded, N+1 is part N. Lines of "a;b SELF CALLS", of
 * all contexts that have either, sorted; before the path "N " for thread N where there are
 * several. With `sites`, a frame that was called from a known site is "f@main+1". */
char *machine_tree(struct machine *machine, uint32_t plane, bool sites);

void machine_assert_tree(struct machine *machine, uint32_t plane, const char *expected);
/* "unwind 1, new-stack 2"; "" for none. */
void machine_assert_repairs(struct machine *machine, const char *expected);

/* Runs the script on a new machine and compares the tree of the first part, and the repairs. */
void script_gives(const char *script, const char *tree, const char *repairs);

/* The answers of platform_is_part; NULL: always no. */
extern bool (*script_is_part)(struct platform_stretch whole, struct platform_stretch part,
                              bool in_mid_frame);

/* How often platform_function_found was called. */
extern unsigned functions_found;

#endif
