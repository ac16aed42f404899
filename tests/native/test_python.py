"""Python frames that come and go in the cache: code objects that die, signals in between."""

import re

import pytest

from support import TRUEFLAME, record, run, same_as_alone

PYTHON = "/usr/bin/python3"

# Each function is freed before the next one is made, mostly in the same place.
REUSED = """
for i in range(300):
    exec(f"def f{i}(x):\\n    return x + 1\\nfor k in range(9): f{i}(k)", {})
"""

STORM = """
import signal
rung = 0
def ring(number, frame):
    global rung
    rung += 1
def count(n):
    yield from range(n)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
while rung < 50:
    total = sum(sum(count(60)) + fib(12) for i in range(30))
signal.setitimer(signal.ITIMER_REAL, 0)
print(total)
"""


# A function that is new is told to the engine, which takes a while: many signals come just then.
KILLED = """
import os, signal, time
def work(number):
    while True:
        number += 1
        exec(f"def f{number % 40}(): return {number}\\nf{number % 40}()", {})
for child in range(400):
    pid = os.fork()
    if not pid:
        work(child)
    time.sleep(0.001 * (1 + child % 4))
    os.kill(pid, signal.SIGTERM)
    assert os.waitpid(pid, 0)[1] == signal.SIGTERM
"""


def test_a_code_object_in_the_place_of_another_is_another(folder):
    record(folder, [PYTHON, "-c", REUSED], "--detail=function")
    folded = run([TRUEFLAME, "export", folder / "profile.flame", "-f", "folded",
                  "--python=only"]).stdout.decode()
    assert set(re.findall(r"py::f(\d+):<string>", folded)) == {str(i) for i in range(300)}


@pytest.mark.parametrize("detail", ("function", "line"))
def test_signals_between_frames(detail, folder):
    info = same_as_alone(folder, [PYTHON, "-c", STORM], f"--detail={detail}")
    assert info["repairs"]["python-resync"] == 0


@pytest.mark.parametrize("detail", ("function", "line"))
def test_children_that_are_killed_where_a_frame_begins(detail, folder):
    info = same_as_alone(folder, [PYTHON, "-c", KILLED], f"--detail={detail}")
    assert len(info["processes"]) == 401
