#include "places.h"

#include "pub_tool_libcbase.h"
#include "pub_tool_machine.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"

#include "libvex_guest_amd64.h"

#include <stddef.h>

#define PROGRAM_COUNTER offsetof(VexGuestAMD64State, guest_RIP)

/* ---- leaving the stores out ---- */

static const struct block_info *translating;

static Bool is_division(IROp operation)
{
    return operation == Iop_DivModU64to32 || operation == Iop_DivModS64to32 ||
           operation == Iop_DivModU128to64 || operation == Iop_DivModS128to64;
}

Bool places_divides(const IRStmt *statement)
{
    return statement->tag == Ist_WrTmp && statement->Ist.WrTmp.data->tag == Iex_Binop &&
           is_division(statement->Ist.WrTmp.data->Iex.Binop.op);
}

/* May something else than the block's own code fault for it, or ask where it is? */
static Bool works_elsewhere(const IRStmt *statement)
{
    if (statement->tag != Ist_Dirty)
        return False;
    const IRDirty *dirty = statement->Ist.Dirty.details;
    return dirty->mFx != Ifx_None || dirty->nFxState != 0;
}

void places_begin(struct block_info *info, const IRSB *block, Bool anonymous)
{
    Bool says = anonymous; /* it may be other code by the time that it is looked at again */

    for (Int i = 0; i < block->stmts_used && !says; i++)
        says = places_divides(block->stmts[i]) || works_elsewhere(block->stmts[i]);
    info->says_place = says;
    translating = info;
}

/* A statement that makes no code, for a store that was left out: no mark of VEX's has no length. */
static Bool is_left_out(const IRStmt *statement)
{
    return statement->tag == Ist_IMark && !statement->Ist.IMark.len;
}

/* VEX has ordered what the block does, with the stores in it, and goes on to make code. */
static IRSB *leave_out(IRSB *block)
{
    for (Int i = 0; !translating->says_place && i < block->stmts_used; i++) {
        IRStmt *statement = block->stmts[i];
        if (statement->tag == Ist_Put && statement->Ist.Put.offset == PROGRAM_COUNTER &&
            statement->Ist.Put.data->tag == Iex_Const)
            block->stmts[i] = IRStmt_IMark(statement->Ist.Put.data->Iex.Const.con->Ico.U64, 0, 0);
    }
    return block;
}

/* ---- finding out ---- */

#define MOST_INSTRUCTIONS 20000

/* Of the block that is being searched, from VEX's back end, which tells it in this order: each
 * statement, and after it the instructions that it makes; all instructions once more; then, when
 * registers have been given to them, each with its bytes. */
static struct {
    Bool on;
    Addr place; /* what the program counter would be */
    UInt count; /* instructions made */
    Bool all_made;
    UInt next;    /* which of those is likely to come next */
    Addr code;    /* where what has its bytes next is in memory */
    Addr stopped; /* the processor's program counter */
    Addr found;   /* the program's; 0: not yet */
    struct {
        const void *instruction;
        Addr place;
    } made[MOST_INSTRUCTIONS];
} search;

Bool places_searching(void)
{
    return search.on;
}

void __real_ppIRStmt(const IRStmt *statement);
void __wrap_ppIRStmt(const IRStmt *statement);

void __wrap_ppIRStmt(const IRStmt *statement)
{
    if (!search.on)
        __real_ppIRStmt(statement);
    else if (is_left_out(statement))
        search.place = statement->Ist.IMark.addr;
}

void __real_ppAMD64Instr(const void *instruction, Bool mode64);
void __wrap_ppAMD64Instr(const void *instruction, Bool mode64);

void __wrap_ppAMD64Instr(const void *instruction, Bool mode64)
{
    if (!search.on) {
        __real_ppAMD64Instr(instruction, mode64);
        return;
    }
    search.all_made |= search.count && search.made[0].instruction == instruction;
    if (search.all_made || search.count == MOST_INSTRUCTIONS)
        return;
    search.made[search.count].instruction = instruction;
    search.made[search.count++].place = search.place;
}

/* One that saves or restores a register is none of those made; it cannot fault either. */
static void note_bytes(const void *instruction, const UChar *bytes, Int count)
{
    UInt i = search.next;

    while (i < search.count && search.made[i].instruction != instruction)
        i++;
    if (i < search.count) {
        search.next = i + 1;
        if (search.stopped - search.code < (Addr)count &&
            !VG_(memcmp)(bytes, (const void *)search.code, count))
            search.found = search.made[i].place;
    }
    search.code += count;
}

Int __real_emit_AMD64Instr(Bool *counts, UChar *bytes, Int room, const void *instruction,
                           Bool mode64, VexEndness order, const void *a, const void *b,
                           const void *c, const void *d);
