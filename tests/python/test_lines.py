"""Instructions by line of Python source, on each installed CPython: they add up to what the functions
cost, on the lines that ran and on no others."""
import base64
import json
import re
import subprocess
import zlib

import pytest

import support
from support import number
from test_frames import PYTHONS

PROGRAM = """\
import sys

def fib(n):
    if n < 2:
        return n
    one = fib(n - 1)
    other = fib(n - 2)
    return one + other

def never(n):
    return n

def cheap_and_dear(n):
    total = 0

    for i in range(n):
        total += i
    total += sum(range(100000))
    return total

def raises(n):
    try:
        int("x" * n)
    except ValueError:
        n += 1
    finally:
        n += 2
    return n

def numbers(n):
    for i in range(n):
        yield i

def main():
    cheap_and_dear(1000)
    for _ in range(10):
        raises(3)
    list(numbers(50))
    fib(10)
    for i in range(20):
        exec("a = 1" + chr(10) * (i % 3 + 1) + "b = 2")

main()

def resumed(n):
    got = 0
    while got < n:
        try:
            got += yield got
        except ValueError:
            got += 1

async def awaited(n):
    return n

async def awaits(n):
    total = 0
    for i in range(n):
        total += await awaited(i)
    return total

class Key:
    def __init__(self, n):
        self.n = n
    def __lt__(self, other):
        return self.n < other.n

def deep(n):
    return n and deep(n - 1) + 1

generator = resumed(9)
next(generator)
generator.throw(ValueError)
for i in range(3):
    generator.send(2)
generator.close()
try:
    awaits(40).send(None)
except StopIteration:
    deep(100)
sorted(Key(i * 7 % 31) for i in range(31))

def often(n):
    for i in range(n):
        n -= 1
    return n

often(140000)
"""
RAN = {1, 3, 4, 5, 6, 7, 8, 10, 13, 14, 16, 17, 18, 19, 21, 22, 23, 24, 25, 27, 28, 30, 31, 32, 34,
       35, 36, 37, 38, 39, 40, 41, 43, *range(45, 52), 53, 54, *range(56, 61), *range(62, 67), 68,
       69, *range(71, 82), *range(83, 87), 88}
TRIES = {22, 26, 48, 77}  # some versions have instructions of their own for these, some have not


def by_engine(python, program, source):
    """Each engine, and its recording of the program."""
    version, path = python
    if not path:
        pytest.skip(f"Python {version} is not installed")
    program.write_text(source)
    for engine in support.ENGINES:
        flame = program.parent / f"{engine}.flame"
        support.record(path, flame, "-S", program, options=["--detail=line"], engine=engine)
        yield engine, flame


@pytest.fixture(scope="module", params=PYTHONS)
def recordings(request, tmp_path_factory):
    """(version, recording by engine, path of the program)"""
    version = request.param[0]
    program = tmp_path_factory.mktemp(version) / "program.py"
    return version, dict(by_engine(request.param, program, PROGRAM)), str(program)


@pytest.fixture(scope="module", params=support.ENGINES)
def lines(request, recordings):
    """(version, recording, path of the program)"""
    version, flames, program = recordings
    return version, flames[request.param], program


def report(flame, *options):
    return json.loads(subprocess.run(
        [support.TRUEFLAME, "report", str(flame), "--json", "--limit=100000", *options],
        capture_output=True, text=True, check=True, timeout=120).stdout)


def by_line(flame, file, *options):
    found = report(flame, f"--lines={file}", *options)["lines"]
    return {row["line"]: row["instructions"] for row in found}


def self_of(flame, file, mode):
    return {row["name"]: row["self"] for row in report(flame, f"--python={mode}")["functions"]
            if row["name"].endswith(":" + file)}


def test_engines_agree(recordings):
    _, flames, program = recordings
    valgrind, native = (by_line(flames[engine], program) for engine in ("valgrind", "native"))
    assert valgrind == native


@pytest.mark.parametrize("mode", ["mixed", "only"])
def test_lines_add_up_to_the_functions(lines, mode):
    _, flame, program = lines
    found = by_line(flame, program, f"--python={mode}")
    assert sum(found.values()) == sum(self_of(flame, program, mode).values())
    fib = self_of(flame, program, mode)[f"py::fib:{program}"]
    # The line of `def` has the making of the function too, which is the module's.
    inside = sum(found[line] for line in range(4, 9))
    assert inside <= fib <= inside + found[3]


def test_only_lines_that_ran_have_instructions(lines):
    _, flame, program = lines
    assert RAN - set(by_line(flame, program)) <= TRIES
    assert set(by_line(flame, program)) - RAN <= TRIES


def test_native_code_counts_for_the_line_that_called_it(lines):
    _, flame, program = lines
    mixed, only = by_line(flame, program), by_line(flame, program, "--python=only")
    assert mixed[18] < mixed[17] < only[18]
    assert by_line(flame, program, "--python=only")[18] > 100000 * 5
    assert all(only[line] >= cost for line, cost in mixed.items())


