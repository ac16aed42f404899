/*
 * Several stacks: coroutines, signals, threads. Addresses that differ in the megabyte lie in
 * mappings of their own; the first stack is at SCRIPT_STACK.
 */
#include "core_script.h"

#include <stdlib.h>

/* A coroutine's first turn: its stack is set up by hand and entered by the `ret` of swap. */
#define ENTER_COROUTINE(stack) "call swap; run 1; keep A; stack " stack "; write co; ret; run 2;"

static void a_new_stack_in_its_own_mapping(void **state)
{
    (void)state;
    script_gives(ENTER_COROUTINE("0x600ff000") "call g; run 3; ret; run 1",
                 "co 3 1\n"
                 "co;g 3 1\n"
                 "main 0 1\n"
                 "main;swap 1 1\n",
                 "new-stack 1");
}

static void a_coroutine_gives_back_and_is_resumed(void **state)
{
    (void)state;
    script_gives(ENTER_COROUTINE("0x600ff000")
                 /* gives back to main */
                 "call swap; run 1; keep B; use A; ret; run 5; call f; run 6;"
                 /* from f, resumed */
                 "call swap; run 1; keep A; use B; ret; run 7; call g; run 8;"
                 /* from g, back to f */
                 "call swap; run 1; keep B; use A; ret; run 9; ret; run 10",
                 "co 9 1\n"
                 "co;g 8 1\n"
                 "co;g;swap 1 1\n"
                 "co;swap 1 1\n"
                 "main 15 1\n"
                 "main;f 15 1\n"
                 "main;f;swap 1 1\n"
                 "main;swap 1 1\n",
                 "stack-switch 3, new-stack 1");
}

/* Coroutine libraries that hand out pieces of one allocation. */
static void two_new_stacks_in_one_mapping(void **state)
{
    (void)state;
    script_gives(ENTER_COROUTINE("0x60020000") "call swap; run 1; keep B; stack 0x60040000; write "
                                               "h; ret; run 4; call g; run 1;"
                                               "call swap; run 1; keep C; use B; ret; run 1; call "
                                               "swap; keep B; use C; ret; run 5;"
                                               "ret; run 6; call swap; use A; ret; run 7",
                 "co 3 1\n"
                 "co;swap 1 2\n"
                 "h 10 1\n"
                 "h;g 6 1\n"
                 "h;g;swap 1 1\n"
                 "h;swap 0 1\n"
                 "main 7 1\n"
                 "main;swap 1 1\n",
                 "stack-switch 3, new-stack 2");
}

/* A stack that is an array in the caller's frame: the same mapping, below what runs. */
static void a_new_stack_inside_the_callers_frame(void **state)
{
    (void)state;
    script_gives(
        "call f; push 0x10000; run 1; call swap; run 1; keep A; stack 0x7f0f4000; write co;"
        "ret; run 2; call g; run 3; ret; run 4;"
        "call swap; run 1; keep B; use A; ret; run 5; call swap; keep A; use B; ret; run 6;"
        "call swap; use A; ret; run 7; pop 0x10000; ret; run 8",
        "co 12 1\n"
        "co;g 3 1\n"
        "co;swap 1 2\n"
        "main 8 1\n"
        "main;f 13 1\n"
        "main;f;swap 1 2\n",
        "stack-switch 3, new-stack 1");
}

/* A coroutine that ended, and another that began in its memory. */
static void a_stack_that_is_used_again(void **state)
{
    (void)state;
    script_gives(ENTER_COROUTINE("0x600ff000") "call swap; use A; ret; run 3; goto main+0x40;"
                                               "call swap; run 1; keep A; stack 0x600ff000; write "
                                               "h; ret; run 4; call swap;"
                                               "use A; ret; run 5",
                 "co 2 1\n"
                 "co;swap 0 1\n"
                 "h 4 1\n"
                 "h;swap 0 1\n"
                 "main 8 1\n"
                 "main;swap 2 2\n",
                 "stack-switch 2, new-stack 2");
}

/* Goroutines: who waits goes over to the scheduler's stack and calls the scheduler (g) from there,
 * which never returns. It starts another one, and continues the first where it called swap. */
#define PARK(name) "call swap; run 1; keep " name "; stack 0x7f2ff000; call g; run 3;"

static void a_scheduler_that_is_called_on_its_own_stack(void **state)
{
    (void)state;
    script_gives(
        ENTER_COROUTINE("0x600ff000") "call f; run 1;" PARK(
            "B") "stack 0x600ee000; write h; ret; run 4;" PARK("C") "use B; ret; run 5; ret; run 6;"
                                                                    "call f; run 7;" PARK(
                                                                        "B") "use C; ret; run 8",
        "co 8 1\n"
        "co;f 13 2\n"
        "co;f;swap 2 2\n"
        "co;f;swap;g 6 2\n"
        "h 12 1\n"
        "h;swap 1 1\n"
        "h;swap;g 3 1\n"
        "main 0 1\n"
        "main;swap 1 1\n",
        "stack-switch 2, new-stack 2");
}

