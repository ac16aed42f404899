/*
 * transform_python.c: Python frames and the interpreter's own.
 *
 * CPython runs a Python function through several of its own C functions, which carry the call and
 * tell a reader nothing: their cost belongs to the Python function they run for. Which they are is
 * in one table, by name, and only in objects that are CPython itself: a user's own function that
 * happens to have such a name is left alone.
 */
#include "common/memory.h"
#include "profile/transform.h"
#include "profile/view_send.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static const char *const plumbing_functions[] = {
    /* the evaluator and what enters it */
    "_PyEval_EvalFrameDefault",
    "_PyEval_EvalFrameDefault.cold",
    "_PyEval_EvalFrame",
    "_PyEval_Vector",
    "_PyEval_EvalCode*",
    "PyEval_EvalCode*",
    "function_code_fastcall",
    "py_trampoline_evaluator",
    "_TAIL_CALL_*",
    /* calls */
    "call_function",
    "do_call_core",
    "_PyFunction_Vectorcall",
    "_PyFunction_FastCallDict",
    "PyObject_Vectorcall*",
    "_PyObject_Vectorcall*",
    "PyVectorcall_Call",
    "_PyVectorcall_Call",
    "PyObject_Call",
    "PyObject_CallFunction*",
    "PyObject_CallMethod*",
    "PyObject_CallNoArgs",
    "PyObject_CallObject",
    "PyObject_CallOneArg",
    "_PyObject_Call*",
    "_PyObject_FastCall*",
    "_PyObject_MakeTpCall",
    "object_vacall",
    "vectorcall_method",
    "method_vectorcall*",
    "cfunction_vectorcall_*",
    "cfunction_call",
    "_Py_VectorCall*",
    "_Py_BuiltinCallFast*",
    "_Py_CallBuiltinClass*",
    "_PyCallMethodDescriptorFast*",
    /* classes whose methods are Python's, generators */
    "type_call",
    "call_attribute",
    "call_method*",
    "slot_tp_call",
    "slot_tp_init",
    "slot_tp_getattr_hook",
    "_Py_slot_tp_getattr_hook",
    "gen_iternext",
    "gen_send_ex*",
};

static const char *const interpreter_objects[] = {
    "python3*",
    "python",
    "libpython3*",
};

static bool matches_any(const char *const *patterns, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (fnmatch(patterns[i], text, 0) == 0)
            return true;
    return false;
}

#define MATCHES_ANY(patterns, text)                                                                \
    matches_any(patterns, sizeof(patterns) / sizeof *(patterns), text)

bool python_is_plumbing(const char *object, const char *name, const char *symbol)
{
    const char *slash = strrchr(object, '/');

    return MATCHES_ANY(interpreter_objects, slash ? slash + 1 : object) &&
           (MATCHES_ANY(plumbing_functions, name) || MATCHES_ANY(plumbing_functions, symbol));
}

static bool is_plumbing(const struct view_frame *frame)
{
    return frame->kind == FUNCTION_NATIVE &&
           python_is_plumbing(frame->object, frame->name, frame->symbol);
}

bool python_is_trampoline(enum function_kind kind, const char *symbol)
{
    return kind == FUNCTION_PYTHON && !strncmp(symbol, "py::", 4);
}

/* By frame, and then by node: a trampoline that only doubles a Python function, or is all that shows it
 * and as good as one. */
enum { OTHER, PYTHON, PLUMBING, TRAMPOLINE };

static uint8_t class_of(const struct view_frame *frame)
{
    if (python_is_trampoline(frame->kind, frame->symbol))
        return TRAMPOLINE;
    if (frame->kind == FUNCTION_PYTHON)
        return PYTHON;
    return is_plumbing(frame) ? PLUMBING : OTHER;
}

/* Where an interpreter is watched, a watched Python function is below each trampoline or above it. In
 * the same run there may be another one that is not. */
static uint8_t *classify(const struct view *view)
{
    enum { WATCHED_BELOW = 1, WATCHED_ABOVE = 2 };
    uint8_t *of_frames = memory_allocate_zeroed(view->frame_count, 1);
    uint8_t *classes = memory_allocate_zeroed(view->node_count, 1);
    uint8_t *marks = memory_allocate_zeroed(view->node_count, 1);

    for (size_t i = 0; i < view->frame_count; i++)
        of_frames[i] = class_of(&view->frames[i]);
    for (size_t i = view->node_count; i-- > 0;) {
        classes[i] = of_frames[view->frame[i]];
        if (view->parent[i] != NONE && (classes[i] == PYTHON || marks[i]))
            marks[view->parent[i]] = WATCHED_BELOW;
    }
    for (size_t i = 0; i < view->node_count; i++) {
        uint32_t parent = view->parent[i];
        if (parent != NONE &&
            (marks[parent] & WATCHED_ABOVE || of_frames[view->frame[parent]] == PYTHON))
            marks[i] |= WATCHED_ABOVE;
        if (classes[i] == TRAMPOLINE && !marks[i])
            classes[i] = PYTHON;
    }
    free(of_frames);
    free(marks);
    return classes;
}

struct view *view_python(const struct view *view, enum python_mode mode)
{
    uint8_t *classes = classify(view);
    uint8_t *below = memory_allocate_zeroed(view->node_count, 1);   /* a Python frame is above */
    uint8_t *carries = memory_allocate_zeroed(view->node_count, 1); /* Python's own, or hidden */
    struct sending sending;

    sending_start(&sending, view, mode == PYTHON_ONLY ? "(native)" : "(skipped)");
    for (uint32_t i = 0; i < view->node_count; i++) {
        uint8_t class = classes[i];
        uint32_t parent = sent_parent(&sending, i);
        below[i] = class == PYTHON || (view->parent[i] != NONE && below[view->parent[i]]);
        /* What is inlined in the evaluator is a part of it. */
        bool inlined =
            view->flags[i] & VIEW_INLINED && view->parent[i] != NONE && carries[view->parent[i]];
        bool carried = class == TRAMPOLINE || (below[i] && (class == PLUMBING || inlined));
        carries[i] = class == PYTHON || carried;
        bool hidden = mode == PYTHON_ONLY     ? class != PYTHON && !view_is_thread(view, i)
                      : mode == PYTHON_NATIVE ? class == PYTHON
                                              : carried;
        if (hidden)
            send_cost(&sending, i, parent);
        else
            send_shown(&sending, i, parent);
    }
    free(classes);
    free(below);
    free(carries);
    return sending_finish(&sending);
}
