#include "core/core.h"
#include "core/platform.h"
#include "core/python_memory.h"

/* How far a frame's ancestry is followed: near enough for every ordinary change, and for any
 * recursion. */
#define NEAR_FRAMES     4
#define MOST_FRAMES     1000000
#define MOST_WORD_DEPTH 4096

static uint64_t depth_of(const struct thread *thread)
{
    return (uintptr_t)thread->hot->top - (uintptr_t)thread->stack->base;
}

static struct python_entry *newest(const struct python_frames *frames)
{
    return &frames->items[frames->count - 1];
}

void python_count_frames(const struct core *core, struct thread *thread)
{
    struct python_frames *frames = &thread->stack->python;

    if (thread->hot->python_top != &core->python.nobody + 1)
        frames->count = thread->hot->python_top - frames->items;
}

void python_frames_release(struct python_frames *frames)
{
    if (frames->items)
        platform_release(frames->items - 1, (frames->capacity + 1) * sizeof *frames->items);
    *frames = (struct python_frames){0};
}

static void grow(struct python_frames *frames)
{
    struct python_frames larger = {
        .count = frames->count,
        .capacity = frames->capacity ? 2 * frames->capacity : 64,
    };

    larger.items = platform_allocate((larger.capacity + 1) * sizeof *larger.items);
    *larger.items++ = (struct python_entry){.depth = UINT64_MAX};
    for (size_t i = 0; i < frames->count; i++)
        larger.items[i] = frames->items[i];
    python_frames_release(frames);
    *frames = larger;
}

/* A new entry, to be filled; others move. */
static struct python_entry *add_entry(struct python_frames *frames)
{
    if (frames->count == frames->capacity)
        grow(frames);
    return &frames->items[frames->count++];
}

/* Activations that are deeper than this are over, however they ended. */
static void drop_deeper(struct python_frames *frames, uint64_t depth)
{
    while (frames->count && newest(frames)->depth > depth)
        frames->count--;
}

/* Where the evaluator that was called last has its word; 0: not known yet. */
static uint64_t word_of(const struct python_module *module, const struct thread *thread)
{
    if (!module->layout.has_c_frame)
        return thread->hot->python_state + module->layout.state_frame;
    return module->word_depth ? thread->hot->top[-1].stack_pointer - module->word_depth : 0;
}

static void add_base(const struct core *core, struct thread *thread, uint64_t depth, uint64_t frame,
                     struct context *evaluator)
{
    struct python_entry *entry = add_entry(&thread->stack->python);

    entry->frame = frame;
    entry->context = evaluator;
    entry->depth = depth;
    entry->state = thread->hot->python_state;
    entry->word = word_of(core->python.module, thread);
    entry->base = true;
    entry->place = (struct python_place){0};
}

static void watch_line(struct hot *hot, uint64_t line, uint64_t end)
{
    hot->python_line = line;
    hot->python_line_end = end;
    hot->python_line_size = end - line;
}

/* Where no frame is known, inline code looks at readable memory: for lines, */
static void watch_no_line(struct core *core, struct hot *hot)
{
    hot->python_ip = (uintptr_t)&core->python.nowhere;
    watch_line(hot, 0, UINT64_MAX);
}

/* and for frames; but at the word all the same if it is the thread state's, since the evaluator may
 * go on there on a stack nobody has seen. */
static uint64_t word_of_nobody(const struct core *core, const struct hot *hot)
{
    const struct python_module *module = core->python.module;
    bool has_word = module && hot->python_state && !module->layout.has_c_frame;

    return has_word ? hot->python_state + module->layout.state_frame
                    : (uintptr_t)&core->python.nowhere;
}

static void watch_nothing(struct core *core, struct hot *hot)
{
    hot->python_frame = 0;
    hot->python_word = word_of_nobody(core, hot);
    watch_no_line(core, hot);
    core->python.nobody.depth = UINT64_MAX;
    hot->python_top = hot->python_limit = &core->python.nobody + 1;
}

/* The newest entry. */
static void watch(struct core *core, const struct thread *thread)
{
    const struct python_frames *frames = &thread->stack->python;
    const struct python_entry *entry = newest(frames);
    struct hot *hot = thread->hot;

    hot->python_top = frames->items + frames->count;
    hot->python_limit = frames->items + frames->capacity;
    hot->python_frame = entry->frame;
    hot->python_word = entry->word ? entry->word : word_of_nobody(core, hot);
    hot->python_state = entry->state;
    if (!entry->place.lines) {
        watch_no_line(core, hot);
        return;
    }
    hot->python_ip = entry->frame + core->python.module->layout.frame_ip;
    watch_line(hot, entry->place.line, entry->place.line_end);
}

