"""The trampoline extension on every CPython that is here: names, fork, activation, hooks, limits."""
import os
import stat
import struct
import subprocess

import pytest

from trampoline_support import (INCLUDES, TRUEFLAME, VERSIONS, Run, python, run_in_process,
                                run_under_trampoline)

every_version = pytest.mark.parametrize("version", VERSIONS)

CHAIN = """
def foo(): pass
def bar(): foo()
def baz(): bar()
"""


@every_version
def test_map_lines(version, tmp_path):
    run = run_under_trampoline(version, tmp_path, CHAIN + "baz()\nprint('done')\n")
    assert (run.status, run.stdout, run.stderr) == (0, "done\n", "")
    mode = os.stat("/tmp/perf-%d.map" % run.pid)
    assert stat.S_IMODE(mode.st_mode) == 0o600 and mode.st_uid == os.geteuid()
    entries = run.map_entries()
    addresses = [address for address, _, _ in entries]
    assert len(set(addresses)) == len(addresses)
    for address, size, name in entries:
        assert set(address) <= set("0123456789abcdef") and not address.startswith("0x")
        assert 0 < int(size, 16) <= 32
        assert name.startswith("py::")
    for name in ("foo", "bar", "baz", "<module>"):
        assert "py::%s:%s/app.py" % (name, tmp_path) in [name for _, _, name in entries]


@every_version
def test_qualified_names(version, tmp_path):
    run = run_under_trampoline(version, tmp_path, """
class Outer:
    class Inner:
        def method(self): return (lambda: 1)()
Outer.Inner().method()
""")
    names = run.map_names()
    if version in ("3.9", "3.10"):  # code objects do not know better
        assert "method" in names and "<lambda>" in names
    else:
        assert "Outer.Inner.method" in names
        assert "Outer.Inner.method.<locals>.<lambda>" in names


@every_version
def test_fork(version, tmp_path):
    run = run_under_trampoline(version, tmp_path, CHAIN + """
import os
def foo_fork(): foo()
def bar_fork(): foo_fork()
baz()
pid = os.fork()
if pid == 0:
    bar_fork()
else:
    os.waitpid(pid, 0)
    print(pid)
    def parent_only(): pass
    parent_only()
""")
    assert (run.status, run.stderr) == (0, "")
    parent, child = run.map_names(), run.map_names(int(run.stdout))
    assert {"foo", "bar", "baz", "<module>"} <= set(parent) & set(child)
    assert {"foo_fork", "bar_fork"} <= set(child) and not {"foo_fork", "bar_fork"} & set(parent)
    assert "parent_only" in parent and "parent_only" not in child
    header, records = run.jitdump(int(run.stdout))
    assert header["pid"] == int(run.stdout)
    loaded = [fields for kind, _, fields in records if kind == 0]
    assert {fields["pid"] for fields in loaded} == {int(run.stdout)}
    assert [name for name in map(lambda f: f["name"], loaded) if "bar_fork" in name]


@every_version
def test_fork_with_many_code_objects(version, tmp_path):
    run = run_under_trampoline(version, tmp_path, """
import os, sys
def make(i):
    space = {}
    exec("def many_%d(): return %d" % (i, i), space)
    return space["many_%d" % i]
functions = [make(i) for i in range(3000)]
assert [f() for f in functions] == list(range(3000))
pid = os.fork()
if pid == 0:
    assert [f() for f in functions] == list(range(3000))
    os._exit(7)
print(pid, os.waitpid(pid, 0)[1] >> 8)
assert [f() for f in functions] == list(range(3000))
""")
    assert (run.status, run.stderr) == (0, "")
    pid, status = map(int, run.stdout.split())
    assert status == 7
    wanted = {"many_%d" % i for i in range(3000)}
    assert wanted <= set(run.map_names()) and wanted <= set(run.map_names(pid))


