/* segments.c: see segments.h. */
#include "engines/native/segments.h"
#include "engines/native/foreseen.h"
#include "engines/native/line_place.h"
#include "engines/native/python_stores.h"
#include "engines/native/python_watch.h"
#include "engines/native/record.h"
#include "engines/native/turns.h"
#include "engines/native/vectors.h"

bool ends_segment(const struct translation *t, unsigned index)
{
    return t->instructions[index].class != CLASS_ORDINARY || python_cuts(t, index);
}

unsigned segment_end(const struct translation *t, unsigned first)
{
    for (unsigned i = first; i < t->count; i++)
        if (ends_segment(t, i))
            return i + 1;
    return t->count;
}

static void emit_line_count(struct translation *t, unsigned place, uint32_t number, uint32_t stub)
{
    if (!number)
        return;
    struct line_count count = lines_plan_run(t, place, number, stub, !flags_dead(t, place));
    lines_emit(&t->code, &count);
    if (!count.place)
        emit_line_count(t, place, stub, 0);
}

/* The number of instructions a segment runs, with a PLT stub that is folded into the last. */
static unsigned segment_instructions(const struct translation *t, unsigned first, unsigned end)
{
    const struct instruction *last = &t->instructions[end - 1];
    uint64_t slot;
    unsigned count = end - first;
    if (last->class == CLASS_REFUSED)
        count--;
    if (last->class == CLASS_CALL || (last->class == CLASS_JUMP && !t->plt))
        count += plt_stub(branch_target(t, end - 1), &slot);
    return count;
}

/* Before the last instruction, but not between one that sets flags and its branch: processors
 * make one of the two. To count lines, the last place where the flags are dead. */
static unsigned count_place(const struct translation *t, unsigned first, unsigned end)
{
    first = line_place_first(t, first, end);
    for (unsigned i = end; options.line_detail && i-- > first;)
        if (flags_dead(t, i))
            return i;
    bool pair = end - first >= 2 && t->instructions[end - 1].class == CLASS_JUMP_IF &&
                t->instructions[end - 2].flags_killed;
    return end - (pair ? 2 : 1);
}

/* What a PLT stub runs, `stub` instructions, is for the frame that is current by then. */
static void emit_python_last(struct translation *t, unsigned last, unsigned stub)
{
    t->looked = t->frame_stored;
    python_emit_before(t, last, options.line_detail ? 0 : stub);
    if (!options.line_detail || !stub)
        return;
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    emit_line_count(t, last, lines_stub(t, last), 0);
}

unsigned counts_at_landing(const struct translation *t, unsigned index)
{
    if (turns_are_on() || options.line_detail || t->python)
        return 0;
    return segment_instructions(t, index + 1, segment_end(t, index + 1));
}

struct plan {
    unsigned first, end;
    unsigned counted;   /* instructions of the segment */
    uint32_t run, stub; /* line detail: the core's numbers */
    bool whole;         /* is counted before it runs */
    bool defers, folds; /* to what follows; into the sequence of the last instruction */
    bool adds;          /* before instruction `place`; */
    bool placed;        /* that is where line_place found one */
    unsigned place;
    struct line_place where;
};

/*
 * How a segment is counted, with what segments before it have left uncounted:
 *   - by the landing before it, if there is one: t->uncounted is then less than nothing;
 *   - by the sequence of its last instruction;
 *   - not at all, if it ends in a branch that is seldom taken, as one forward, or any of CPython's
 *     evaluator, which goes round by indirect jumps: that is taken by way of cold code which counts,
 *     and the next segment counts for both. But a run is one context's: where a Python frame is
 *     looked for, what ran by then is counted before that;
 *   - by an add before its last instruction: a block begins with a state of the program, where a
 *     signal that came on the way to it can be delivered at once.
 */