/* The newest entry is what runs. */
static void settle(struct core *core, struct thread *thread)
{
    thread->hot->current = newest(&thread->stack->python)->context;
    watch(core, thread);
}

/* The child of `parent` for a Python function or line. */
static struct context *child_of(struct core *core, struct context *parent,
                                struct code_function *function)
{
    uint64_t hash = ((uintptr_t)parent ^ (uintptr_t)function << 16) * TREE_MIX;
    size_t at = hash >> (64 - PYTHON_CHILD_BITS);

    if (core->python.children[at].parent != parent ||
        core->python.children[at].function != function) {
        struct context *child = tree_child_of(&core->tree, parent, 0, function);
        child->code = parent->code;
        core->python.children[at].parent = parent;
        core->python.children[at].function = function;
        core->python.children[at].child = child;
    }
    return core->python.children[at].child;
}

/* ---- lines ---- */

uint64_t python_instruction_pointer(const struct python_layout *layout, uint64_t frame)
{
    const void *pointer = (const void *)(uintptr_t)(frame + layout->frame_ip);
    uint32_t offset;
    uint64_t address;

    if (layout->ip_bytes == sizeof address) {
        __builtin_memcpy(&address, pointer, sizeof address);
        return address;
    }
    __builtin_memcpy(&offset, pointer, sizeof offset);
    return offset;
}

/* What has no line, and none before it, is for the one that the function begins at. */
static struct code_function *first_line(struct core *core, const struct python_place *place)
{
    const struct code_function *function = place->lines->function;

    return python_line_function(&core->python, function, function->line);
}

struct context *python_take_line(struct core *core, struct context *from,
                                 struct python_place *place, uint64_t pointer)
{
    const struct python_layout *layout = &core->python.module->layout;
    uint64_t offset = (pointer - place->first) * layout->ip_unit;
    struct python_line_range *range = python_lines_find(place->lines, offset);
    struct context *within = context_is_line(from) ? from->parent : from;

    place->line = pointer;
    place->line_end = pointer + 1;
    if (range && (python_is_before(offset) || (offset >= range->start && offset < range->end))) {
        const struct python_line_bounds *bounds =
            &place->lines->bounds[range - place->lines->ranges];
        place->line = place->first + bounds->start;
        place->line_end = place->first + bounds->end;
    }
    if (!range || !range->line)
        return context_is_line(from) && range ? from
                                              : child_of(core, within, first_line(core, place));
    if (range->within != within) {
        if (!range->function)
            range->function =
                python_line_function(&core->python, place->lines->function, range->line);
        range->within = within;
        range->context = child_of(core, within, range->function);
    }
    return range->context;
}

static void take_line(struct core *core, struct python_entry *entry)
{
    uint64_t pointer = python_instruction_pointer(&core->python.module->layout, entry->frame);

    entry->context = python_take_line(core, entry->context, &entry->place, pointer);
}

/* The entry in front of all has no lines. An engine may have seen a store to something else. */
void python_line_changed(struct core *core, struct thread *thread)
{
    struct hot *hot = thread->hot;
    struct python_entry *entry = hot->python_top - 1;

    if (!entry->place.lines || entry->frame != hot->python_frame)
        return;
    uint64_t pointer = python_instruction_pointer(&core->python.module->layout, entry->frame);
    bool is_in_line = pointer >= entry->place.line && pointer < entry->place.line_end;
    if (hot->current == entry->context && is_in_line)
        return;
    entry->context = python_take_line(core, entry->context, &entry->place, pointer);
    hot->current = entry->context;
    watch_line(hot, entry->place.line, entry->place.line_end);
    core_keep_room(core, thread);
}

/* The instruction pointer at the first instruction of the code. */
static uint64_t first_pointer(const struct python_layout *layout, uint64_t code)
{
    return layout->ip_bytes == 8 ? code + layout->code_bytes : 0;
}

static void find_lines(struct core *core, struct python_entry *entry, uint64_t code,
                       struct code_function *function)
{
    entry->place.lines = python_lines_of(&core->python, code, function);
    entry->place.first = first_pointer(&core->python.module->layout, code);
    if (entry->place.lines)
        take_line(core, entry);
}

/* ---- calls ---- */