Int __wrap_emit_AMD64Instr(Bool *counts, UChar *bytes, Int room, const void *instruction,
                           Bool mode64, VexEndness order, const void *a, const void *b,
                           const void *c, const void *d);

Int __wrap_emit_AMD64Instr(Bool *counts, UChar *bytes, Int room, const void *instruction,
                           Bool mode64, VexEndness order, const void *a, const void *b,
                           const void *c, const void *d)
{
    if (!search.on)
        return __real_emit_AMD64Instr(counts, bytes, room, instruction, mode64, order, a, b, c, d);
    Int count = __real_emit_AMD64Instr(counts, bytes, room, instruction, mode64, order, a, b, c, d);
    note_bytes(instruction, bytes, count);
    return count;
}

/* Of Valgrind's core, though not in its public headers. */
extern Bool VG_(search_transtab)(Addr *code, UShort *section, UShort *entry, Addr address,
                                 Bool remember);
extern Bool VG_(translate)(ThreadId tid, Addr address, Bool only_to_show, Int what_to_show,
                           ULong blocks, Bool may_redirect);
extern void VG_(set_IP)(ThreadId tid, Addr address);
extern Bool VG_(in_generated_code);
extern struct {
    Int fd;
} VG_(log_output_sink);
#define SHOW_INSTRUCTIONS (1 << 2)

/* The program counter is that of the block; makes it that of the instruction. */
static void find_place(ThreadId tid, Addr stopped)
{
    Addr block = VG_(get_IP)(tid), code;
    Int log = VG_(log_output_sink).fd;

    if (!VG_(search_transtab)(&code, NULL, NULL, block, False) || stopped < code ||
        block_info_at(block)->says_place)
        return;
    search.place = block;
    search.count = search.next = search.all_made = 0;
    search.code = code;
    search.stopped = stopped;
    search.found = 0;
    search.on = True;
    VG_(log_output_sink).fd = -1; /* VEX describes all this in words, too */
    VG_(translate)(tid, block, True, SHOW_INSTRUCTIONS, 0, True);
    VG_(log_output_sink).fd = log;
    search.on = False;
    if (search.found)
        VG_(set_IP)(tid, search.found);
}

/* ---- faults ---- */

typedef void handler_function(Int number, vki_siginfo_t *info, struct vki_ucontext *context);

static handler_function *valgrind_handler[VKI_SIGSEGV + 1];
static Addr stopped_at; /* the processor's program counter, while a fault is being handled; or 0 */

/* Before Valgrind's own handler, which knows whether it is for the program or for a stack that is
 * to grow. */
static void on_fault(Int number, vki_siginfo_t *info, struct vki_ucontext *context)
{
    stopped_at = context->uc_mcontext.rip;
    valgrind_handler[number](number, info, context);
    stopped_at = 0;
}

Bool __real_vgPlain_gdbserver_report_signal(vki_siginfo_t *info, ThreadId tid);
Bool __wrap_vgPlain_gdbserver_report_signal(vki_siginfo_t *info, ThreadId tid);

/* What Valgrind's handler asks first when it is for the program, whether that handles it or dies. */
Bool __wrap_vgPlain_gdbserver_report_signal(vki_siginfo_t *info, ThreadId tid)
{
    if (VG_(in_generated_code)) {
        if (stopped_at)
            find_place(tid, stopped_at);
        events_fault(tid);
    }
    stopped_at = 0;
    return __real_vgPlain_gdbserver_report_signal(info, tid);
}

Int __real_vgPlain_sigaction(Int number, const vki_sigaction_toK_t *action,
                             vki_sigaction_fromK_t *old);
Int __wrap_vgPlain_sigaction(Int number, const vki_sigaction_toK_t *action,
                             vki_sigaction_fromK_t *old);

Int __wrap_vgPlain_sigaction(Int number, const vki_sigaction_toK_t *action,
                             vki_sigaction_fromK_t *old)
{
    vki_sigaction_toK_t ours;

    if (number != VKI_SIGSEGV && number != VKI_SIGBUS)
        return __real_vgPlain_sigaction(number, action, old);
    handler_function *before = valgrind_handler[number];
    if (action && action->ksa_handler != VKI_SIG_DFL && action->ksa_handler != VKI_SIG_IGN &&
        (Addr)action->ksa_handler != (Addr)on_fault) {
        ours = *action;
        valgrind_handler[number] = (handler_function *)(Addr)action->ksa_handler;
        ours.ksa_handler = (void *)(Addr)on_fault;
        action = &ours;
    }
    Int result = __real_vgPlain_sigaction(number, action, old);
    if (old && (Addr)old->ksa_handler == (Addr)on_fault)
        old->ksa_handler = (void *)(Addr)before;
    return result;
}

void places_register(void)
{
    VG_(needs_final_IR_tidy_pass)(leave_out);
}
