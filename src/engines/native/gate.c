/* gate.c: see gate.h; what the handler asks about the code in gate_entry.S. */
#include "engines/native/gate.h"
#include "engines/native/maps.h"
#include "engines/native/sys.h"
#include "engines/native/thread.h"
#include <asm/sigcontext.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/uio.h>

extern const char gate_call_start[], gate_call_end[], gate_call_not_begun[];
extern const char gate_copy_start[], gate_copy_end[], gate_copy_failed[];
extern const char gate_unblock_start[], gate_unblock_end[];

bool gate_copy_here(void *to, const void *from, size_t size_bytes);

/* What may only be run can be read all the same, but the kernel does not do it for others. */
static bool may_only_run(const void *from)
{
    struct mapping mapping;
    return maps_find((uint64_t)from, &mapping) && mapping.protection == PROT_EXEC;
}

/* A fault while the program blocks its signal ends the process, and nobody is asked. Of this thread's
 * memory: the first thread, whose number the process has, may have ended, and has none then. */
static bool copy_by_kernel(void *to, const void *from, size_t size_bytes)
{
    struct iovec source = {(void *)from, size_bytes}, destination = {to, size_bytes};
    long tid = thread_self()->tid;
    long result = sys(process_vm_readv, tid, &destination, 1, &source, 1, 0);
    if (result == -EPERM || result == -ENOSYS || (result == -EFAULT && may_only_run(from)))
        return gate_copy_here(to, from, size_bytes);
    return result == (long)size_bytes;
}

bool gate_copy(void *to, const void *from, size_t size_bytes)
{
    return (thread_self()->blocks_faults ? copy_by_kernel : gate_copy_here)(to, from, size_bytes);
}

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