void python_keep_calls(struct python *python)
{
    python->calls = platform_allocate(sizeof *python->calls << PYTHON_CALL_BITS);
}

/* The first of the two places where such a call may be: calls that take turns share them. */
static struct python_known_call *call_places(const struct python *python,
                                             const struct context *from, uint64_t code,
                                             uint64_t pointer)
{
    uint64_t hash = (((uintptr_t)from >> 7) + (code << 12) + (pointer << 20)) * TREE_MIX;

    return &python->calls[hash >> (64 - PYTHON_CALL_BITS) & ~(uint64_t)1];
}

static bool is_call(const struct python_known_call *call, const struct context *from, uint64_t code,
                    uint64_t pointer)
{
    return call->from == from && call->code == code && call->pointer == pointer;
}

void python_forget_calls(struct python *python, uint64_t code)
{
    for (size_t i = 0; python->calls && i < (size_t)1 << PYTHON_CALL_BITS; i++)
        if (python->calls[i].code == code)
            python->calls[i].from = NULL;
}

/* Where the frame is in its code; without lines, whether it makes a generator or runs it. */
static uint64_t called_at(const struct core *core, uint64_t frame,
                          const struct python_frame *memory)
{
    return core->options.python_lines
               ? python_instruction_pointer(&core->python.module->layout, frame)
               : memory->owner;
}

/* A call of the frame from the context is about to be asked for: what is known of it is seldom near. */
static void expect_call(const struct core *core, const struct context *from, uint64_t frame,
                        const struct python_frame *memory)
{
    if (core->python.calls)
        __builtin_prefetch(
            call_places(&core->python, from, memory->code, called_at(core, frame, memory)));
}

/* The new entry, which has the context of its caller, gets its own and its place if the call is known. */
static bool take_known_call(struct core *core, struct python_entry *entry,
                            const struct python_frame *memory)
{
    const struct python *python = &core->python;

    if (!python->calls)
        return false;
    uint64_t pointer = called_at(core, entry->frame, memory);
    const struct python_known_call *call =
        call_places(python, entry->context, memory->code, pointer);
    if (!is_call(call, entry->context, memory->code, pointer) &&
        !is_call(++call, entry->context, memory->code, pointer))
        return false;
    if (call->function)
        call->function->calls++;
    entry->context = call->context;
    entry->place = (struct python_place){
        .lines = call->lines,
        .line = call->line,
        .line_end = call->line_end,
        .first = first_pointer(&python->module->layout, call->code),
    };
    return true;
}

/* It was not. What is known of code objects is not read again only where their end is seen. */
static void keep_call(struct core *core, const struct python_entry *entry,
                      const struct python_frame *memory, const struct context *from,
                      struct context *function)
{
    const struct python *python = &core->python;

    if (!python->calls || !python->module->freer || !python->module->checked)
        return;
    uint64_t pointer = called_at(core, entry->frame, memory);
    struct python_known_call *places = call_places(python, from, memory->code, pointer);
    places[1] = places[0];
    places[0] = (struct python_known_call){
        .from = from,
        .code = memory->code,
        .pointer = pointer,
        .function = function,
        .context = entry->context,
        .lines = entry->place.lines,
        .line = entry->place.line,
        .line_end = entry->place.line_end,
    };
}

/* ---- frames ---- */

/* A frame above the newest one, in the same activation; one that is not shown, or that cannot be
 * read (`memory` is NULL), shares its context. `called`: it has just become current. */
static void add_frame(struct core *core, struct thread *thread, uint64_t address,
                      const struct python_frame *memory, bool called)
{
    struct python_entry *entry = add_entry(&thread->stack->python);

    entry->frame = address;
    entry->context = entry[-1].context;
    entry->depth = entry[-1].depth;
    entry->state = entry[-1].state;
    entry->word = entry[-1].word;
    entry->base = false;
    if (called && memory && take_known_call(core, entry, memory))
        return;
    entry->place = (struct python_place){0};
    if (!memory)
        return;
    bool starts;
    struct code_function *function = python_function_of(&core->python, memory, &starts);
    if (!function)
        return;
    const struct context *from = entry->context;
    struct context *caller = entry->context;
    struct code_function *code = caller->code;
    /* Below the evaluator, not below the instructions that it calls. */
    if (caller->function == core->python.module->handlers && caller->parent)
        caller = caller->parent;
    struct context *context = child_of(core, python_calling(core, caller), function);
    context->code = code;
    context->calls += called && starts;
    entry->context = context;
    if (core->options.python_lines)
        find_lines(core, entry, memory->code, function);
    if (called)
        keep_call(core, entry, memory, from, starts ? context : NULL);
}

