/* python_fast.c: see python_fast.h. */
#include "engines/native/python_fast.h"
#include "core/platform.h"
#include "core/python.h"
#include "engines/native/assemble.h"
#include "engines/native/fast.h"
#include "engines/native/record.h"
#include "engines/native/text.h"

#define ENTRY_BYTES     ((int)sizeof(struct python_entry))
#define OWN(member)     ((int)offsetof(struct python_entry, member))
#define NEWEST(member)  (OWN(member) - ENTRY_BYTES)
#define BEFORE(member)  (OWN(member) - 2 * ENTRY_BYTES)
#define BEFORE2(member) (OWN(member) - 3 * ENTRY_BYTES)
#define STACK(member)   ((uint32_t)offsetof(struct stack, member))
#define SLOT(member)    ((int8_t)offsetof(struct child_slot, member))

#define PYTHON_SITE        (TRANSITION - 1) /* of (context, function) among the children */
#define CODE_MASK          ((PYTHON_CODE_SLOTS - 1) * (uint32_t)sizeof(struct python_code_slot))
#define TYPE_DEALLOC       48 /* PyTypeObject.tp_dealloc */
#define GENERATOR_FLAGS    0x2a0u /* CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR */
#define OWNED_BY_GENERATOR 1

/* What a thread that has run no Python knows. */
static struct python_code_slot no_codes[PYTHON_CODE_SLOTS];

/* Out of the cache, by thread.exit_id; in again, to thread.code. */
static uint64_t slow, enter;

/* For a module and a generation of the cache; the last few. A fault in [start, end) goes on at
 * `slow`. */
static struct shared {
    const struct python_module *module;
    uint32_t generation;
    uint64_t start, end;
    uint64_t events[PYTHON_EVENTS];
} shared[4];
static unsigned shared_next;

static struct python_code_slot *python_code_slot(const struct native_thread *thread, uint64_t code)
{
    return (struct python_code_slot *)((uint8_t *)thread->python_codes + (code & CODE_MASK));
}

/* ---- pieces ---- */

static void move(struct emitter *e, unsigned from, int from_offset, unsigned to, int to_offset)
{
    op_far(e, OP_LOAD, RAX, from, from_offset);
    op_far(e, OP_STORE, RAX, to, to_offset);
}

static void set_constant(struct emitter *e, unsigned base, int32_t offset, uint32_t value)
{
    emit_bytes(e, "\x48\xc7", 2); /* mov qword [base + offset], value */
    emit_byte(e, 0x80 | base);
    emit_u32(e, offset);
    emit_u32(e, value);
}

static void add_constant(struct emitter *e, unsigned base, int32_t offset, int8_t value)
{
    emit_bytes(e, "\x48\x83", 2); /* add qword [base + offset], value */
    emit_byte(e, 0x80 | base);
    emit_u32(e, offset);
    emit_byte(e, value);
}

static void compare_byte(struct emitter *e, unsigned base, int32_t offset, uint8_t value)
{
    emit_byte(e, 0x80); /* cmp byte [base + offset], value */
    emit_byte(e, 0xb8 | base);
    emit_u32(e, offset);
    emit_byte(e, value);
}

/* A short conditional jump, to be ended with end_short_jump. */
static uint8_t *jump_ahead(struct emitter *e, enum conditions condition)
{
    emit_byte(e, 0x70 | condition);
    emit_byte(e, 0);
    return e->out;
}

/* rcx = the stack; rdx = one past the newest of its Python entries, of which there are at least
 * `least`, with room for one more; rax = the depth of the shadow stack. */
static void emit_entries(struct emitter *e, unsigned least)
{
    _Static_assert(sizeof(struct stack_entry) == 32, "shifted by 5");
    _Static_assert(sizeof(struct python_entry) < 128, "a byte's worth");
    emit_load(e, RCX, FIELD(thread));
    op_far(e, OP_LOAD, RCX, RCX, offsetof(struct thread, stack));
    op_far(e, OP_LOAD, RDX, RCX, STACK(python.count));
    op_constant8(e, 7, RDX, least);
    jump_if(e, IF_BELOW, slow);
    op_far(e, OP_COMPARE, RDX, RCX, STACK(python.capacity));
    jump_if(e, IF_EQUAL, slow);
    emit_bytes(e, "\x48\x6b\xd2", 3); /* imul rdx, rdx, ENTRY_BYTES */
    emit_byte(e, ENTRY_BYTES);
    op_far(e, OP_ADD, RDX, RCX, STACK(python.items));
    vectors_emit_load_top(e, RAX);
    op_far(e, OP_SUB, RAX, RCX, STACK(base));
    emit_bytes(e, "\x48\xc1\xf8\x05", 4); /* sar rax, 5 */
}

