/*
 * profile.c: a profile's life: begun before the first instruction, paused and resumed, written.
 */
#include "engines/riscv/profiling.h"

#include "common/memory.h"
#include "core/raw.h"
#include "engines/riscv/image.h"
#include "engines/riscv/linux.h"
#include "engines/riscv/names.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void riscv_profile_begin(struct riscv_machine *machine, const struct riscv_profile_options *options)
{
    const struct riscv_image *image = machine->image;
    struct profiler *profiler = memory_allocate_zeroed(1, sizeof *profiler);

    profiler->line_detail = options->line_detail;
    core_init(&profiler->core, &(struct core_options){
                                   .line_detail = options->line_detail,
                                   .keep_tail_calls = options->keep_tail_calls,
                                   .start_off = options->paused,
                                   .max_contexts = options->max_contexts,
                               });
    char *path = realpath(image->path, NULL);
    profiler->module =
        code_map_add_image(&profiler->core.code, path ? path : image->path, image->bytes,
                           image->size_bytes, image->code_start, image->code_end, image->bias);
    free(path);
    machine_set_running(machine);
    profiler->thread = core_thread_new(&profiler->core, machine->x[REGISTER_SP]);
    machine_set_running(NULL);
    profiler->hot = profiler->thread->own;
    profiler->thread->hot = &profiler->hot;
    if (machine->environment == &linux_environment) {
        profiler->trampoline = linux_state_of(machine)->trampoline;
        linux_thread_of(machine)->profile = profiler->thread;
    }
    machine->profiler = profiler;
    machine_choose_dispatch(machine, options->line_detail ? dispatch_lines : dispatch_functions);
}

/* Everything of the core lives as long as the process, except what only this machine reaches. */
void profiling_end(struct riscv_machine *machine)
{
    free(machine->profiler);
    machine->profiler = NULL;
}

void profiling_bring_up_to_date(struct riscv_machine *machine)
{
    if (!machine->profiler->line_detail)
        profiling_settle(machine, machine->profiler);
}

void riscv_profile_pause(struct riscv_machine *machine)
{
    profiling_bring_up_to_date(machine);
    core_stop(&machine->profiler->core);
    core_resume(&machine->profiler->core, machine->profiler->thread);
}

void riscv_profile_resume(struct riscv_machine *machine)
{
    profiling_bring_up_to_date(machine);
    core_start(&machine->profiler->core);
    core_resume(&machine->profiler->core, machine->profiler->thread);
}

bool riscv_is_profiled(const struct riscv_machine *machine)
{
    return machine->profiler;
}

uint32_t riscv_profile_contexts(const struct riscv_machine *machine)
{
    return machine->profiler->core.tree.count;
}

/* ---- writing ---- */

struct file_sink {
    struct raw_sink sink;
    FILE *file;
};

static void write_to_file(struct raw_sink *sink, const void *bytes, uint64_t size_bytes)
{
    /* A failure stays with the file; ferror sees it. */
    fwrite(bytes, 1, size_bytes, ((struct file_sink *)sink)->file);
}

static char *join_command(const struct riscv_options *options)
{
    char *command = memory_duplicate_string(
        options->arguments && options->arguments[0] ? options->arguments[0] : options->path);

    for (size_t i = 1; options->arguments && options->arguments[0] && options->arguments[i]; i++) {
        char *longer = memory_format("%s %s", command, options->arguments[i]);
        free(command);
        command = longer;
    }
    return command;
}

static uint64_t exit_status(const struct riscv_machine *machine)
{
    return (uint64_t)(machine->state.ending == RISCV_SIGNALLED ? 128 : 0) +
           (uint64_t)machine->state.exit_status;
}

int riscv_profile_write(struct riscv_machine *machine, const char *path,
                        enum riscv_profile_state state, struct error *error)
{
    static const uint64_t endings[] = {[RISCV_PROFILE_ENDED] = RAW_EXIT,
                                       [RISCV_PROFILE_BUDGET] = RAW_BUDGET,
                                       [RISCV_PROFILE_CHECKPOINT] = RAW_CHECKPOINT};
    char *temporary = memory_format("%s.new", path), *command = join_command(&machine->options);
    const struct riscv_lineage *lineage = &machine->lineage;
    struct file_sink sink = {.sink.write = write_to_file, .file = fopen(temporary, "wb")};
    struct raw_process process = {
        .pid = (uint64_t)getpid(),
        .image = lineage->image,
        .parent_pid = lineage->fork_ordinal ? lineage->parent_pid : (uint64_t)getppid(),
        .parent_image = lineage->parent_image,
        .fork_ordinal = lineage->fork_ordinal,
        .started_by = lineage->image          ? RAW_EXEC
                      : lineage->fork_ordinal ? RAW_FORK
                                              : RAW_FIRST,
        .ending = endings[state],
        .exit_status = exit_status(machine),
        .engine = "riscv",
        .command = command,
    };
    int result = OK;

    profiling_bring_up_to_date(machine);
    if (sink.file)
        raw_write(&machine->profiler->core, &process, &sink.sink);
    bool failed = !sink.file || ferror(sink.file);
    if (sink.file && fclose(sink.file))
        failed = true;
    if (failed || rename(temporary, path)) {
        result = error_set_errno(error, "cannot write %s", path);
        unlink(temporary);
    }
    free(temporary);
    free(command);
    return result;
}

/* ---- the stack, for messages ---- */

void riscv_walk_stack(struct riscv_machine *machine, unsigned most,
                      void (*frame)(void *context, uint64_t address, const char *name),
                      void *context)
{
    /* A call that does not come back may be its function's last instruction. Unless another thread
     * ended the run while this one waited. */
    bool calls = machine->call_is_last && machine->pc - machine->call_address <= 4;
    uint64_t address = calls ? machine->call_address : machine->pc;

    if (most)
        frame(context, address, names_find(machine->image, address));
    if (!machine->profiler)
        return;
    const struct stack_entry *base = machine->profiler->thread->stack->base;
    const struct stack_entry *entry = machine->profiler->hot.top - 1;
    for (unsigned i = 1; i < most && entry > base; i++, entry--)
        if (entry->return_address != STACK_SIGNAL_MARK)
            frame(context, entry->return_address,
                  names_find(machine->image, entry->return_address - 1));
}
