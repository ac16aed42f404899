/*
 * version.h: everything that differs between CPython 3.9 and 3.15, and nothing else.
 *
 *              the hook's frame          its code object          qualified name   C recursion
 *   3.9  3.10  PyFrameObject             f_code                   no               no counter
 *   3.11       _PyInterpreterFrame       fifth word               yes              no counter
 *   3.12 3.13  _PyInterpreterFrame       first word               yes              counted
 *   3.14 3.15  _PyInterpreterFrame       first word, two tag bits yes              by stack address
 *
 * The frame's layout is not public from 3.11 on; asking for the code object through the public
 * function costs a call and two reference counts on every Python call, so it is read in place.
 * version_check() compares with what the public functions say before the first use.
 */
#ifndef TRUEFLAME_PYTHON_VERSION_H
#define TRUEFLAME_PYTHON_VERSION_H

#include <Python.h>

#if PY_VERSION_HEX < 0x03090000 || PY_VERSION_HEX >= 0x03100000
#error "trampolines are written for CPython 3.9 to 3.15"
#endif

#if PY_VERSION_HEX < 0x030b0000

#include <frameobject.h>
#define EVALUATED_FRAME PyFrameObject

static inline PyCodeObject *version_code_of_frame(PyFrameObject *frame)
{
    return frame->f_code;
}

#else

struct _PyInterpreterFrame;
#define EVALUATED_FRAME struct _PyInterpreterFrame

static inline PyCodeObject *version_code_of_frame(struct _PyInterpreterFrame *frame)
{
#if PY_VERSION_HEX < 0x030c0000
    return ((PyCodeObject **)frame)[4];
#elif PY_VERSION_HEX < 0x030e0000
    return ((PyCodeObject **)frame)[0];
#else
    return (PyCodeObject *)(((uintptr_t *)frame)[0] & ~(uintptr_t)3);
#endif
}

#endif

#if PY_VERSION_HEX < 0x030b0000
#define version_qualified_name(code) ((code)->co_name)
#else
#define version_qualified_name(code) ((code)->co_qualname)
#endif

#if PY_VERSION_HEX < 0x030c0000
#define version_request_extra_index _PyEval_RequestCodeExtraIndex
#define version_set_extra           _PyCode_SetExtra
#define version_get_extra           _PyCode_GetExtra
#else
#define version_request_extra_index PyUnstable_Eval_RequestCodeExtraIndex
#define version_set_extra           PyUnstable_Code_SetExtra
#define version_get_extra           PyUnstable_Code_GetExtra
#endif

/* How a code object keeps the values that extensions attach to it; the same since 3.6. */
struct version_extras {
    Py_ssize_t count;
    void *values[];
};

static inline void *version_read_extra(PyCodeObject *code, Py_ssize_t index)
{
    struct version_extras *extras = code->co_extra;

    return extras && index < extras->count ? extras->values[index] : NULL;
}

/* The exception in flight, taken away and put back. */
struct version_exception {
#if PY_VERSION_HEX < 0x030c0000
    PyObject *type, *value, *traceback;
#else
    PyObject *raised;
#endif
};

static inline struct version_exception version_save_exception(void)
{
    struct version_exception saved;
#if PY_VERSION_HEX < 0x030c0000
    PyErr_Fetch(&saved.type, &saved.value, &saved.traceback);
#else
    saved.raised = PyErr_GetRaisedException();
#endif
    return saved;
}

static inline void version_restore_exception(struct version_exception saved)
{
#if PY_VERSION_HEX < 0x030c0000
    PyErr_Restore(saved.type, saved.value, saved.traceback);
#else
    PyErr_SetRaisedException(saved.raised);
#endif
}

#ifdef Py_GIL_DISABLED
#define VERSION_FREE_THREADED 1
#else
#define VERSION_FREE_THREADED 0
#endif

/* How the C stack is guarded: see headroom.h. */
#define VERSION_COUNTS_C_RECURSION (PY_VERSION_HEX >= 0x030c0000 && PY_VERSION_HEX < 0x030e0000)
#define VERSION_GUARDS_NO_STACK    (PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000)

#endif