static void emit_done(struct emitter *e)
{
    jump_through_thread(e, FIELD(code));
}

/* ---- events ---- */

static void emit_word(struct emitter *e, const struct python_module *module)
{
    if (!module->layout.has_c_frame) {
        emit_bytes(e, "\x48\x8d\x87", 3); /* lea rax, [rdi + state_frame] */
        emit_u32(e, module->layout.state_frame);
        return;
    }
    emit_constant(e, RAX, (uint64_t)&module->word_depth);
    op_memory(e, OP_LOAD, RAX, RAX, 0);
    op_register(e, OP_TEST, RAX, RAX);
    jump_if(e, IF_EQUAL, slow);
    emit_bytes(e, "\x48\xf7\xd8", 3); /* neg rax */
    op_far(e, OP_STORE, RAX, RDX, OWN(word));
    vectors_emit_load_top(e, RAX);
    op_memory(e, OP_LOAD, RAX, RAX,
              (int)offsetof(struct stack_entry, stack_pointer) - (int)sizeof(struct stack_entry));
    op_far(e, OP_ADD, RAX, RDX, OWN(word));
}

static void emit_enter(struct emitter *e, const struct python_module *module)
{
    emit_constant(e, RAX, (uint64_t)&core.python.module);
    emit_constant(e, RCX, (uint64_t)module);
    op_memory(e, OP_COMPARE, RCX, RAX, 0);
    jump_if(e, IF_NOT_EQUAL, slow);
    emit_entries(e, 1);
    op_far(e, OP_COMPARE, RAX, RDX, NEWEST(depth));
    jump_if(e, IF_NOT_ABOVE, slow);
    op_far(e, OP_STORE, RAX, RDX, OWN(depth));
    emit_bytes(e, "\x48\x8b\x87", 3); /* mov rax, [rdi + state_frame] */
    emit_u32(e, module->layout.state_frame);
    if (module->layout.has_c_frame)
        op_far(e, OP_LOAD, RAX, RAX, module->layout.c_frame_frame);
    op_far(e, OP_COMPARE, RAX, RDX, NEWEST(frame));
    jump_if(e, IF_NOT_EQUAL, slow);
    op_far(e, OP_STORE, RAX, RDX, OWN(frame));
    emit_store(e, FIELD(hot.python_frame), RAX);
    emit_word(e, module);
    op_far(e, OP_STORE, RAX, RDX, OWN(word));
    emit_store(e, FIELD(hot.python_word), RAX);
    emit_bytes(e, "\x48\x89\xba", 3); /* mov [rdx + state], rdi */
    emit_u32(e, OWN(state));
    emit_store(e, FIELD(hot.python_state), REGISTER_RDI);
    emit_load(e, RAX, FIELD(hot.current));
    op_far(e, OP_STORE, RAX, RDX, OWN(context));
    set_constant(e, RDX, OWN(base), 1);
    set_constant(e, RDX, OWN(place.lines), 0);
    add_constant(e, RCX, STACK(python.count), 1);
    emit_done(e);
}

/* Back to the frame before the newest one: rax is it, rcx the stack, rdx one past the newest. */
static void emit_frame_back(struct emitter *e)
{
    add_constant(e, RCX, STACK(python.count), -1);
    emit_store(e, FIELD(hot.python_frame), RAX);
    emit_load(e, RCX, FIELD(hot.current));
    vectors_emit_settle(e, RCX, false);
    op_far(e, OP_LOAD, RAX, RDX, BEFORE(context));
    emit_store(e, FIELD(hot.current), RAX);
    emit_done(e);
}

/* rcx = the function whose code the frame in rax runs, if the thread knows it; rax = where a context
 * has its slot for it. */
