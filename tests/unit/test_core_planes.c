/*
 * What the program asks for: start, stop, zero, dump, label, in the middle of its stacks; and the
 * limits of the tree. Plane 0 is what was not recorded, plane N+1 is part N.
 */
#include "core_script.h"

#include <stdlib.h>
#include <string.h>

static struct machine *machine_off(void)
{
    return machine_new(&(struct core_options){.start_off = true}, false);
}

/* On three calls deep: the path is the true one, and returning leads up it. */
static void start_in_mid_stack_finds_the_path(void **state)
{
    struct machine *machine = machine_off();

    (void)state;
    machine_run(machine,
                "run 1; call f; run 2; call g; run 3; start; run 4; ret; run 5; ret; run 6;"
                "call h; run 7; ret; run 8");
    machine_assert_tree(machine, 1,
                        "main 14 0\n"
                        "main;f 5 0\n"
                        "main;f;g 4 0\n"
                        "main;h 7 1\n");
    machine_assert_tree(machine, 0,
                        "main 1 1\n"
                        "main;f 2 1\n"
                        "main;f;g 3 1\n");
    machine_assert_repairs(machine, "");
    machine_free(machine);
}

static void start_at_the_bottom_of_a_recursion(void **state)
{
    struct machine *machine = machine_off();

    (void)state;
    machine_run(machine,
                "call f; call f; call f; start; run 1; ret; run 2; ret; run 3; ret; run 4");
    machine_assert_tree(machine, 1,
                        "main 4 0\n"
                        "main;f 3 0\n"
                        "main;f;f 2 0\n"
                        "main;f;f;f 1 0\n");
    machine_free(machine);
}

static void stop_and_start_at_another_depth(void **state)
{
    struct machine *machine = machine_new(&(struct core_options){0}, false);

    (void)state;
    machine_run(machine, "run 1; call f; run 2; stop; run 100; call g; run 100; start; run 3; ret;"
                         "run 4; stop; ret; run 100; start; run 5");
    machine_assert_tree(machine, 1,
                        "main 6 1\n"
                        "main;f 6 1\n"
                        "main;f;g 3 0\n");
    machine_assert_tree(machine, 0,
                        "main 100 0\n"
                        "main;f 100 0\n"
                        "main;f;g 100 1\n");
    machine_free(machine);
}

/* Stacks that do not run when recording starts come along when they do. */
static void a_start_reaches_other_stacks(void **state)
{
    struct machine *machine = machine_off();

    (void)state;
    machine_run(machine,
                "thread 2 start 0x600ff000; call g; run 100; switch 1;"
                "call f; run 100; call swap; keep A; stack 0x500ff000; write co; ret; run 100;"
                "start; run 1; call swap; use A; ret; run 2; ret; run 3;"
                "switch 2; run 4; ret; run 5");
    machine_assert_tree(machine, 1,
                        "1 co 1 0\n"
                        "1 co;swap 0 1\n"
                        "1 main 3 0\n"
                        "1 main;f 2 0\n"
                        "2 start 5 0\n"
                        "2 start;g 4 0\n");
    machine_free(machine);
}

static void start_below_anonymous_code_and_a_signal(void **state)
{
    struct machine *machine = machine_off();

    (void)state;
    machine_run(machine, "call 0x900000; run 1; signal 10 handler; run 1; start; run 2; sigreturn;"
                         "run 3; ret; run 4");
    machine_assert_tree(machine, 1,
                        "main 4 0\n"
                        "main;0x900000 3 0\n"
                        "main;0x900000;(signal 10);handler 2 0\n");
    machine_free(machine);
}

static void zero_forgets(void **state)
{
    struct machine *machine = machine_new(&(struct core_options){0}, false);

    (void)state;
    machine_run(machine, "run 1; call f; run 2; label kept; zero; run 3; ret; run 4");
    machine_assert_tree(machine, 2,
                        "main 4 0\n"
                        "main;f 3 0\n");
    const struct core *core = machine_core(machine);
    assert_int_equal(core->part_count, 2);
    assert_true(core->parts[0].dropped);
    assert_string_equal(core->parts[1].label, "kept");
    machine_free(machine);
}