@every_version
def test_fork_that_python_was_not_told_about(version, tmp_path):
    run = run_in_process(version, tmp_path, """
import ctypes, os, sys
import trueflame_trampoline
trueflame_trampoline.activate()
def late(): return os.getpid()
pid = ctypes.PyDLL(None).fork()
if pid == 0:
    late()
    os._exit(0)
os.waitpid(pid, 0)
print(pid)
""")
    assert "late" in run.map_names(int(run.stdout)) and "late" not in run.map_names()


@every_version
def test_activate_and_deactivate(version, tmp_path):
    run = run_in_process(version, tmp_path, """
import trueflame_trampoline as t
def foo(): pass
def spam(): bar()
def bar(): baz()
def baz(): pass
assert t.is_active() is False
t.activate()
assert t.is_active() is True
t.activate()
assert t.is_active() is True
spam()
t.deactivate()
assert t.is_active() is False
foo()
spam()
t.deactivate()
t.activate()
def again(): spam()
again()
print(t.statistics()["trampolines"])
""")
    assert (run.status, run.stderr) == (0, "")
    names = run.map_names()
    assert names[:4] == ["spam", "bar", "baz", "again"] and run.stdout == "4\n"
    assert names.count("spam") == names.count("bar") == names.count("baz") == 1
    assert "again" in names and "foo" not in names


@every_version
def test_names_argument(version, tmp_path):
    run = run_in_process(version, tmp_path, """
import os
import trueflame_trampoline as t
map = "/tmp/perf-%d.map" % os.getpid()
if os.path.exists(map):  # of another process, long gone
    os.unlink(map)
for bad in ("perf", "", "invalid"):
    try:
        t.activate(names=bad)
    except ValueError as error:
        print(error)
assert not t.is_active()
t.activate(names="jitdump")
def foo(): pass
foo()
print(t.statistics()["map"] == "" and not os.path.exists(map), t.statistics()["jitdump"])
""")
    lines = run.stdout.splitlines()
    assert lines[:3] == ["names must be 'both', 'map' or 'jitdump', not '%s'" % bad
                         for bad in ("perf", "", "invalid")]
    assert lines[3] == "True %s/jit-%d.dump" % (tmp_path, run.pid)


@every_version
def test_only_a_map(version, tmp_path):
    run = run_under_trampoline(version, tmp_path, CHAIN + "baz()\n", names="map")
    assert "baz" in run.map_names()
    assert [name for name in os.listdir(tmp_path) if name.startswith("jit-")] == []


