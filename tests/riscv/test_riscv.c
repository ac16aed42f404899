/*
 * test_riscv.c: the machine as a library, with guests of a few instructions made on the spot, so
 * that no compiler for RISC-V is needed.
 */
#include "engines/riscv/decode.h"
#include "engines/riscv/keccak.h"
#include "engines/riscv/riscv.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define CODE_ADDRESS 0x10000u
#define DATA_OFFSET  0x200u /* of what a guest may write, from its start */

struct guest_file {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    uint32_t code[256];
};

static char path[] = "/tmp/trueflame-riscv-XXXXXX";

/* One segment, readable, writable and executable, that starts with the code. */
static struct guest_file make_guest(const uint32_t *code, size_t count)
{
    struct guest_file guest = {
        .header =
            {
                .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                .e_type = ET_EXEC,
                .e_machine = EM_RISCV,
                .e_version = EV_CURRENT,
                .e_entry = CODE_ADDRESS,
                .e_phoff = offsetof(struct guest_file, segment),
                .e_flags = 5, /* compressed, double floats: for Linux */
                .e_ehsize = sizeof(Elf64_Ehdr),
                .e_phentsize = sizeof(Elf64_Phdr),
                .e_phnum = 1,
            },
        .segment =
            {
                .p_type = PT_LOAD,
                .p_flags = PF_R | PF_W | PF_X,
                .p_offset = offsetof(struct guest_file, code),
                .p_vaddr = CODE_ADDRESS,
                .p_filesz = sizeof guest.code,
                .p_memsz = sizeof guest.code,
            },
    };

    memcpy(guest.code, code, count * sizeof *code);
    return guest;
}

static void write_guest(const struct guest_file *guest, size_t size_bytes)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(guest, 1, size_bytes, file), size_bytes);
    fclose(file);
}

static struct riscv_machine *create(const uint32_t *code, size_t count, enum riscv_abi abi)
{
    struct guest_file guest = make_guest(code, count);
    struct riscv_options options = {.path = path, .abi = abi};
    struct error error;

    write_guest(&guest, sizeof guest);
    struct riscv_machine *machine = riscv_create(&options, &error);
    if (!machine)
        fail_msg("%s", error.text);
    return machine;
}

#define CREATE(code, abi) create(code, sizeof(code) / sizeof *(code), abi)

/* Sums 10 + 9 + ... + 1 into a0 and exits with it; 1 + 3 * 10 + 2 instructions. */
static const uint32_t sum[] = {
    0x00a00593, /* li a1, 10 */
    0x00b50533, /* add a0, a0, a1 */
    0xfff58593, /* addi a1, a1, -1 */
    0xfe059ce3, /* bnez a1, -8 */
    0x05d00893, /* li a7, 93 */
    0x00000073, /* ecall */
};

static void test_runs_to_the_end(void **state)
{
    struct riscv_machine *machine = CREATE(sum, RISCV_ABI_LINUX);

    (void)state;
    assert_int_equal(riscv_run(machine, UINT64_MAX), RISCV_EXITED);
    assert_int_equal(riscv_state(machine)->exit_status, 55);
    assert_int_equal(riscv_state(machine)->instructions, 33);
    riscv_destroy(machine);
}

/* In slices of any size the same happens, to the instruction. */
static void test_slices_are_exact(void **state)
{
    (void)state;
    for (uint64_t slice = 1; slice < 40; slice++) {
        struct riscv_machine *machine = CREATE(sum, RISCV_ABI_LINUX);
        uint64_t expected = 0;
        while (riscv_run(machine, slice) == RISCV_RUNNING) {
            expected += slice;
            assert_int_equal(riscv_state(machine)->instructions, expected);
        }
        assert_int_equal(riscv_state(machine)->exit_status, 55);
        assert_int_equal(riscv_state(machine)->instructions, 33);
        riscv_destroy(machine);
    }
}

