/*
 * python_module.c: is a module CPython, which version, and where are things in its structures?
 */
#include "core/core.h"
#include "core/code.h"
#include "core/elf_functions.h"
#include "core/platform.h"
#include "core/python.h"
#include "core/text.h"

#define KNOWN_FROM     9
#define DESCRIBED_FROM 13 /* the runtime describes itself; before, this file does */
#define DESCRIBED_TO   15

/* Release builds of x86-64 and other 64-bit machines alike. */
static const struct python_layout layout_3_9 = {
    .state_frame = 24,
    .frame_code = 32,
    .frame_previous = 24,
    .code_name = 112,
    .code_qualified_name = 112,
    .code_file = 104,
    .code_line = 40,
    .code_flags = 36,
    .text_length = 16,
    .text_state = 32,
    .text_kind_shift = 2,
    .text_ascii_bytes = 48,
    .text_compact_bytes = 72,
    .frame_ip = 104,
    .ip_bytes = 4,
    .ip_unit = 1,
    .line_format = PYTHON_LINES_3_9,
    .code_line_table = 120,
};

static void change_to_3_10(struct python_layout *layout)
{
    layout->frame_ip = 96;
    layout->ip_unit = 2;
    layout->line_format = PYTHON_LINES_3_10;
}

/* Frames are no objects any more, and the current one is in a C frame. */
static void change_to_3_11(struct python_layout *layout)
{
    layout->state_frame = 56;
    layout->has_c_frame = true;
    layout->c_frame_frame = 8;
    layout->frame_previous = 48;
    layout->frame_owner = 69;
    layout->frame_is_entry = 68;
    layout->shim_owner = 255;
    layout->frame_ip = 56;
    layout->ip_bytes = 8;
    layout->ip_unit = 1;
    layout->line_format = PYTHON_LINES_3_11;
    layout->code_name = 120;
    layout->code_qualified_name = 128;
    layout->code_file = 112;
    layout->code_line = 72;
    layout->code_flags = 48;
    layout->code_line_table = 136;
    layout->code_bytes = 184;
}

/* A frame of its own, a shim, tells where the evaluator was called. */
static void change_to_3_12(struct python_layout *layout)
{
    layout->c_frame_frame = 0;
    layout->frame_code = 0;
    layout->frame_previous = 8;
    layout->frame_owner = 70;
    layout->frame_is_entry = 0;
    layout->shim_owner = 3;
    layout->code_line = 68;
    layout->code_bytes = 192;
    layout->text_ascii_bytes = 40;
    layout->text_compact_bytes = 56;
}

static void (*const changes[])(struct python_layout *) = {
    [10] = change_to_3_10, [11] = change_to_3_11, [12] = change_to_3_12};

/* As of `minor`, or of the last version that does not describe itself. */
static struct python_layout known_layout(unsigned minor)
{
    struct python_layout layout = layout_3_9;

    for (unsigned i = KNOWN_FROM + 1; i <= minor && i < DESCRIBED_FROM; i++)
        changes[i](&layout);
    return layout;
}

/* Where _Py_DebugOffsets has what, in words, in 3.13. It grows in the middle: how many words a later
 * version has added before the thread state's frame and before a part is in `shifts`. */
enum {
    WORD_COOKIE,
    WORD_VERSION,
    WORD_FREE_THREADED,
    WORD_STATE_FRAME = 23,
    WORD_FRAME_PREVIOUS = 29,
    WORD_FRAME_CODE,
    WORD_FRAME_IP,
    WORD_FRAME_OWNER = 33,
    WORD_CODE_FILE = 35,
    WORD_CODE_NAME,
    WORD_CODE_QUALIFIED_NAME,
    WORD_CODE_LINE_TABLE,
    WORD_CODE_LINE,
    WORD_CODE_BYTES = 43,
    WORD_TEXT_STATE = 68,
    WORD_TEXT_LENGTH,
    WORD_TEXT_ASCII_BYTES,
    DESCRIPTION_WORDS = 93, /* in the last version */
};

static const struct {
    uint8_t state, frame, code, text;
} shifts[] = {[13] = {0, 0, 0, 0}, [14] = {3, 3, 5, 10}, [15] = {3, 11, 13, 22}};