static void emit_code(struct emitter *e, const struct python_layout *layout)
{
    if (layout->frame_owner) {
        compare_byte(e, RAX, layout->frame_owner, layout->shim_owner);
        jump_if(e, IF_NOT_BELOW, slow);
    }
    op_far(e, OP_LOAD, RCX, RAX, layout->frame_code);
    op_constant8(e, 4, RCX, -8); /* references may have tags */
    op_register32(e, OP_LOAD, RAX, RCX);
    op_constant32(e, 4, RAX, CODE_MASK);
    op_thread(e, OP_ADD, RAX, FIELD(python_codes));
    op_memory(e, OP_COMPARE, RCX, RAX, offsetof(struct python_code_slot, code));
    jump_if(e, IF_NOT_EQUAL, slow);
    op_memory(e, OP_LOAD, RCX, RAX, offsetof(struct python_code_slot, function));
    op_memory(e, OP_LOAD, RAX, RAX, offsetof(struct python_code_slot, beside));
}

/* rax = the child of the context in rdx for the function in rcx: in its slot at rax beside the
 * context, or in the table of children. */
static void emit_child(struct emitter *e)
{
    op_register(e, OP_ADD, RAX, RDX);
    op_memory(e, OP_COMPARE, RCX, RAX, offsetof(struct context_slot, site));
    uint8_t *elsewhere = jump_ahead(e, IF_NOT_EQUAL);
    op_memory(e, OP_LOAD, RAX, RAX, offsetof(struct context_slot, child));
    emit_bytes(e, "\xeb\x00", 2); /* jmp over the rest */
    uint8_t *found = e->out;
    end_short_jump(e, elsewhere);
    emit_child_slot(e, RDX, PYTHON_SITE);
    emit_bytes(e, "\x8d\x04\x48", 3); /* lea eax, [rax + rcx * 2] */
    emit_child_address(e);
    op_memory(e, OP_COMPARE, RCX, RAX, SLOT(target));
    jump_if(e, IF_NOT_EQUAL, slow);
    emit_constant(e, RCX, PYTHON_SITE);
    op_memory(e, OP_ADD, RCX, RDX, CONTEXT(key));
    op_memory(e, OP_COMPARE, RCX, RAX, SLOT(key));
    jump_if(e, IF_NOT_EQUAL, slow);
    op_memory(e, OP_LOAD, RAX, RAX, SLOT(child));
    end_short_jump(e, found);
}

/* One more call of the context in rax. A generator is called when it goes on, not when its function
 * makes it. Loses rcx. */
static void emit_count_call(struct emitter *e, const struct python_layout *layout)
{
    uint8_t *runs = NULL, *makes = NULL;
    if (layout->frame_owner) {
        emit_load(e, RCX, FIELD(target));
        compare_byte(e, RCX, layout->frame_owner, OWNED_BY_GENERATOR);
        runs = jump_ahead(e, IF_EQUAL);
        op_far(e, OP_LOAD, RCX, RCX, layout->frame_code);
        op_constant8(e, 4, RCX, -8);
        emit_bytes(e, "\xf7\x81", 2); /* test dword [rcx + code_flags], GENERATOR_FLAGS */
        emit_u32(e, layout->code_flags);
        emit_u32(e, GENERATOR_FLAGS);
        makes = jump_ahead(e, IF_NOT_EQUAL);
        end_short_jump(e, runs);
    }
    emit_bytes(e, "\x48\x83\x40", 3); /* add qword [rax + calls], 1 */
    emit_byte(e, CONTEXT(calls));
    emit_byte(e, 1);
    if (makes)
        end_short_jump(e, makes);
}

/* The newest frame, rdx one past it, has called the one in thread.target, which runs in the context
 * in rax. */
static void emit_frame_push(struct emitter *e)
{
    op_far(e, OP_STORE, RAX, RDX, OWN(context));
    emit_store(e, FIELD(hot.current), RAX);
    emit_load(e, RAX, FIELD(target));
    op_far(e, OP_STORE, RAX, RDX, OWN(frame));
    emit_store(e, FIELD(hot.python_frame), RAX);
    move(e, RDX, NEWEST(depth), RDX, OWN(depth));
    move(e, RDX, NEWEST(state), RDX, OWN(state));
    move(e, RDX, NEWEST(word), RDX, OWN(word));
    set_constant(e, RDX, OWN(base), 0);
    set_constant(e, RDX, OWN(place.lines), 0);
    emit_load(e, RCX, FIELD(thread));
    op_far(e, OP_LOAD, RCX, RCX, offsetof(struct thread, stack));
    add_constant(e, RCX, STACK(python.count), 1);
    emit_done(e);
}