static void test_state_after_each_instruction(void **state)
{
    struct riscv_machine *machine = CREATE(sum, RISCV_ABI_LINUX);

    (void)state;
    assert_int_equal(riscv_state(machine)->pc, CODE_ADDRESS);
    riscv_run(machine, 1);
    assert_int_equal(riscv_state(machine)->pc, CODE_ADDRESS + 4);
    assert_int_equal(riscv_state(machine)->x[11], 10);
    riscv_run(machine, 2);
    assert_int_equal(riscv_state(machine)->x[10], 10);
    assert_int_equal(riscv_state(machine)->x[11], 9);
    assert_int_equal(riscv_state(machine)->pc, CODE_ADDRESS + 12);
    riscv_run(machine, 1);
    assert_int_equal(riscv_state(machine)->pc, CODE_ADDRESS + 4);
    assert_int_equal(riscv_state(machine)->x[0], 0);
    riscv_destroy(machine);
}

static void test_memory_can_be_read_and_written(void **state)
{
    static const uint32_t code[] = {
        0x00010537, /* lui a0, 0x10 */
        0x20053503, /* ld a0, 0x200(a0) */
        0x05d00893, /* li a7, 93 */
        0x00000073, /* ecall */
    };
    struct riscv_machine *machine = CREATE(code, RISCV_ABI_LINUX);
    uint64_t word = 42, seen = 0;

    (void)state;
    assert_true(riscv_write_memory(machine, CODE_ADDRESS + DATA_OFFSET, &word, sizeof word));
    assert_true(riscv_read_memory(machine, CODE_ADDRESS + DATA_OFFSET, &seen, sizeof seen));
    assert_int_equal(seen, 42);
    assert_false(riscv_read_memory(machine, 8, &seen, sizeof seen));
    assert_false(riscv_write_memory(machine, UINT64_MAX - 3, &word, sizeof word));
    riscv_run(machine, 100);
    assert_int_equal(riscv_state(machine)->exit_status, 42);
    riscv_destroy(machine);
}

/* The faulting instruction is counted, what follows it in its block is not; pc stays on it. */
static void test_fault_is_exact(void **state)
{
    static const uint32_t code[] = {
        0x00100513, /* li a0, 1 */
        0x00a53023, /* sd a0, 0(a0) */
        0x00200513, /* li a0, 2 */
        0x00300513, /* li a0, 3 */
    };
    struct riscv_machine *machine = CREATE(code, RISCV_ABI_LINUX);

    (void)state;
    assert_int_equal(riscv_run(machine, 100), RISCV_SIGNALLED);
    const struct riscv_state *after = riscv_state(machine);
    assert_int_equal(after->exit_status, 11);
    assert_int_equal(after->pc, CODE_ADDRESS + 4);
    assert_int_equal(after->instructions, 2);
    assert_int_equal(after->x[10], 1);
    assert_string_equal(after->message, "SIGSEGV on address 0x1 at pc 0x10004");
    riscv_destroy(machine);
}

static void test_wild_addresses_fault(void **state)
{
    static const uint32_t code[] = {
        0x03f51513, /* slli a0, a0, 63 */
        0x00053583, /* ld a1, 0(a0) */
    };
    (void)state;
    for (unsigned bit = 36; bit < 64; bit++) {
        uint32_t words[3] = {0x00100513, code[0], code[1]};
        words[1] = (code[0] & ~(63u << 20)) | bit << 20;
        struct riscv_machine *machine = CREATE(words, RISCV_ABI_LINUX);
        assert_int_equal(riscv_run(machine, 100), RISCV_SIGNALLED);
        assert_int_equal(riscv_state(machine)->exit_status, 11);
        assert_int_equal(riscv_state(machine)->instructions, 3);
        riscv_destroy(machine);
    }
}

/* All 2^64 addresses are memory to a lambda guest, and read 0 before they are written. */
static void test_lambda_memory_is_sparse(void **state)
{
    (void)state;
    for (unsigned bit = 13; bit < 64; bit++) {
        uint32_t code[] = {
            0x00100513,             /* li a0, 1 */
            0x00051513 | bit << 20, /* slli a0, a0, bit */
            0xffc53603,             /* ld a2, -4(a0) */
            0x00150593,             /* addi a1, a0, 1 */
            0xfeb53e23,             /* sd a1, -4(a0) */
            0xffc53683,             /* ld a3, -4(a0) */
            0x00000067,             /* jr zero */
        };
        struct riscv_machine *machine = CREATE(code, RISCV_ABI_LAMBDA);
        assert_int_equal(riscv_run(machine, 100), RISCV_EXITED);
        const struct riscv_state *after = riscv_state(machine);
        if (bit != 16) /* where the code is */
            assert_int_equal(after->x[12], 0);
        assert_int_equal(after->x[13], (1ull << bit) + 1);
        assert_int_equal(after->instructions, 7);
        riscv_destroy(machine);
    }
}

