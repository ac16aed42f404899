"""Perf maps and jitdumps as real programs write them: Node, Java, CPython, our own extension. What
the readers find is compared with a reading of the same bytes that shares no code with them, and with
what perf makes of them."""
import glob
import os
import re
import shutil
import struct
import subprocess

import pytest

from support import BUILD
from trampoline_support import INTERPRETERS, environment, python, start

PRINT = os.path.join(BUILD, "tests", "unit", "print_code_names")

CHURN = """
function make(i) { return new Function("n", "let t = " + i + "; for (let k = 0; k < n; k++) t += k; return t;"); }
function leaf(n) { let t = 0; for (let i = 0; i < n; i++) t += i * i; return t; }
let sum = 0;
for (let i = 0; i < 300; i++) { const f = make(i); for (let k = 0; k < 30; k++) sum += f(50); }
for (let i = 0; i < 3000; i++) sum += leaf(100);
console.log(sum > 0);
"""


def printed(kind, path):
    run = subprocess.run([PRINT, kind, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.returncode == 0, run.stderr
    return run.stdout, run.stderr.decode()


def same(found, expected):
    """Like ==, and says where not: pytest would compare megabytes letter by letter, for hours."""
    for number, (ours, theirs) in enumerate(zip(found.split(b"\n"), expected.split(b"\n"))):
        assert ours == theirs, number
    return len(found) == len(expected)


def read_map(path):
    """START SIZE NAME of every line, as perf's own description of the format has it."""
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    parts = [line.split(None, 2) for line in lines if line]
    return b"".join(b"%x %x %s\n" % (int(start, 16), int(size, 16), name)
                    for start, size, name in parts)


def checksum(code):
    value = 0
    for byte in code:
        value = (value * 31 + byte) & 0xffffffff
    return value


def read_jitdump(path):
    with open(path, "rb") as file:
        data = file.read()
    at, out = struct.unpack_from("<I", data, 8)[0], []
    while at + 16 <= len(data):
        kind, total, time = struct.unpack_from("<IIQ", data, at)
        body, at = data[at + 16:at + total], at + total
        if kind == 0:
            _, _, _, address, size, _ = struct.unpack_from("<2I4Q", body)
            name, rest = body[40:].split(b"\0", 1)
            out.append(b"load %d %x %x %x %s\n" % (time, address, size, checksum(rest[:size]), name))
        elif kind == 1:
            _, _, _, old, new, size, _ = struct.unpack_from("<2I5Q", body)
            out.append(b"move %d %x %x %x\n" % (time, old, new, size))
        elif kind == 2:
            count, rest, file = struct.unpack_from("<Q", body, 8)[0], body[16:], b""
            for _ in range(count):
                address, line, _ = struct.unpack_from("<Q2I", rest)
                name, rest = rest[16:].split(b"\0", 1)
                name = file = file if name == b"\xff" else name  # the entry before has it
                out.append(b"line %x %d %s\n" % (address, line, name))
        elif kind == 3:
            out.append(b"close\n")
        elif kind == 4:
            unwind, header = struct.unpack_from("<2Q", body)
            out.append(b"unwind %d %d\n" % (unwind - header, header))
    return b"".join(out)


def node(directory, *options):
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    (directory / "churn.js").write_text(CHURN)
    process = start(["node", *options, "churn.js"], cwd=str(directory),
                    stdout=subprocess.PIPE, text=True)
    assert process.communicate(timeout=300)[0] == "true\n" and process.returncode == 0
    return process.pid


def test_map_of_node(tmp_path):
    path = "/tmp/perf-%d.map" % node(tmp_path, "--perf-basic-prof",
                                     "--interpreted-frames-native-stack")
    try:
        found, counts = printed("map", path)
        assert same(found, read_map(path))
        assert counts == "0 bad lines\n"
        assert re.search(rb"^[0-9a-f]+ [0-9a-f]+ (JS|LazyCompile):[~^*+]leaf ", found, re.M)
    finally:
        os.unlink(path)


def test_jitdump_of_node(tmp_path):
    pid = node(tmp_path, "--perf-prof", "--interpreted-frames-native-stack")
    path = str(tmp_path / ("jit-%d.dump" % pid))
    found, counts = printed("jitdump", path)
    assert same(found, read_jitdump(path))
    assert counts == "0 bad, 0 unknown\n"
    assert re.search(rb"^load \d+ \w+ \w+ \w+ (JS|LazyCompile):[~^*+]leaf ", found, re.M)
    assert b"\nline " in found and b"unwind " in found


def test_map_of_java(tmp_path):
    if not shutil.which("javac"):
        pytest.skip("no Java compiler is installed")
    (tmp_path / "Hot.java").write_text("""
public class Hot {
    static int leaf(int n) { int t = 0; for (int i = 0; i < n; i++) t += i * i; return t; }
    public static void main(String[] args) {
        int sum = 0;
        for (int i = 0; i < 50000; i++) sum += leaf(200);
        System.out.println(sum);
    }
}
""")
    subprocess.run(["javac", "Hot.java"], cwd=str(tmp_path), check=True)
    # -Xbatch: what is to be compiled is compiled before the program goes on, however busy the machine
    process = start(["java", "-Xbatch", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit",
                     "Hot"], cwd=str(tmp_path), stdout=subprocess.PIPE)
    process.communicate(timeout=300)
    path = "/tmp/perf-%d.map" % process.pid
    if not os.path.exists(path):
        pytest.skip("this Java writes no map")
    try:
        found, counts = printed("map", path)
        assert same(found, read_map(path)) and counts == "0 bad lines\n"
        assert b" int Hot.leaf(int)\n" in found
    finally:
        os.unlink(path)


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_map_of_cpython(version, tmp_path):
    run = start([python(version), "-X", "perf", "-c", "def foo(): pass\nfoo()"],
                env=environment(tmp_path))
    assert run.wait() == 0
    path = "/tmp/perf-%d.map" % run.pid
    try:
        found, counts = printed("map", path)
        assert same(found, read_map(path)) and counts == "0 bad lines\n"
        assert b" py::foo:<string>\n" in found
    finally:
        os.unlink(path)


def test_jitdump_of_cpython(tmp_path):
    run = start([python("3.13"), "-X", "perf_jit", "-c", "def foo(): pass\nfoo()"],
                env=environment(tmp_path))
    assert run.wait() == 0
    path = "/tmp/jit-%d.dump" % run.pid
    try:
        found, counts = printed("jitdump", path)
        assert same(found, read_jitdump(path)) and counts == "0 bad, 0 unknown\n"
        assert b" py::foo:<string>\n" in found
    finally:
        os.unlink(path)


def test_jitdump_of_trampolines_and_what_perf_makes_of_it(tmp_path):
    """perf inject writes one ELF file for every load: same name, same code."""
    version = max(INTERPRETERS, key=lambda v: int(v[2:]))
    from test_trampoline_perf import PROBLEM
    if PROBLEM:
        pytest.skip(PROBLEM)
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-k", "1", "-o", "perf.data", "--",
                    os.path.join(BUILD, "trueflame"), "trampoline", "--names=jitdump", "--",
                    python(version), "-c", "def foo(): pass\nfoo()"], check=True,
                   cwd=str(tmp_path), env=environment(tmp_path))
    subprocess.run(["perf", "inject", "-j", "-i", "perf.data", "-o", "perf.jit.data"], check=True,
                   cwd=str(tmp_path))
    dump, = glob.glob(str(tmp_path / "jit-*.dump"))
    found, counts = printed("jitdump", dump)
    assert same(found, read_jitdump(dump)) and counts == "0 bad, 0 unknown\n"
    loads = [line.split(b" ", 5)[5] for line in found.splitlines() if line.startswith(b"load ")]
    symbols = []
    for path in glob.glob(str(tmp_path / "jitted-*.so")):
        table = subprocess.run(["readelf", "-sW", path], stdout=subprocess.PIPE).stdout
        symbols.append(re.search(rb" FUNC +LOCAL +DEFAULT +\d+ (.*)", table).group(1))
    assert sorted(symbols) == sorted(loads)
