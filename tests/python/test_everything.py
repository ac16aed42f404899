"""What sys.setprofile counts and what a recording does, over everything that Python can call a
function for."""
import json
import subprocess

import pytest

import support
from support import ENGINES, number
from test_frames import PYTHONS

FOLDER = support.HERE + "/everything"
PROGRAM = FOLDER + "/all.py"


def line_given_up():
    """Of the generator expression that is not run to its end."""
    with open(FOLDER + "/generators.py", encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if line.endswith("# given up\n"))


def own(frame):
    return frame["file"].startswith(FOLDER)


# Engines differ in little here, so each version has one for every day. With lines the evaluator is cut
# in other places.
RUNS = [pytest.param(python.values[0], engine, detail, id=f"{python.id}-{engine}-{detail}",
                     marks=[pytest.mark.slow] if engine == "valgrind" else [])
        for python in PYTHONS for engine in ENGINES for detail in ("function", "line")]


@pytest.mark.parametrize("python, engine, detail", RUNS)
def test_calls_are_those_of_setprofile(python, engine, detail, tmp_path):
    version, interpreter = python
    if not interpreter:
        pytest.skip(f"Python {version} is not installed")
    flame = tmp_path / "everything.flame"
    support.record(interpreter, flame, PROGRAM, options=[f"--detail={detail}"], engine=engine)
    said = subprocess.run([interpreter, support.HERE + "/profiled.py", PROGRAM, FOLDER], check=True,
                          capture_output=True, text=True, timeout=60).stdout
    expected = {tuple(map(tuple, path)): count for path, count in
                (json.loads(line) for line in said.splitlines() if line.startswith("[[["))}
    found = {path[1:]: count for path, count in support.calls_by_path(
        support.export(flame, "--python=only"), own).items()
        if count and len(path) > 1 and path[1][0] == "main"}
    # Before 3.11 a generator that is given up ends inside the hook, where nothing is counted; 3.9
    # has no ancestors for a generator that it throws through; 3.14 and later go on with one that is given
    # up, to end it, only if there is a hook; and 3.15 calls __iter__ for a generator expression in the
    # frame that makes it, which no hook is shown.
    given_up = ("main.<locals>.<genexpr>", line_given_up())
    left_out = {15: [given_up, "It.__iter__"], 14: [given_up], 10: ["infinite"],
                9: ["infinite", "outer"]}.get(number(version), [])
    for calls in found, expected:
        for path in [path for path in calls
                     if any(entry in left_out or entry[0] in left_out for entry in path)]:
            del calls[path]
    assert len(expected) > 150
    assert found == expected
    repairs = support.info(flame)["repairs"]
    assert repairs["python-resync"] == repairs["unmatched-return"] == 0
