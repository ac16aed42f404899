"""The real perf sees every Python frame on interpreters as they are installed.

perf record samples a program on the software clock and keeps a copy of the stack; perf inject merges
the jitdump; perf script prints the stacks. Which samples were taken inside foo is not asked of the
stacks under test: the program prints the time before and after, on the clock that perf stamps
samples with, and does nothing but foo in between.
"""
import os
import re
import shutil
import subprocess

import pytest

from trampoline_support import (PACKAGE_DIRECTORY, TRUEFLAME, VERSIONS, environment,
                                find_interpreters, python, read_jitdump, remove_map)

every_version = pytest.mark.parametrize("version", VERSIONS)


def perf_works():
    if not shutil.which("perf"):
        return "perf is not installed"
    run = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-k", "1", "-o", "/dev/null",
                          "true"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return None if run.returncode == 0 else "perf may not record here: " + run.stderr.strip()[:200]


PROBLEM = perf_works()
pytestmark = pytest.mark.skipif(PROBLEM is not None, reason=PROBLEM or "")

FOUR = """
import sys, time
def foo(until):
    n = 0
    while time.process_time() < until:
        for i in range(2000):
            n += i * i
    return n
def bar(until): return foo(until)
def baz(until): return bar(until)
def main():
    start = time.monotonic()
    baz(time.process_time() + 1.0)
    print(start, time.monotonic())
main()
"""


class Sample:
    def __init__(self, block):
        head, *lines = block.strip("\n").split("\n")
        self.pid, self.time = int(head.split()[1]), float(re.search(r" (\d+\.\d+):", head).group(1))
        self.frames = [line.split(None, 1)[1].rsplit(" (", 1)[0] for line in lines if line.strip()]
        self.python = [re.match(r"py::(.*?):", frame).group(1) for frame in self.frames
                       if frame.startswith("py::")]


def record(directory, command, graph="dwarf,16384", inject=True, frequency=299, **env):
    """Runs the command under perf; returns its output and the samples."""
    output, script = record_script(directory, command, graph, inject, frequency, ["--no-inline"],
                                   **env)
    return output, [Sample(block) for block in script.split("\n\n") if block.strip()]


