/*
 * dispatch.c: the interpreter, compiled three times: without a profile, with one at function
 * detail and with one at line detail.
 */
#include "engines/riscv/arithmetic.h"
#include "engines/riscv/float.h"
#include "engines/riscv/machine.h"
#include "engines/riscv/profiling.h"

#define LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Macros, because the preprocessor looks at them. */
#define PLAIN_RUN       0
#define FUNCTION_DETAIL 1
#define LINE_DETAIL     2

#include "engines/riscv/execute.h"

#define DISPATCH dispatch_plain
#define DETAIL   PLAIN_RUN
#include "engines/riscv/dispatch_body.h"
#undef DISPATCH
#undef DETAIL

#define DISPATCH dispatch_functions
#define DETAIL   FUNCTION_DETAIL
#include "engines/riscv/dispatch_body.h"
#undef DISPATCH
#undef DETAIL

#define DISPATCH dispatch_lines
#define DETAIL   LINE_DETAIL
#include "engines/riscv/dispatch_body.h"
