"""Programs of every kind, as they are: what they print is what they print alone, their Python
functions are in the profile, nothing had to be repaired."""
import os
import subprocess

import pytest

import support
from support import number
from test_frames import PYTHONS

HERE = support.HERE + "/programs/"
INSTALLED = [python for python in PYTHONS if python.values[0][1]]
NEWEST = INSTALLED[-1:] + [p for p in INSTALLED if p.values[0][0] == "3.12"][:1]


def calls_of(flame, *options):
    """{name without file: calls} of the Python functions, over all processes."""
    calls = {}
    tree = support.export(flame, "--python=only", *options)
    for frame, count in zip(tree["nodes"]["frame"], tree["nodes"]["calls"]):
        frame = tree["frames"][frame]
        if frame["kind"] == "python":
            name = support.short(support.qualified_name(frame))
            calls[name] = calls.get(name, 0) + count
    return calls


def run_as_alone(python, folder, program, *arguments, options=(), before=()):
    """Records the program; returns the recording. `before`: arguments of the interpreter."""
    flame = folder / "program.flame"
    path = HERE + program if program.endswith(".py") else program
    command = [*before, path, *arguments]
    alone = subprocess.run([python, *command], capture_output=True, text=True, timeout=100,
                           env=dict(os.environ, PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1"))
    assert support.record(python, flame, *command, options=options) == alone.stdout
    repairs = support.info(flame)["repairs"]
    assert repairs["python-resync"] == 0 and repairs["unmatched-return"] == 0
    return flame


@pytest.fixture(params=INSTALLED)
def python(request):
    return request.param.values[0] if hasattr(request.param, "values") else request.param


@pytest.fixture(params=NEWEST)
def new_python(request):
    return request.param.values[0] if hasattr(request.param, "values") else request.param


@pytest.mark.slow
def test_libraries_of_every_day(python, tmp_path):
    """json, re, decimal, sqlite3 with a Python collation."""
    calls = calls_of(run_as_alone(python[1], tmp_path, "libraries.py"))
    assert calls["do_json"] == calls["do_re"] == calls["do_decimal"] == calls["do_sqlite"] == 1
    assert calls["by_length"] > 50
    assert calls["loads"] == 1 and calls["dumps"] == 2


def of_the_environment(frame):
    return any(name in frame["file"] for name in ("/os.py", "<frozen os>", "_collections_abc"))


@pytest.mark.parametrize("detail", ["function", "line"])
def test_what_a_command_line_takes(python, tmp_path, detail):
    """The environment is asked for what it has not got, by a subscript that Python inlines."""
    flame = run_as_alone(python[1], tmp_path, "arguments.py", "--count=3",
                         options=["--engine=native", f"--detail={detail}"])
    paths = support.calls_by_path(support.export(flame, "--python=only"), of_the_environment)
    callers = {support.short(path[-2][0]) for path, calls in paths.items()
               if calls and len(path) > 1 and support.short(path[-1][0]) == "__getitem__"}
    assert "get" in callers and callers <= {"get", "__contains__"}


@pytest.mark.slow
def test_asyncio_server_and_client(python, tmp_path):
    calls = calls_of(run_as_alone(python[1], tmp_path, "server.py"))
    assert calls["handle"] >= 5 and calls["client"] >= 5


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(new_python, tmp_path, method):
    flame = run_as_alone(new_python[1], tmp_path, "pool.py", method)
    assert calls_of(flame)["square"] == 20
    assert len(support.info(flame)["processes"]) >= 3


def test_sub_interpreters(python, tmp_path):
    if number(python[0]) < 10:
        pytest.skip("its sub-interpreters have no loadable source")
    calls = calls_of(run_as_alone(python[1], tmp_path, "interpreters.py"))
    assert calls["inside"] == 20 and calls["outside"] == 1


@pytest.mark.parametrize("way", ["-X perf", "activate_stack_trampoline"])
def test_trampolines_of_its_own(python, tmp_path, way):
    """The same stack, whether they are there or not."""
    if number(python[0]) < 12:
        pytest.skip("has no trampolines of its own")
    before = ["-X", "perf"] if way == "-X perf" else []
    flame = run_as_alone(python[1], tmp_path, "trampolines.py", way, before=before)
    tree = support.export(flame, "--python=mixed")
    paths = {path for path in named_paths(tree) if path and path[0] == "<module>"}
    assert ("<module>", "main", "bar", "foo") in paths
    assert not any(path.count("bar") > 1 or path.count("foo") > 1 for path in paths)
    assert calls_of(flame)["foo"] == 30


def named_paths(tree):
    """Paths of all frames whose names begin with py::, whatever they are."""
    paths = []
    for parent, frame in zip(tree["nodes"]["parent"], tree["nodes"]["frame"]):
        path = paths[parent] if parent >= 0 else ()
        name = tree["frames"][frame]["name"]
        if name.startswith("py::"):
            path += (support.short(name[4:].split(":")[0]),)
        paths.append(path)
    return paths


@pytest.mark.slow
def test_pytest_on_a_small_suite(tmp_path):
    suite = tmp_path / "test_small.py"
    suite.write_text("import pytest\n\n@pytest.mark.parametrize('n', range(4))\n"
                     "def test_even(n):\n    assert n % 2 == n & 1\n")
    flame = tmp_path / "pytest.flame"
    said = support.record("/usr/bin/python3", flame, "-m", "pytest", "-q", "-p",
                          "no:cacheprovider", suite)
    assert "4 passed" in said
    assert calls_of(flame)["test_even"] == 4


def test_children_and_virtual_environments(tmp_path):
    """`env python3` in a virtual environment, which starts another as a child."""
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", tmp_path / "venv"],
                   check=True, timeout=60)
    flame = tmp_path / "env.flame"
    environment = dict(os.environ, PATH=f"{tmp_path}/venv/bin:/usr/bin:/bin", PYTHONHASHSEED="0")
    done = subprocess.run(
        [support.TRUEFLAME, "record", "--engine=valgrind", "--quiet", "-o", flame, "--", "env",
         "python3", HERE + "parent.py"], capture_output=True, text=True, timeout=100,
        env=environment)
    assert done.stdout == "3\n", done.stderr
    assert calls_of(flame)["in_parent"] == 1
    assert calls_of(flame)["in_child"] == 3


@pytest.mark.parametrize("skip", ["", "skip"])
def test_a_benchmark_that_asks_for_what_it_wants(new_python, tmp_path, skip):
    """Requests sent through ctypes, as benchmark tools do: the path is true from the first
    instruction, the function that started recording is on it only until it returns, and the interpreter's object can
    be skipped by the program itself."""
    library = tmp_path / "requests.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", f"-I{support.ROOT}/include", "-o", library,
                    HERE + "requests.c"], check=True)
    flame = tmp_path / "benchmark.flame"
    support.record(new_python[1], flame, HERE + "benchmark.py", library, skip,
                   options=["--start=off", "--detail=line"])
    info = support.info(flame)
    assert [part["name"] for part in info["parts"]][:1] == ["work"]
    tree = support.export(flame, "--part=work")
    paths = named_paths(tree)
    assert ("<module>", "root_frame", "work", "<genexpr>", "leaf") in paths
    assert all(path[-1] == "start" for path in paths if "start" in path)
    assert calls_of(flame, "--part=work")["leaf"] == 25
    shown = [tree["frames"][frame] for frame in set(tree["nodes"]["frame"])]
    interpreters = [frame for frame in shown if frame["kind"] == "native"
                    and ("/libpython" in frame["object"] or "/python3" in frame["object"])]
    assert bool(interpreters) != bool(skip)