static void dumps_are_parts(void **state)
{
    struct machine *machine = machine_new(&(struct core_options){0}, false);

    (void)state;
    machine_run(machine, "run 1; call f; run 2; label a; label b; dump one; run 3; call g; run 4;"
                         "dump two; run 5; ret; run 6; ret; run 7");
    machine_assert_tree(machine, 1,
                        "main 1 1\n"
                        "main;f 2 1\n");
    machine_assert_tree(machine, 2,
                        "main;f 3 0\n"
                        "main;f;g 4 1\n");
    machine_assert_tree(machine, 3,
                        "main 7 0\n"
                        "main;f 6 0\n"
                        "main;f;g 5 0\n");
    const struct core *core = machine_core(machine);
    assert_int_equal(core->part_count, 3);
    assert_string_equal(core->parts[0].name, "one");
    assert_string_equal(core->parts[0].label, "a\nb");
    assert_string_equal(core->parts[1].name, "two");
    assert_null(core->parts[1].label);
    assert_null(core->parts[2].name);
    machine_free(machine);
}

static void dumps_without_a_name_are_numbered(void **state)
{
    struct machine *machine = machine_new(&(struct core_options){0}, false);
    const struct core *core = machine_core(machine);

    (void)state;
    machine_run(machine, "run 1; dump one; run 2; zero; run 3; dump; run 4; dump; run 5");
    assert_int_equal(core->part_count, 5);
    assert_string_equal(core->parts[0].name, "one");
    assert_true(core->parts[1].dropped);
    assert_string_equal(core->parts[2].name, "2");
    assert_string_equal(core->parts[3].name, "3");
    assert_null(core->parts[4].name);
    machine_free(machine);
}

static void a_dump_while_recording_is_off(void **state)
{
    struct machine *machine = machine_new(&(struct core_options){0}, false);

    (void)state;
    machine_run(machine, "run 1; stop; run 100; dump one; run 100; start; run 2");
    machine_assert_tree(machine, 1, "main 1 1\n");
    machine_assert_tree(machine, 2, "main 2 0\n");
    machine_free(machine);
}

/* ---- sites ---- */

static char *tree_with_sites(bool line_detail, bool has_lines, const char *script)
{
    struct machine *machine =
        machine_new(&(struct core_options){.line_detail = line_detail}, has_lines);

    machine_run(machine, script);
    char *tree = machine_tree(machine, 1, true);
    machine_free(machine);
    return tree;
}

#define TWO_SITES "run 1; call f; run 2; ret; run 3; call f; run 4; ret"

static void sites_are_told_apart_where_lines_can_show_them(void **state)
{
    char *tree = tree_with_sites(true, true, TWO_SITES);

    (void)state;
    assert_string_equal(tree, "main 4 1\n"
                              "main;f@main+1 2 1\n"
                              "main;f@main+9 4 1\n");
    free(tree);
}

static void otherwise_they_are_one(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        char *tree = tree_with_sites(i & 1, i & 2, TWO_SITES);
        assert_string_equal(tree, "main 4 1\n"
                                  "main;f@any 6 2\n");
        free(tree);
    }
}

/* fib calls itself from two sites: one context a level, which knows both. */
static void recursion_merges_its_sites(void **state)
{
    struct machine *machine = machine_new(&(struct core_options){.line_detail = true}, true);

    (void)state;
    machine_run(machine, "call f; run 1; call f; run 2; ret; run 1; call f; run 3; call f; run 1;"
                         "ret; ret; ret");
    char *tree = machine_tree(machine, 1, true);
    assert_string_equal(tree, "main 0 1\n"
                              "main;f@main 2 1\n"
                              "main;f@main;f@any 5 2\n"
                              "main;f@main;f@any;f@any 1 1\n");
    free(tree);
    assert_int_equal(machine_core(machine)->tree.site_pair_count, 1);
    machine_free(machine);
}