/* The scheduler that it called is still running when another thread continues it. */
static void a_goroutine_goes_on_on_another_thread(void **state)
{
    (void)state;
    script_gives(ENTER_COROUTINE("0x600ff000") "call f; run 1;" PARK(
                     "B") "thread 2 h 0x620ff000; switch 2; run 4; use B; ret; run 5; ret; run 6;"
                          "switch 1; run 2; call f; run 3",
                 "1 co 8 1\n"
                 "1 co;f 6 1\n"
                 "1 co;f;swap 1 1\n"
                 "1 co;f;swap;g 5 1\n"
                 "1 co;f;swap;g;f 3 1\n"
                 "1 main 0 1\n"
                 "1 main;swap 1 1\n"
                 "2 h 4 1\n",
                 "stack-switch 1, new-stack 1");
}

/* longjmp between stacks: no return explains it, but sp lies on a stack that is known. */
static void a_longjmp_to_another_stack(void **state)
{
    (void)state;
    script_gives("call f; push 64; run 1; mark M; call h; push 64;" ENTER_COROUTINE(
                     "0x600ff000") "longjmp M; run 5; pop 64; ret; run 6",
                 "co 2 1\n"
                 "main 6 1\n"
                 "main;f 6 1\n"
                 "main;f;h 0 1\n"
                 "main;f;h;swap 1 1\n",
                 "unwind 1, stack-switch 1, new-stack 1");
}

static void a_large_frame_is_no_new_stack(void **state)
{
    (void)state;
    script_gives(
        "call f; push 0x40000; run 1; jump f+0x20; run 1; call g; run 2; jump h; run 3; ret;"
        "pop 0x40000; ret; run 4",
        "main 4 1\n"
        "main;f 2 1\n"
        "main;f;g 2 1\n"
        "main;f;h 3 1\n",
        "");
}

/* ---- signals ---- */

static void a_handler_on_the_running_stack(void **state)
{
    (void)state;
    script_gives(
        "call f; run 1; signal 10 handler; run 2; call g; run 3; ret; sigreturn; run 4; ret;"
        "run 5",
        "main 5 1\n"
        "main;f 5 1\n"
        "main;f;(signal 10) 0 1\n"
        "main;f;(signal 10);handler 2 1\n"
        "main;f;(signal 10);handler;g 3 1\n",
        "");
}

static void a_handler_on_its_own_stack(void **state)
{
    (void)state;
    script_gives(
        "call f; run 1; signal 11 handler 0x500ff000; run 2; call g; run 3; ret; sigreturn;"
        "run 4; ret; run 5",
        "main 5 1\n"
        "main;f 5 1\n"
        "main;f;(signal 11) 0 1\n"
        "main;f;(signal 11);handler 2 1\n"
        "main;f;(signal 11);handler;g 3 1\n",
        "");
}

/* The stack of handlers may be a part of the stack that they interrupt. */
static void a_handler_on_a_stack_inside_the_interrupted_one(void **state)
{
    (void)state;
    script_gives("push 0x20000; call f; run 1; signal 11 handler 0x7f0f0000; run 2; call g; run 3;"
                 "ret; sigreturn; run 4; ret; run 5",
                 "main 5 1\n"
                 "main;f 5 1\n"
                 "main;f;(signal 11) 0 1\n"
                 "main;f;(signal 11);handler 2 1\n"
                 "main;f;(signal 11);handler;g 3 1\n",
                 "");
}

static void handlers_that_interrupt_each_other(void **state)
{
    (void)state;
    script_gives(
        "call f; signal 10 handler 0x500ff000; run 1; signal 12 h; run 2; sigreturn; run 3;"
        "sigreturn; run 4; ret; run 5",
        "main 5 1\n"
        "main;f 4 1\n"
        "main;f;(signal 10) 0 1\n"
        "main;f;(signal 10);handler 4 1\n"
        "main;f;(signal 10);handler;(signal 12) 0 1\n"
        "main;f;(signal 10);handler;(signal 12);h 2 1\n",
        "");
}

static void longjmp_out_of_a_handler(void **state)
{
    (void)state;
    script_gives(
        "push 64; mark A; call f; run 1; signal 10 handler; run 2; call g; run 3; longjmp A;"
        "run 4; call h; run 5; ret; run 6",
        "main 10 1\n"
        "main;f 1 1\n"
        "main;f;(signal 10) 0 1\n"
        "main;f;(signal 10);handler 2 1\n"
        "main;f;(signal 10);handler;g 3 1\n"
        "main;h 5 1\n",
        "unwind 1");
}