SHOW_HASH = "print(hash('x'))"


@pytest.mark.parametrize("before", [[], ["env"], ["sh", "-c", '"$@"; env', "sh"]],
                         ids=["python", "env", "sh"])
@pytest.mark.parametrize("engine", support.ENGINES)
def test_the_hash_seed_is_fixed_and_said(engine, before):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    command = ["/usr/bin/python3", "-S", "-c", SHOW_HASH, "argument"]
    done = subprocess.run(
        [support.TRUEFLAME, "record", f"--engine={engine}", "-o", os.devnull, "--", *before,
         *command], capture_output=True, text=True, timeout=100, env=environment)
    alone = subprocess.run(command, text=True, capture_output=True,
                           env=dict(environment, PYTHONHASHSEED="0"))
    assert done.stdout.startswith(alone.stdout)
    assert done.stderr.count("PYTHONHASHSEED=0") == 1
    assert "PYTHONHASHSEED" not in done.stdout  # what is no Python does not see it


@pytest.mark.parametrize("engine", support.ENGINES)
def test_a_seed_that_was_given_stays(engine):
    done = subprocess.run(
        [support.TRUEFLAME, "record", f"--engine={engine}", "-o", os.devnull, "--", "env",
         "PYTHONHASHSEED=7", "/usr/bin/python3", "-S", "-c", SHOW_HASH],
        capture_output=True, text=True, timeout=100)
    alone = subprocess.run(["/usr/bin/python3", "-S", "-c", SHOW_HASH], text=True,
                           capture_output=True, env=dict(os.environ, PYTHONHASHSEED="7"))
    assert done.stdout == alone.stdout
    assert "PYTHONHASHSEED" not in done.stderr


