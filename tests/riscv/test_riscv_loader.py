"""The loader and what is behind it, given files that were changed at random."""

import subprocess

import pytest

import riscv_support as support

support.need(support.COMPILER)

FUZZER = support.BUILD / "tests" / "riscv" / "riscv-elf"


@pytest.mark.parametrize("name,flags", [
    ("truth/long_jump.S", [*support.BARE, "-march=rv64gc"]),
    ("truth/lambda_guest.S", [*support.BARE, "-march=rv64im", "-mabi=lp64"]),
])
def test_changed_files_do_no_harm(name, flags):
    program = support.compile_guest([support.HERE / name], *flags)
    done = subprocess.run([FUZZER, program, "1500", "7"], capture_output=True, text=True,
                          timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
