"""The lambda environment: input, output, precompiles, and what goes wrong."""

import struct

import pytest

import riscv_support as support

support.need(support.COMPILER)

FLAGS = [*support.BARE, "-Wl,--no-relax", "-march=rv64im", "-mabi=lp64", "-O1", "-ffreestanding"]

# The generator's x, and that of twice the generator.
GENERATOR = 0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798
DOUBLED = 0xC6047F9441ED7D6D3045406E95C07CD85C778E4B8CEF3CA7ABAC09B95C709EE5


def guest(body, *flags):
    return support.compile_guest([("guest.c", f'#include "lambda.h"\n{body}\n')], *FLAGS, *flags)


def run(program, tmp_path, *options, public=True):
    output = tmp_path / "public"
    more = [f"--output-file={output}"] if public else []
    result = support.record(program, options=[*more, *options], output=tmp_path / "out.flame")
    result.public = output.read_bytes() if output.exists() else None
    return result


def test_input_is_mapped_and_output_is_committed(tmp_path):
    program = guest("""int main(void) {
        unsigned char copy[64];
        for (unsigned i = 0; i < INPUT_SIZE; i++) copy[i] = INPUT[i] ^ 1;
        commit(copy, INPUT_SIZE); commit("!", 1);
        return 0; }""")
    (tmp_path / "input").write_bytes(b"abcdef")
    result = run(program, tmp_path, f"--input={tmp_path / 'input'}")
    assert (result.status, result.public, result.stdout) == (0, b"`cbedg!", b"")


def test_without_input_it_is_empty(tmp_path):
    result = run(guest("int main(void) { return INPUT_SIZE + INPUT[5]; }"), tmp_path)
    assert (result.status, result.public) == (0, b"")


def test_output_that_cannot_be_written_is_told_before_the_guest_runs(tmp_path):
    program = guest('int main(void) { print("ran\\n", 4); return 0; }')
    recorded = support.record(program, options=[f"--output-file={tmp_path}/nowhere/output"])
    assert (recorded.status, recorded.stdout) == (2, b"")
    assert recorded.stderr.decode().count("\n") == 1 and b"nowhere/output" in recorded.stderr


def test_print_goes_to_standard_output(tmp_path):
    result = run(guest('int main(void) { print("said\\n", 5); return 3; }'), tmp_path)
    assert (result.status, result.stdout, result.public) == (3, b"said\n", b"")


def test_panic_is_a_failure_with_its_words_and_its_profile(tmp_path):
    program = guest("""__attribute__((noinline)) void deep(void) { panic("oh\\nno", 5); }
        int main(void) { deep(); return 0; }""")
    result = run(program, tmp_path)
    assert result.status == 101
    lines = result.stderr.decode().splitlines()
    assert lines[0].endswith("the guest panicked: oh no")
    assert "deep" in lines[1] and "main" in lines[2]
    assert ("_start", "main", "deep", "ecall:panic") in support.folded(result.profile)


def test_panic_in_the_last_instruction_is_its_functions_own(tmp_path):
    program = guest('''__attribute__((naked, noinline, noreturn)) void dies(void)
        { __asm__("li a1, 0\\n li a7, 2\\n ecall"); }
        __attribute__((naked, used)) void behind(void) { __asm__("ret"); }
        int main(void) { dies(); return 0; }''')
    lines = run(program, tmp_path).stderr.decode().splitlines()
    assert lines[1].endswith(" dies") and lines[2].endswith(" main")


def test_long_panic_is_told_whole(tmp_path):
    words = "w" * 1000
    result = run(guest(f'int main(void) {{ panic("{words}", 1000); return 0; }}'), tmp_path)
    assert result.stderr.decode().splitlines()[0].endswith(f": {words}")


def test_keccak(tmp_path):
    program = guest("""int main(void) { static unsigned long state[25]; permute(state);
        commit(state, 200); return 0; }""")
    words = struct.unpack("<25Q", run(program, tmp_path).public)
    assert words[:2] == (0xF1258F7940E1DDE7, 0x84D5CCF933C0478A)


def test_keccak_must_be_aligned(tmp_path):
    program = guest("static unsigned long state[26];"
                    "int main(void) { permute((char *)state + 4); return 0; }")
    result = run(program, tmp_path)
    assert result.status == 1 and b"not 8-aligned" in result.stderr


@pytest.mark.parametrize("scalar,x", [(1, GENERATOR), (2, DOUBLED)])
def test_secp256k1(tmp_path, scalar, x):
    point = ",".join(str(b) for b in GENERATOR.to_bytes(32, "little"))
    program = guest(f"""static unsigned char g[32] = {{{point}}}, k[32] = {{{scalar}}}, r[32];
        int main(void) {{ multiply(r, g, k); commit(r, 32); return 0; }}""")
    assert int.from_bytes(run(program, tmp_path).public, "little") == x


def test_secp256k1_of_no_point_is_a_failure(tmp_path):
    program = guest("""static unsigned char g[32] = {5}, k[32] = {1}, r[32];
        int main(void) { multiply(r, g, k); return 0; }""")
    result = run(program, tmp_path)
    assert result.status == 1 and b"secp256k1_multiply" in result.stderr


def test_unknown_calls_are_a_failure_with_the_profile(tmp_path):
    program = guest("int main(void) { for (int i = 0; i < 1000; i++) __asm__(\"nop\");"
                    " ecall(-77, 0, 0, 0); return 0; }")
    result = run(program, tmp_path)
    assert result.status == 1
    assert b"unknown environment call -77" in result.stderr
    tree = support.folded(result.profile)
    assert tree["_start", "main"] > 1000 and tree["_start", "main", "ecall:-77"] == 1


@pytest.mark.parametrize("call,words", [
    ('ecall(64, 2, (long)"x", 1)', b"commit to descriptor 2"),
    ("static char big[1 << 20]; commit(big, 1 << 20); commit(big, 1)", b"public output"),
    ('ecall(1, 0, 1l << 40, 0)', b"print of 1099511627776 bytes"),
    ("((void (*)(void))0x1234560)()", b"no code"),
    ('__asm__(".word 0xffffffff")', b"illegal instruction"),
])
def test_what_is_not_allowed_is_a_failure(tmp_path, call, words):
    result = run(guest(f"int main(void) {{ {call}; return 0; }}"), tmp_path)
    assert result.status == 1 and words in result.stderr, result.stderr


def test_control_registers_and_fences_do_nothing(tmp_path):
    program = guest("""int main(void) { long a = 7; __asm__ volatile(
        ".option arch, +zicsr\\n csrrw %0, 0x300, %0\\n fence\\n .word 0x100f" : "+r"(a));
        return a; }""")
    assert run(program, tmp_path).status == 7


def test_abi_is_chosen_by_the_file(tmp_path):
    body = "int main(void) { commit(\"x\", 1); return 0; }"
    assert run(guest(body), tmp_path).public == b"x"
    hard = support.compile_guest([("guest.c", f'#include "lambda.h"\n{body}\n')], *support.BARE,
                                 "-march=rv64gc", "-mabi=lp64d", "-O1", "-ffreestanding")
    result = run(hard, tmp_path)
    assert result.stdout == b"x"
    forced = run(hard, tmp_path, "--abi=lambda")
    assert (forced.stdout, forced.public) == (b"", b"x")


def test_missing_input_is_one_line(tmp_path):
    result = run(guest("int main(void) { return 0; }"), tmp_path, "--input=/nonexistent",
                 public=False)
    assert result.status == 2
    assert result.stderr.decode() == \
        "trueflame: cannot open /nonexistent: No such file or directory\n"
    assert not result.profile.exists()