@pytest.mark.parametrize("engine", support.ENGINES)
def test_a_repeatable_run_leaves_nothing_for_the_next(engine, tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "app.py").write_text("import helper\nprint(helper.double(4))\n")
    (tmp_path / "code" / "helper.py").write_text("def double(x):\n    return 2 * x\n")
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("PYTHONDONTWRITEBYTECODE", "TMPDIR")}
    totals = set()
    for number in range(2):
        flame = tmp_path / f"{number}.flame"
        done = subprocess.run(
            [support.TRUEFLAME, "record", f"--engine={engine}", "--repeatable",
             "--detail=function", "-o", flame, "--", "/usr/bin/python3", "code/app.py"],
            capture_output=True, text=True, timeout=100, env=environment, cwd=tmp_path)
        assert done.stdout == "8\n"
        assert "Python lists" not in done.stderr
        totals.add(support.info(flame)["total_instructions"])
    assert len(totals) == 1
    assert sorted(os.listdir(tmp_path / "code")) == ["app.py", "helper.py"]


@pytest.mark.parametrize("words", [["app.py"], ["-c", "print(1)"]], ids=["script", "words"])
def test_a_profile_beside_the_script_is_remarked_upon(tmp_path, words):
    (tmp_path / "app.py").write_text("print(1)\n")
    done = subprocess.run([support.TRUEFLAME, "record", "--repeatable", "--", "/usr/bin/python3",
                           *words], capture_output=True, text=True, timeout=100, cwd=tmp_path)
    assert "Python lists the folder of python3.flame when it imports" in done.stderr


RACE = """
import threading, time

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def work(number):
    for i in range(3):
        fib(15)
        order.append(number)
        time.sleep(0.001 * number)

order = []
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    while thread.is_alive():
        thread.join(0.002)
print(order)
"""


def test_threads_of_a_repeatable_run_take_turns_in_one_order(tmp_path):
    """They wait for the interpreter's lock with a time limit, and for sleep and join."""
    runs = set()
    (tmp_path / "empty").mkdir()  # Python lists the folder that it is in
    for number in range(4):
        flame = tmp_path / f"{number}.flame"
        done = subprocess.run(
            [support.TRUEFLAME, "record", "--engine=native", "--repeatable", "--quiet",
             "--detail=function", "-o", flame, "--", "/usr/bin/python3", "-c", RACE],
            capture_output=True, text=True, timeout=100, cwd=tmp_path / "empty")
        assert done.returncode == 0
        runs.add((done.stdout, support.info(flame)["total_instructions"]))
    assert len(runs) == 1


def test_the_jit_is_told_of(tmp_path):
    """What it inlines has no frames of its own."""
    said = {}
    for value in ("1", "0", None):
        environment = {name: text for name, text in os.environ.items() if name != "PYTHON_JIT"}
        if value:
            environment["PYTHON_JIT"] = value
        for program in ("/usr/bin/python3", "/bin/true"):
            done = subprocess.run(
                [support.TRUEFLAME, "record", "-o", str(tmp_path / "x.flame"), "--", program,
                 *(["-c", "pass"] if "python" in program else [])],
                capture_output=True, text=True, check=True, env=environment)
            said[value, program] = "PYTHON_JIT=1: Python functions" in done.stderr
    assert [key for key, told in said.items() if told] == [("1", "/usr/bin/python3")]
