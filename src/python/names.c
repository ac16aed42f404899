#define PY_SSIZE_T_CLEAN
#include "python/names.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "python/jitdump_writer.h"
#include "python/map_writer.h"

#define LONGEST_NAME_BYTES 4096

static struct {
    int opened; /* which files there are */
    int names;  /* which of them are still written */
    pid_t pid;  /* whose they are; 0: none */
} state;

static void names_stop(int which, const struct error *error)
{
    state.names &= ~which;
    dprintf(STDERR_FILENO, "trueflame: %s; functions first called from now on have no name there\n",
            error->text);
}

void names_follow_fork(void)
{
    struct error error;

    if (!state.pid || state.pid == getpid())
        return;
    state.pid = getpid();
    if ((state.names & NAMES_MAP) && map_writer_after_fork(&error) != OK)
        names_stop(NAMES_MAP, &error);
    if ((state.names & NAMES_JITDUMP) && jitdump_writer_after_fork(&error) != OK)
        names_stop(NAMES_JITDUMP, &error);
}

int names_open(int names, struct error *error)
{
    if (state.pid) {
        names_follow_fork();
        return OK;
    }
    if ((names & NAMES_MAP) && map_writer_open(error) != OK)
        return ERROR;
    if ((names & NAMES_JITDUMP) && jitdump_writer_open(error) != OK)
        return ERROR;
    state.names = state.opened = names;
    state.pid = getpid();
    return OK;
}

/* Bytes of a Python string that fit one line of a text file, cut at `size` - 1. */
static size_t safe_text(PyObject *string, char *text, size_t size)
{
    PyObject *bytes = PyUnicode_Check(string)
                          ? PyUnicode_AsEncodedString(string, "utf-8", "backslashreplace")
                          : NULL;
    if (!bytes) {
        PyErr_Clear();
        return (size_t)snprintf(text, size, "?");
    }
    size_t length = (size_t)PyBytes_GET_SIZE(bytes);
    if (length > size - 1)
        length = size - 1;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)PyBytes_AS_STRING(bytes)[i];
        text[i] = byte < 0x20 || byte == 0x7f ? '?' : (char)byte;
    }
    text[length] = 0;
    Py_DECREF(bytes);
    return length;
}

void names_add(PyCodeObject *code, const void *trampoline)
{
    /* Not on the stack: a thread may have 32 KB of it in all. */
    static char name[2 * LONGEST_NAME_BYTES + 8] = "py::", file[LONGEST_NAME_BYTES];
    struct error error;

    names_follow_fork(); /* a fork that Python was not told about */
    size_t length = 4 + safe_text(version_qualified_name(code), name + 4, LONGEST_NAME_BYTES);
    size_t file_length = safe_text(code->co_filename, file, sizeof file);
    name[length++] = ':';
    memcpy(name + length, file, file_length + 1);
    length += file_length;
    if ((state.names & NAMES_MAP) &&
        map_writer_add(trampoline, TEMPLATE_CODE_SIZE, name, length, &error) != OK)
        names_stop(NAMES_MAP, &error);
    if ((state.names & NAMES_JITDUMP) &&
        jitdump_writer_add(trampoline, name, length, file, (unsigned)code->co_firstlineno,
                           &error) != OK)
        names_stop(NAMES_JITDUMP, &error);
}

bool names_allow_reuse(void)
{
    return !(state.opened & NAMES_MAP);
}