static void longjmp_out_of_a_handler_on_its_own_stack(void **state)
{
    (void)state;
    script_gives(
        "push 64; run 1; mark A; call f; push 64; run 1; signal 11 handler 0x500ff000; run 2;"
        "call g; run 3; longjmp A; run 4; call h; run 5; ret; run 6;"
        /* and once more, on the same stack */
        "signal 11 handler 0x500ff000; run 1; sigreturn; run 7",
        "main 18 1\n"
        "main;(signal 11) 0 1\n"
        "main;(signal 11);handler 1 1\n"
        "main;f 1 1\n"
        "main;f;(signal 11) 0 1\n"
        "main;f;(signal 11);handler 2 1\n"
        "main;f;(signal 11);handler;g 3 1\n"
        "main;h 5 1\n",
        "unwind 1, stack-switch 1");
}

/* ---- threads, forks ---- */

static void each_thread_has_a_root(void **state)
{
    (void)state;
    script_gives("run 1; call f; run 2; thread 2 start 0x600ff000; run 3; call g; run 4; switch 1;"
                 "run 5; ret; run 6; switch 2; run 7; ret; run 8; end; run 9",
                 "1 main 16 1\n"
                 "1 main;f 7 1\n"
                 "2 start 11 1\n"
                 "2 start;g 11 1\n",
                 "");
}

static void a_thread_that_moves_in_where_another_ended(void **state)
{
    (void)state;
    script_gives("thread 2 start 0x600ff000; run 1; call f; run 2; end; run 3;"
                 "thread 3 co 0x600ff000; run 4; call g; run 5; end; run 6",
                 "1 main 9 1\n"
                 "2 start 1 1\n"
                 "2 start;f 2 1\n"
                 "3 co 4 1\n"
                 "3 co;g 5 1\n",
                 "");
}

static void the_child_of_a_fork_goes_on_with_costs_at_zero(void **state)
{
    struct machine *machine = machine_new(&(struct core_options){0}, false);

    (void)state;
    machine_run(machine, "thread 2 start 0x600ff000; run 1; switch 1; mark A; run 1; call f; run 2;"
                         "call g; run 3; longjmp A; call f; call g; run 1; fork; run 4; ret; run 5;"
                         "ret; run 6");
    machine_assert_tree(machine, 2,
                        "main 6 0\n"
                        "main;f 5 0\n"
                        "main;f;g 4 0\n");
    assert_true(machine_core(machine)->parts[0].dropped);
    assert_false(machine_core(machine)->parts[1].dropped);
    machine_assert_repairs(machine, "");
    machine_free(machine);
}

/* Neither those that ended nor those that run, and its own are counted from it on. */
static void the_child_of_a_fork_has_none_of_the_other_threads(void **state)
{
    struct machine *machine = machine_new(&(struct core_options){0}, false);

    (void)state;
    machine_run(machine, "thread 2 start 0x600ff000; run 1; end; thread 3 co 0x700ff000; run 1;"
                         "fork; run 4");
    machine_assert_tree(machine, 2, "co 4 0\n");
    assert_int_equal(machine_core(machine)->thread_count, 1);
    machine_run(machine, "thread 2 start 0x600ff000; run 2; call f; run 3; switch 3; run 1");
    machine_assert_tree(machine, 2,
                        "1 co 5 0\n"
                        "2 start 2 1\n"
                        "2 start;f 3 1\n");
    machine_free(machine);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_stack_in_its_own_mapping),
        TEST(a_coroutine_gives_back_and_is_resumed),
        TEST(two_new_stacks_in_one_mapping),
        TEST(a_new_stack_inside_the_callers_frame),
        TEST(a_stack_that_is_used_again),
        TEST(a_scheduler_that_is_called_on_its_own_stack),
        TEST(a_goroutine_goes_on_on_another_thread),
        TEST(a_longjmp_to_another_stack),
        TEST(a_large_frame_is_no_new_stack),
        TEST(a_handler_on_the_running_stack),
        TEST(a_handler_on_its_own_stack),
        TEST(a_handler_on_a_stack_inside_the_interrupted_one),
        TEST(handlers_that_interrupt_each_other),
        TEST(longjmp_out_of_a_handler),
        TEST(longjmp_out_of_a_handler_on_its_own_stack),
        TEST(each_thread_has_a_root),
        TEST(a_thread_that_moves_in_where_another_ended),
        TEST(the_child_of_a_fork_goes_on_with_costs_at_zero),
        TEST(the_child_of_a_fork_has_none_of_the_other_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
