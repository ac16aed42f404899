"""The programs that people open our exports with accept them, and read the same numbers."""
import collections
import json
import os
import re
import shutil
import subprocess

import pytest

from support import BUILD, ROOT, folded, imported, run

HUGE = 2**53 + 1  # a double cannot hold it


def export(path, kind, out, *options):
    run("export", path, "-f", kind, "-o", out, *options)
    return out


def info(path):
    return json.loads(run("info", path, "--json").stdout)


def self_by_name(path):
    costs = collections.Counter()
    for line in folded(path).splitlines():
        stack, _, count = line.rpartition(" ")
        costs[stack.rpartition(";")[2]] += int(count)
    return costs


# pprof: go tool pprof, and npm's pprof-format

@pytest.fixture
def pprof(tmp_path):
    if not shutil.which("go"):
        pytest.skip("go is not installed (golang-go)")

    def call(path, *options):
        done = subprocess.run(["go", "tool", "pprof", *options, path], capture_output=True,
                              text=True, env={**os.environ, "PPROF_TMPDIR": str(tmp_path)})
        assert done.returncode == 0, done.stderr
        return done.stdout
    return call


def test_pprof_reads_the_sums(pprof, tmp_path, program_flame):
    raw = pprof(export(program_flame, "pprof", tmp_path / "x.pb.gz"), "-raw")
    samples = raw[raw.index("Samples:"):raw.index("Locations")]
    rows = re.findall(r"^ +(\d+) +(\d+): ", samples, re.M)
    assert sum(int(count) for _, count in rows) == info(program_flame)["total_instructions"]
    calls = sum(row["calls"] for row in json.loads(
        run("report", program_flame, "--json", "--limit=100000").stdout)["functions"])
    assert sum(int(count) for count, _ in rows) == calls
    assert "calls/count instructions/count[dflt]" in samples


def test_pprof_reads_the_tree(pprof, tmp_path, program_flame):
    """Its own traces, inlined frames included, are our folded lines."""
    traces = pprof(export(program_flame, "pprof", tmp_path / "x.pb.gz"), "-traces",
                   "-nodefraction=0", "-edgefraction=0")
    theirs = collections.Counter()
    for block in traces.split("-----------+")[1:]:
        lines = [line for line in block.splitlines()[1:] if line.strip()]
        if not lines:
            continue
        count, first = re.match(r" +(\d+) +(.*)", lines[0]).groups()
        stack = [first] + [line.strip() for line in lines[1:]]
        names = [re.sub(r" \(inline\)$", "", name) for name in reversed(stack)]
        theirs[";".join(names)] += int(count)
    ours = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2])
            for line in folded(program_flame).splitlines()}
    assert {path: count for path, count in theirs.items() if count} == ours
    assert "inner (inline)" in traces


def test_pprof_lists_our_lines(pprof, tmp_path, program_flame):
    """Line by line, its listing of a source has what report --lines has; and calls their cost."""
    listing = pprof(export(program_flame, "pprof", tmp_path / "x.pb.gz"), "-list=.",
                    f"-source_path={os.path.dirname(program_flame)}")
    theirs, totals = collections.Counter(), {}
    for routine in listing.split("ROUTINE ====")[1:]:
        if not routine.splitlines()[0].endswith("program.c"):
            continue
        for flat, total, line in re.findall(r"^ +(\S+) +(\S+) +(\d+):", routine, re.M):
            theirs[int(line)] += 0 if flat == "." else int(flat)
            totals[int(line)] = total
    ours = {line["line"]: line["instructions"] for line in json.loads(
        run("report", program_flame, "--lines=program.c", "--json").stdout)["lines"]}
    assert {line: count for line, count in theirs.items() if count} == ours
    assert any(total != "." and line not in ours or int(total) > ours[line]
               for line, total in totals.items() if total != ".")


def test_pprof_keeps_huge_counts(pprof, tmp_path):
    raw = pprof(export(imported(tmp_path, f"a {HUGE}\n"), "pprof", tmp_path / "x.pb.gz"), "-raw")
    assert str(HUGE) in raw


def test_pprof_knows_objects_threads_and_the_command(pprof, tmp_path, program_flame):
    raw = pprof(export(program_flame, "pprof", tmp_path / "x.pb.gz", "--merge-threads=no"), "-raw")
    program = str(program_flame)[:-len(".flame")]
    assert re.search(rf"^\d+: 0x[0-9a-f]+/0x[0-9a-f]+/0x0 {re.escape(program)} [0-9a-f]+ .*\[FN\]",
                     raw, re.M)
    assert "thread:[process 1 thread 1: " in raw
    assert f"Comment: {program}" in raw


