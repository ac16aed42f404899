"""Other profilers' data. Real files where a tool is at hand; hand-made ones for the corners."""
import json
import os
import re
import subprocess

import pytest

from support import PROGRAM, ROOT, folded, imported, refused, run, total

PERF = """\
# a comment
my prog  4711/4712 [001] 12345.678901:     250 cycles:u:
\t    55d0c0ffee10 work(int, char const*)+0x10 (/usr/bin/my app)
\t    55d0c0ffee90 main+0x90 (/usr/bin/my app)

my prog  4711/4713 [000] 12345.678999:     50 cycles:u:
\t    7f00deadbeef [unknown] (/lib/libc.so.6)
\t    55d0c0ffee90 main+0x90 (/usr/bin/my app)
  main.c:12

my prog  4711/4712 [001] 12345.700000:     7 branches:u:
\t    55d0c0ffee90 main+0x90 (/usr/bin/my app)

other  99 12346.000000:     1 cycles:u:
\t    1000 operator+ (/bin/other)
"""


def import_text(folder, kind, text, name="in"):
    source, path = folder / name, folder / f"{name}.flame"
    if isinstance(text, bytes):
        source.write_bytes(text)
    else:
        source.write_text(text)
    run("import", "-f", kind, source, "-o", path)
    return path


def test_perf_script(tmp_path):
    path = import_text(tmp_path, "perf", PERF)
    assert folded(path) == "main;[unknown] 50\nmain;work(int, char const*) 250\noperator+ 1\n"
    assert "main (/usr/bin/my app);[unknown] (/lib/libc.so.6) 50" in folded(path, "--frames=full")
    info = json.loads(run("info", path, "--json").stdout)
    assert [process["command"] for process in info["processes"]] == ["my prog", "other"]
    assert len(info["threads"]) == 3
    assert info["command"] == "perf: cycles:u"
    assert info["total_instructions"] == 301
    assert "process 1 thread 2: my prog;main;[unknown] 50\n" in \
        folded(path, "--merge-threads=no")


def test_a_real_perf_script(tmp_path):
    """Of a Python program with trampolines: every sample, inlined frames with the object they are
    in, and Python frames that --python knows."""
    source = os.path.join(ROOT, "tests", "cli", "data", "perf-script-python3.12.txt")
    path = tmp_path / "x.flame"
    run("import", "-f", "perf", source, "-o", path)
    periods = re.findall(r"^\S+ +\d+ +[\d.]+: +(\d+) ", open(source).read(), re.M)
    assert len(periods) > 5
    assert total(folded(path)) == sum(map(int, periods))
    assert "type_ready_set_bases (/usr/lib/libpython3.12.so.1.0)" in folded(path, "--frames=full")
    only = folded(path, "--python=only")
    assert total(only) == total(folded(path))
    assert all(frame.startswith("py::") or frame == "(native)" for line in only.splitlines()
               for frame in line.rpartition(" ")[0].split(";"))
    assert "py::" in only
    assert ";_PyEval_EvalFrameDefault;py::" not in folded(path)
    assert ";_PyEval_EvalFrameDefault" in folded(path, "--python=native")


def test_perf_without_call_chains(tmp_path):
    """Samples are a line each then, indented so that the names end in one column."""
    path = import_text(tmp_path, "perf", """\
          zoo 21561 13041.390106:     200 task-clock:      7f9f2d1253e0 update.part.0+0x270 (/lib/ld.so)
      cc1 b 21562/7 13041.390307:     100 task-clock:  ffffffff815e1285 unmap ([kernel.kallsyms])
          zoo 21561 13041.390306:     200 task-clock:      7f9f2d1253e0 update.part.0+0x271 (/lib/ld.so)
""")
    assert folded(path, "--frames=full") == \
        "unmap ([kernel.kallsyms]) 100\nupdate.part.0 (/lib/ld.so) 400\n"
    info = json.loads(run("info", path, "--json").stdout)
    assert [process["command"] for process in info["processes"]] == ["zoo", "cc1 b"]


