/*
 * test_trampoline.c: a trampoline passes its arguments on, brings the result back, and can be
 * walked through by frame pointer. Its memory is never writable and executable at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "python/arena.h"
#include "python/template.h"

typedef long evaluator(long thread, long frame, int throwing);
typedef long trampoline(long thread, long frame, int throwing, evaluator *evaluator);

static uintptr_t return_addresses[4];

/* Every frame on the way here keeps a frame pointer: this file is compiled so. */
static __attribute__((noinline)) long walk(long thread, long frame, int throwing)
{
    uintptr_t *pointer = __builtin_frame_address(0);

    for (int i = 0; i < 4; i++) {
        return_addresses[i] = pointer[1];
        pointer = (uintptr_t *)pointer[0];
    }
    return thread * 100 + frame * 10 + throwing;
}

static __attribute__((noinline)) long call_one(trampoline *slot)
{
    long result = slot(1, 2, 3, walk);

    __asm__ volatile(""); /* not a tail call */
    return result;
}

static void *take(void)
{
    struct error error;
    void *slot = arena_take_slot(&error);

    assert_non_null(slot);
    return slot;
}

static void test_call_through(void **state)
{
    uintptr_t slot = (uintptr_t)take();

    (void)state;
    assert_int_equal(call_one((trampoline *)slot), 123);
    assert_in_range(return_addresses[0], slot + 1, slot + TEMPLATE_CODE_SIZE - 1);
    assert_in_range(return_addresses[1], (uintptr_t)call_one, (uintptr_t)call_one + 200);
    assert_in_range(return_addresses[2], (uintptr_t)test_call_through,
                    (uintptr_t)test_call_through + 2000);
}

static void test_slots_do_not_overlap(void **state)
{
    (void)state;
    size_t arenas = arena_count();
    uintptr_t last = (uintptr_t)take();
    for (int i = 0; i < 3000; i++) {
        uintptr_t slot = (uintptr_t)take();
        if (slot > last)
            assert_true(slot - last >= arena_slot_bytes());
        assert_memory_equal((void *)slot, template_code, TEMPLATE_CODE_SIZE);
        last = slot;
    }
    assert_true(arena_count() > arenas);
}

static void test_a_returned_slot_comes_back(void **state)
{
    (void)state;
    void *first = take(), *second = take();
    arena_return_slot(first);
    arena_return_slot(second);
    assert_ptr_equal(take(), second);
    assert_ptr_equal(take(), first);
}

static void test_memory_is_not_writable(void **state)
{
    uintptr_t slot = (uintptr_t)take();
    unsigned long start, end;
    char line[512], permissions[8];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");

    (void)state;
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        assert_int_equal(sscanf(line, "%lx-%lx %7s", &start, &end, permissions), 3);
        if (slot >= start && slot < end) {
            assert_string_equal(permissions, "r-xp");
            found = 1;
        }
    }
    fclose(maps);
    assert_true(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_through),
        cmocka_unit_test(test_slots_do_not_overlap),
        cmocka_unit_test(test_a_returned_slot_comes_back),
        cmocka_unit_test(test_memory_is_not_writable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
