/*
 * requests.c: what a guest asks of the profiler it runs under (include/trueflame/trueflame.h).
 */
#include "engines/riscv/profiling.h"
#include "trueflame/trueflame.h"

#define MAX_TEXT_BYTES 4096

/* A text of the guest's, cut where it is too long or leaves the guest's memory. */
static void read_text(const struct riscv_machine *machine, uint64_t address,
                      char text[MAX_TEXT_BYTES])
{
    size_t length = 0;

    while (length + 1 < MAX_TEXT_BYTES &&
           memory_read(&machine->memory, address + length, text + length, 1) && text[length])
        length++;
    text[length] = '\0';
}

void profiling_request(struct riscv_machine *machine)
{
    struct profiler *profiler = machine->profiler;
    struct core *core = &profiler->core;
    uint64_t words[2];
    char text[MAX_TEXT_BYTES];

    if (!memory_read(&machine->memory, machine->x[REGISTER_A4], words, sizeof words))
        return;
    switch (words[0]) {
    case TRUEFLAME_REQUEST_START:
        core_start(core);
        break;
    case TRUEFLAME_REQUEST_STOP:
        core_stop(core);
        break;
    case TRUEFLAME_REQUEST_TOGGLE:
        if (core->recording)
            core_stop(core);
        else
            core_start(core);
        break;
    case TRUEFLAME_REQUEST_ZERO:
        core_zero(core);
        break;
    case TRUEFLAME_REQUEST_DUMP:
        core_dump(core, "");
        break;
    case TRUEFLAME_REQUEST_DUMP_NAMED:
        read_text(machine, words[1], text);
        core_dump(core, text);
        break;
    case TRUEFLAME_REQUEST_SKIP_OBJECT:
        read_text(machine, words[1], text);
        core_skip_object(core, text);
        break;
    case TRUEFLAME_REQUEST_LABEL:
        read_text(machine, words[1], text);
        core_label(core, text);
        break;
    default:
        return;
    }
    core_resume(core, profiler->thread);
}
