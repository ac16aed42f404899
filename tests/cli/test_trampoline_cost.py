"""What a trampoline costs, in instructions a Python call, against CPython's own `-X perf`."""
import re
import shutil
import subprocess

import pytest

from trampoline_support import PACKAGE_DIRECTORY, environment, python

CALLS = """
import sys
def leaf(): pass
def caller(n):
    for _ in range(n):
        leaf()
caller(10)
caller(int(sys.argv[1]))
"""
FEW, MANY = 100, 2100


def instructions(directory, command, **env):
    """Instructions that the command executes, all of them counted."""
    run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
                         cwd=str(directory), env=environment(directory, **env), timeout=600,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 0, run.stderr
    return int(re.search(r"Collected : (\d+)", run.stderr).group(1))


def cost_of_a_call(directory, command, **env):
    few, many = (instructions(directory, [*command, str(n)], **env) for n in (FEW, MANY))
    return (many - few) / (MANY - FEW)


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.11", "3.12", "3.13"])
def test_cost_of_a_call(version, tmp_path):
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    program = tmp_path / "app.py"
    program.write_text(CALLS)
    plain = cost_of_a_call(tmp_path, [python(version), str(program)])
    ours = cost_of_a_call(tmp_path, [python(version), "-m", "trueflame_trampoline", str(program)],
                          PYTHONPATH=PACKAGE_DIRECTORY)
    print("%s: a call takes %.1f instructions, with a trampoline %.1f" % (version, plain, ours))
    assert plain < ours
    if version in ("3.12", "3.13"):
        cpython = cost_of_a_call(tmp_path, [python(version), "-X", "perf", str(program)])
        print("%s: with CPython's own %.1f" % (version, cpython))
        assert ours <= cpython