def test_code_at_the_same_address_has_its_own_lines(lines):
    _, flame, _ = lines
    found = by_line(flame, "<string>")
    assert {1, 2, 3, 4} <= set(found)
    # b is on line 2 seven times, on line 3 seven times and on line 4 six times, at the same cost.
    assert found[2] == found[3] == found[4] * 7 // 6


def test_no_lines_of_python_without_python(lines):
    done = subprocess.run([support.TRUEFLAME, "report", lines[1], f"--lines={lines[2]}",
                           "--python=native"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "knows no line" in done.stderr


def test_the_page_has_the_source_of_the_lines(lines, tmp_path):
    version, flame, program = lines
    if number(version) != 12:
        pytest.skip("one version is enough")
    page = tmp_path / "page.html"
    subprocess.run([support.TRUEFLAME, "export", flame, "-f", "html", "--embed-source", "-o", page],
                   check=True, timeout=60)
    data = max(re.findall(r"[A-Za-z0-9+/=]{1000,}", page.read_text(errors="replace")), key=len)
    assert b"total += sum(range(100000))" in zlib.decompress(base64.b64decode(data))


THROWN_INTO = """\
def begun():
    yield 1

def never():
    yield 1

next(begun())
for i in range(3):
    try:
        never().throw(KeyError)
    except KeyError:
        pass
"""


@pytest.mark.parametrize("python", PYTHONS)
def test_a_generator_that_never_begins_is_at_its_first_line(python, tmp_path):
    """What is thrown into it goes out again: it executes no line of its own."""
    program, found = tmp_path / "thrown.py", {}
    for engine, flame in by_engine(python, program, THROWN_INTO):
        found[engine] = by_line(flame, program)
    assert {1, 2, 4} <= set(found["native"]) and 5 not in found["native"]
    assert found["native"] == found["valgrind"]


FORKS = """\
import os

def work(n):
    total = 0
    for i in range(n):
        total += i
    return total

def launch(n):
    child = os.fork()
    if not child:
        n += 1
        n = work(n)
        os._exit(0)
    os.waitpid(child, 0)
    n -= 1
    return n

for i in range(4):
    launch(100)
"""


@pytest.mark.parametrize("python", PYTHONS)
def test_lines_of_a_function_that_forks(python, tmp_path):
    """Its steps from line to line are known by the second time: the child's are its own."""
    program, found = tmp_path / "forks.py", {}
    for engine, flame in by_engine(python, program, FORKS):
        found[engine] = by_line(flame, program)
        calls = {row["name"].split(":")[2]: row["calls"] for row in
                 report(flame, "--python=only")["functions"] if row["name"].endswith(str(program))}
        assert calls["launch"] == calls["work"] == 4
        assert sum(found[engine].values()) == sum(self_of(flame, str(program), "mixed").values())
    assert {11, 12, 13, 14, 15} <= set(found["native"])
    assert found["native"] == found["valgrind"]


MADE = """\
def call(function):
    for k in range(10):
        function(k)

for i in range(12):
    names = {}
    exec(f"def made{i % 3}(n):" + chr(10) * (i % 4 + 1) + " return n", globals(), names)
    call(names[f"made{i % 3}"])
"""


@pytest.mark.parametrize("python", PYTHONS)
def test_functions_that_follow_each_other_at_one_address(python, tmp_path):
    """One line calls them, one after the other: what it called last is no more."""
    program, found = tmp_path / "made.py", {}
    for engine, flame in by_engine(python, program, MADE):
        found[engine] = by_line(flame, "<string>")
        calls = {row["name"]: row["calls"] for row in report(flame, "--python=only")["functions"]}
        assert [calls[f"py::made{i}:<string>"] for i in range(3)] == [40, 40, 40]
    assert {2, 3, 4, 5} <= set(found["native"])
    assert found["native"] == found["valgrind"]


MANY_PATHS = """\
import sys, threading

def left(n):
    if n:
        left(n - 1)
        right(n - 1)

def right(n):
    if n:
        left(n - 1)
        right(n - 1)

if len(sys.argv) > 1:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
left(12)
"""

MEASURED = """\
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.parametrize("python", PYTHONS[-1:])
def test_a_thread_that_waits_at_the_end_takes_little_memory(python, tmp_path):
    """While it is there, what counters say is noted instead of taken away: by what was counted, not
    for every place where something could be, which would be 1.9 times the memory. It is 1.38 to 1.40
    times, by how much of the memory the kernel gives in large pages."""
    program = tmp_path / "program.py"
    program.write_text(MANY_PATHS)

    def most_kilobytes(*arguments):
        return int(subprocess.run(
            ["/usr/bin/python3", "-c", MEASURED, support.TRUEFLAME, "record", "--engine=native",
             "--quiet", "-o", str(tmp_path / "program.flame"), python[1], "-S", str(program),
             *arguments], capture_output=True, text=True, check=True, timeout=120).stdout)

    assert most_kilobytes("thread") < 1.6 * most_kilobytes()
