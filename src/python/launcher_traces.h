/*
 * launcher_traces.h: makes perf forget the program that started this one in the same process.
 *
 * When a process calls exec, perf (seen with 6.1) keeps the old program's mappings. Both programs
 * have libc and the loader; perf's unwinder takes a library's lowest mapping for its base, and when
 * the old one happens to be lower, which is every other run, no stack that goes through libc can be
 * unwound: one sample in twenty of a typical Python program. `trueflame trampoline` is such an old
 * program, so it leaves a list of its mappings in the environment, and here each of them is covered
 * for a moment by an empty one. A mapping that covers another is something perf does understand.
 */
#ifndef TRUEFLAME_PYTHON_LAUNCHER_TRACES_H
#define TRUEFLAME_PYTHON_LAUNCHER_TRACES_H

#define LAUNCHER_TRACES_VARIABLE "TRUEFLAME_TRAMPOLINE_TRACES"

/* Does nothing when this process was not started by `trueflame trampoline` itself. */
void launcher_traces_cover(void);

#endif
