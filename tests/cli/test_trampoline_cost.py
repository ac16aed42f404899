"""What a trampoline costs, in instructions a Python call, against CPython's own `-X perf`."""
import json
import subprocess

import pytest

from trampoline_support import PACKAGE_DIRECTORY, TRUEFLAME, environment, python

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
    """Instructions that the command executes, all of them counted, by trueflame itself."""
    profile = str(directory / "run.flame")
    run = subprocess.run([TRUEFLAME, "record", "--quiet", "--detail=function", "-o", profile, "--",
                          *command], cwd=str(directory), env=environment(directory, **env),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    info = subprocess.run([TRUEFLAME, "info", "--json", profile], stdout=subprocess.PIPE, check=True)
    return json.loads(info.stdout)["total_instructions"]


def cost_of_a_call(directory, command, **env):
    few, many = (instructions(directory, [*command, str(n)], **env) for n in (FEW, MANY))
    return (many - few) / (MANY - FEW)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14", "3.15"])
def test_cost_of_a_call(version, tmp_path):
    program = tmp_path / "app.py"
    program.write_text(CALLS)
    plain = cost_of_a_call(tmp_path, [python(version), str(program)])
    ours = cost_of_a_call(tmp_path, [python(version), "-m", "trueflame_trampoline", str(program)],
                          PYTHONPATH=PACKAGE_DIRECTORY)
    print("%s: a call takes %.1f instructions, with a trampoline %.1f" % (version, plain, ours))
    assert plain < ours
    cpython = cost_of_a_call(tmp_path, [python(version), "-X", "perf", str(program)])
    print("%s: with CPython's own %.1f" % (version, cpython))
    assert ours <= cpython
