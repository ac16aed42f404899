/*
 * module.c: gives every Python function an address of its own, so that `perf` can see it.
 *
 * CPython runs every Python function in one C function, the evaluator; a native stack shows the
 * evaluator over and over and no Python function at all. With the hook installed, the stack of
 * main() calling f() is instead
 *
 *     caller -> trampoline of main -> evaluator -> ... -> trampoline of f -> evaluator
 *
 * The hook finds the trampoline in the code object's extra slot, where the first call put it, and
 * jumps to it with the evaluator as an argument. The hook itself leaves no frame: it is a jump.
 *
 * Cost: on every Python call the instructions of hook() and of the template, about twenty; and what
 * CPython gives up under any hook: from 3.11 on, Python calls from Python take a C call each.
 *
 * What always holds: a program behaves as without the hook, except for C stack use. Anything that
 * fails while a trampoline is made costs that function its name and nothing else. An exception in
 * flight (throw into a generator) is never lost. Another hook that was there first is called as the
 * evaluator; one that came later keeps its place.
 *
 * All state is guarded by the interpreter's lock: one interpreter only, and no free-threaded build.
 */
#define PY_SSIZE_T_CLEAN
#include "python/version.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "python/arena.h"
#include "python/headroom.h"
#include "python/jitdump_writer.h"
#include "python/launcher_traces.h"
#include "python/map_writer.h"
#include "python/names.h"

typedef PyObject *trampoline_function(PyThreadState *, EVALUATED_FRAME *, int,
                                      _PyFrameEvalFunction);

static struct {
    Py_ssize_t extra_index;    /* where code objects keep their trampolines; -1: not asked yet */
    Py_ssize_t looked_up;      /* extra_index while active; otherwise an index nobody has */
    _PyFrameEvalFunction next; /* the evaluator, or the hook that was there before ours */
    bool active;               /* functions get trampolines */
    bool installed;            /* the hook is in the chain of hooks */
    bool at_fork_registered;
    bool memory_refused; /* said once */
    size_t trampolines;
} state = {.extra_index = -1, .looked_up = PY_SSIZE_T_MAX};

/* ---- the hook ---- */

/* Stands in for the trampoline of a function that could not get one, so that nobody tries again. */
static PyObject *call_plainly(PyThreadState *thread, EVALUATED_FRAME *frame, int throwing,
                              _PyFrameEvalFunction evaluator)
{
    return evaluator(thread, frame, throwing);
}

static trampoline_function *make_trampoline(PyCodeObject *code)
{
    struct error error;
    void *slot = arena_take_slot(&error);

    if (!slot) {
        if (!state.memory_refused)
            dprintf(STDERR_FILENO,
                    "trueflame: %s; functions first called from now on are not seen\n", error.text);
        state.memory_refused = true;
        version_set_extra((PyObject *)code, state.extra_index, (void *)call_plainly);
        return call_plainly;
    }
    if (version_set_extra((PyObject *)code, state.extra_index, slot) != 0) {
        arena_return_slot(slot);
        return call_plainly;
    }
    state.trampolines++;
    names_add(code, slot);
    return (trampoline_function *)slot;
}

/* The slow path: the first call of a function, or a hook that was deactivated under another. */
static __attribute__((noinline)) PyObject *first_call(PyThreadState *thread, EVALUATED_FRAME *frame,
                                                      int throwing)
{
    if (!state.active)
        return state.next(thread, frame, throwing);
    struct version_exception in_flight = version_save_exception();
    trampoline_function *trampoline = make_trampoline(version_code_of_frame(frame));
    PyErr_Clear();
    version_restore_exception(in_flight);
    return trampoline(thread, frame, throwing, state.next);
}

static inline __attribute__((always_inline)) PyObject *enter(PyThreadState *thread,
                                                             EVALUATED_FRAME *frame, int throwing)
{
    trampoline_function *trampoline =
        (trampoline_function *)version_read_extra(version_code_of_frame(frame), state.looked_up);

    if (!trampoline)
        return first_call(thread, frame, throwing);
    return trampoline(thread, frame, throwing, state.next);
}

#if VERSION_COUNTS_C_RECURSION

/* The counter runs low while there is C stack left: lends it some for the length of this call. */
static __attribute__((noinline)) PyObject *enter_with_headroom(PyThreadState *thread,
                                                               EVALUATED_FRAME *frame, int throwing)
{
    if (!headroom_has_stack(HEADROOM_LEND_BYTES))
        return enter(thread, frame, throwing);
    thread->c_recursion_remaining += HEADROOM_LENT_CALLS;
    PyObject *result = enter(thread, frame, throwing);
    thread->c_recursion_remaining -= HEADROOM_LENT_CALLS;
    return result;
}