def test_perf_with_other_fields(tmp_path):
    """No thread, no period; and what was asked for in addition."""
    path = import_text(tmp_path, "perf", """\
swapper     0     0.000000: PERF_RECORD_MMAP -1/0: [0xf(0x1) @ 0x0]: x [kernel.kallsyms]_text
my prog 5.000000: sched:sched_switch: prev_comm=a prev_pid=1 (x)
\t    1000 leaf (/bin/a)
\t    2000 root (/bin/a)

my prog 5.000001: PERF_RECORD_COMM exec: a:15323/15323
my prog 5.000002: sched:sched_switch: prev_comm=a prev_pid=1 (x)
\t    2000 root (/bin/a)

""")
    assert folded(path) == "root 1\nroot;leaf 1\n"
    assert "with times" in refused("import", "-f", "perf", "-", "-o", tmp_path / "y.flame",
                                   stdin="\t    1000 leaf\n\t    2000 root\n\n")


def test_perf_without_period(tmp_path):
    path = import_text(tmp_path, "perf", "a 1 1.5: cycles:\n\t 10 f (/x)\n\na 1 1.6: cycles:\n"
                                         "\t 10 f (/x)\n\n")
    assert folded(path) == "f 2\n"


@pytest.mark.parametrize("text", ["", "hello\n", "\t 10 f (/x)\n", "a b c d\n"])
def test_perf_that_is_none(tmp_path, text):
    source = tmp_path / "bad"
    source.write_text(text)
    assert str(source) in refused("import", "-f", "perf", source, "-o", tmp_path / "out")


@pytest.fixture(scope="session")
def callgrind_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("callgrind")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-g", folder / "program.c", "-o", folder / "program"], check=True)
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "-q",
                    folder / "program"], check=True, capture_output=True)
    return folder / "out"


def test_callgrind_keeps_every_function_exact(tmp_path, callgrind_file):
    """Own costs, against callgrind_annotate's; the total against the file's."""
    path = tmp_path / "x.flame"
    run("import", "-f", "callgrind", callgrind_file, "-o", path)
    totals = re.search(r"^totals: (\d+)", callgrind_file.read_text(), re.M)
    report = json.loads(run("report", path, "--json", "--limit=100000").stdout)
    assert report["total_instructions"] == int(totals[1])
    annotated = subprocess.run(["callgrind_annotate", "--threshold=100", callgrind_file],
                               capture_output=True, text=True, check=True).stdout
    theirs = {}
    for cost, name in re.findall(r"^ *([\d,]+) \([ \d.]+%\)  \S*?:([\w@.]+)(?: \[|$)", annotated,
                                 re.M):
        theirs[name] = theirs.get(name, 0) + int(cost.replace(",", ""))
    ours = {}
    for row in report["functions"]:
        ours[row["name"]] = ours.get(row["name"], 0) + row["self"]
    for name in ("main", "work", "leaf", "recurse", "recurse'2"):
        if name in theirs:
            assert ours[name] == theirs[name], name
    assert ours["leaf"] > 0 and theirs["leaf"] > 0


def test_callgrind_is_said_to_be_a_graph(tmp_path, callgrind_file):
    path = tmp_path / "x.flame"
    run("import", "-f", "callgrind", callgrind_file, "-o", path)
    assert "stacks are estimates" in run("info", path).stdout
    assert "main;work;leaf " in folded(path)


def test_callgrind_with_jumps(tmp_path):
    """callgrind --collect-jumps=yes: jumps cost nothing, and may name what comes later."""
    path = import_text(tmp_path, "callgrind", """\
positions: instr line
events: Ir
fl=(1) a.c
fn=(1) main
0x10 3 5
jfi=(2) b.h
jfn=(2) other
jcnd=2/5 0x40 9
0x10 3
jump=4 +4 *
0x14 3
0x18 4 1

fl=(2)
fn=(2)
0x40 9 7
""")
    assert folded(path) == "main 6\nother 7\n"


def test_callgrind_with_several_callers_shares_by_cost(tmp_path):
    path = import_text(tmp_path, "callgrind", """\
events: Ir
fn=(1) main
1 10
cfn=(2) a
calls=1 1
1 30
cfn=(3) b
calls=1 1
1 90
fn=(2)
2 0
cfn=(4) c
calls=1 1
2 30
fn=(3)
3 0
cfn=(4)
calls=3 1
3 90
fn=(4)
4 120
""")
    assert folded(path) == "main 10\nmain;a;c 30\nmain;b;c 90\n"


