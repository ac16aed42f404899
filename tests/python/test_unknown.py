"""CPythons that cannot be watched: one line says so, and what there is in place of the watch is used.

Versions to come are made of one that is there: a copy of its library with another number."""
import glob
import os
import re
import subprocess

import pytest

import support
from support import ENGINES, TRUEFLAME

PROGRAM = """
def leaf(n):
    return n

def work(n):
    return [leaf(i) for i in range(n)]

print(len(work(30)))
"""
REAL = "3.12"  # has trampolines of its own, and a table here
UNKNOWN, MISREAD = 0x031000F0, 0x030B00F0  # 3.16; 3.11, which this one is not


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("unknown") / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="module")
def claim(tmp_path_factory):
    """Claims another version for a library: claim(number) is the environment that it is used in."""
    def make(number):
        interpreter = support.interpreter_of(REAL)
        library = interpreter and os.path.join(os.path.dirname(interpreter), "..", "lib",
                                               f"libpython{REAL}.so.1.0")
        if not library or not os.path.exists(library):
            pytest.skip(f"no libpython{REAL} to make another version of")
        symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True).stdout
        place = int(re.search(r"^(\w+) . Py_Version$", symbols, re.M).group(1), 16)
        with open(library, "rb") as file:
            content = bytearray(file.read())
        assert content[place + 2:place + 4] == b"\x0c\x03"  # read-only data: its place in the file
        content[place:place + 4] = number.to_bytes(4, "little")
        folder = tmp_path_factory.mktemp("library")
        (folder / os.path.basename(library)).write_bytes(content)
        return interpreter, dict(os.environ, LD_LIBRARY_PATH=str(folder), PYTHONHASHSEED="0")
    return make


def record(engine, flame, command, environment):
    done = subprocess.run(
        [TRUEFLAME, "record", "--quiet", f"--engine={engine}", "-o", str(flame), "--", *command],
        capture_output=True, text=True, timeout=200, env=environment)
    assert done.stdout == "30\n" and done.returncode == 0
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    return lines[0]


def calls(flame):
    tree = support.export(flame, "--python=only")
    found = {}
    for frame, count in zip(tree["nodes"]["frame"], tree["nodes"]["calls"]):
        name = re.match(r"py::(\w+):.*program\.py", tree["frames"][frame]["name"])
        if name:
            found[name.group(1)] = found.get(name.group(1), 0) + count
    return found


@pytest.mark.parametrize("version", [
    *(pytest.param(version, marks=pytest.mark.slow) for version in ("2.7", "3.6", "3.7")), "3.8"])
@pytest.mark.parametrize("engine", ENGINES)
def test_older_ones_are_recorded_natively(engine, version, program, tmp_path):
    interpreter = support.interpreter_of(version)
    if not interpreter:
        pytest.skip(f"Python {version} is not installed")
    flame = tmp_path / "old.flame"
    said = record(engine, flame, [interpreter, program], dict(os.environ, PYTHONHASHSEED="0"))
    name = "CPython" if version == "2.7" else f"CPython {version}"
    assert f"is {name}, which is not known here: its Python frames are not shown" in said
    tree = support.export(flame)
    assert not any(frame["kind"] == "python" for frame in tree["frames"])
    evaluator = "PyEval_EvalFrameEx" if version == "2.7" else "_PyEval_EvalFrameDefault"
    assert any(frame["name"] == evaluator for frame in tree["frames"])
    assert support.info(flame)["repairs"]["unmatched-return"] == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_newer_one_is_recorded_with_its_own_trampolines(engine, program, claim, tmp_path):
    interpreter, environment = claim(UNKNOWN)
    said = record(engine, tmp_path / "new.flame", [interpreter, program], environment)
    assert "is CPython 3.16, which is not known here: recorded with its own trampolines" in said
    assert calls(tmp_path / "new.flame") == {"work": 1, "leaf": 30}


@pytest.mark.parametrize("engine", ENGINES)
def test_one_that_is_not_as_it_should_be_gets_trampolines(engine, program, claim, tmp_path):
    interpreter, environment = claim(MISREAD)
    built = os.path.join(support.BUILD, "src/python/trueflame_trampoline")
    if not any(name.startswith("_trampoline.cpython-312-") for name in os.listdir(built)):
        pytest.skip(f"no trampolines were built for Python {REAL}")
    said = record(engine, tmp_path / "misread.flame", [interpreter, program], environment)
    assert "but its frames are not as they should be: recorded with trampolines" in said
    assert calls(tmp_path / "misread.flame") == {"work": 1, "leaf": 30}


@pytest.mark.parametrize("engine", ENGINES)
def test_where_there_can_be_no_trampolines(engine, program, claim, tmp_path):
    """-I keeps out whatever the environment says."""
    interpreter, environment = claim(UNKNOWN)
    flame = tmp_path / "without.flame"
    for command in [interpreter, "-I", program], ["env", interpreter, "-I", program]:
        said = record(engine, flame, command, environment)
        assert said.endswith("which is not known here: its Python frames are not shown")
        assert calls(flame) == {}