#elif VERSION_GUARDS_NO_STACK

static __attribute__((noinline)) PyObject *enter_guarded(PyThreadState *thread,
                                                         EVALUATED_FRAME *frame, int throwing)
{
    if (headroom_may_have_stack(HEADROOM_GUARD_BYTES))
        return enter(thread, frame, throwing);
    PyErr_SetString(PyExc_RecursionError,
                    "the C stack is full: with trampolines a Python call takes some of it");
    return NULL;
}

#endif

static PyObject *hook(PyThreadState *thread, EVALUATED_FRAME *frame, int throwing)
{
#if VERSION_COUNTS_C_RECURSION
    if (__builtin_expect(thread->c_recursion_remaining < HEADROOM_LOW_CALLS, 0))
        return enter_with_headroom(thread, frame, throwing);
#elif VERSION_GUARDS_NO_STACK
    if (__builtin_expect(thread->recursion_limit > HEADROOM_HARMLESS_LIMIT, 0))
        return enter_guarded(thread, frame, throwing);
#endif
    return enter(thread, frame, throwing);
}

/* Called by CPython when a code object dies. A map cannot say that an address has a new name, so
 * with a map the slot is given up. */
static void free_extra(void *extra)
{
    if (extra && extra != (void *)call_plainly && names_allow_reuse())
        arena_return_slot(extra);
}

/* ---- activation ---- */

/* Compares what is read in place with what CPython's own functions say. */
static int check_layout(void)
{
    PyCodeObject *code = PyCode_NewEmpty("trueflame", "check", 1);
    void *public_value = NULL;

    if (!code)
        return ERROR;
    if (version_set_extra((PyObject *)code, state.extra_index, (void *)call_plainly) != 0 ||
        version_get_extra((PyObject *)code, state.extra_index, &public_value) != 0) {
        Py_DECREF(code);
        return ERROR;
    }
    void *value = version_read_extra(code, state.extra_index);
    Py_DECREF(code);
    if (public_value == (void *)call_plainly && value == public_value)
        return OK;
    PyErr_SetString(PyExc_RuntimeError,
                    "this interpreter lays out code objects in a way trueflame does not know");
    return ERROR;
}

static int prepare_extra_index(void)
{
    if (state.extra_index >= 0)
        return OK;
    state.extra_index = version_request_extra_index(free_extra);
    if (state.extra_index < 0) {
        PyErr_SetString(PyExc_RuntimeError, "no room for trampolines in code objects");
        return ERROR;
    }
    if (check_layout() == OK)
        return OK;
    state.extra_index = -1;
    return ERROR;
}

/* The first arena is made here, so that a system that forbids executable memory is an exception
 * and not a line on stderr. */
static int prepare_memory(void)
{
    struct error error;
    void *slot = arena_take_slot(&error);

    if (slot) {
        arena_return_slot(slot);
        return OK;
    }
    PyErr_SetString(PyExc_OSError, error.text);
    return ERROR;
}

static int prepare_names(int names)
{
    struct error error;

    if (names_open(names, &error) == OK)
        return OK;
    PyErr_SetString(PyExc_OSError, error.text);
    return ERROR;
}

static PyObject *after_fork_in_child(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    names_follow_fork();
    Py_RETURN_NONE;
}

static int register_at_fork(void)
{
    static PyMethodDef method = {"after_fork_in_child", after_fork_in_child, METH_NOARGS, NULL};

    if (state.at_fork_registered)
        return OK;
    PyObject *function = PyCFunction_New(&method, NULL);
    PyObject *os = PyImport_ImportModule("os");
    PyObject *registrar = os ? PyObject_GetAttrString(os, "register_at_fork") : NULL;
    PyObject *arguments = PyTuple_New(0);
    PyObject *keywords = function ? Py_BuildValue("{sO}", "after_in_child", function) : NULL;
    PyObject *result =
        registrar && arguments && keywords ? PyObject_Call(registrar, arguments, keywords) : NULL;
    state.at_fork_registered = result != NULL;
    Py_XDECREF(result);
    Py_XDECREF(keywords);
    Py_XDECREF(arguments);
    Py_XDECREF(registrar);
    Py_XDECREF(os);
    Py_XDECREF(function);
    return state.at_fork_registered ? OK : ERROR;
}

