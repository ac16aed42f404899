"""Whole programs: output, exit status and the number of instructions are qemu-riscv64's."""

import json
import subprocess

import pytest

import riscv_support as support

support.need(support.COMPILER, support.QEMU)

STATIC = ["-static", "-O2", "-g"]
GUESTS = {
    "libc": (["libc.c"], [*STATIC, "-lm"], ["one", "two words", ""]),
    "libc-O0": (["libc.c"], ["-static", "-O0", "-lm"], []),
    "libc-no-compression": (["libc.c"], [*STATIC, "-march=rv64g", "-lm"], ["1"]),
    "libc-stripped": (["libc.c"], ["-static", "-O2", "-s", "-lm"], ["x"]),
    "exceptions": (["exceptions.cc"], STATIC, []),
    "signals": (["signals.c"], STATIC, []),
    "abort": (["abort.c"], STATIC, []),
    "fault": (["fault.c"], STATIC, []),
    "illegal": (["illegal.c"], STATIC, []),
    "trap": (["trap.c"], STATIC, []),
    "modifies": (["modifies.c"], STATIC, []),
    "millicode": (["libc.c"], [*STATIC, "-Os", "-msave-restore", "-lm"], ["save", "restore"]),
}


@pytest.fixture(scope="module", params=GUESTS)
def guest(request):
    sources, flags, arguments = GUESTS[request.param]
    program = support.compile_guest([support.HERE / "guests" / s for s in sources], *flags)
    return program, arguments


@pytest.fixture(scope="module")
def theirs(guest):
    program, arguments = guest
    return support.run_qemu(program, *arguments)


def test_machine_runs_it_as_qemu_does(guest, theirs):
    program, arguments = guest
    ours = support.run_machine(program, *arguments)
    assert ours.stdout == theirs.stdout
    assert ours.status == theirs.status
    assert ours.count == theirs.count


@pytest.mark.parametrize("detail", ["function", "line"])
def test_recording_counts_what_qemu_counts(guest, theirs, detail):
    program, arguments = guest
    recorded = support.record(program, *arguments, options=["--quiet", f"--detail={detail}"])
    assert recorded.stdout == theirs.stdout
    assert recorded.status == theirs.status
    info = json.loads(subprocess.run([support.TRUEFLAME, "info", "--json", recorded.profile],
                                     capture_output=True, check=True).stdout)
    assert info["total_instructions"] == theirs.count
    assert sum(support.folded(recorded.profile).values()) == theirs.count
    assert info["repairs"]["unmatched-return"] == 0