static void emit_frame(struct emitter *e, const struct python_module *module)
{
    const struct python_layout *layout = &module->layout;
    emit_entries(e, 2);
    op_far(e, OP_COMPARE, RAX, RDX, NEWEST(depth));
    jump_if(e, IF_NOT_EQUAL, slow);
    compare_byte(e, RDX, NEWEST(base), 0);
    uint8_t *is_base = jump_ahead(e, IF_NOT_EQUAL);
    emit_load(e, RAX, FIELD(target));
    op_far(e, OP_COMPARE, RAX, RDX, BEFORE(frame));
    uint8_t *is_called = jump_ahead(e, IF_NOT_EQUAL);
    emit_frame_back(e);

    end_short_jump(e, is_base);
    end_short_jump(e, is_called);
    emit_load(e, RCX, FIELD(hot.current));
    op_far(e, OP_COMPARE, RCX, RDX, NEWEST(context));
    jump_if(e, IF_NOT_EQUAL, slow);
    emit_bytes(e, "\x48\x83\xba", 3); /* cmp qword [rdx + word], 0: not known yet */
    emit_u32(e, NEWEST(word));
    emit_byte(e, 0);
    jump_if(e, IF_EQUAL, slow);
    emit_load(e, RAX, FIELD(target));
    op_far(e, OP_LOAD, RCX, RAX, layout->frame_previous);
    op_far(e, OP_COMPARE, RCX, RDX, NEWEST(frame));
    jump_if(e, IF_NOT_EQUAL, slow);
    emit_code(e, layout);
    emit_store(e, FIELD(python_entry), RDX);
    op_far(e, OP_LOAD, RDX, RDX, NEWEST(context));
    emit_child(e);
    emit_count_call(e, layout);
    vectors_emit_settle(e, RDX, false);
    emit_load(e, RDX, FIELD(python_entry));
    emit_frame_push(e);
}

/* The entry at rdx + `newest` is the newest one now. */
static void emit_left(struct emitter *e, int entry)
{
    op_far(e, OP_LOAD, RAX, RDX, entry + OWN(word));
    emit_store(e, FIELD(hot.python_word), RAX);
    op_far(e, OP_LOAD, RAX, RDX, entry + OWN(frame));
    emit_store(e, FIELD(hot.python_frame), RAX);
    op_far(e, OP_LOAD, RAX, RDX, entry + OWN(state));
    emit_store(e, FIELD(hot.python_state), RAX);
    emit_done(e);
}

/* An activation has its base, and the frame that it was called for unless that is over. */
static void emit_leave(struct emitter *e)
{
    emit_entries(e, 3);
    op_far(e, OP_COMPARE, RAX, RDX, NEWEST(depth));
    jump_if(e, IF_NOT_EQUAL, slow);
    compare_byte(e, RDX, NEWEST(base), 0);
    uint8_t *base_alone = jump_ahead(e, IF_NOT_EQUAL);
    compare_byte(e, RDX, BEFORE(base), 0);
    jump_if(e, IF_EQUAL, slow);
    op_far(e, OP_COMPARE, RAX, RDX, BEFORE2(depth));
    jump_if(e, IF_NOT_ABOVE, slow);
    emit_bytes(e, "\x48\x83\xba", 3); /* cmp qword [rdx + word], 0 */
    emit_u32(e, BEFORE2(word));
    emit_byte(e, 0);
    jump_if(e, IF_EQUAL, slow);
    add_constant(e, RCX, STACK(python.count), -2);
    emit_left(e, -3 * ENTRY_BYTES);

    end_short_jump(e, base_alone);
    op_far(e, OP_COMPARE, RAX, RDX, BEFORE(depth));
    jump_if(e, IF_NOT_ABOVE, slow);
    emit_bytes(e, "\x48\x83\xba", 3);
    emit_u32(e, BEFORE(word));
    emit_byte(e, 0);
    jump_if(e, IF_EQUAL, slow);
    add_constant(e, RCX, STACK(python.count), -1);
    emit_left(e, -2 * ENTRY_BYTES);
}