static struct plan plan_segment(struct translation *t, unsigned first, unsigned end)
{
    const struct instruction *last = &t->instructions[end - 1];
    bool lines = options.line_detail;
    struct plan plan = {
        .first = first,
        .end = end,
        .counted = segment_instructions(t, first, end),
        .run = lines ? lines_run(t, t->run, end) : 0,
        .stub = lines && !t->python ? lines_stub(t, end - 1) : 0,
        .whole = turns_are_on(),
    };
    plan.defers = !plan.whole && last->class == CLASS_JUMP_IF &&
                  (last->immediate >= 0 || t->evaluates) && end < t->count &&
                  !(lines && python_looks(t, first, end));
    if (lines && !plan.whole && !plan.defers)
        plan.where = line_place(t, first, end, plan.run, plan.stub);
    plan.folds = !plan.whole && folds_count(t, end - 1) && (!lines || plan.where.folds);
    plan.adds = !plan.folds && !plan.defers && t->uncounted + plan.counted;
    plan.placed = plan.where.count.has_room || plan.where.count.evaluated;
    plan.place = plan.whole ? first : plan.placed ? plan.where.index : count_place(t, first, end);
    return plan;
}

/* What comes before its first instruction. */
static void emit_segment_start(struct translation *t, const struct plan *plan)
{
    bool swaps = plan->first == 0 && code_function_swaps(t->function) &&
                 t->pc == t->function->start + t->function->module->bias;
    if (t->python || plan->whole || swaps)
        add_mark(t, MARK_PROGRAM, t->offsets[plan->first], 0, t->ahead);
    if (t->python)
        python_emit_start(t, plan->first);
    if (swaps)
        emit_report(t, plan->first, EXIT_SWAP);
    if (turns_are_on() && plan->counted)
        turns_emit(t, plan->first, plan->counted);
}

static void emit_segment_count(struct translation *t, const struct plan *plan)
{
    if (options.line_detail || plan->place == 0) /* a signal had better not step through it */
        add_mark(t, MARK_PROGRAM, t->offsets[plan->place], 0, t->ahead);
    give_vectors(t, GIVEN_NOT);
    add_mark(t, MARK_ENGINE, 0, 0, 0);
    if (!options.line_detail)
        vectors_emit_count(&t->code, t->uncounted);
    else if (plan->placed)
        lines_emit(&t->code, &plan->where.count);
    else
        emit_line_count(t, plan->place, plan->run, plan->stub);
    t->ahead += t->uncounted;
    t->uncounted = 0;
    t->run = plan->end;
}

static void emit_segment_instruction(struct translation *t, const struct plan *plan, unsigned index)
{
    const struct line_count *count = &plan->where.count;
    bool touched = vectors_touched(&t->instructions[index], t->source + t->offsets[index]);
    bool borrows = plan->adds && plan->placed && index == plan->place;
    if (touched) {
        give_vectors(t, vectors_wanted(&t->instructions[index]));
        t->upper_zero = vectors_zeroed_by(&t->instructions[index]);
    } else if (t->instructions[index].class != CLASS_ORDINARY) {
        give_vectors(t, GIVEN_NOT);
    }
    if (t->python && index == plan->end - 1) {
        unsigned listed = plan->end - plan->first;
        emit_python_last(t, index, plan->counted > listed ? plan->counted - listed : 0);
    }
    if (!borrows || count->borrow != BORROW_FREE)
        add_mark(t, MARK_PROGRAM, t->offsets[index],
                 borrows && count->borrow == BORROW_KEPT ? 1 << count->reg : 0, t->ahead);
    emit_instruction(t, index);
    t->looked = false;
    t->ahead--;
    t->frame_stored |= python_may_set_frame(t, index);
    if (python_may_set_line(t, index)) {
        give_vectors(t, GIVEN_NOT);
        add_mark(t, MARK_PROGRAM, t->offsets[index + 1], 0, t->ahead);
        python_emit_line_look(t, index + 1);
    }
}

void emit_segment(struct translation *t, unsigned first, unsigned end)
{
    const struct plan plan = plan_segment(t, first, end);
    t->ahead = -(int)t->uncounted;
    t->segments[t->segment_count++] = plan.run;
    emit_segment_start(t, &plan);
    t->uncounted += plan.counted;
    t->folded = plan.folds && !options.line_detail ? t->uncounted : 0;
    t->counted_ahead = t->carried = 0;
    t->folded_line = plan.where.folds ? plan.where.count : (struct line_count){0};
    for (unsigned i = first; i < end; i++) {
        if (plan.adds && i == plan.place)
            emit_segment_count(t, &plan);
        emit_segment_instruction(t, &plan, i);
    }
    if (plan.folds) {
        t->uncounted = t->carried - t->counted_ahead;
        t->run = end;
    }
}