static void mutual_recursion_merges_its_sites(void **state)
{
    char *tree = tree_with_sites(true, true,
                                 "call f; run 1; call g; run 1; call f; run 1; ret; run 1; call f;"
                                 "run 1; ret; ret; ret");

    (void)state;
    assert_string_equal(tree, "main 0 1\n"
                              "main;f@main 1 1\n"
                              "main;f@main;g@f+1 2 1\n"
                              "main;f@main;g@f+1;f@any 2 2\n");
    free(tree);
}

static void a_tail_call_keeps_the_site(void **state)
{
    char *tree = tree_with_sites(true, true, "run 1; call f; run 1; goto g; run 2; ret");

    (void)state;
    assert_string_equal(tree, "main 1 1\n"
                              "main;f@main+1 1 1\n"
                              "main;g@main+1 2 1\n");
    free(tree);
}

/* ---- limits ---- */

static void beyond_the_limit_recursion_folds(void **state)
{
    /* root, main, f, f;f are four */
    struct machine *machine = machine_new(&(struct core_options){.max_contexts = 4}, false);

    (void)state;
    machine_run(machine, "call f; call f");
    for (int i = 0; i < 1000; i++)
        machine_run(machine, "call f; run 1");
    for (int i = 0; i < 1000; i++)
        machine_run(machine, "ret");
    machine_run(machine, "run 2; ret; run 3; ret; run 4; call g; run 5; ret");
    machine_assert_tree(machine, 1,
                        "main 4 1\n"
                        "main;f 3 1\n"
                        "main;f;f 1002 1001\n"
                        "main;g 5 1\n"); /* a new path that is no recursion is made all the same */
    assert_int_equal(machine_core(machine)->tree.count, 5);
    assert_true(machine_core(machine)->tree.folded > 0);
    machine_free(machine);
}

static void a_million_deep(void **state)
{
    const uint64_t deep = 1000000, site = machine_place("f+1"), target = machine_place("f");
    struct machine *machine = machine_new(&(struct core_options){0}, false);
    struct core *core = machine_core(machine);
    struct thread *thread = core->threads;
    uint32_t number = tree_site(&core->tree, site, code_map_find(&core->code, site).module);
    uint64_t sp = SCRIPT_STACK;

    (void)state;
    for (uint64_t i = 0; i < deep; i++, sp -= 16) {
        core_call(core, thread, number, target, site + 5, sp);
        thread->hot->current->self_instructions++;
    }
    assert_int_equal(thread->hot->current->depth, deep + 1);
    assert_int_equal(core->tree.count, deep + 2);
    /* to another plane and back: no recursion of ours over theirs */
    core_stop(core);
    core_resume(core, thread);
    assert_int_equal(thread->hot->current->depth, deep + 1);
    core_start(core);
    core_resume(core, thread);
    for (uint64_t i = 0; i < deep; i++) {
        sp += 16;
        assert_true(core_return_fast(thread, site + 5, sp));
        assert_int_equal(thread->hot->current->depth, deep - i);
    }
    /* and a longjmp over all of them */
    for (uint64_t i = 0; i < deep; i++, sp -= 16)
        core_call(core, thread, number, target, site + 5, sp);
    core_jump(core, thread, machine_place("main+0x50"), SCRIPT_STACK);
    assert_int_equal(thread->hot->current->depth, 1);
    machine_assert_repairs(machine, "unwind 1");
    machine_free(machine);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(start_in_mid_stack_finds_the_path),
        TEST(start_at_the_bottom_of_a_recursion),
        TEST(stop_and_start_at_another_depth),
        TEST(a_start_reaches_other_stacks),
        TEST(start_below_anonymous_code_and_a_signal),
        TEST(zero_forgets),
        TEST(dumps_are_parts),
        TEST(dumps_without_a_name_are_numbered),
        TEST(a_dump_while_recording_is_off),
        TEST(sites_are_told_apart_where_lines_can_show_them),
        TEST(otherwise_they_are_one),
        TEST(recursion_merges_its_sites),
        TEST(mutual_recursion_merges_its_sites),
        TEST(a_tail_call_keeps_the_site),
        TEST(beyond_the_limit_recursion_folds),
        TEST(a_million_deep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