/* ---- what is shared ---- */

static struct shared *shared_for(struct python_module *module)
{
    for (unsigned i = 0; i < sizeof shared / sizeof *shared; i++)
        if (shared[i].module == module && shared[i].generation == cache.generation)
            return &shared[i];
    struct shared *made = &shared[shared_next++ % (sizeof shared / sizeof *shared)];
    struct emitter cold = cold_begin();
    *made = (struct shared){module, cache.generation, cold.address, 0, {0}};
    made->events[PYTHON_ENTER] = cold.address;
    emit_enter(&cold, module);
    made->events[PYTHON_FRAME] = cold.address;
    emit_frame(&cold, module);
    made->events[PYTHON_LEAVE] = cold.address;
    emit_leave(&cold);
    made->end = cold.address;
    cold_end(&cold);
    return made;
}

/* The tail-calling interpreter's frames run in two functions. */
uint64_t python_fast_code(struct python_module *module, enum python_event event)
{
    if (core.options.line_detail || module->handlers)
        return slow;
    return shared_for(module)->events[event];
}

uint64_t python_slow_code(void)
{
    return slow;
}

void python_fast_init(void)
{
    struct emitter cold = cold_begin();
    enter = cold.address;
    store_thread_constant(&cold, FIELD(in_cache), 1);
    vectors_emit_load_own(&cold);
    jump_through_thread(&cold, FIELD(code));
    slow = cold.address;
    vectors_emit_store_own(&cold);
    store_thread_constant(&cold, FIELD(in_cache), 0);
    jump_through_thread(&cold, FIELD(leave_inner));
    cold_end(&cold);
    memset(shared, 0, sizeof shared);
}

void python_fast_init_thread(struct native_thread *thread)
{
    thread->inner_entry = enter;
    thread->leave_inner = (uint64_t)thread_leave_inner;
    if (!thread->python_codes)
        thread->python_codes = no_codes;
}

bool python_fast_recover(struct sigcontext *context)
{
    for (unsigned i = 0; i < sizeof shared / sizeof *shared; i++)
        if (context->rip >= shared[i].start && context->rip < shared[i].end) {
            context->rip = slow;
            return true;
        }
    return false;
}

/* ---- code objects ---- */

void python_remember(struct native_thread *thread)
{
    struct python *python = &core.python;
    const struct python_frames *frames = &thread->thread->stack->python;
    const struct python_entry *newest = frames->items + frames->count - 1;
    struct python_frame frame;
    bool starts;
    if (core.options.line_detail || frames->count < 2 || newest->base ||
        newest->frame != thread->target || newest->context->parent != newest[-1].context ||
        !python_read_frame(python->module, newest->frame, &frame))
        return;
    struct code_function *function = python_function_of(python, &frame, &starts);
    if (!function || newest->context->function != function)
        return;
    if (thread->python_codes == no_codes)
        thread->python_codes = arena_allocate(sizeof no_codes);
    unsigned place = ((uintptr_t)function >> 4 ^ (uintptr_t)function >> 7) % CONTEXT_SLOTS;
    *python_code_slot(thread, frame.code) = (struct python_code_slot){
        .code = frame.code,
        .function = (uint64_t)function,
        .beside = offsetof(struct context, slots) + place * sizeof(struct context_slot),
    };
    struct context *caller = newest[-1].context;
    /* Direct calls have the numbers of their sites there, which are no addresses. */
    if (!caller->slots[place].site || caller->slots[place].site >> 32)
        caller->slots[place] = (struct context_slot){(uint64_t)function, newest->context};
    *fast_indirect_slot(thread, caller, PYTHON_SITE, (uint64_t)function) = (struct child_slot){
        .key = caller->key + PYTHON_SITE,
        .child = newest->context,
        .target = (uint64_t)function,
    };
}

void python_forget(struct native_thread *thread, uint64_t code)
{
    struct python_code_slot *slot = python_code_slot(thread, code);
    if (slot->code == code)
        slot->code = 0;
}

bool python_ends_code(const struct code_module *module, uint64_t pc)
{
    uint64_t ends;
    return options.python && module && module->python &&
           platform_read(module->bias + module->python->code_type + TYPE_DEALLOC, &ends,
                         sizeof ends) &&
           ends == pc;
}
