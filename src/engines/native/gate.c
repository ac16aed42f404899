/* gate.c: what the handler asks about the code in gate_entry.S. */
#include "engines/native/gate.h"
#include <asm/sigcontext.h>

extern const char gate_call_start[], gate_call_end[], gate_call_not_begun[];
extern const char gate_copy_start[], gate_copy_end[], gate_copy_failed[];
extern const char gate_unblock_start[], gate_unblock_end[];

static bool within(uint64_t pc, const char *start, const char *end)
{
    return pc >= (uint64_t)start && pc < (uint64_t)end;
}

bool gate_is_safe_point(uint64_t pc)
{
    return pc == (uint64_t)gate_unblock_end;
}

void gate_take_back(struct sigcontext *context)
{
    if (within(context->rip, gate_call_start, gate_call_end))
        context->rip = (uint64_t)gate_call_not_begun;
}

bool gate_recover(struct sigcontext *context)
{
    if (!within(context->rip, gate_copy_start, gate_copy_end))
        return false;
    context->rip = (uint64_t)gate_copy_failed;
    return true;
}