static void test_lambda_starts_with_zeros(void **state)
{
    struct riscv_machine *machine = CREATE(sum, RISCV_ABI_LAMBDA);
    const struct riscv_state *at_start = riscv_state(machine);

    (void)state;
    for (unsigned i = 0; i < 32; i++)
        assert_int_equal(at_start->x[i], i == 2 ? 0xfffffffffffffff0ull : 0);
    assert_string_equal(riscv_environment_name(machine), "lambda");
    riscv_destroy(machine);
}

static void test_unknown_lambda_call_fails(void **state)
{
    static const uint32_t code[] = {0xffd00893, 0x00000073}; /* li a7, -3; ecall */
    struct riscv_machine *machine = CREATE(code, RISCV_ABI_LAMBDA);

    (void)state;
    assert_int_equal(riscv_run(machine, 100), RISCV_FAILED);
    assert_string_equal(riscv_state(machine)->message, "unknown environment call -3 at pc 0x10004");
    riscv_destroy(machine);
}

static void test_floating_point_of_the_host_is_left_alone(void **state)
{
    static const uint32_t code[] = {
        0x00215073, /* csrrwi x0, frm, 2 */
        0x1aa57553, /* fdiv.d fa0, fa0, fa0: 0 / 0 */
    };
    struct riscv_machine *machine = CREATE(code, RISCV_ABI_LINUX);
    volatile double third = 1, three = 3;

    (void)state;
    double before = third / three;
    riscv_run(machine, 2);
    assert_true(before == third / three);
    assert_int_equal(riscv_state(machine)->fcsr, 0x50); /* frm 2, invalid */
    riscv_destroy(machine);
}

static void test_two_machines_do_not_meet(void **state)
{
    struct riscv_machine *one = CREATE(sum, RISCV_ABI_LINUX);
    struct riscv_machine *other = CREATE(sum, RISCV_ABI_LINUX);

    (void)state;
    while (riscv_run(one, 3) == RISCV_RUNNING)
        riscv_run(other, 2);
    assert_int_equal(riscv_run(other, 100), RISCV_EXITED);
    assert_int_equal(riscv_state(one)->instructions, riscv_state(other)->instructions);
    riscv_destroy(one);
    riscv_destroy(other);
}

/* ---- files that are no guests ---- */

static void expect_refusal(const struct guest_file *guest, size_t size_bytes, const char *why)
{
    struct riscv_options options = {.path = path};
    struct error error;

    write_guest(guest, size_bytes);
    assert_null(riscv_create(&options, &error));
    if (!strstr(error.text, why))
        fail_msg("\"%s\" does not say \"%s\"", error.text, why);
    assert_non_null(strstr(error.text, path));
    assert_null(strchr(error.text, '\n'));
}

