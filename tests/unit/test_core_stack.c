/*
 * The rules of the true stack, each as a script and the tree it must give.
 */
#include "core_script.h"

#include <stdlib.h>

static void calls_and_returns(void **state)
{
    (void)state;
    script_gives("run 1; call f; run 2; call g; run 3; ret; run 4; ret; run 5; call g; run 6; ret",
                 "main 6 1\n"
                 "main;f 6 1\n"
                 "main;f;g 3 1\n"
                 "main;g 6 1\n",
                 "");
}

static void recursion_is_a_path_for_each_depth(void **state)
{
    (void)state;
    script_gives("call f; run 1; call f; run 1; call f; run 1; ret; run 1; ret; run 1; ret",
                 "main 0 1\n"
                 "main;f 2 1\n"
                 "main;f;f 2 1\n"
                 "main;f;f;f 1 1\n",
                 "");
}

static void the_same_call_again_is_the_same_context(void **state)
{
    (void)state;
    script_gives("call f; run 1; ret; goto main; call f; run 1; ret; call f; run 1; ret",
                 "main 0 1\n"
                 "main;f 3 3\n",
                 "");
}

/* `call next; pop` is the engines' to see; a push and a `ret` to where nobody called from is not. */
static void a_return_that_nobody_called_for_is_a_jump(void **state)
{
    (void)state;
    script_gives("run 1; call f; run 2; write g; ret; run 3; ret; run 4",
                 "main 5 1\n"
                 "main;f 2 1\n"
                 "main;g 3 1\n",
                 "return-as-jump 1");
}

static void a_return_within_the_function_is_a_jump(void **state)
{
    (void)state;
    script_gives("call f; run 2; write f+0x20; ret; run 3; ret; run 4",
                 "main 4 1\n"
                 "main;f 5 1\n",
                 "return-as-jump 1");
}

static void a_return_into_the_middle_of_another_function_is_in_doubt(void **state)
{
    (void)state;
    script_gives("call f; run 2; write g+0x20; ret; run 3; ret; run 4",
                 "main 4 1\n"
                 "main;f 2 1\n"
                 "main;g 3 1\n",
                 "unmatched-return 1");
}

static void a_return_over_many_frames(void **state)
{
    (void)state;
    script_gives("run 1; call f; keep A; run 2; call g; run 3; call h; run 4; use A; ret; run 5",
                 "main 6 1\n"
                 "main;f 2 1\n"
                 "main;f;g 3 1\n"
                 "main;f;g;h 4 1\n",
                 "unwind 1");
}

/* `ret 16` and callees that take their arguments off the stack. */
static void a_return_that_takes_arguments_off_matches_no_entry_and_unwinds(void **state)
{
    (void)state;
    script_gives("run 1; push 16; call f; run 2; pop 8; write main+6; ret; pop 16; run 3; call g;"
                 "run 4; ret; run 5",
                 "main 9 1\n"
                 "main;f 2 1\n"
                 "main;g 4 1\n",
                 "");
}

static void longjmp_over_one_frame(void **state)
{
    (void)state;
    script_gives("run 1; mark A; call f; run 2; longjmp A; run 3; call g; run 4; ret; run 5",
                 "main 9 1\n"
                 "main;f 2 1\n"
                 "main;g 4 1\n",
                 "unwind 1");
}

static void longjmp_into_the_middle(void **state)
{
    (void)state;
    script_gives("call f; push 32; mark A; run 1; call g; push 32; call h; run 2; longjmp A; run 3;"
                 "pop 32; ret; run 4",
                 "main 4 1\n"
                 "main;f 4 1\n"
                 "main;f;g 0 1\n"
                 "main;f;g;h 2 1\n",
                 "unwind 1");
}

/* An unwinder is a function that leaves several frames at once, itself included. */
static void an_exception(void **state)
{
    (void)state;
    script_gives("push 64; mark A; call f; push 64; call g; push 64; call h; run 1; call longjmp;"
                 "run 7; longjmp A; run 2; goto main+0x50; call f; run 1; ret; run 1",
                 "main 3 1\n"
                 "main;f 1 2\n"
                 "main;f;g 0 1\n"
                 "main;f;g;h 1 1\n"
                 "main;f;g;h;longjmp 7 1\n",
                 "unwind 1");
}

/* ---- jumps ---- */

static void a_tail_call_replaces(void **state)
{
    (void)state;
    script_gives("run 1; call f; run 2; goto g; run 3; jump h; run 4; ret; run 5",
                 "main 6 1\n"
                 "main;f 2 1\n"
                 "main;g 3 1\n"
                 "main;h 4 1\n",
                 "");
}

static struct machine *keeping_machine(void)
{
    return machine_new(&(struct core_options){.keep_tail_calls = true}, false);
}

static void a_tail_call_is_kept_on_request(void **state)
{
    struct machine *machine = keeping_machine();

    (void)state;
    machine_run(machine, "call f; run 2; goto g; run 3; jump h; run 4; ret; run 5");
    machine_assert_tree(machine, 1,
                        "main 5 1\n"
                        "main;f 2 1\n"
                        "main;f;g 3 1\n"
                        "main;f;g;h 4 1\n");
    machine_free(machine);
}

static void kept_mutual_tail_calls_stay_finite(void **state)
{
    struct machine *machine = keeping_machine();

    (void)state;
    machine_run(machine, "call f");
    for (int i = 0; i < 10; i++)
        machine_run(machine, "run 1; goto g; run 1; goto f");
    machine_run(machine, "run 1; ret; run 5");
    machine_assert_tree(machine, 1,
                        "main 5 1\n"
                        "main;f 11 11\n"
                        "main;f;g 10 10\n");
    machine_free(machine);
}

