"""Some random programs of tests/fuzz/python_programs.py, on each installed CPython."""
import sys

import pytest

import support
from support import number
from test_frames import PYTHONS

sys.path.insert(0, support.ROOT + "/tests/fuzz")
import python_compare  # noqa: E402
import python_programs  # noqa: E402

# Seed, engine, detail, and whether counts are compared with those without Python frames. The first
# ones' programs make, call and free functions at one address.
RUNS = [(2002, "native", "line", False), (3000, "native", "function", True),
        (4000, "valgrind", "line", True)]


def marks_of(python, run):
    """Every day: calls and lines with each, counts with one."""
    return [] if run == RUNS[0] or python.id.endswith("system") and run == RUNS[1] else \
        [pytest.mark.slow]


@pytest.fixture(scope="module")
def python(request, tmp_path_factory):
    version, path = request.param
    if not path or number(version) < 9:
        pytest.skip(f"Python {version} is not installed")
    interpreter = python_compare.Interpreter(version, path)
    if not interpreter.build_hook(tmp_path_factory.mktemp(version)):
        pytest.skip("no headers of this Python, or no compiler")
    return interpreter


@pytest.mark.parametrize("python, run", [
    pytest.param(python.values[0], run, id=f"{python.id}-{run[1]}-{run[2]}",
                 marks=marks_of(python, run)) for python in PYTHONS for run in RUNS],
    indirect=["python"])
def test_a_random_program_is_recorded_as_it_ran(python, run, tmp_path):
    seed, engine, detail, totals = run
    source = python_programs.Program(seed + python.minor, python.minor).text()
    program = python_compare.Program(python, tmp_path, source)
    assert list(python_compare.check(program, [engine], [detail], totals)) == []