static void test_hostile_files_are_refused(void **state)
{
    const struct guest_file good = make_guest(sum, 6);
    struct guest_file bad = good;

    (void)state;
    expect_refusal(&good, 0, "not an ELF file");
    expect_refusal(&good, 63, "not an ELF file");
    expect_refusal(&good, 100, "truncated");
    expect_refusal(&good, 200, "outside the file");
#define WITH(change, why)                                                                          \
    bad = good;                                                                                    \
    bad.change;                                                                                    \
    expect_refusal(&bad, sizeof bad, why)
    WITH(header.e_machine = EM_X86_64, "not a RISC-V program");
    WITH(header.e_ident[EI_CLASS] = ELFCLASS32, "64-bit");
    WITH(header.e_type = ET_REL, "not an executable");
    WITH(header.e_phnum = 0, "program headers");
    WITH(header.e_phnum = 0xffff, "program headers");
    WITH(header.e_phentsize = 8, "program headers");
    WITH(header.e_phoff = UINT64_MAX - 7, "truncated");
    WITH(header.e_phoff = 4, "truncated");
    WITH(header.e_entry = 0, "entry");
    WITH(header.e_entry = CODE_ADDRESS + 1, "entry");
    WITH(header.e_entry = CODE_ADDRESS + 4096, "entry");
    WITH(segment.p_flags = PF_R, "entry");
    WITH(segment.p_type = PT_NULL, "nothing to load");
    WITH(segment.p_memsz = 0, "nothing to load");
    WITH(segment.p_memsz = 8, "more bytes in the file");
    WITH(segment.p_memsz = UINT64_MAX, "cannot be loaded");
    WITH(segment.p_memsz = UINT64_MAX - CODE_ADDRESS + 1, "cannot be loaded");
    WITH(segment.p_vaddr = UINT64_MAX - 4, "cannot be loaded");
    WITH(segment.p_vaddr = 1ull << 38, "cannot be loaded");
    WITH(segment.p_offset = UINT64_MAX, "outside the file");
    WITH(segment.p_filesz = UINT64_MAX, "outside the file");
    WITH(segment.p_type = PT_INTERP, "dynamically linked");
#undef WITH
}

static void test_overlapping_segments_are_refused(void **state)
{
    struct {
        struct guest_file guest;
        Elf64_Phdr segments[2];
    } file = {.guest = make_guest(sum, 6)};
    struct riscv_options options = {.path = path};
    struct error error;

    (void)state;
    file.guest.header.e_phoff = sizeof file.guest;
    file.guest.header.e_phnum = 2;
    file.segments[0] = file.segments[1] = file.guest.segment;
    file.segments[1].p_vaddr += 16;
    write_guest(&file.guest, sizeof file);
    assert_null(riscv_create(&options, &error));
    assert_non_null(strstr(error.text, "segments 0 and 1 overlap"));
}

static void test_missing_file_is_refused(void **state)
{
    struct riscv_options options = {.path = "/nonexistent/guest"};
    struct error error;

    (void)state;
    assert_null(riscv_create(&options, &error));
    assert_string_equal(error.text, "cannot open /nonexistent/guest: No such file or directory");
}

/* ---- parts ---- */

static void test_keccak_of_zeros(void **state)
{
    uint64_t words[25] = {0};

    (void)state;
    keccak_permute(words);
    assert_int_equal(words[0], 0xf1258f7940e1dde7ull);
    assert_int_equal(words[1], 0x84d5ccf933c0478aull);
    assert_int_equal(words[24], 0xeaf1ff7b5ceca249ull);
}

/* Every word decodes to something of the right length; every compressed one that expands, expands
 * to a whole one. */
static void test_every_halfword_decodes(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 0x10000; half++) {
        struct riscv_instruction instruction = riscv_decode(half | 0x12340000);
        assert_int_equal(instruction.length, (half & 3) == 3 ? 4 : 2);
        if ((half & 3) != 3) {
            uint32_t expanded = riscv_expand((uint16_t)half);
            assert_true(!expanded || (expanded & 3) == 3);
            if (expanded)
                assert_int_not_equal(instruction.operation, RISCV_ILLEGAL);
        }
    }
}

static int make_place(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_place(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_to_the_end),
        cmocka_unit_test(test_slices_are_exact),
        cmocka_unit_test(test_state_after_each_instruction),
        cmocka_unit_test(test_memory_can_be_read_and_written),
        cmocka_unit_test(test_fault_is_exact),
        cmocka_unit_test(test_wild_addresses_fault),
        cmocka_unit_test(test_lambda_memory_is_sparse),
        cmocka_unit_test(test_lambda_starts_with_zeros),
        cmocka_unit_test(test_unknown_lambda_call_fails),
        cmocka_unit_test(test_floating_point_of_the_host_is_left_alone),
        cmocka_unit_test(test_two_machines_do_not_meet),
        cmocka_unit_test(test_hostile_files_are_refused),
        cmocka_unit_test(test_overlapping_segments_are_refused),
        cmocka_unit_test(test_missing_file_is_refused),
        cmocka_unit_test(test_keccak_of_zeros),
        cmocka_unit_test(test_every_halfword_decodes),
    };

    return cmocka_run_group_tests(tests, make_place, remove_place);
}
