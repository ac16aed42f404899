#include "core/python.h"
#include "core/core.h"
#include "core/platform.h"

/* How far a frame's ancestry is followed: near enough for every ordinary change, and for any
 * recursion. */
#define NEAR_FRAMES 4
#define MOST_FRAMES 1000000

static uint64_t depth_of(const struct thread *thread)
{
    return thread->hot->top - thread->stack->base;
}

static struct python_entry *newest(const struct python_frames *frames)
{
    return &frames->items[frames->count - 1];
}

static void add_entry(struct python_frames *frames, struct python_entry entry)
{
    if (frames->count == frames->capacity) {
        size_t capacity = frames->capacity ? 2 * frames->capacity : 64;
        struct python_entry *items = platform_allocate(capacity * sizeof *items);
        for (size_t i = 0; i < frames->count; i++)
            items[i] = frames->items[i];
        platform_release(frames->items, frames->capacity * sizeof *items);
        frames->items = items;
        frames->capacity = capacity;
    }
    frames->items[frames->count++] = entry;
}

/* Activations that are deeper than this are over, however they ended. */
static void drop_deeper(struct python_frames *frames, uint64_t depth)
{
    while (frames->count && newest(frames)->depth > depth)
        frames->count--;
}

static void add_base(struct thread *thread, uint64_t frame, struct context *evaluator)
{
    add_entry(&thread->stack->python, (struct python_entry){
                                          .frame = frame,
                                          .context = evaluator,
                                          .depth = depth_of(thread),
                                          .state = thread->hot->python_state,
                                      });
}

/* The newest entry is what runs. */
static void settle(struct thread *thread)
{
    const struct python_entry *entry = newest(&thread->stack->python);

    thread->hot->current = entry->context;
    thread->hot->python_frame = entry->frame;
}

/* A frame above the newest one, in the same activation; one that is not shown shares its context.
 * `called`: it has just become current. */
static void add_frame(struct core *core, struct thread *thread, uint64_t address, bool called)
{
    struct python_frames *frames = &thread->stack->python;
    struct python_entry entry = *newest(frames);
    struct python_frame frame;
    struct code_function *function = NULL;
    bool starts = false;

    if (python_read_frame(core->python.module, address, &frame))
        function = python_function_of(&core->python, &frame, &starts);
    entry.frame = address;
    if (function) {
        struct code_function *code = entry.context->code;
        entry.context = tree_child_of(&core->tree, entry.context, 0, function);
        entry.context->code = code;
        entry.context->calls += called && starts;
    }
    add_entry(frames, entry);
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
    for (size_t i = count; i-- > 0;)
        add_frame(core, thread, core->python.path[i], called && i == 0);
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
    add_base(thread, memory.previous, evaluator);
    add_path(core, thread, count, false);
    core->repairs[REPAIR_PYTHON]++;
}

void python_frame_changed(struct core *core, struct thread *thread, uint64_t frame)
{
    struct python_frames *frames = &thread->stack->python;
    uint64_t depth = depth_of(thread);

    drop_deeper(frames, depth);
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
    settle(thread);
    /* What cannot be read is not asked for again and again. */
    thread->hot->python_frame = frame;
    core_keep_room(core, thread);
}

/* The word that is watched. */
static uint64_t current_frame(const struct python_module *module, uint64_t state)
{
    const struct python_layout *layout = &module->layout;
    uint64_t word = 0;

    if (!platform_read(state + layout->state_frame, &word, sizeof word))
        return 0;
    if (layout->has_c_frame && !platform_read(word + layout->c_frame_frame, &word, sizeof word))
        return 0;
    return word;
}

/* A generator that is thrown into on behalf of another has no activation of its own, but is the
 * caller of this one: frames between the newest that is known and the current one belong here. */
void python_enter(struct core *core, struct thread *thread, struct python_module *module,
                  uint64_t state)
{
    struct python_frames *frames = &thread->stack->python;
    uint64_t frame = current_frame(module, state);
    uint64_t depth = depth_of(thread);

    core->python.module = module;
    thread->hot->python_state = state;
    while (frames->count && newest(frames)->depth >= depth)
        frames->count--;
    add_base(thread, frames->count ? newest(frames)->frame : 0, thread->hot->current);
    /* 3.9 puts such a generator in front without saying whose it is: its ancestry ends there. */
    struct python_frame memory;
    if (newest(frames)->frame != frame && !add_descendants(core, thread, frame, MOST_FRAMES, false)) {
        if (frame && python_read_frame(module, frame, &memory) && !memory.previous)
            add_frame(core, thread, frame, false);
        else
            newest(frames)->frame = frame;
    }
    settle(thread);
    core_keep_room(core, thread);
}

void python_leave(struct core *core, struct thread *thread)
{
    struct python_frames *frames = &thread->stack->python;
    uint64_t depth = depth_of(thread);

    (void)core;
    while (frames->count && newest(frames)->depth >= depth)
        frames->count--;
    python_stack_loaded(thread);
}

void python_stack_loaded(struct thread *thread)
{
    const struct python_frames *frames = &thread->stack->python;

    if (!frames->count)
        return;
    thread->hot->python_frame = newest(frames)->frame;
    thread->hot->python_state = newest(frames)->state;
}
