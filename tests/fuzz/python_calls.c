/* What CPython itself says about calls: an extension that counts those of the program's own functions
 * by path, and the lines that run. In C, because a hook in Python is in the way of what it watches:
 * signal handlers and what ends while it runs are called inside it, where nothing is counted. */
#include <Python.h>
#include <frameobject.h>

#define LONGEST 40

/* 3.11 does not tell of the call when a generator goes on with the value of another one that it threw
 * through: it jumps over the instruction that tells. Every call ends once, and that is told. */
#define COUNTED (PY_VERSION_HEX >> 16 == 0x030b ? PyTrace_RETURN : PyTrace_CALL)

/* From 3.14 on a generator that is given up at a plain `yield` is thrown into only where somebody
 * watches; otherwise its frame is cleared and nothing runs. Such a call ends with nothing done in it,
 * but for what ends with what it held. */
#define IS_DOUBTFUL (PY_VERSION_HEX >= 0x030e0000)

static PyObject *calls, *doubtful, *codes, *lines;
static int of_lines;

/* Calls that are not over and have done nothing, as far as events tell. */
#define MOST_IDLE 64
static struct {
    PyFrameObject *frame;
    PyObject *key;
} idle[MOST_IDLE];
static int idle_count;

/* Those that were compiled from a file of its own, or are made by it. */
static int is_own(PyCodeObject *code)
{
    static PyObject *own;

    if (!own)
        own = PyUnicode_InternFromString(getenv("OWN_FILE"));
    return PyUnicode_Compare(code->co_filename, own) == 0 ||
           PyUnicode_CompareWithASCIIString(code->co_filename, "<made>") == 0;
}

static PyObject *number_of(PyCodeObject *code)
{
    PyObject *number = PyLong_FromVoidPtr(code);

    if (number && PyDict_SetItem(codes, number, (PyObject *)code))
        Py_CLEAR(number);
    return number;
}

/* Youngest first. */
static PyObject *path_of(PyFrameObject *frame)
{
    PyObject *path = PyList_New(0);

    Py_INCREF(frame);
    while (frame) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        if (is_own(code)) {
            PyObject *number = number_of(code);
            PyList_Append(path, number);
            Py_DECREF(number);
        }
        Py_DECREF(code);
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    return path;
}

static void add(PyObject *counts, PyObject *key)
{
    PyObject *known = PyDict_GetItem(counts, key);
    PyObject *count = PyLong_FromLong(known ? PyLong_AsLong(known) + 1 : 1);

    PyDict_SetItem(counts, key, count);
    Py_DECREF(count);
}

static void note_call(PyFrameObject *frame, PyCodeObject *code)
{
    int suspends = code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR);
    PyObject *path = path_of(frame);
    PyObject *key = PyList_AsTuple(path);

    if (PyTuple_Size(key) <= LONGEST)
        add(calls, key);
    if (IS_DOUBTFUL && suspends && idle_count < MOST_IDLE) {
        idle[idle_count].frame = frame;
        idle[idle_count++].key = key;
    } else {
        Py_DECREF(key);
    }
    Py_DECREF(path);
}

/* Calls above this one are over. */
static void note_event(PyFrameObject *frame, int failed)
{
    int at = idle_count;

    while (at > 0 && idle[at - 1].frame != frame)
        at--;
    if (!at)
        return;
    if (failed && PyTuple_Size(idle[at - 1].key) <= LONGEST)
        add(doubtful, idle[at - 1].key);
    while (idle_count >= at)
        Py_DECREF(idle[--idle_count].key);
}

static void note_line(PyFrameObject *frame, PyCodeObject *code)
{
    PyObject *key = Py_BuildValue("(Oi)", code->co_filename, PyFrame_GetLineNumber(frame));

    add(lines, key);
    Py_DECREF(key);
}

static int hook(PyObject *self, PyFrameObject *frame, int what, PyObject *argument)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *type, *value, *traceback;

    (void)self;
    PyErr_Fetch(&type, &value, &traceback);
    if (what != PyTrace_CALL)
        note_event(frame, what == PyTrace_RETURN && !argument);
    if (is_own(code)) {
        if (!of_lines && what == COUNTED)
            note_call(frame, code);
        if (of_lines && what == PyTrace_CALL)
            PyObject_SetAttrString((PyObject *)frame, "f_trace_opcodes", Py_True);
        if (of_lines)
            note_line(frame, code);
    }
    Py_DECREF(code);
    PyErr_Restore(type, value, traceback);
    return 0;
}

/* Of this thread; also as what threading.setprofile and settrace are given. */
static PyObject *watch(PyObject *module, PyObject *arguments)
{
    (void)module;
    (void)arguments;
    if (of_lines)
        PyEval_SetTrace(hook, NULL);
    else
        PyEval_SetProfile(hook, NULL);
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *module, PyObject *arguments)
{
    (void)module;
    (void)arguments;
    PyEval_SetTrace(NULL, NULL);
    PyEval_SetProfile(NULL, NULL);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"watch", watch, METH_VARARGS, NULL},
    {"stop", stop, METH_VARARGS, NULL},
    {0},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "python_calls",
                                        .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_python_calls(void)
{
    PyObject *module = PyModule_Create(&definition);

    of_lines = getenv("OWN_LINES") != NULL;
    PyModule_AddIntConstant(module, "of_lines", of_lines);
    PyModule_AddObject(module, "calls", calls = PyDict_New());
    PyModule_AddObject(module, "doubtful", doubtful = PyDict_New());
    PyModule_AddObject(module, "codes", codes = PyDict_New());
    PyModule_AddObject(module, "lines", lines = PyDict_New());
    Py_INCREF(calls);
    Py_INCREF(doubtful);
    Py_INCREF(codes);
    Py_INCREF(lines);
    return module;
}