static bool read_self_description(struct python_module *module)
{
    uint64_t words[DESCRIPTION_WORDS];
    static const char cookie[] = "xdebugpy";
    struct python_layout *layout = &module->layout;

    if (!platform_read(module->module->bias + module->runtime, words, sizeof words) ||
        !text_equal_n((const char *)words, cookie, 8) || words[WORD_FREE_THREADED] ||
        (words[WORD_VERSION] >> 16 & 255) != module->minor)
        return false;
    const uint64_t *state = words + shifts[module->minor].state;
    const uint64_t *frame = words + shifts[module->minor].frame;
    const uint64_t *code = words + shifts[module->minor].code;
    const uint64_t *text = words + shifts[module->minor].text;
    *layout = known_layout(module->minor);
    layout->has_c_frame = false;
    layout->state_frame = state[WORD_STATE_FRAME];
    layout->frame_previous = frame[WORD_FRAME_PREVIOUS];
    layout->frame_code = frame[WORD_FRAME_CODE];
    layout->frame_ip = frame[WORD_FRAME_IP];
    layout->frame_owner = frame[WORD_FRAME_OWNER];
    layout->code_file = code[WORD_CODE_FILE];
    layout->code_name = code[WORD_CODE_NAME];
    layout->code_qualified_name = code[WORD_CODE_QUALIFIED_NAME];
    layout->code_line_table = code[WORD_CODE_LINE_TABLE];
    layout->code_line = code[WORD_CODE_LINE];
    layout->code_bytes = code[WORD_CODE_BYTES];
    layout->text_state = text[WORD_TEXT_STATE];
    layout->text_length = text[WORD_TEXT_LENGTH];
    layout->text_ascii_bytes = text[WORD_TEXT_ASCII_BYTES];
    layout->text_compact_bytes = layout->text_ascii_bytes + 16;
    return true;
}

/* What is read of a frame and of a code object in one piece has these sizes. */
static bool layout_is_plausible(const struct python_layout *layout)
{
    return layout->frame_previous <= PYTHON_FRAME_BYTES - 8 &&
           layout->frame_code <= PYTHON_FRAME_BYTES - 8 &&
           layout->frame_owner < PYTHON_FRAME_BYTES && layout->code_file <= PYTHON_CODE_BYTES - 8 &&
           layout->code_name <= PYTHON_CODE_BYTES - 8 &&
           layout->code_qualified_name <= PYTHON_CODE_BYTES - 8 &&
           layout->code_line_table <= PYTHON_CODE_BYTES - 8 &&
           layout->code_line <= PYTHON_CODE_BYTES - 4 &&
           layout->text_state <= PYTHON_TEXT_BYTES - 4 &&
           layout->text_length <= PYTHON_TEXT_BYTES - 8;
}

/* ---- the tail-calling interpreter ---- */

#define MOST_HANDLERS   4096
#define HANDLER_PADDING 64   /* what may lie between two functions to align them */
#define OPCODES         256  /* entries of the table of instructions */
#define SMALL_EVALUATOR 8192 /* bytes: one that has the instructions in it is many times larger */
#define CHUNK_WORDS     512
#define TAIL_CALLS_FROM 14

static bool is_among(uint64_t start, const uint64_t *starts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (starts[i] == start)
            return true;
    return false;
}

/* The functions that begin at `starts` become one: together they are what the evaluator is
 * elsewhere. Neighbours become one range, so that most of their jumps stay inside. */
static void join_handlers(struct python_module *python, const uint64_t *starts, size_t count)
{
    struct code_module *module = python->module;
    size_t kept = 0;

    for (size_t i = 0; i < module->range_count && count; i++) {
        struct code_range range = module->ranges[i];
        struct code_range *last = kept ? &module->ranges[kept - 1] : NULL;
        if (range.function && is_among(range.start, starts, count)) {
            if (!python->handlers)
                python->handlers = range.function;
            range.function = python->handlers;
        }
        if (last && range.function && last->function == range.function &&
            range.function == python->handlers && range.start - last->end < HANDLER_PADDING)
            last->end = range.end;
        else
            module->ranges[kept++] = range;
    }
    if (count)
        module->range_count = kept;
}

static void join_named_handlers(struct python_module *python, const uint8_t *image,
                                size_t size_bytes)
{
    uint64_t *starts = platform_allocate(MOST_HANDLERS * sizeof *starts);
    size_t count = elf_find_prefixed(image, size_bytes, "_TAIL_CALL_", starts, MOST_HANDLERS);

    join_handlers(python, starts, count);
    platform_release(starts, MOST_HANDLERS * sizeof *starts);
}