def record_script(directory, command, graph="dwarf,16384", inject=True, frequency=299,
                  script_options=(), **env):
    """The same; returns its output and what perf script prints."""
    run = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(frequency), "-k", "1",
                          "--call-graph", graph, "-o", "perf.data", "--", *command],
                         cwd=str(directory), text=True, timeout=300,
                         env=environment(directory, TRUEFLAME_JITDUMP_DIR=None, **env),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.returncode == 0, run.stderr
    data = "perf.data"
    if inject:
        subprocess.run(["perf", "inject", "-j", "-i", data, "-o", "perf.jit.data"], check=True,
                       cwd=str(directory), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        data = "perf.jit.data"
    script = subprocess.run(["perf", "script", "-i", data, *script_options], check=True,
                            cwd=str(directory), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True).stdout
    for name in os.listdir(str(directory)):
        if name.startswith("perf."):
            os.unlink(os.path.join(str(directory), name))
    for pid in set(re.findall(r"^\S+\s+(\d+)", script, re.M)):
        remove_map(int(pid))
        take_dumps(pid, directory)
    return run.stdout, script


def take_dumps(pid, directory):
    """What is in /tmp, where perf 7 wants it, goes to `directory`; without perf's own objects."""
    for name in os.listdir("/tmp"):
        if re.fullmatch(r"jit-0*%s\.dump" % pid, name):
            shutil.move(os.path.join("/tmp", name), str(directory))
        elif re.fullmatch(r"jitted-%s-\d+\.so" % pid, name):
            os.unlink(os.path.join("/tmp", name))


def inside(samples, output):
    start, end = map(float, output.split())
    return [sample for sample in samples if start <= sample.time <= end]


@every_version
@pytest.mark.parametrize("way", ["command", pytest.param("module", marks=pytest.mark.slow)])
def test_every_frame_by_dwarf_and_jitdump(version, way, tmp_path):
    (tmp_path / "app.py").write_text(FOUR)
    if way == "command":
        output, samples = record(tmp_path, [TRUEFLAME, "trampoline", "--", python(version),
                                            "app.py"])
    else:
        output, samples = record(tmp_path, [python(version), "-m", "trueflame_trampoline",
                                            "app.py"], PYTHONPATH=PACKAGE_DIRECTORY)
    taken = inside(samples, output)
    right = [s for s in taken if s.python == ["foo", "bar", "baz", "main", "<module>"]]
    print("%s: %d samples inside foo, %d with all frames in order" % (version, len(taken),
                                                                     len(right)))
    assert len(taken) >= 200
    assert len(right) >= 0.95 * len(taken)


def frame_pointer_python():
    """An interpreter that keeps frame pointers: any here, or the one the environment names."""
    named = os.environ.get("TRUEFLAME_FRAME_POINTER_PYTHON")
    question = "import sysconfig; print(sysconfig.get_config_var('PY_CORE_CFLAGS'))"
    for path in [named] if named else [path for _, path in find_interpreters("--paths")]:
        flags = subprocess.run([path, "-c", question], stdout=subprocess.PIPE, text=True).stdout
        if "-fno-omit-frame-pointer" in flags:
            return path
    return None


@pytest.mark.slow
def test_every_frame_by_frame_pointer(tmp_path):
    interpreter = frame_pointer_python()
    if not interpreter:
        pytest.skip("no CPython here was built with frame pointers")
    (tmp_path / "app.py").write_text(FOUR)
    output, samples = record(tmp_path, [TRUEFLAME, "trampoline", "--names=map", "--", interpreter,
                                        "app.py"], graph="fp", inject=False)
    taken = inside(samples, output)
    right = [s for s in taken if s.python == ["foo", "bar", "baz", "main", "<module>"]]
    print("%d samples inside foo, %d with all frames in order" % (len(taken), len(right)))
    assert len(taken) >= 200 and len(right) >= 0.95 * len(taken)


@pytest.mark.slow
@every_version
def test_without_trampolines_there_are_none(version, tmp_path):
    (tmp_path / "app.py").write_text(FOUR)
    output, samples = record(tmp_path, [python(version), "app.py"], inject=False)
    taken = inside(samples, output)
    assert len(taken) >= 200 and not [s for s in taken if s.python]


@pytest.mark.slow
@every_version
def test_forked_child(version, tmp_path):
    """The child's stacks run through functions that only its parent named."""
    (tmp_path / "app.py").write_text(FOUR.replace("import sys", "import os, sys").replace("""
    baz(""", """
    if os.fork():
        os.wait()
        sys.exit()
    baz("""))
    output, samples = record(tmp_path, [TRUEFLAME, "trampoline", "--", python(version), "app.py"])
    taken = inside(samples, output)
    right = [s for s in taken if s.python == ["foo", "bar", "baz", "main", "<module>"]]
    assert len(taken) >= 200 and len(right) >= 0.95 * len(taken)


@pytest.mark.slow
@every_version
def test_an_address_used_again_has_each_name_in_its_time(version, tmp_path):
    (tmp_path / "app.py").write_text("""
import gc, time
def turn(i):
    space = {"time": time}
    exec('''
def short_%d(until):
    n = 0
    while time.process_time() < until:
        for i in range(2000):
            n += i * i
''' % i, space)
    start = time.monotonic()
    space["short_%d" % i](time.process_time() + 0.1)
    print(start, time.monotonic(), flush=True)
    del space
    gc.collect()
for i in range(10):
    turn(i)
""")
    output, samples = record(tmp_path, [TRUEFLAME, "trampoline", "--names=jitdump", "--",
                                        python(version), "app.py"])
    taken = right = 0
    for i, line in enumerate(output.splitlines()):
        window = inside(samples, line)
        taken += len(window)
        right += len([s for s in window if s.python[:2] == ["short_%d" % i, "turn"]])
    assert taken >= 200 and right >= 0.95 * taken
    loads = {}
    dump = [name for name in os.listdir(str(tmp_path)) if name.startswith("jit-")][0]
    for kind, _, fields in read_jitdump(str(tmp_path / dump))[1]:
        if kind == 0:
            loads.setdefault(fields["address"], []).append(fields["name"])
    used_again = [names for names in loads.values() if len([n for n in names if "short_" in n]) > 1]
    assert used_again, "the test is about addresses that are used again"


@pytest.mark.slow
@every_version
def test_the_line_where_a_function_is_defined(version, tmp_path):
    (tmp_path / "app.py").write_text(FOUR)
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "99", "-k", "1", "--call-graph",
                    "dwarf", "-o", "perf.data", "--", TRUEFLAME, "trampoline", "--",
                    python(version), "app.py"], check=True, cwd=str(tmp_path),
                   env=environment(tmp_path), stdout=subprocess.DEVNULL)
    subprocess.run(["perf", "inject", "-j", "-i", "perf.data", "-o", "perf.jit.data"], check=True,
                   cwd=str(tmp_path))
    objects = [name for name in os.listdir(str(tmp_path)) if name.startswith("jitted-")]
    assert objects
    for name in objects:
        lines = subprocess.run(["readelf", "--debug-dump=decodedline", name], cwd=str(tmp_path),
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        symbols = subprocess.run(["readelf", "-sW", name], cwd=str(tmp_path), text=True,
                                 stdout=subprocess.PIPE).stdout
        if "py::baz:" in symbols and "app.py" in symbols:
            assert re.search(r"app\.py\s+10\s", lines), lines
            return
    raise AssertionError("no object for baz")