static void note_frame(struct python *python, size_t count, uint64_t frame)
{
    if (count >= python->path_capacity) {
        size_t capacity = python->path_capacity ? 2 * python->path_capacity : 64;
        uint64_t *path = platform_allocate(capacity * sizeof *path);
        for (size_t i = 0; i < count; i++)
            path[i] = python->path[i];
        platform_release(python->path, python->path_capacity * sizeof *path);
        python->path = path;
        python->path_capacity = capacity;
    }
    python->path[count] = frame;
}

/* Puts python->path, youngest frame first, on the list. */
static void add_path(struct core *core, struct thread *thread, size_t count, bool called)
{
    for (size_t i = count; i-- > 0;) {
        struct python_frame memory;
        bool read = python_read_frame(core->python.module, core->python.path[i], &memory);
        add_frame(core, thread, core->python.path[i], read ? &memory : NULL, called && i == 0);
    }
}

/* Puts `frame` and those between it and the newest one on the list. False if the newest one is
 * not among its nearest `most` ancestors. */
static bool add_descendants(struct core *core, struct thread *thread, uint64_t frame, size_t most,
                            bool called)
{
    uint64_t known = newest(&thread->stack->python)->frame;
    struct python_frame memory;
    size_t count = 0;

    for (uint64_t at = frame; at != known; at = memory.previous) {
        if (count == most || !at || !python_read_frame(core->python.module, at, &memory))
            return false;
        note_frame(&core->python, count++, at);
    }
    if (count == 1)
        add_frame(core, thread, frame, &memory, called);
    else
        add_path(core, thread, count, called);
    return true;
}

/* Several frames ended at once: back to one that is on the list, in this activation. */
static bool drop_to(struct python_frames *frames, uint64_t frame)
{
    uint64_t depth = newest(frames)->depth;

    for (size_t i = frames->count; i-- > 0 && frames->items[i].depth == depth;)
        if (frames->items[i].frame == frame) {
            frames->count = i + 1;
            return true;
        }
    return false;
}

/* Nothing that is known explains the frame (the program moved stacks about): what the interpreter
 * itself says about this activation of the evaluator is taken. */
static void rebuild(struct core *core, struct thread *thread, uint64_t frame)
{
    struct python_frames *frames = &thread->stack->python;
    struct context *evaluator = thread->hot->current;
    uint64_t depth = depth_of(thread);
    struct python_frame memory = {0};
    size_t count = 0;

    while (frames->count && newest(frames)->depth == depth)
        frames->count--;
    while (evaluator->function->flags & CODE_FUNCTION_PYTHON)
        evaluator = evaluator->parent;
    for (uint64_t at = frame; at && count < MOST_FRAMES; at = memory.previous) {
        memory = (struct python_frame){0};
        if (!python_read_frame(core->python.module, at, &memory))
            break;
        note_frame(&core->python, count++, at);
        if (memory.is_entry)
            break;
    }
    add_base(core, thread, depth, memory.previous, evaluator);
    add_path(core, thread, count, false);
    core->repairs[REPAIR_PYTHON]++;
}

/* The evaluator's C frame is always at the same distance from its caller's. */
static void learn_word(struct python_module *module, const struct thread *thread)
{
    uint64_t c_frame;

    if (!module->layout.has_c_frame || module->word_depth ||
        !platform_read(thread->hot->python_state + module->layout.state_frame, &c_frame,
                       sizeof c_frame))
        return;
    uint64_t word_depth =
        thread->hot->top[-1].stack_pointer - (c_frame + module->layout.c_frame_frame);
    if (word_depth < MOST_WORD_DEPTH)
        module->word_depth = word_depth;
}

/* Of an evaluator that says which frame it was called for, the C frame has no other word when it is left.
 * If the frame below is seen while that runs, it is in the C frame before: the thread state has not got
 * the new one yet, or not any longer. */
static bool is_before(const struct core *core, const struct python_frames *frames, uint64_t depth,
                      uint64_t frame)
{
    return core->python.module->layout.frame_is_entry && frames->count > 1 &&
           newest(frames)->depth == depth && !newest(frames)->base && newest(frames)[-1].base &&
           newest(frames)[-1].frame == frame;
}

