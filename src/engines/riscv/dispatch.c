/*
 * dispatch.c: the interpreter, compiled twice: without the profile and with it.
 */
#include "engines/riscv/arithmetic.h"
#include "engines/riscv/float.h"
#include "engines/riscv/machine.h"

#define DISPATCH dispatch_plain
#define PROFILED 0
#include "engines/riscv/dispatch_body.h"
#undef DISPATCH
#undef PROFILED
