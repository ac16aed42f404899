"""What perf saw of a Python program becomes a profile: the interpreter's own frames folded, nothing
lost. The data is perf script's of a real run, its paths shortened."""
import glob
import os
import pathlib
import re

import pytest

from support import ROOT, folded, run, total
from test_trampoline_perf import PROBLEM, record_script
from trampoline_support import TRUEFLAME, VERSIONS, python

SAMPLE = os.path.join(ROOT, "tests", "cli", "data", "perf-script-python3.12.txt")
PROGRAM = ["py::%s:/home/user/app.py" % name for name in ("<module>", "main", "baz", "bar", "foo")]
CARRIES = re.compile(r"_PyEval_|_?PyObject_(Vectorcall|Call|FastCall|MakeTpCall)|_PyFunction_|"
                     r"call_function$|gen_send|cfunction_vectorcall|function_code_fastcall|"
                     r"slot_tp_|do_call_core")


@pytest.fixture
def sample(tmp_path):
    path = tmp_path / "sample.flame"
    run("import", "-f", "perf", SAMPLE, "-o", path)
    return path


def stacks(text):
    return [line.rpartition(" ")[0].split(";") for line in text.splitlines()]


def test_python_frames_follow_one_another(sample):
    inside = [stack for stack in stacks(folded(sample)) if PROGRAM[-1] in stack]
    assert inside
    for stack in inside:
        first = stack.index(PROGRAM[0])
        assert stack[first:first + 5] == PROGRAM
        assert not [frame for frame in stack[first:] if CARRIES.match(frame)]


def test_python_alone_and_native_alone(sample):
    only = folded(sample, "--python=only")
    assert ";".join(PROGRAM) + " " in only
    for stack in stacks(only):
        assert stack == ["(native)"] or all(frame.startswith("py::") for frame in stack)
    assert "py::" not in folded(sample, "--python=native")


def test_nothing_is_lost(sample):
    with open(SAMPLE) as file:
        periods = [int(period) for period in re.findall(r":\s+(\d+) cpu-clock", file.read())]
    for mode in ("mixed", "only", "native"):
        assert total(folded(sample, "--python=" + mode)) == sum(periods)


CALLS = """
import time
class Thing:
    def __init__(self): work()
    def method(self): return work()
    def __call__(self): return self.method()
    def __getattr__(self, name): return work()
def work():
    n = 0
    for i in range(300):
        n += i * i
    return n
def generator():
    for i in range(3):
        yield work()
def named(*, a): return work()
def gathered(*a, **k): return work()
def everything():
    thing = Thing()
    thing(), thing.missing
    sorted([3, 1, 2], key=lambda v: work())
    list(map(lambda v: work(), [1]))
    for _ in generator():
        pass
    named(a=1), gathered(*[1], **{"b": 2})
end = time.process_time() + 1.0
while time.process_time() < end:
    everything()
"""


def names_its_functions(interpreter):
    place = os.path.dirname(os.path.realpath(interpreter))
    files = [interpreter, *glob.glob(os.path.join(place, "..", "lib", "libpython3.*.so.*"))]
    return any(b"builtin_sorted\0" in pathlib.Path(file).read_bytes() for file in files)


@pytest.mark.slow
@pytest.mark.skipif(PROBLEM is not None, reason=PROBLEM or "")
@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_of_the_interpreter(version, tmp_path):
    """Between two Python frames only functions that do something of their own are left."""
    if not names_its_functions(python(version)):
        pytest.skip("the interpreter has no names for its own functions: it is stripped")
    (tmp_path / "app.py").write_text(CALLS)
    _, script = record_script(tmp_path, [TRUEFLAME, "trampoline", "--", python(version), "app.py"])
    (tmp_path / "script.txt").write_text(script)
    run("import", "-f", "perf", tmp_path / "script.txt", "-o", tmp_path / "run.flame")
    left = set()
    for stack in stacks(folded(tmp_path / "run.flame")):
        python_frames = [i for i, frame in enumerate(stack) if frame.startswith("py::")]
        if [frame for frame in stack if frame.startswith("py::everything:")]:
            left.update(frame for frame in stack[python_frames[0]:python_frames[-1]]
                        if not frame.startswith("py::"))
    assert "builtin_sorted" in left and "map_next" in left
    assert left - {"builtin_sorted", "list_sort", "list_sort_impl", "list_sort.constprop.0",
                   "list_vectorcall", "list___init___impl", "list___init__", "list_extend",
                   "_list_extend", "list_extend_iter_lock_held", "list_extend_lock_held",
                   "map_next", "PyObject_GetAttr", "list_extend_impl", "list_sort_impl.isra.0",
                   "list_iter_extend"} == set()