@every_version
def test_jitdump_records(version, tmp_path):
    run = run_under_trampoline(version, tmp_path, CHAIN + "baz()\n", names="jitdump")
    header, records = run.jitdump()
    assert header["pid"] == run.pid
    assert [kind for kind, _, _ in records] == [4, 2, 0] * (len(records) // 3)
    times = [time for _, time, _ in records]
    assert times == sorted(times)
    by_name = {}
    for (_, _, unwind), (_, _, line), (_, _, load) in zip(*[iter(records)] * 3):
        assert line["address"] == line["where"] == load["address"] and line["count"] == 1
        assert line["file"] == load["name"].split(":", 3)[3]
        assert len(load["code"]) + unwind["mapped"] <= 128
        by_name[load["name"]] = line["line"]
    assert by_name["py::baz:%s/app.py" % tmp_path] == 4
    for _, _, unwind in records[::3]:
        check_unwind_tables(unwind, records[2][2]["code"])
    indices = [fields["index"] for kind, _, fields in records if kind == 0]
    assert len(set(indices)) == len(indices)


def check_unwind_tables(unwind, code):
    """perf lays out code, .eh_frame and .eh_frame_hdr one after the other, the first two ending at
    a multiple of 8. All addresses in the tables are relative, and must lead to one another."""
    data, header_bytes = unwind["data"], unwind["header"]
    frames_at = (len(code) + 7) // 8 * 8
    header_at = frames_at + len(data) - header_bytes

    def signed(at):
        return struct.unpack_from("<i", data, at - frames_at)[0]

    first_bytes = struct.unpack_from("<I", data)[0] + 4
    entry_at = frames_at + first_bytes
    assert entry_at + 4 - struct.unpack_from("<I", data, first_bytes + 4)[0] == frames_at
    assert entry_at + 8 + signed(entry_at + 8) == 0  # where the code begins
    assert signed(entry_at + 12) == len(code)
    assert data[header_at - frames_at:header_at - frames_at + 4] == bytes([1, 0x1b, 3, 0x3b])
    assert header_at + 4 + signed(header_at + 4) == frames_at
    assert signed(header_at + 8) == 1
    assert header_at + signed(header_at + 12) == 0
    assert header_at + signed(header_at + 16) == entry_at
    assert len(data) <= unwind["mapped"]


@every_version
def test_addresses_used_again(version, tmp_path):
    """Code that dies gives its address back where the format can say so, and only there."""
    code = """
import gc, trueflame_trampoline as t
for i in range(2000):
    space = {}
    exec("def short_%d(): pass\\nshort_%d()" % (i, i), space)
    del space
    if i % 100 == 0:
        gc.collect()
print(t.statistics()["arenas"], t.statistics()["trampolines"])
"""
    run = run_under_trampoline(version, tmp_path, code, names="jitdump")
    assert run.stderr == ""
    arenas, trampolines = map(int, run.stdout.split())
    assert arenas == 1 and trampolines >= 2000
    _, records = run.jitdump()
    loads = [fields for kind, _, fields in records if kind == 0]
    named = {fields["name"].split(":")[2] for fields in loads}
    assert {"short_%d" % i for i in range(2000)} <= named
    assert len({fields["address"] for fields in loads}) < 700

    run = run_under_trampoline(version, tmp_path, code, names="both")
    entries = run.map_entries()
    assert len({address for address, _, _ in entries}) == len(entries) >= 4000


@every_version
def test_names_are_one_line(version, tmp_path):
    run = run_in_process(version, tmp_path, """
import trueflame_trampoline as t
t.activate()
def make(name, file):
    code = compile("def f(): return 7", file, "exec").co_consts[0]
    changes = {"co_name": name}
    if hasattr(code, "co_qualname"):
        changes["co_qualname"] = name
    return type(make)(code.replace(**changes), {})
for name, file in [("new\\nline", "a\\nb\\r.py"), ("sp ace", "with space.py"), ("\\x1b[31m", "x.py"),
                   ("\\udcff", "\\udc80.py"), ("na\\u00efve", "\\u30d5.py"), ("x" * 9000, "y" * 9000),
                   ("%s%n", "%d.py"), ("", "")]:
    assert make(name, file)() == 7
""")
    assert (run.status, run.stderr) == (0, "")
    names = [name for _, _, name in run.map_entries()]
    for name in ("py::new?line:a?b?.py", "py::sp ace:with space.py", "py::?[31m:x.py",
                 "py::\\udcff:\\udc80.py", "py::na\u00efve:\u30d5.py", "py::%s%n:%d.py", "py:::",
                 "py::" + "x" * 4095 + ":" + "y" * 4095):
        assert name in names
    _, records = run.jitdump()
    assert [fields["name"] for kind, _, fields in records if kind == 0] == names


# ---- the file in /tmp ----

IN_THE_WAY = """
import os, sys
import trueflame_trampoline as t
path = "/tmp/perf-%d.map" % os.getpid()
def foo(): pass
"""


@every_version
def test_symlink_in_the_way(version, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    run = run_in_process(version, tmp_path, IN_THE_WAY + """
os.symlink(sys.argv[1], path)
t.activate()
foo()
assert not os.path.islink(path)
""", str(victim))
    assert (run.status, run.stderr) == (0, "")
    assert victim.read_text() == "precious\n"
    assert "foo" in run.map_names()


@every_version
def test_stale_map_of_a_reused_pid(version, tmp_path):
    run = run_in_process(version, tmp_path, IN_THE_WAY + """
open(path, "w").write("1000 10 py::leftover:x.py\\n")
os.utime(path, (1e9, 1e9))
t.activate()
foo()
""")
    names = run.map_names()
    assert "foo" in names and "leftover" not in names


@every_version
def test_another_writer_in_this_process(version, tmp_path):
    run = run_in_process(version, tmp_path, IN_THE_WAY + """
open(path, "w").write("1000 10 py::other:x.py\\n")
t.activate()
foo()
""")
    assert {"other", "foo"} <= set(run.map_names())


@every_version
def test_another_users_file(version, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    os.chmod(tmp_path, 0o777)
    for parent in tmp_path.parents[:3]:
        if os.stat(parent).st_uid == 0 and str(parent) != "/tmp":
            os.chmod(parent, 0o755)
    run = run_in_process(version, tmp_path, IN_THE_WAY + """
os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666))
os.utime(path, (1e9, 1e9))
os.setuid(65534)
try:
    t.activate()
except OSError as error:
    print(error)
foo()
""")
    path = "/tmp/perf-%d.map" % run.pid
    assert run.stdout == path + " is in the way and cannot be removed: Operation not permitted\n"
    assert os.path.getsize(path) == 0
    os.unlink(path)


@every_version
def test_a_program_that_closes_every_descriptor(version, tmp_path):
    run = run_under_trampoline(version, tmp_path, """
import os, resource
def early(): pass
def late(): pass
early()
limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
os.closerange(3, limit)
mine = [os.open("mine", os.O_CREAT | os.O_RDWR) for _ in range(min(600, limit - 10))]
late()
assert mine[0] == 3
assert os.path.getsize("mine") == 0
for descriptor in mine:
    os.close(descriptor)
""")
    assert (run.status, run.stderr) == (0, "")
    assert {"early", "late"} <= set(run.map_names())
    assert os.path.getsize(tmp_path / "mine") == 0
    names = [fields["name"] for kind, _, fields in run.jitdump()[1] if kind == 0]
    assert [name for name in names if "late" in name]


@every_version
def test_low_descriptors_are_the_programs(version, tmp_path):
    run = run_under_trampoline(version, tmp_path, "import os\nprint(os.open('/', os.O_RDONLY))\n")
    assert run.stdout == "3\n"


@every_version
def test_names_after_dropping_privileges(version, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    run = run_under_trampoline(version, tmp_path,
                               "import os\nos.setuid(65534)\ndef late(): pass\nlate()\n")
    assert run.stderr == "" and "late" in run.map_names()


@every_version
def test_a_full_disk_costs_names_only(version, tmp_path):
    run = run_in_process(version, tmp_path, """
import resource, sys
import trueflame_trampoline as t
t.activate(names="map")
def foo(): return 1
def bar(): return 2
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
assert foo() + bar() == 3
""")
    assert run.status == 0
    assert run.stderr == ("trueflame: cannot write /tmp/perf-%d.map: File too large; functions "
                          "first called from now on have no name there\n" % run.pid)
    assert "foo" not in run.map_names()


# ---- the program is the same program ----

@every_version
def test_no_memory_is_writable_and_executable(version, tmp_path):
    run = run_under_trampoline(version, tmp_path, "print(open('/proc/self/maps').read())\n")
    permissions = [line.split()[1] for line in run.stdout.splitlines() if line]
    assert permissions and not [p for p in permissions if "w" in p and "x" in p]


@every_version
def test_every_kind_of_call(version, tmp_path):
    run = run_under_trampoline(version, tmp_path, """
import asyncio, functools, threading, contextlib

class Odd:
    def __getattr__(self, name): return name
    def __getitem__(self, key): return key
    def __lt__(self, other): return id(self) < id(other)
    def __call__(self): return "called"
    def __del__(self): gone.append(1)
    @property
    def prop(self): return "prop"
    @functools.lru_cache
    def cached(self): return "cached"
gone = []
odd = Odd()
assert (odd.nothing, odd[3], odd(), odd.prop) == ("nothing", 3, "called", "prop")
assert Odd().cached() == "cached"
assert sorted([Odd(), Odd()]) and sorted([3, 1], key=lambda x: -x) == [3, 1]

def generator():
    try:
        received = yield 1
        yield received
    except KeyError:
        yield "thrown"
g = generator()
assert (next(g), g.send(5)) == (1, 5)
assert g.throw(KeyError()) == "thrown"
def delegating(): yield from generator()
assert list(delegating()) == [1, None]
def raising():
    yield 1
    raise LookupError("from a generator")
try:
    list(raising())
except LookupError as error:
    assert "generator" in str(error)

@contextlib.contextmanager
def manager():
    try:
        yield 1
    finally:
        order.append("left")
order = []
try:
    with manager():
        raise ZeroDivisionError
except ZeroDivisionError:
    order.append("caught")
assert order == ["left", "caught"]

async def leaf(n):
    await asyncio.sleep(0)
    return n
async def tree(): return await asyncio.gather(*[leaf(i) for i in range(20)])
assert asyncio.run(tree()) == list(range(20))
async def agen():
    for i in range(3): yield i
async def consume(): return [i async for i in agen()]
assert asyncio.run(consume()) == [0, 1, 2]

def work(n):
    results.append(sum(step(i) for i in range(n)))
def step(i): return i
results = []
threads = [threading.Thread(target=work, args=(2000,)) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
assert results == [sum(range(2000))] * 8
print("all well")
""")
    assert (run.status, run.stdout, run.stderr) == (0, "all well\n", "")
    names = set(run.map_names())
    if version not in ("3.9", "3.10"):
        names = {name.split(".")[-1] for name in names}
    assert {"__getattr__", "__lt__", "generator", "raising", "leaf", "agen", "work", "step",
            "manager", "<lambda>", "<genexpr>"} <= names


@every_version
def test_a_thread_with_the_smallest_stack(version, tmp_path):
    code = """
import threading
threading.stack_size(32768)
def foo(): done.append(bar())
def bar(): return 1
done = []
thread = threading.Thread(target=foo)
thread.start(); thread.join()
print(done)
"""
    plain = tmp_path / "plain.py"
    plain.write_text(code)
    # where the thread ends before it has begun, start() waits for it for ever
    if Run(["timeout", "-s", "KILL", "20", python(version), str(plain)], tmp_path).stdout != "[1]\n":
        pytest.skip("this CPython itself needs more stack")
    run = run_under_trampoline(version, tmp_path, code)
    assert (run.status, run.stdout, run.stderr) == (0, "[1]\n", "")
    assert {"foo", "bar"} <= set(run.map_names())


@every_version
def test_exception_in_flight_at_the_first_call(version, tmp_path):
    run = run_in_process(version, tmp_path, """
import trueflame_trampoline as t
def catches():
    try:
        yield 1
    except ValueError as error:
        yield "caught " + str(error)
def passes():
    yield 1
started, passing = catches(), passes()
next(started), next(passing)
t.activate()
assert started.throw(ValueError("it")) == "caught it"
try:
    passing.throw(OSError("through"))
except OSError as error:
    print(error, error.__traceback__.tb_next.tb_frame.f_code.co_name)
""")
    assert (run.status, run.stdout, run.stderr) == (0, "through passes\n", "")
    assert {"catches", "passes"} <= set(run.map_names())


@every_version
def test_recursion_within_the_limit(version, tmp_path):
    """The default limit of 1,000 is a promise to programs; 3.12's count of C calls must not break
    it, in any thread, and infinite recursion must still end in RecursionError."""
    run = run_under_trampoline(version, tmp_path, """
import sys, threading
def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
class Deep:
    def __getattr__(self, name): return getattr(self, name[1:]) if len(name) > 1 else name
def forever(n): return forever(n + 1) + 1
def check():
    for _ in range(3):
        assert depth(900) == 900
        try:
            forever(0)
        except RecursionError as error:
            done.append(str(error).split(" in ")[0].split(" while")[0])
done = []
check()
thread = threading.Thread(target=check)
thread.start(); thread.join()
print(len(done), set(done))
sys.setrecursionlimit(6000)
assert depth(4500) == 4500
""")
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout == "6 {'maximum recursion depth exceeded'}\n"


@every_version
def test_recursion_without_a_limit_ends_in_an_exception(version, tmp_path):
    if version in ("3.9", "3.10"):
        pytest.skip("CPython %s overflows the C stack by itself" % version)
    run = run_under_trampoline(version, tmp_path, """
import sys
sys.setrecursionlimit(10 ** 9)
def forever(n):
    global deepest
    deepest = n
    forever(n + 1)
try:
    forever(0)
except RecursionError:
    print(deepest > 5000)
def generator(n):
    if n:
        yield from generator(n - 1)
    yield n
try:
    list(generator(10 ** 6))
except RecursionError:
    print("in a generator too")
def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
print(depth(3000))
""")
    assert (run.status, run.stdout, run.stderr) == (0, "True\nin a generator too\n3000\n", "")


# ---- other hooks ----

HOOK_SOURCE = r"""
#include <Python.h>
#if PY_VERSION_HEX < 0x030b0000
#define FRAME PyFrameObject
#else
#define FRAME struct _PyInterpreterFrame
#endif
int calls;
static _PyFrameEvalFunction previous;
static PyObject *counting(PyThreadState *thread, FRAME *frame, int throwing)
{
    calls++;
    return previous(thread, frame, throwing);
}
void install(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    previous = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    _PyInterpreterState_SetEvalFrameFunc(interpreter, counting);
}
void uninstall(void)
{
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), previous);
}
"""

HOOK_USE = """
import ctypes
import trueflame_trampoline as t
hook = ctypes.PyDLL("./hook.so")
def calls(): return ctypes.c_int.in_dll(hook, "calls").value
def foo(): pass
def bar(): pass
def baz(): pass
"""


def build_hook(version, directory):
    python(version)
    source = directory / "hook.c"
    source.write_text(HOOK_SOURCE)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(directory / "hook.so"), str(source)]
                   + ["-I" + include for include in INCLUDES[version]], check=True)


@every_version
def test_a_hook_that_was_there_first(version, tmp_path):
    build_hook(version, tmp_path)
    run = run_in_process(version, tmp_path, HOOK_USE + """
hook.install()
t.activate()
before = calls(); foo(); print(calls() - before)
t.deactivate()
before = calls(); bar(); print(calls() - before)
t.activate()
before = calls(); baz(); foo(); print(calls() - before)
""")
    # Each figure counts calls() itself once too: its own entry falls between the two readings.
    assert (run.status, run.stdout, run.stderr) == (0, "2\n2\n3\n", "")
    names = run.map_names()
    assert {"foo", "baz"} <= set(names) and "bar" not in names


@every_version
def test_a_hook_that_came_later(version, tmp_path):
    build_hook(version, tmp_path)
    run = run_in_process(version, tmp_path, HOOK_USE + """
t.activate()
hook.install()
before = calls(); foo(); print(calls() - before)
t.deactivate()
bar()
try:
    t.activate()
except RuntimeError as error:
    print(error)
hook.uninstall()
t.activate()
baz()
t.deactivate()
before = calls(); foo(); bar(); print(calls() - before)
""")
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout.splitlines() == [
        "2", "another frame evaluation hook was installed over trueflame's", "0"]
    names = run.map_names()
    assert {"foo", "baz"} <= set(names) and "bar" not in names


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14", "3.15"])
def test_cpythons_own_trampolines(version, tmp_path):
    run = run_in_process(version, tmp_path, """
import sys
import trueflame_trampoline as t
sys.activate_stack_trampoline("perf")
try:
    t.activate()
except RuntimeError as error:
    print(error)
sys.deactivate_stack_trampoline()
t.activate()
def foo(): pass
foo()
""")
    assert run.status == 0 and run.stdout.startswith("CPython's own trampolines are active")
    assert run.map_names().count("foo") == 1


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14", "3.15"])
def test_other_interpreters_are_refused(version, tmp_path):
    run = run_in_process(version, tmp_path, """
import trueflame_trampoline as t
t.activate()
try:
    import _xxsubinterpreters as sub
except ImportError:
    import _interpreters as sub
one = sub.create()
try:
    failed = sub.run_string(one, "import trueflame_trampoline")
except Exception as error:
    failed = error
print(failed is not None)
def foo(): pass
foo()
""")
    assert run.stdout == "True\n" and run.status == 0
    assert "foo" in run.map_names()
