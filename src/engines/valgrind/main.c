/*
 * main.c: the reference engine, a Valgrind tool.
 *
 * It counts every instruction the program executes, by full call path, and writes addresses only.
 *
 *   event                               what happens                               where
 *   block translated                    inline counting and stack tracking added   instrument.c
 *   guess of the inline code wrong      the core's slow paths                      slow.c
 *   mapping, thread, signal, fork       the core is told                           events.c
 *   request by the program              start, stop, dump ...                      here
 *   end, exec, checkpoint               raw file written                           output.c
 *
 * What it gets wrong, or cannot do: Valgrind runs one thread at a time; presents a CPU of its own
 * (AVX2 at most); does not run set-uid programs or 32-bit ones here. It leaves out a load whose value
 * nobody uses, and with it the fault that it might have been. A handler of a fault finds the
 * program counter and the stack pointer exact, but other registers may be older by a few
 * instructions.
 */
#include "counters.h"
#include "engine.h"
#include "places.h"

#include "core/text.h"

#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_options.h"

struct engine_options options = {.core.calls_push = true};
struct core core;
struct thread *running;

/* ---- the command line, given by `record` ---- */

static Bool on_option(const HChar *argument)
{
    Bool line = False;
    const HChar *number;

    if (VG_STR_CLO(argument, "--run-folder", options.run_folder)) {
    } else if (VG_STR_CLO(argument, "--program", options.program)) {
    } else if (VG_STR_CLO(argument, "--budget", number)) {
        options.budget = VG_(strtoull10)(number, NULL);
    } else if (VG_STR_CLO(argument, "--checkpoint", number)) {
        options.checkpoint = VG_(strtoull10)(number, NULL);
    } else if (VG_STR_CLO(argument, "--max-contexts", number)) {
        options.core.max_contexts = VG_(strtoull10)(number, NULL);
    } else if (VG_STR_CLO(argument, "--python-retry", number)) {
        options.python_retry = VG_(strtoull10)(number, NULL);
    } else if (VG_BOOL_CLO(argument, "--python-seed", options.python_seed)) {
    } else if (VG_STR_CLO(argument, "--trampolines", options.trampolines)) {
    } else if (VG_BOOL_CLO(argument, "--line-detail", line)) {
        options.core.line_detail = options.core.python_lines = line;
    } else if (VG_BOOL_CLO(argument, "--keep-tail-calls", line)) {
        options.core.keep_tail_calls = line;
    } else if (VG_BOOL_CLO(argument, "--start-off", line)) {
        options.core.start_off = line;
    } else if (VG_BOOL_CLO(argument, "--progress", options.progress)) {
    } else if (VG_BOOL_CLO(argument, "--repeatable", options.repeatable)) {
    } else if (VG_BOOL_CLO(argument, "--python", options.python)) {
    } else {
        return False;
    }
    return True;
}

static void on_usage(void)
{
    VG_(printf)("    this tool is started by `trueflame record`\n");
}

static void on_debug_usage(void)
{
}

/* ---- requests by the program ---- */

/* The numbers are callgrind's, so that programs made for it work unchanged. */
enum request {
    REQUEST_DUMP = 0x43540000,
    REQUEST_ZERO,
    REQUEST_TOGGLE,
    REQUEST_DUMP_NAMED,
    REQUEST_START,
    REQUEST_STOP,
    REQUEST_SKIP_OBJECT,
    REQUEST_LABEL,
};

static Bool on_request(ThreadId tid, UWord *arguments, UWord *result)
{
    (void)tid;
    *result = 0;
    switch (arguments[0]) {
    case REQUEST_DUMP:
        core_dump(&core, "");
        break;
    case REQUEST_ZERO:
        core_zero(&core);
        break;
    case REQUEST_TOGGLE:
        if (core.recording)
            core_stop(&core);
        else
            core_start(&core);
        break;
    case REQUEST_DUMP_NAMED:
        core_dump(&core, (const char *)arguments[1]);
        break;
    case REQUEST_START:
        core_start(&core);
        break;
    case REQUEST_STOP:
        core_stop(&core);
        break;
    case REQUEST_SKIP_OBJECT:
        core_skip_object(&core, (const char *)arguments[1]);
        break;
    case REQUEST_LABEL:
        core_label(&core, (const char *)arguments[1]);
        break;
    default:
        return False;
    }
    return True;
}

/* ---- beginning and end ---- */

VG_REGPARM(1) void slow_budget(UWord pc)
{
    const struct block_info *info = block_stopped_at(pc);

    if (info)
        block_take_back(info, pc);
    output_write(RAW_BUDGET, 0);
    VG_(exit)(0);
}

/* Of Valgrind's core, though not in its public headers. */
extern struct {
    Int fd;
} VG_(log_output_sink);

/* Where there is no standard error, Valgrind would keep its number to itself: the first file that the
 * program opens has it, and could not be read. */
static void give_up_log(void)
{
    struct vg_stat status;

    if (VG_(fstat)(VG_(log_output_sink).fd, &status))
        VG_(log_output_sink).fd = -1;
}

static void on_ready(void)
{
    give_up_log();
    core_init(&core, &options.core);
    python_keep_calls(&core.python);
    if (core.options.line_detail)
        core.tree.made = counters_context_made;
    environment_restore();
    output_begin();
}

static void on_end(Int exit_status)
{
    output_write(RAW_EXIT, exit_status);
}

static void on_start(void)
{
    VG_(details_name)("trueflame");
    VG_(details_version)(NULL);
    VG_(details_description)("exact call paths");
    VG_(details_copyright_author)("");
    VG_(details_bug_reports_to)("the trueflame project");
    VG_(details_avg_translation_sizeB)(400);
    VG_(basic_tool_funcs)(on_ready, instrument_block, on_end);
    VG_(needs_command_line_options)(on_option, on_usage, on_debug_usage);
    VG_(needs_client_requests)(on_request);
    events_register();
    places_register();
    python_note_signals();
}

VG_DETERMINE_INTERFACE_VERSION(on_start)