# ---- those that another program became or started ----

STARTERS = {
    "exec": ["sh", "-c", 'exec "$0" "$1"'],
    "fork": ["sh", "-c", '"$0" "$1"; exit $?'],
    "spawn": ["/usr/bin/python3", "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])"],
}


def maps():
    return set(glob.glob("/tmp/perf-*.map"))


def record_child(engine, flame, command, environment):
    """The lines that are said; the program's output is as it is alone, and there is one of it."""
    before = maps()
    done = subprocess.run([TRUEFLAME, "record", f"--engine={engine}", "-o", str(flame), "--", *command],
                          capture_output=True, text=True, timeout=200, env=environment)
    assert (done.stdout, done.returncode) == ("30\n", 0), done.stderr
    info = support.info(flame)
    assert info["repairs"]["unmatched-return"] == 0
    for pid in info["pids"].split():
        assert f"/tmp/perf-{pid}.map" not in maps() - before
    return [line for line in done.stderr.splitlines() if "CPython" in line]


@pytest.mark.parametrize("starter", STARTERS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_newer_one_that_another_program_started(engine, starter, program, claim, tmp_path):
    interpreter, environment = claim(UNKNOWN)
    flame = tmp_path / "child.flame"
    said = record_child(engine, flame, [*STARTERS[starter], interpreter, str(program)], environment)
    assert len(said) == 1
    assert "3.16, which is not known here: recorded with its own trampolines" in said[0]
    assert calls(flame) == {"work": 1, "leaf": 30}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_misread_one_that_another_program_started(engine, program, claim, tmp_path):
    interpreter, environment = claim(MISREAD)
    built = os.path.join(support.BUILD, "src/python/trueflame_trampoline")
    if not any(name.startswith("_trampoline.cpython-312-") for name in os.listdir(built)):
        pytest.skip(f"no trampolines were built for Python {REAL}")
    environment["PYTHONPATH"] = str(tmp_path)  # the program's own: found as before
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.customized = True")
    script = tmp_path / "script"
    script.write_text(f"#!{interpreter}\nassert customized\n" + PROGRAM)
    script.chmod(0o755)
    said = record_child(engine, tmp_path / "child.flame", ["sh", "-c", "$0; exit $?", str(script)],
                        environment)
    assert len(said) == 1 and "as they should be: recorded with trampolines" in said[0]
    tree = support.export(tmp_path / "child.flame", "--python=only")
    assert sum(count for frame, count in zip(tree["nodes"]["frame"], tree["nodes"]["calls"])
               if tree["frames"][frame]["name"].startswith("py::leaf:")) == 30


NESTED = """
import os, subprocess, sys
if len(sys.argv) > 1:
    subprocess.run([sys.executable, *sys.argv[1:]], check=True)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_one_that_such_a_one_started(engine, program, claim, tmp_path):
    """It has the trampolines already, and is not started once more."""
    interpreter, environment = claim(UNKNOWN)
    (tmp_path / "nested.py").write_text(NESTED)
    flame = tmp_path / "child.flame"
    said = record_child(engine, flame, ["env", interpreter, str(tmp_path / "nested.py"),
                                        str(program)], environment)
    assert len(said) == 1
    assert said[0].endswith("recorded with its own trampolines, which change the program a little")
    assert calls(flame) == {"work": 1, "leaf": 30}


EMBEDDING = r"""
#include <stdio.h>
int Py_InitializeEx(int); int PyRun_SimpleString(const char *);
int main(int argc, char **argv) {
    puts("begun");
    fflush(stdout);
    Py_InitializeEx(0);
    return PyRun_SimpleString("print(30)");
}
"""


@pytest.mark.parametrize("through", [[], ["env"]])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_program_with_python_inside_is_not_begun_twice(engine, through, claim, tmp_path):
    interpreter, environment = claim(UNKNOWN)
    (tmp_path / "embedding.c").write_text(EMBEDDING)
    subprocess.run(["gcc", "-o", tmp_path / "embedding", tmp_path / "embedding.c",
                    "-L" + environment["LD_LIBRARY_PATH"], f"-l:libpython{REAL}.so.1.0"], check=True)
    environment["PYTHONHOME"] = os.path.dirname(os.path.dirname(interpreter))
    done = subprocess.run([TRUEFLAME, "record", f"--engine={engine}", "-o", tmp_path / "inside.flame",
                           "--", *through, tmp_path / "embedding"],
                          capture_output=True, text=True, timeout=200, env=environment)
    assert (done.stdout, done.returncode) == ("begun\n30\n", 0), done.stderr
    assert "which is not known here: its Python frames are not shown" in done.stderr
