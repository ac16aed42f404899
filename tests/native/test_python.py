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


def test_a_code_object_in_the_place_of_another_is_another(folder):
    record(folder, [PYTHON, "-c", REUSED], "--detail=function")
    folded = run([TRUEFLAME, "export", folder / "profile.flame", "-f", "folded",
                  "--python=only"]).stdout.decode()
    assert set(re.findall(r"py::f(\d+):<string>", folded)) == {str(i) for i in range(300)}


@pytest.mark.parametrize("detail", ("function", "line"))
def test_signals_between_frames(detail, folder):
    info = same_as_alone(folder, [PYTHON, "-c", STORM], f"--detail={detail}")
    assert info["repairs"]["python-resync"] == 0
