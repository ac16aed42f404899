"""Trees of RISC-V programs, written by hand in each program's heading (tests/truth/cases.py says
how to read one), for every rule of the stack; compressed and not, at both details."""

import json
import re
import subprocess
import sys

import pytest

import riscv_support as support

support.need(support.COMPILER)
sys.path.insert(0, str(support.ROOT / "tests" / "truth"))
import cases  # noqa: E402

ENCODINGS = {"compressed": "-march=rv64gc", "whole": "-march=rv64g"}


class RiscvCase(cases.Case):
    def __init__(self, source):
        self.source, self.name, self.values = source, source.stem, {}
        self.libraries, self.expectations = [], []
        self._read_heading()
        self.is_lambda = self.values.get("abi") == "lambda"

    def compile(self, encoding):
        if self.source.suffix == ".c":
            return support.compile_guest([self.source], ENCODINGS[encoding],
                                         *self.values["build"].split())
        flags = [ENCODINGS[encoding], "-mabi=lp64d"]
        if self.is_lambda:
            march = {"compressed": "-march=rv64imac", "whole": "-march=rv64im"}[encoding]
            flags = [march, "-mabi=lp64"]
        return support.compile_guest([self.source], *support.BARE, *flags)


CASES = [RiscvCase(path) for path in sorted((support.HERE / "truth").glob("*.[cS]"))]


def expectations():
    for case in CASES:
        for number, expectation in enumerate(case.expectations):
            yield pytest.param(case, expectation, id=f"{case.name}-{number}-{expectation.kind}")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("detail", ["function", "line"])
@pytest.mark.parametrize("case,expectation", expectations())
def test_tree_is_the_headings(case, expectation, detail, encoding):
    program = case.compile(encoding)
    recorded = support.record(program, options=["--quiet", f"--detail={detail}",
                                                *expectation.record_options])
    assert recorded.status == 0, recorded.stderr.decode()
    tree = support.folded(recorded.profile, *expectation.export_options)
    wrong = cases.difference(expectation, tree)
    assert not wrong, "\n" + "\n".join(wrong)


# `qemu: no` where qemu's log is not exact: with threads it has an instruction twice now and then.
BOTH = [c for c in CASES if not c.is_lambda and c.values.get("qemu") != "no"]


@pytest.mark.parametrize("case", BOTH, ids=lambda c: c.name)
def test_total_is_qemus(case):
    support.need(support.QEMU)
    program = case.compile("compressed")
    recorded = support.record(program, options=["--quiet"])
    assert sum(support.folded(recorded.profile).values()) == support.run_qemu(program).count


OUTLINED = """#include "lambda.h"
volatile long a[16], b[16];
#define BODY(n) __attribute__((noinline)) void f##n(long x) \\
    { a[0] = x + n; a[1] = x * 3; a[2] = a[0] ^ a[1]; a[3] = a[2] + 7; b[0] = a[3]; \\
      b[1] = a[1] + 5; b[2] = b[0] * b[1]; a[5] = b[2]; }
BODY(1) BODY(2) BODY(3)
int main(void) { for (int i = 0; i < 10; i++) { f1(i); f2(i); f3(i); } return 0; }
"""


def test_what_llvm_outlines_stands_below_its_callers(tmp_path):
    support.need("clang", "ld.lld")
    source, program = tmp_path / "outlined.c", tmp_path / "outlined"
    source.write_text(OUTLINED)
    subprocess.run(["clang", "--target=riscv64", "-march=rv64im", "-mabi=lp64", "-Oz", "-mllvm",
                    "-enable-machine-outliner=always", "-ffreestanding", "-fuse-ld=lld",
                    "-nostdlib", f"-I{support.HERE}", source, "-o", program], check=True)
    recorded = support.record(program, options=["--quiet"], output=tmp_path / "out.flame")
    tree = support.folded(recorded.profile)
    for function in ("f1", "f2", "f3"):
        assert tree["_start", "main", function, "OUTLINED_FUNCTION_0"] % 10 == 0
    assert not any(path[-1] in ("f1", "f2", "f3") and path[-2] != "main" for path in tree)


# Programs of tests/truth that need nothing of x86-64: the same paths, other counts.
SHARED = ["unwind/exception_caught.cc", "unwind/exception_destructors.cc",
          "unwind/exception_recursion.cc", "unwind/exception_rethrown.cc",
          "unwind/longjmp_of_libc.c", "stacks/swapcontext.c"]


def any_count(expectation):
    """The shape alone: every count may be any."""
    if expectation.kind in ("tree", "below"):
        expectation.lines = [re.sub(r" (\d+|\*)$", " *", line) for line in expectation.lines]
    return expectation


@pytest.mark.parametrize("name", SHARED)
def test_shape_is_that_of_the_native_program(name):
    case = cases.Case(cases.HERE / name)
    flags = [f for f in case.flags if not f.startswith(("-fcf", "-no-pie"))]
    program = support.compile_guest([case.source], *flags, "-static",
                                    f"-I{cases.HERE / 'include'}", f"-I{support.ROOT / 'include'}")
    for expectation in map(any_count, case.expectations):
        recorded = support.record(program, *case.arguments,
                                  options=["--quiet", *case.record_options,
                                           *expectation.record_options])
        tree = support.folded(recorded.profile, "--inline=no", *expectation.export_options)
        wrong = cases.difference(expectation, tree)
        assert not wrong, "\n" + "\n".join(wrong)


def test_a_linkage_stub_needs_no_repair():
    case = next(c for c in CASES if c.name == "linkage_stub")
    recorded = support.record(case.compile("compressed"), options=["--quiet"])
    info = json.loads(subprocess.run([support.TRUEFLAME, "info", "--json", recorded.profile],
                                     capture_output=True, check=True).stdout)
    assert not any(info["repairs"].values())