static const struct code_range *range_at(const struct code_module *module, uint64_t start)
{
    size_t low = 0, high = module->range_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (module->ranges[middle].start < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low < module->range_count && module->ranges[low].start == start ? &module->ranges[low]
                                                                           : NULL;
}

/* Looks for OPCODES addresses of functions in a row. False if there are none in the stretch. */
static bool find_table(const struct python_module *python, const struct elf_stretch *stretch,
                       uint64_t *starts)
{
    uint64_t bias = python->module->bias, words[CHUNK_WORDS];
    size_t found = 0;

    for (uint64_t at = (stretch->start + 7) & ~(uint64_t)7; at + sizeof words <= stretch->end;
         at += sizeof words) {
        if (!platform_read(bias + at, words, sizeof words))
            return false;
        for (size_t i = 0; i < CHUNK_WORDS; i++) {
            const struct code_range *range = range_at(python->module, words[i] - bias);
            if (!range || !range->function)
                found = 0;
            else
                starts[found++] = range->start;
            if (found == OPCODES)
                return true;
        }
    }
    return false;
}

/* Without symbols they are known by the table that they jump through. */
static void find_nameless_handlers(struct python_module *python)
{
    const struct code_range *evaluator = range_at(python->module, python->evaluator);
    uint64_t starts[OPCODES];

    if (python->handlers || !evaluator || evaluator->end - evaluator->start > SMALL_EVALUATOR)
        return;
    for (size_t i = 0; i < python->data_count && !python->handlers; i++)
        if (find_table(python, &python->data[i], starts)) {
            join_handlers(python, starts, OPCODES);
            python->handlers->name = "_TAIL_CALL_";
        }
}

void python_jumps_to(struct python_module *python, struct code_function *from,
                     const struct code_function *function, uint64_t address)
{
    struct code_module *module = python->module;

    if (function != from && function->module == module &&
        (python->handlers || address != module->bias + function->start) &&
        function->flags & CODE_FUNCTION_GUESSED)
        code_map_is_part(module, address, from);
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
    if (module->minor >= DESCRIBED_FROM && module->minor <= DESCRIBED_TO) {
        if (!read_self_description(module) || !layout_is_plausible(&module->layout))
            return false;
    } else if (module->minor >= KNOWN_FROM && module->minor < DESCRIBED_FROM) {
        module->layout = known_layout(module->minor);
    } else {
        return false;
    }
    if (module->minor >= TAIL_CALLS_FROM)
        find_nameless_handlers(module);
    module->readiness = PYTHON_READY;
    return true;
}

#define TYPE_DEALLOC 48 /* in a type: what frees its objects */

/* Until the module is relocated there is nothing in the type. */
uint64_t python_freer(struct python_module *module)
{
    uint64_t freer, type = module->module->bias + module->code_type;

    if (!module->freer && platform_read(type + TYPE_DEALLOC, &freer, sizeof freer) &&
        freer >= module->module->start && freer < module->module->end)
        module->freer = freer;
    return module->freer;
}

/* Versions before 3.11 have no symbol that says which they are, but all end a path where they look
 * for their library with it: "python3.N". */
static unsigned find_minor(const uint8_t *image, size_t size_bytes)
{
    static const char before[] = "python3.";

    for (size_t i = 0; i + sizeof before + 3 < size_bytes; i++) {
        const char *at = (const char *)image + i;
        unsigned minor = 0;
        if (*at != 'p' || !text_equal_n(at, before, sizeof before - 1))
            continue;
        for (at += sizeof before - 1; *at >= '0' && *at <= '9' && minor < 10; at++)
            minor = 10 * minor + (*at - '0');
        if (minor && !*at)
            return minor;
    }
    return 0;
}

/* Those without the runtime are older than any that is known, and are told apart from what is not
 * Python at all. */
struct python_module *python_recognise(struct code_module *module, const uint8_t *image,
                                       size_t size_bytes)
{
    struct python_module found = {.module = module};

    if ((!elf_find_symbol(image, size_bytes, "_PyEval_EvalFrameDefault", &found.evaluator) &&
         !elf_find_symbol(image, size_bytes, "PyEval_EvalFrameEx", &found.evaluator)) ||
        !elf_find_symbol(image, size_bytes, "PyCode_Type", &found.code_type))
        return NULL;
    if (!elf_find_symbol(image, size_bytes, "_PyRuntime", &found.runtime))
        found.readiness = PYTHON_UNKNOWN;
    if (!elf_find_symbol(image, size_bytes, "Py_Version", &found.version))
        found.minor = find_minor(image, size_bytes);
    struct python_module *kept = platform_allocate(sizeof *kept);
    *kept = found;
    join_named_handlers(kept, image, size_bytes);
    kept->data_count = elf_data_stretches(image, size_bytes, kept->data, PYTHON_DATA_STRETCHES);
    return kept;
}

/* ---- those that cannot be watched ---- */

static size_t add_text(char *out, size_t at, const char *text)
{
    for (; *text && at + 1 < PYTHON_SENTENCE_BYTES; text++)
        out[at++] = *text;
    out[at] = '\0';
    return at;
}

void python_note_why(struct core *core, const char *sentence, enum python_way way)
{
    char with_colon[PYTHON_SENTENCE_BYTES + 1];

    add_text(with_colon, add_text(with_colon, 0, sentence), ":");
    core_note(core, with_colon, python_way_texts[way]);
}

void python_say_why(const struct python_module *module, char *sentence)
{
    char number[21];
    size_t at = add_text(sentence, 0, module->module->path);

    at = add_text(sentence, at, " is CPython");
    if (module->minor) {
        text_from_number(number, module->minor);
        at = add_text(sentence, at, " 3.");
        at = add_text(sentence, at, number);
    }
    add_text(sentence, at,
             module->readiness == PYTHON_MISREAD ? ", but its frames are not as they should be"
                                                 : ", which is not known here");
}