/* With CPython's own trampolines under ours every function would be on the stack twice. */
static int check_own_trampolines(void)
{
    PyObject *question = PySys_GetObject("is_stack_trampoline_active"); /* borrowed; from 3.12 on */
    PyObject *answer = question ? PyObject_CallNoArgs(question) : NULL;
    bool active = answer == Py_True;

    Py_XDECREF(answer);
    if (PyErr_Occurred())
        return ERROR;
    if (!active)
        return OK;
    PyErr_SetString(PyExc_RuntimeError,
                    "CPython's own trampolines are active (-X perf or PYTHONPERFSUPPORT); leave "
                    "them out, or call sys.deactivate_stack_trampoline() first");
    return ERROR;
}

static int install_hook(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interpreter);

    if (current == hook)
        return OK;
    if (state.installed && current != _PyEval_EvalFrameDefault) {
        /* Whoever came after us may call us; calling it in turn would never end. */
        PyErr_SetString(PyExc_RuntimeError,
                        "another frame evaluation hook was installed over trueflame's");
        return ERROR;
    }
    state.next = current;
    _PyInterpreterState_SetEvalFrameFunc(interpreter, hook);
    state.installed = true;
    return OK;
}

static int parse_names(const char *text)
{
    if (strcmp(text, "both") == 0)
        return NAMES_MAP | NAMES_JITDUMP;
    if (strcmp(text, "map") == 0)
        return NAMES_MAP;
    if (strcmp(text, "jitdump") == 0)
        return NAMES_JITDUMP;
    PyErr_Format(PyExc_ValueError, "names must be 'both', 'map' or 'jitdump', not '%s'", text);
    return 0;
}

static PyObject *activate(PyObject *module, PyObject *arguments, PyObject *keywords)
{
    static char *keyword_names[] = {"names", NULL};
    const char *text = "both";

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|s:activate", keyword_names, &text))
        return NULL;
    int names = parse_names(text);
    if (!names)
        return NULL;
    if (check_own_trampolines() != OK || prepare_extra_index() != OK || prepare_memory() != OK ||
        register_at_fork() != OK || prepare_names(names) != OK || install_hook() != OK)
        return NULL;
    state.active = true;
    state.looked_up = state.extra_index;
    Py_RETURN_NONE;
}

static PyObject *deactivate(PyObject *module, PyObject *unused)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();

    (void)module, (void)unused;
    state.active = false;
    if (state.installed && _PyInterpreterState_GetEvalFrameFunc(interpreter) == hook) {
        _PyInterpreterState_SetEvalFrameFunc(interpreter, state.next);
        state.installed = false;
    }
    /* Under a later hook ours stays in the chain, and finds no trampolines any more. */
    state.looked_up = PY_SSIZE_T_MAX;
    Py_RETURN_NONE;
}

static PyObject *is_active(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(state.active);
}

static PyObject *statistics(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return Py_BuildValue("{s:n,s:n,s:n,s:s,s:s}", "trampolines", (Py_ssize_t)state.trampolines,
                         "arenas", (Py_ssize_t)arena_count(), "slot_bytes",
                         (Py_ssize_t)arena_slot_bytes(), "map", map_writer_path(), "jitdump",
                         jitdump_writer_path());
}

/* ---- the module ---- */

static PyMethodDef methods[] = {
    {"activate", (PyCFunction)(void (*)(void))activate, METH_VARARGS | METH_KEYWORDS,
     "activate(names='both')\n\nGive every Python function first called from now on a trampoline."},
    {"deactivate", deactivate, METH_NOARGS, "Run functions without trampolines again."},
    {"is_active", is_active, METH_NOARGS, "Whether functions get trampolines."},
    {"statistics", statistics, METH_NOARGS, "What was made so far, and where the names are."},
    {NULL},
};

/* The interpreter ends: another one in this process begins from nothing. */
static void forget_interpreter(void)
{
    state.active = state.installed = state.at_fork_registered = false;
    state.extra_index = -1;
    state.looked_up = PY_SSIZE_T_MAX;
}

static int execute_module(PyObject *module)
{
    (void)module;
    launcher_traces_cover();
    if (VERSION_FREE_THREADED) {
        PyErr_SetString(PyExc_ImportError,
                        "trueflame's trampolines need the global interpreter lock; this is a "
                        "free-threaded build of CPython");
        return -1;
    }
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError,
                        "trueflame's trampolines work in the main interpreter only");
        return -1;
    }
    return Py_AtExit(forget_interpreter);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute_module},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED}, /* being refused must not bring the lock back */
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "trueflame_trampoline._trampoline",
    .m_doc = "Trampolines: one native function for every Python function.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__trampoline(void)
{
    return PyModuleDef_Init(&definition);
}