@pytest.mark.parametrize("text", ["", "events: Ir\n", "fn=x\n1 2\n", "events: Ir\n1 2\n",
                                  "events: Ir\nfn=a\nnonsense\n", "\x00\x01",
                                  f"events: Ir\nfn=a\n1 {2**64 - 1}\nfn=b\n1 1\n"])
def test_callgrind_that_is_none(tmp_path, text):
    source = tmp_path / "bad"
    source.write_text(text)
    assert str(source) in refused("import", "-f", "callgrind", source, "-o", tmp_path / "out")


def test_pprof_round_trip(tmp_path, program_flame):
    """Export, import: the same tree, calls included."""
    run("export", program_flame, "-f", "pprof", "-o", tmp_path / "x.pb.gz")
    path = import_text(tmp_path, "pprof", (tmp_path / "x.pb.gz").read_bytes())
    assert folded(path) == folded(program_flame)

    def costs(file):
        rows = json.loads(run("report", file, "--json", "--limit=100000").stdout)["functions"]
        return sorted((row["name"], row["self"], row["calls"]) for row in rows)
    assert costs(path) == costs(program_flame)
    assert run("diff", program_flame, path, "-f", "folded").stdout == ""


def test_pprof_from_go(tmp_path):
    """A profile that pprof itself wrote: merged from two of ours, so the sum is twice."""
    if subprocess.run(["which", "go"], capture_output=True).returncode:
        pytest.skip("go is not installed (golang-go)")
    source = imported(tmp_path, "a;b 5\na;c 7\n", "twice")
    run("export", source, "-f", "pprof", "-o", tmp_path / "x.pb.gz")
    subprocess.run(["go", "tool", "pprof", "-proto", f"-output={tmp_path}/merged.pb.gz",
                    tmp_path / "x.pb.gz", tmp_path / "x.pb.gz"], check=True, capture_output=True)
    path = import_text(tmp_path, "pprof", (tmp_path / "merged.pb.gz").read_bytes())
    assert folded(path) == "a;b 10\na;c 14\n"


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b", b"\x1f\x8bgarbage", b"\xff" * 20,
                                  b"\x0a\x00" * 3])
def test_pprof_that_is_none(tmp_path, data):
    source = tmp_path / "bad"
    source.write_bytes(data)
    assert str(source) in refused("import", "-f", "pprof", source, "-o", tmp_path / "out")


def test_unknown_format(tmp_path):
    assert "unknown format 'dtrace'" in refused("import", "-f", "dtrace", "x", "-o", "y")


def test_merge(tmp_path, program_flame):
    one, two = imported(tmp_path, "a;b 1\nc 2\n", "one"), imported(tmp_path, "a;b 10\nd 4\n", "two")
    out = tmp_path / "out.flame"
    run("merge", "-o", out, one, two)
    assert folded(out) == "a;b 11\nc 2\nd 4\n"
    assert len(json.loads(run("info", out, "--json").stdout)["processes"]) == 2

    run("merge", "-o", out, program_flame, program_flame, program_flame)
    once, thrice = folded(program_flame), folded(out)
    assert total(thrice) == 3 * total(once)
    assert [line.rpartition(" ")[0] for line in thrice.splitlines()] == \
        [line.rpartition(" ")[0] for line in once.splitlines()]
    lines = [json.loads(run("report", path, "--lines=program.c", "--json").stdout)["lines"]
             for path in (program_flame, out)]
    assert [3 * row["instructions"] for row in lines[0]] == \
        [row["instructions"] for row in lines[1]]


def test_merge_of_different_details(tmp_path, program_flame):
    one, out = imported(tmp_path, "a;b 1\n"), tmp_path / "out.flame"
    for order in ((one, program_flame), (program_flame, one)):
        run("merge", "-o", out, *order)
        info = json.loads(run("info", out, "--json").stdout)
        assert info["detail"] == "function"
        assert total(folded(out)) == total(folded(program_flame)) + 1


def test_merge_refuses_what_is_too_large(tmp_path):
    one = imported(tmp_path, f"a {2**63}\n")
    assert "exceeds 64 bits" in refused("merge", "-o", tmp_path / "out", one, one)


def test_merge_needs_files(tmp_path):
    assert "needs -o OUT" in refused("merge", "-o", tmp_path / "out")
