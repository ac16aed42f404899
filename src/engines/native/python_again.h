/*
 * python_again.h: a CPython that cannot be watched is started once more, see core/python_again.h: by
 * `record`, or by exec of the same program, whose instructions so far are not counted.
 */
#ifndef TRUEFLAME_NATIVE_PYTHON_AGAIN_H
#define TRUEFLAME_NATIVE_PYTHON_AGAIN_H

#include "core/python.h"
#include "engines/native/load.h"

/* Its environment gets a hash seed if it is to have one: before that is put on its stack. */
void python_fix_seed(struct program *program);

/* Before the program runs. */
void python_begin(const struct program *program);

/* Does not return if the program is started once more. */
void python_refuse(struct python_module *python);

#endif