/* Only the frames of the tail calls are gone back over: a caller of the same name is another. */
static void a_kept_tail_call_to_a_caller_is_a_new_frame(void **state)
{
    struct machine *machine = keeping_machine();

    (void)state;
    machine_run(machine, "call f; run 1; call g; run 2; goto f; run 3; ret; run 4; ret; run 5");
    machine_assert_tree(machine, 1,
                        "main 5 1\n"
                        "main;f 5 1\n"
                        "main;f;g 2 1\n"
                        "main;f;g;f 3 1\n");
    machine_free(machine);
}

static void a_jump_within_the_function_changes_nothing(void **state)
{
    (void)state;
    script_gives("call f; run 1; goto f+0x40; run 1; jump f; run 1; ret",
                 "main 0 1\n"
                 "main;f 3 1\n",
                 "");
}

static void the_cold_part_belongs_to_its_function(void **state)
{
    (void)state;
    script_gives("call f; run 1; goto f.cold; run 2; call g; run 3; ret; jump f+0x40; run 4; ret",
                 "main 0 1\n"
                 "main;f 7 1\n"
                 "main;f;g 3 1\n",
                 "");
}

static void falling_through_is_a_tail_call(void **state)
{
    (void)state;
    script_gives("call f+0xfe; run 2; run 2; ret; run 1",
                 "main 1 1\n"
                 "main;f 2 1\n"
                 "main;g 2 1\n",
                 "");
}

/* A retpoline: a call whose return address is overwritten, and a `ret` that goes to a function. The
 * entry of that call was left without a return to it, which is an unwind of one frame. */
static void a_retpoline(void **state)
{
    (void)state;
    script_gives("run 1; call f; run 1; call f+0x20; run 1; pop 8; write g; ret; run 5; ret; run 2",
                 "main 3 1\n"
                 "main;f 1 1\n"
                 "main;f;f 1 1\n"
                 "main;g 5 1\n",
                 "unwind 1");
}

/* ---- the PLT ---- */

static void a_plt_stub_makes_no_frame(void **state)
{
    (void)state;
    script_gives("run 1; call plt+0x10; run 2; jump g; run 3; ret; run 4",
                 "main 7 1\n"
                 "main;g 3 1\n",
                 "");
}

static void a_tail_call_through_the_plt(void **state)
{
    (void)state;
    script_gives("call f; run 1; goto plt+0x10; run 2; jump g; run 3; ret; run 4",
                 "main 4 1\n"
                 "main;f 3 1\n"
                 "main;g 3 1\n",
                 "");
}

static void a_signal_while_a_plt_call_is_pending(void **state)
{
    (void)state;
    script_gives("call plt; run 1; signal 10 handler; run 5; call h; run 1; ret; sigreturn; run 1;"
                 "jump g; run 3; ret; run 4",
                 "main 6 1\n"
                 "main;(signal 10) 0 1\n"
                 "main;(signal 10);handler 5 1\n"
                 "main;(signal 10);handler;h 1 1\n"
                 "main;g 3 1\n",
                 "");
}

static void a_signal_on_its_own_stack_while_a_plt_call_is_pending(void **state)
{
    (void)state;
    script_gives("call plt; run 1; signal 10 handler 0x600ff000; run 5; sigreturn; run 1;"
                 "jump g; run 3; ret; run 4",
                 "main 6 1\n"
                 "main;(signal 10) 0 1\n"
                 "main;(signal 10);handler 5 1\n"
                 "main;g 3 1\n",
                 "");
}

static void a_longjmp_forgets_a_pending_plt_call(void **state)
{
    (void)state;
    script_gives("mark A; call plt; run 1; longjmp A; run 1; call g; run 3; ret; run 4",
                 "main 6 1\n"
                 "main;g 3 1\n",
                 "unwind 1");
}

/* ---- anonymous code ---- */

static void anonymous_code_is_one_function_for_each_called_address(void **state)
{
    (void)state;
    script_gives("call 0x900000; run 1; goto 0x900100; run 1; call 0x900200; run 2; ret; call g;"
                 "run 3; ret; ret; run 4",
                 "main 4 1\n"
                 "main;0x900000 2 1\n"
                 "main;0x900000;0x900200 2 1\n"
                 "main;0x900000;g 3 1\n",
                 "");
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(calls_and_returns),
        TEST(recursion_is_a_path_for_each_depth),
        TEST(the_same_call_again_is_the_same_context),
        TEST(a_return_that_nobody_called_for_is_a_jump),
        TEST(a_return_within_the_function_is_a_jump),
        TEST(a_return_into_the_middle_of_another_function_is_in_doubt),
        TEST(a_return_over_many_frames),
        TEST(a_return_that_takes_arguments_off_matches_no_entry_and_unwinds),
        TEST(longjmp_over_one_frame),
        TEST(longjmp_into_the_middle),
        TEST(an_exception),
        TEST(a_tail_call_replaces),
        TEST(a_tail_call_is_kept_on_request),
        TEST(kept_mutual_tail_calls_stay_finite),
        TEST(a_kept_tail_call_to_a_caller_is_a_new_frame),
        TEST(a_jump_within_the_function_changes_nothing),
        TEST(the_cold_part_belongs_to_its_function),
        TEST(falling_through_is_a_tail_call),
        TEST(a_retpoline),
        TEST(a_plt_stub_makes_no_frame),
        TEST(a_tail_call_through_the_plt),
        TEST(a_signal_while_a_plt_call_is_pending),
        TEST(a_signal_on_its_own_stack_while_a_plt_call_is_pending),
        TEST(a_longjmp_forgets_a_pending_plt_call),
        TEST(anonymous_code_is_one_function_for_each_called_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
