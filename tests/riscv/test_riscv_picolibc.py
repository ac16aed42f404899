"""Programs linked with picolibc. With its own start-up code they are made for a bare machine with a
debugger, which answers their calls (semihosting); with a small start of ours qemu-riscv64 runs them
too, and its counts are the oracle."""

import json
import subprocess

import pytest

import riscv_support as support

PICOLIBC = "riscv64-unknown-elf-gcc"
support.need(PICOLIBC)
SPECS = ["--specs=picolibc.specs", "--oslib=semihost", "-DPICOLIBC_DOUBLE_PRINTF_SCANF", "-O2", "-g"]
GUESTS = support.HERE / "guests"
OUTPUT = b"1 144 beef -\n7.071\n999\nline 42\n8\n"


def compile_picolibc(tmp_path, *flags):
    program = tmp_path / "guest"
    done = subprocess.run([PICOLIBC, *SPECS, *flags, GUESTS / "picolibc.c", "-o", program, "-lm"],
                          capture_output=True, text=True)
    if "picolibc.specs" in done.stderr:
        pytest.skip("picolibc is not installed")
    assert not done.returncode, done.stderr
    return program


@pytest.mark.parametrize("machine", [["-march=rv64imafdc", "-mabi=lp64d"],
                                     ["-march=rv64imac", "-mabi=lp64"],
                                     ["-march=rv64im", "-mabi=lp64"]], ids=lambda m: m[0][7:])
@pytest.mark.parametrize("detail", ["function", "line"])
def test_picolibcs_own_start_up_code_works(tmp_path, machine, detail):
    program = compile_picolibc(tmp_path, "--crt0=semihost", *machine)
    recorded = support.record(program, "one", options=["--quiet", f"--detail={detail}"],
                              output=tmp_path / "guest.flame")
    # Its first argument is a fixed name; those that the debugger tells come behind.
    assert recorded.stdout == OUTPUT.replace(b"-", b"./guest"), recorded.stderr.decode()
    assert recorded.status == 7
    tree = support.folded(recorded.profile, "--inline=no")
    assert sum(tree.values()) == support.run_machine(program, "one").count
    fib = [path for path in tree if path[-1] == "fib"]
    assert fib and all("main" in path for path in fib)
    assert any(path[-2:] == ("sys_semihost", "ecall:semihosting_exit_extended") for path in tree)


def linked_for_both(tmp_path):
    return compile_picolibc(tmp_path, "-nostartfiles", GUESTS / "picolibc_start.S", "-T",
                            GUESTS / "picolibc.ld")


@pytest.mark.parametrize("detail", ["function", "line"])
def test_a_semihosting_program_runs_as_under_qemu(tmp_path, detail):
    support.need(support.QEMU)
    program = linked_for_both(tmp_path)
    theirs = support.run_qemu(program)
    recorded = support.record(program, options=["--quiet", f"--detail={detail}"],
                              output=tmp_path / "guest.flame")
    # The console is qemu-riscv64's standard error, and our standard output.
    assert theirs.stderr == recorded.stdout == OUTPUT
    assert theirs.status == recorded.status == 7
    info = json.loads(subprocess.run([support.TRUEFLAME, "info", "--json", recorded.profile],
                                     capture_output=True, check=True).stdout)
    assert info["total_instructions"] == theirs.count
    assert sum(support.folded(recorded.profile).values()) == theirs.count


MACHINE_LEVEL = """
    .globl _start
_start:
    {stack}
    csrr a0, mstatus
    li a7, 93
    ecall
    .bss
    .zero 4096
end:
"""


@pytest.mark.parametrize("stack,status", [("nop", 132), ("la sp, end", 0)],
                         ids=["the kernel's stack", "its own stack"])
def test_machine_level_registers_are_for_programs_that_are_alone(stack, status):
    support.need(support.COMPILER)
    program = support.compile_guest([("level.S", MACHINE_LEVEL.format(stack=stack))], *support.BARE)
    assert support.run_machine(program).status == status
