/*
 * jit_late.c: names for code whose entry came after it ran. See jit.h.
 *
 * What is asked is (address, time when its code was first seen). The answer is the newest entry for
 * the address that is not younger than that; where there is none, the oldest of those that are: a
 * writer that says it after the first call, or once for all at its end. Where code was unmapped, an
 * entry without a name says so, and ends both searches.
 *
 * Both are found by playing entries and questions in order of time: first forwards, with newer
 * entries over older ones, then what is left backwards, with older ones over newer.
 */
#include "core/core.h"
#include "core/grow.h"
#include "core/jit.h"
#include "core/platform.h"
#include "core/sort.h"

struct question {
    uint64_t address, time;
    struct jit_entry *answer;
    struct code_function **place; /* where the answer goes */
};

struct questions {
    struct question *items;
    size_t count, capacity;
};

static void ask(struct questions *questions, uint64_t address, uint64_t time,
                struct code_function **place)
{
    GROW(questions->items, questions->count, questions->capacity, 1024);
    questions->items[questions->count++] =
        (struct question){.address = address, .time = time, .place = place};
}

static bool question_before(const void *a, const void *b)
{
    return ((const struct question *)a)->time < ((const struct question *)b)->time;
}

static bool entry_before(const void *a, const void *b)
{
    return (*(struct jit_entry *const *)a)->time < (*(struct jit_entry *const *)b)->time;
}

/* The index of its own that a play has. */
static void forget(struct jit *index)
{
    for (size_t i = 0; i < index->page_capacity; i++)
        while (index->pages[i].entries) {
            struct jit_node *node = index->pages[i].entries;
            index->pages[i].entries = node->next;
            platform_release(node, sizeof *node);
        }
    while (index->large) {
        struct jit_node *node = index->large;
        index->large = node->next;
        platform_release(node, sizeof *node);
    }
    platform_release(index->pages, index->page_capacity * sizeof *index->pages);
    *index = (struct jit){0};
}

static void answer(struct question *question, const struct jit *index)
{
    if (!question->answer || !question->answer->name)
        question->answer = jit_index_find(index, question->address);
}

static void play(struct questions *questions, struct jit_entry **entries, size_t count)
{
    struct jit index = {0};
    size_t next = 0;

    for (size_t i = 0; i < questions->count; i++) {
        for (; next < count && entries[next]->time <= questions->items[i].time; next++)
            jit_index_add(&index, entries[next]);
        answer(&questions->items[i], &index);
    }
    forget(&index);
    next = count;
    for (size_t i = questions->count; i-- > 0;) {
        for (; next > 0 && entries[next - 1]->time > questions->items[i].time; next--)
            jit_index_add(&index, entries[next - 1]);
        answer(&questions->items[i], &index);
    }
    forget(&index);
}

static void ask_for_functions(struct jit *jit, struct questions *questions)
{
    const struct tree *tree = &jit->core->tree;

    for (uint32_t i = tree->inherited; i < tree->count; i++) {
        struct code_function *function = tree_context(tree, i)->function;
        if (!(function->flags & CODE_FUNCTION_ANONYMOUS) || function->asked)
            continue;
        function->asked = true;
        function->named = NULL;
        ask(questions, function->start, function->time, &function->named);
    }
}

static void ask_for_blocks(struct jit *jit, struct questions *questions)
{
    const struct core *core = jit->core;

    for (uint32_t i = 1; i < core->block_count; i++) {
        struct core_block *block = &core->blocks[i];
        if (block->module->kind != CODE_ANONYMOUS)
            continue;
        block->named = NULL;
        ask(questions, block->address, block->time, &block->named);
    }
}

void jit_name_late(struct jit *jit)
{
    const struct tree *tree = &jit->core->tree;
    struct questions questions = {0};

    jit_look_last(jit);
    if (!jit->entry_count)
        return;
    ask_for_functions(jit, &questions);
    ask_for_blocks(jit, &questions);
    if (questions.count) {
        size_t size_bytes = jit->entry_count * sizeof *jit->entries;
        struct jit_entry **entries = platform_allocate(size_bytes);
        __builtin_memcpy(entries, jit->entries, size_bytes);
        sort_items(entries, jit->entry_count, sizeof *entries, entry_before);
        sort_items(questions.items, questions.count, sizeof *questions.items, question_before);
        play(&questions, entries, jit->entry_count);
        platform_release(entries, size_bytes);
    }
    for (size_t i = 0; i < questions.count; i++)
        if (questions.items[i].answer && questions.items[i].answer->name)
            *questions.items[i].place = jit_function_of(questions.items[i].answer);
    for (uint32_t i = tree->inherited; i < tree->count; i++)
        tree_context(tree, i)->function->asked = false;
    platform_release(questions.items, questions.capacity * sizeof *questions.items);
}
