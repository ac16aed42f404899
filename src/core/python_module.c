/*
 * python_module.c: is a module CPython, which version, and where are things in its structures?
 */
#include "core/code.h"
#include "core/elf_functions.h"
#include "core/platform.h"
#include "core/python.h"
#include "core/text.h"

/* Before 3.13, when the runtime does not describe itself. Release builds of x86-64 and other
 * 64-bit machines alike. */
static const struct python_layout layouts[] = {
    [9] = {.state_frame = 24, .frame_code = 32, .frame_previous = 24,
           .code_name = 112, .code_qualified_name = 112, .code_file = 104, .code_line = 40,
           .code_flags = 36, .text_length = 16, .text_state = 32, .text_kind_shift = 2,
           .text_ascii_bytes = 48, .text_compact_bytes = 72},
    [10] = {.state_frame = 24, .frame_code = 32, .frame_previous = 24,
            .code_name = 112, .code_qualified_name = 112, .code_file = 104, .code_line = 40,
            .code_flags = 36, .text_length = 16, .text_state = 32, .text_kind_shift = 2,
            .text_ascii_bytes = 48, .text_compact_bytes = 72},
    [11] = {.state_frame = 56, .has_c_frame = true, .c_frame_frame = 8, .frame_code = 32,
            .frame_previous = 48, .frame_owner = 69, .frame_is_entry = 68, .shim_owner = 255,
            .code_name = 120, .code_qualified_name = 128, .code_file = 112, .code_line = 72,
            .code_flags = 48, .text_length = 16, .text_state = 32, .text_kind_shift = 2,
            .text_ascii_bytes = 48, .text_compact_bytes = 72},
    [12] = {.state_frame = 56, .has_c_frame = true, .c_frame_frame = 0, .frame_code = 0,
            .frame_previous = 8, .frame_owner = 70, .shim_owner = 3,
            .code_name = 120, .code_qualified_name = 128, .code_file = 112, .code_line = 68,
            .code_flags = 48, .text_length = 16, .text_state = 32, .text_kind_shift = 2,
            .text_ascii_bytes = 40, .text_compact_bytes = 56},
};

/* _Py_DebugOffsets of 3.13, in words. It grew in the middle later, so each version has its own. */
enum debug_offsets_13 {
    OFFSETS_COOKIE = 0,
    OFFSETS_FREE_THREADED = 2,
    OFFSETS_STATE_FRAME = 23,
    OFFSETS_FRAME_PREVIOUS = 29,
    OFFSETS_FRAME_CODE = 30,
    OFFSETS_FRAME_OWNER = 33,
    OFFSETS_CODE_FILE = 35,
    OFFSETS_CODE_NAME = 36,
    OFFSETS_CODE_QUALIFIED_NAME = 37,
    OFFSETS_CODE_LINE = 39,
    OFFSETS_TEXT_STATE = 68,
    OFFSETS_TEXT_LENGTH = 69,
    OFFSETS_TEXT_ASCII_BYTES = 70,
    OFFSETS_COUNT = 71,
};

static bool read_self_description(struct python_module *module)
{
    uint64_t words[OFFSETS_COUNT];
    static const char cookie[] = "xdebugpy";
    struct python_layout *layout = &module->layout;

    if (!platform_read(module->module->bias + module->runtime, words, sizeof words) ||
        !text_equal_n((const char *)words, cookie, 8) || words[OFFSETS_FREE_THREADED])
        return false;
    *layout = layouts[12];
    layout->has_c_frame = false;
    layout->state_frame = words[OFFSETS_STATE_FRAME];
    layout->frame_previous = words[OFFSETS_FRAME_PREVIOUS];
    layout->frame_code = words[OFFSETS_FRAME_CODE];
    layout->frame_owner = words[OFFSETS_FRAME_OWNER];
    layout->code_file = words[OFFSETS_CODE_FILE];
    layout->code_name = words[OFFSETS_CODE_NAME];
    layout->code_qualified_name = words[OFFSETS_CODE_QUALIFIED_NAME];
    layout->code_line = words[OFFSETS_CODE_LINE];
    layout->text_state = words[OFFSETS_TEXT_STATE];
    layout->text_length = words[OFFSETS_TEXT_LENGTH];
    layout->text_ascii_bytes = words[OFFSETS_TEXT_ASCII_BYTES];
    layout->text_compact_bytes = layout->text_ascii_bytes + 16;
    return true;
}

bool python_prepare(struct python_module *module)
{
    uint64_t version;

    if (module->readiness != PYTHON_UNREAD)
        return module->readiness == PYTHON_READY;
    module->readiness = PYTHON_UNKNOWN;
    if (module->version) {
        if (!platform_read(module->module->bias + module->version, &version, sizeof version) ||
            version >> 24 != 3)
            return false;
        module->minor = version >> 16 & 255;
    }
    if (module->minor == 13) {
        if (!read_self_description(module))
            return false;
    } else if (module->minor >= 9 && module->minor <= 12) {
        module->layout = layouts[module->minor];
    } else {
        return false;
    }
    module->readiness = PYTHON_READY;
    return true;
}

/* Versions before 3.11 have no symbol that says which they are, but all end a path where they look
 * for their library with it: "python3.N". */
static unsigned find_minor(const uint8_t *image, size_t size_bytes)
{
    static const char before[] = "python3.";

    for (size_t i = 0; i + sizeof before + 3 < size_bytes; i++) {
        const char *at = (const char *)image + i;
        if (*at != 'p' || !text_equal_n(at, before, sizeof before - 1))
            continue;
        at += sizeof before - 1;
        if (at[0] == '9' && !at[1])
            return 9;
        if (at[0] == '1' && at[1] == '0' && !at[2])
            return 10;
    }
    return 0;
}

struct python_module *python_recognise(struct code_module *module, const uint8_t *image,
                                       size_t size_bytes)
{
    struct python_module found = {.module = module};

    if (!elf_find_symbol(image, size_bytes, "_PyEval_EvalFrameDefault", &found.evaluator) ||
        !elf_find_symbol(image, size_bytes, "_PyRuntime", &found.runtime) ||
        !elf_find_symbol(image, size_bytes, "PyCode_Type", &found.code_type))
        return NULL;
    if (!elf_find_symbol(image, size_bytes, "Py_Version", &found.version))
        found.minor = find_minor(image, size_bytes);
    struct python_module *kept = platform_allocate(sizeof *kept);
    *kept = found;
    return kept;
}