void python_frame_changed(struct core *core, struct thread *thread, uint64_t frame)
{
    struct python_frames *frames = &thread->stack->python;
    uint64_t depth = depth_of(thread);

    if (core->python.module->readiness != PYTHON_READY) {
        thread->hot->python_frame = frame;
        return;
    }
    python_count_frames(core, thread);
    drop_deeper(frames, depth);
    if (is_before(core, frames, depth, frame)) {
        thread->hot->python_top = frames->items + frames->count;
        return;
    }
    thread->hot->python_frame = frame;
    learn_word(core->python.module, thread);
    if (frames->count && newest(frames)->depth == depth && newest(frames)->base) {
        newest(frames)->word = word_of(core->python.module, thread);
        newest(frames)->context = thread->hot->current;
    }
    if (!frames->count || newest(frames)->depth != depth) {
        rebuild(core, thread, frame);
    } else if (frames->count > 1 && newest(frames)[-1].frame == frame &&
               newest(frames)[-1].depth == depth) {
        frames->count--;
    } else if (newest(frames)->frame != frame &&
               !add_descendants(core, thread, frame, NEAR_FRAMES, true) &&
               !drop_to(frames, frame)) {
        rebuild(core, thread, frame);
    }
    settle(core, thread);
    /* What cannot be read is not asked for again and again. */
    thread->hot->python_frame = frame;
    core_keep_room(core, thread);
}

void python_look(struct core *core, struct thread *thread)
{
    const struct hot *hot = thread->hot;
    uint64_t frame;

    if (hot->python_word && platform_read(hot->python_word, &frame, sizeof frame) &&
        frame != hot->python_frame)
        python_frame_changed(core, thread, frame);
    else if (core->options.python_lines)
        python_line_changed(core, thread);
}

/* The word that is watched. */
static uint64_t current_frame(const struct python_module *module, uint64_t state)
{
    const struct python_layout *layout = &module->layout;
    uint64_t word = 0;

    if (!python_read_word(module, state + layout->state_frame, &word))
        return 0;
    if (layout->has_c_frame && !python_read_word(module, word + layout->c_frame_frame, &word))
        return 0;
    return word;
}

/* A generator that is thrown into on behalf of another has no activation of its own, but is the
 * caller of this one: frames between the newest that is known and the current one belong here. */
void python_enter(struct core *core, struct thread *thread, struct python_module *module,
                  uint64_t state, uint64_t called)
{
    struct python_frames *frames = &thread->stack->python;
    uint64_t frame = current_frame(module, state);
    /* Frames run in the evaluator, or in the instructions that it calls. */
    uint64_t depth = depth_of(thread) + (module->handlers ? sizeof(struct stack_entry) : 0);
    struct python_frame memory, to_run;
    bool runs = called && python_read_called_frame(module, called, &to_run);

    core->python.module = module;
    python_count_frames(core, thread);
    if (runs)
        expect_call(core, thread->hot->current, called, &to_run);
    thread->hot->python_state = state;
    while (frames->count && newest(frames)->depth >= depth)
        frames->count--;
    add_base(core, thread, depth, frames->count ? newest(frames)->frame : 0, thread->hot->current);
    /* 3.9 puts such a generator in front without saying whose it is: its ancestry ends there. */
    if (newest(frames)->frame != frame &&
        !add_descendants(core, thread, frame, MOST_FRAMES, false)) {
        if (frame && python_read_frame(module, frame, &memory) && !memory.previous)
            add_frame(core, thread, frame, &memory, false);
        else
            newest(frames)->frame = frame;
    }
    if (runs)
        add_frame(core, thread, called, &to_run, true);
    settle(core, thread);
    core_keep_room(core, thread);
}

void python_leave(struct core *core, struct thread *thread)
{
    struct python_frames *frames = &thread->stack->python;
    uint64_t depth = depth_of(thread);

    python_count_frames(core, thread);
    while (frames->count && newest(frames)->depth >= depth)
        frames->count--;
    python_stack_loaded(core, thread);
}

void python_stack_loaded(struct core *core, struct thread *thread)
{
    if (thread->stack->python.count)
        watch(core, thread);
    else
        watch_nothing(core, thread->hot);
}

struct python_module *python_at(const struct code_place *place)
{
    struct python_module *module = place->module ? place->module->python : NULL;

    if (!module || !place->function)
        return NULL;
    bool enters = place->function->start == module->evaluator;
    return enters || python_evaluates(module, place->function) ? module : NULL;
}

bool python_evaluates(const struct python_module *module, const struct code_function *function)
{
    return function &&
           (module->handlers ? function == module->handlers : function->start == module->evaluator);
}