def test_pprof_bytes_are_repeatable(tmp_path, program_flame):
    first = export(program_flame, "pprof", tmp_path / "a").read_bytes()
    assert first == export(program_flame, "pprof", tmp_path / "b").read_bytes()


@pytest.fixture(scope="session")
def npm_folder():
    """The npm packages of tests/consumers, installed once into the build folder."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed")
    folder = os.path.join(BUILD, "consumers")
    os.makedirs(folder, exist_ok=True)
    wanted = os.path.join(ROOT, "tests", "consumers", "package.json")
    have = os.path.join(folder, "package.json")
    if not os.path.exists(os.path.join(folder, "node_modules", ".complete")) or \
            open(have).read() != open(wanted).read():
        shutil.copy(wanted, have)
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"],
                              cwd=folder, capture_output=True, text=True, timeout=300)
        if done.returncode:
            pytest.skip("npm cannot install the consumers: " + done.stderr.strip()[-200:])
        open(os.path.join(folder, "node_modules", ".complete"), "w").close()
    return folder


def node(folder, script, *arguments):
    done = subprocess.run(["node", "-e", script, *map(str, arguments)], cwd=folder,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pprof_format_decodes_it(npm_folder, tmp_path, program_flame):
    sums = json.loads(node(npm_folder, """
        const {Profile} = require('pprof-format'), fs = require('fs'), zlib = require('zlib');
        const profile = Profile.decode(zlib.gunzipSync(fs.readFileSync(process.argv[1])));
        let sums = [0n, 0n];
        for (const sample of profile.sample)
            sample.value.forEach((value, i) => { sums[i] += BigInt(value); });
        console.log(JSON.stringify(sums.map(String)));
        """, export(program_flame, "pprof", tmp_path / "x.pb.gz")))
    assert int(sums[1]) == info(program_flame)["total_instructions"]


# speedscope: its own schema; then its own reading of the events

def test_speedscope_schema_accepts_it(npm_folder, tmp_path, program_flame):
    for options in ((), ("--merge-threads=no",)):
        answer = node(npm_folder, """
            const Ajv = require('ajv'), fs = require('fs');
            const schema = JSON.parse(fs.readFileSync(
                'node_modules/speedscope/dist/release/file-format-schema.json'));
            const check = new Ajv({strict: false}).compile(schema);
            const good = check(JSON.parse(fs.readFileSync(process.argv[1])));
            console.log(good, JSON.stringify(check.errors));
            """, export(program_flame, "speedscope", tmp_path / "x.json", *options))
        assert answer == "true null\n"


def test_speedscope_events_are_the_tree(tmp_path, program_flame):
    """Opened and closed in balance, at positions that never go back; own costs by path."""
    data = json.load(open(export(program_flame, "speedscope", tmp_path / "x.json")))
    names = [frame["name"] for frame in data["shared"]["frames"]]
    profile, = data["profiles"]
    stack, at, costs = [], 0, collections.Counter()
    for event in profile["events"]:
        assert event["at"] >= at
        costs[";".join(names[frame] for frame in stack)] += event["at"] - at
        at = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
        else:
            assert stack.pop() == event["frame"]
    assert stack == []
    assert profile["endValue"] == at == info(program_flame)["total_instructions"]
    ours = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2])
            for line in folded(program_flame).splitlines()}
    assert {path: cost for path, cost in costs.items() if cost} == ours


# callgrind: callgrind_annotate

def annotate(path, *options, sources=()):
    done = subprocess.run(["callgrind_annotate", "--threshold=100", *options, path, *sources],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_callgrind_annotate_reads_total_and_functions(tmp_path, program_flame):
    path = export(program_flame, "callgrind", tmp_path / "callgrind.out")
    text = annotate(path, "--auto=no")
    total = re.search(r"^([\d,]+) \(100.0%\)  PROGRAM TOTALS", text, re.M)[1].replace(",", "")
    assert int(total) == info(program_flame)["total_instructions"]
    theirs = collections.Counter()
    for count, name in re.findall(r"^ *([\d,]+) \([ \d.]+%\)  [^:\n]*:(\S+)", text, re.M):
        theirs[name] += int(count.replace(",", ""))
    ours = self_by_name(program_flame)
    for name in ("main", "work", "inner", "leaf", "recurse"):
        assert theirs[name] == ours[name], name


def test_callgrind_annotate_inclusive(tmp_path, program_flame):
    text = annotate(export(program_flame, "callgrind", tmp_path / "callgrind.out"),
                    "--inclusive=yes")
    rows = json.loads(run("report", program_flame, "--json", "--limit=100000").stdout)
    totals = {row["name"]: row["total"] for row in rows["functions"]}
    for name in ("main", "work", "leaf"):
        count = re.search(rf"^ *([\d,]+) \([ \d.]+%\)  [^:\n]*:{name} ", text, re.M)[1]
        assert int(count.replace(",", "")) == totals[name]


def test_callgrind_lines(tmp_path, program_flame):
    """Line by line, callgrind_annotate shows what report --lines shows."""
    source = str(program_flame)[:-len(".flame")] + ".c"
    text = annotate(export(program_flame, "callgrind", tmp_path / "callgrind.out"),
                    sources=[source])
    ours = {row["line"]: row["instructions"] for row in json.loads(
        run("report", program_flame, "--lines=program.c", "--json").stdout)["lines"]}
    loop = 1 + next(i for i, line in enumerate(open(source)) if "sink ^= i;" in line)
    count = re.search(r"^ *([\d,]+) \([ \d.]+%\) +sink \^= i;", text, re.M)[1]
    assert int(count.replace(",", "")) == ours[loop]


# Firefox Profiler: its own command line

def test_firefox_profiler_reads_the_tree(npm_folder, tmp_path, program_flame):
    path = export(program_flame, "firefox", tmp_path / "x.json")
    command = ["node", os.path.join(npm_folder, "node_modules", ".bin", "pq")]
    environment = {**os.environ, "HOME": str(tmp_path)}

    def pq(*arguments):
        return subprocess.run([*command, *arguments], capture_output=True, text=True,
                              env=environment, timeout=120)

    loaded = pq("load", str(path))
    try:
        for _ in range(20):  # the daemon behind it takes its time to start
            answer = pq("thread", "functions", "--json", "--limit", "100000")
            if answer.returncode == 0 and answer.stdout.startswith("{"):
                break
        else:
            pytest.skip(f"profiler-cli does not start here: {loaded.stderr.strip()[:200]}")
        functions = json.loads(answer.stdout)["functions"]
        tree = json.loads(pq("thread", "samples-top-down", "--json").stdout)
    finally:
        pq("stop")
    assert tree["regularCallTree"]["totalSamples"] == info(program_flame)["total_instructions"]
    rows = json.loads(run("report", program_flame, "--json", "--limit=100000").stdout)
    ours = {(row["name"], row["self"], row["total"]) for row in rows["functions"]}
    theirs = {(row["name"], row["selfSamples"], row["totalSamples"]) for row in functions}
    assert {row for row in theirs if row[0] in ("main", "work", "outer", "inner", "leaf")} == \
        {row for row in ours if row[0] in ("main", "work", "outer", "inner", "leaf")}


# svg and json: any parser

def test_svg_is_well_formed_and_a_real_tree(tmp_path):
    import xml.etree.ElementTree as ElementTree
    path = imported(tmp_path, "main;b 100\nmain;b.part.0 100\nmain;b;c<int>&x 100\n")
    root = ElementTree.parse(export(path, "svg", tmp_path / "x.svg")).getroot()
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["main: 300 instructions, 100.00%", "b: 200 instructions, 66.67%",
                      "c<int>&x: 100 instructions, 33.33%", "b.part.0: 100 instructions, 33.33%"]
    rects = [rect for rect in root.iter("{http://www.w3.org/2000/svg}rect") if rect.get("x")]
    assert [float(rect.get("width")) for rect in rects] == [1180, 786.67, 393.33, 393.33]
    assert float(rects[3].get("x")) == pytest.approx(10 + 786.67, abs=0.01)


def test_json_columns(tmp_path, program_flame):
    data = json.load(open(export(program_flame, "json", tmp_path / "x.json")))
    nodes = data["nodes"]
    assert len({len(column) for column in nodes.values()}) == 1
    assert sum(nodes["self"]) == data["total_instructions"]
    assert set(nodes["frame"]) == set(range(len(data["frames"])))
    paths = []
    for parent, frame in zip(nodes["parent"], nodes["frame"]):
        name = data["frames"][frame]["name"]
        paths.append(name if parent < 0 else f"{paths[parent]};{name}")
    ours = collections.Counter()
    for path, cost in zip(paths, nodes["self"]):
        ours[path] += cost
    assert sorted(f"{path} {cost}" for path, cost in ours.items() if cost) == \
        sorted(folded(program_flame).splitlines())


def test_huge_counts_in_json(tmp_path):
    path = imported(tmp_path, f"a {HUGE}\n")
    for kind in ("json", "speedscope", "firefox"):
        assert str(HUGE) in export(path, kind, tmp_path / "x").read_text()
