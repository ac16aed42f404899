"""Code that programs make while they run has the names that were valid when it ran."""
import json
import json
import os
import re
import shutil
import subprocess

import pytest

import support
import trampoline_support

ENGINES = ["valgrind", "native"]
DETAILS = ["line", "function"]


@pytest.fixture(scope="session")
def script(tmp_path_factory):
    program = tmp_path_factory.mktemp("jit") / "jit_script"
    source = os.path.join(support.ROOT, "tests", "cli", "data", "jit_script.c")
    subprocess.run(["gcc", "-O1", "-g", "-o", program, source], check=True)
    return program


@pytest.fixture(params=[(engine, detail) for engine in ENGINES for detail in DETAILS],
                ids=lambda pair: "-".join(pair))
def recorder(request, script, tmp_path):
    """Runs the script and gives back the folded paths below run_code, and what was said."""
    engine, detail = request.param

    def run(*words, folder=tmp_path):
        flame = folder / "x.flame"
        done = subprocess.run([support.TRUEFLAME, "record", f"--engine={engine}",
                               f"--detail={detail}", "-o", flame, script, *map(str, words)],
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        said = [line for line in done.stderr.splitlines() if "wrote" not in line]
        paths = {}
        for line in support.folded(flame).splitlines():
            path, _, count = line.rpartition(" ")
            if ";run_code;" in path:
                paths[path.partition(";run_code;")[2]] = int(count)
        return paths, said

    run.flame = tmp_path / "x.flame"
    run.detail = detail
    return run


def spin(turns):
    """What `emit spin` executes."""
    return 2 + 2 * turns


def calls(flame):
    """Calls of each JIT function, by name."""
    counts = {}
    for line in support.run("report", flame, "--limit=100000").stdout.splitlines():
        match = re.match(r"\s*[\d,]+ +[\d.]+% +[\d,]+ +[\d.]+% +([\d,]+)  (.*) \[\[jit\]\]$", line)
        if match:
            counts[match[2]] = counts.get(match[2], 0) + int(match[1].replace(",", ""))
    return counts


# ---- perf maps ----

def test_a_name_before_the_code_runs(recorder):
    paths, said = recorder(*"emit 0 spin 10 map 0 0x40 f run 0 3".split())
    assert paths == {"f": 3 * spin(10)} and said == []
    assert calls(recorder.flame) == {"f": 3}


def test_a_name_after_the_code_ran(recorder):
    paths, said = recorder(*"emit 0 spin 10 run 0 3 map 0 0x40 f run 0 2".split())
    assert paths == {"f": 5 * spin(10)} and said == []
    assert calls(recorder.flame) == {"f": 5}


def test_a_script_in_another_folder_compares(script, tmp_path):
    flames = []
    for folder, turns in (("/ci/base", 10), ("/ci/new", 11)):
        flames.append(tmp_path / f"{turns}.flame")
        support.run("record", "-o", flames[-1], script, "emit", 0, "spin", turns, "map", 0, "0x40",
                    f"JS:~f {folder}/app.js:12:5", "run", 0, 1)
    text = support.run("diff", *flames, "-f", "folded").stdout
    changed = [line for line in text.splitlines() if "JS:~f" in line]
    assert len(changed) == 1
    assert changed[0].endswith(f"JS:~f /ci/new/app.js:12:5 {spin(10)} {spin(11)}")


def test_names_that_come_at_the_end(recorder):
    paths, _ = recorder(*"late map 0 0x40 a map 0x100 0x40 b emit 0 call 0x100 5 "
                        "emit 0x100 spin 5 run 0 2".split())
    assert paths == {"a": 30, "a;b": 2 * spin(5)}
    assert calls(recorder.flame) == {"a": 2, "b": 2}


@pytest.mark.parametrize("again", ["", "emit 0 spin 10"], ids=["same bytes", "written again"])
def test_an_address_used_again(recorder, again):
    paths, _ = recorder(*f"emit 0 spin 10 map 0 0x40 f run 0 3 {again} map 0 0x40 g run 0 2 "
                        f"map 0 0x40 f run 0 1".split())
    assert paths == {"f": 4 * spin(10), "g": 2 * spin(10)}
    assert calls(recorder.flame) == {"f": 4, "g": 2}


def test_an_entry_again_of_which_another_had_taken_a_part(recorder):
    """The third line says what the first says, of new code."""
    paths, _ = recorder(*"emit 0x40 spin 10 map 0 0x80 f run 0x40 1 map 0x40 0x40 g run 0x40 1 "
                        "map 0 0x80 f run 0x40 1".split())
    assert paths == {"f": 2 * spin(10), "g": spin(10)}


def test_a_thousand_lives_of_an_address(recorder):
    words = ["emit", "0", "spin", "3"]
    for i in range(300):
        words += ["map", "0", "0x40", f"life_{i}", "run", "0", str(1 + i % 3)]
    paths, _ = recorder(*words)
    assert paths == {f"life_{i}": (1 + i % 3) * spin(3) for i in range(300)}
    assert calls(recorder.flame) == {f"life_{i}": 1 + i % 3 for i in range(300)}


def test_calls_and_tail_calls_between_them(recorder):
    paths, _ = recorder(*"emit 0 call 0x100 5 emit 0x100 jump 0x200 5 emit 0x200 spin 5 "
                        "map 0 0x40 a map 0x100 0x40 b map 0x200 0x40 c run 0 2".split())
    assert paths == {"a": 30, "a;b": 24, "a;c": 2 * spin(5)}
    assert calls(recorder.flame) == {"a": 2, "b": 2, "c": 2}


def test_code_that_is_unmapped_loses_its_name(recorder):
    paths, _ = recorder(*"emit 0 spin 5 map 0 0x40 f run 0 2 anew emit 0 spin 5 run 0 3".split())
    assert paths == {"f": 2 * spin(5), "[anon]": 3 * spin(5)}


def test_a_map_that_is_removed(recorder):
    paths, _ = recorder(*"emit 0 spin 5 emit 0x100 spin 5 map 0 0x40 f run 0 1 unlink "
                        "run 0 1 run 0x100 1".split())
    assert paths == {"f": 2 * spin(5), "[anon]": spin(5)}


def test_a_forked_child_has_the_names_it_inherited_and_its_own(recorder):
    paths, _ = recorder(*"emit 0 spin 5 map 0 0x40 f run 0 2 fork run 0 2 emit 0x100 spin 4 "
                        "map 0x100 0x40 g run 0x100 1".split())
    assert paths == {"f": 4 * spin(5), "g": spin(4)}


def test_what_an_older_process_left_is_not_ours(recorder, script, tmp_path):
    """A shell writes a map for its own number, and becomes the program."""
    flame = tmp_path / "y.flame"
    command = ("printf '7e0000000000 40 stale\\n' > /tmp/perf-$$.map; "
               f"exec {script} emit 0 spin 5 emit 0x100 spin 5 map 0x100 0x40 f run 0 1 run 0x100 1")
    support.run("record", "-o", flame, "sh", "-c", command)
    paths = support.folded(flame)
    assert "stale" not in paths and ";run_code;f " in paths and ";run_code;[anon] " in paths


# ---- maps that mean no good ----

def test_a_symlink_in_the_way(recorder, tmp_path):
    paths, said = recorder("emit", 0, "spin", 5, "link", tmp_path / "elsewhere", "map", 0, 0x40,
                           "f", "run", 0, 2)
    assert paths == {"[anon]": 2 * spin(5)}
    assert len(said) == 1 and "is a symbolic link; its names are not used" in said[0]


def test_a_pipe_in_the_way(recorder):
    paths, said = recorder(*"emit 0 spin 5 pipe run 0 2 unlink".split())
    assert paths == {"[anon]": 2 * spin(5)}
    assert len(said) == 1 and "is not a file" in said[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_users_file(recorder):
    paths, said = recorder(*"emit 0 spin 5 map 0x100 0x40 g own 65534 map 0 0x40 f run 0 2".split())
    assert paths == {"[anon]": 2 * spin(5)}
    assert len(said) == 1 and "belongs to another user" in said[0]


def test_gigantic_lines_and_nonsense(recorder):
    paths, said = recorder("emit", 0, "spin", 5, "emit", 0x100, "spin", 3, "huge", 30, "text",
                           "nonsense\\n", "map", 0, 0x40, "f", "run", 0, 2, "run", 0x100, 1)
    assert paths.pop("f") == 2 * spin(5)
    (name, count), = paths.items()
    assert set(name) == {"x"} and len(name) == 8192 and count == spin(3)
    assert len(said) == 2 and "name no code" in said[0] and "they are cut" in said[1]


def test_overlapping_ranges_and_no_newline_at_the_end(recorder):
    paths, said = recorder("emit", 0, "spin", 5, "emit", 0x100, "spin", 5, "emit", 0x300, "spin", 5,
                           "text", "7e0000000000 fffffffffff wide\\n7e0000000000 200 outer\\n"
                           "7e0000000100 40 inner\\n7e0000000300 40 unended",
                           "run", 0, 1, "run", 0x100, 1, "run", 0x300, 1)
    assert paths == {"outer": spin(5), "inner": spin(5), "unended": spin(5)} or \
        paths == {"outer": spin(5), "inner": spin(5), "wide": spin(5)}
    assert said == []


# ---- jitdumps ----

@pytest.mark.parametrize("when", ["", "late"], ids=["at once", "late"])
def test_a_jitdump(recorder, tmp_path, when):
    paths, _ = recorder("dump", tmp_path, *when.split(),
                        *"emit 0 spin 5 unwind load 0 0x40 a run 0 2 emit 0 spin 6 load 0 0x40 b "
                        "run 0 3 move 0 0x400 0x40 run 0x400 4 close".split())
    assert paths == {"a": 2 * spin(5), "b": 7 * spin(6)}
    assert calls(recorder.flame) == {"a": 2, "b": 7}


def test_lines_of_a_jitdump(recorder, tmp_path):
    if recorder.detail != "line":
        pytest.skip("lines need line detail")
    recorder("dump", tmp_path, *"emit 0 spin 5 line 0 0 7 made.js load 0 0x40 a run 0 2 "
             "emit 0x100 spin 6 line 0x100 0 9 made.js load 0x100 0x40 b run 0x100 3 "
             "load 0 0x40 lineless run 0 4".split())
    lines = support.run("report", recorder.flame, "--lines=made.js").stdout
    assert re.search(rf"^\s*{2 * spin(5)} +[\d.]+% +7\b", lines, re.M)
    assert re.search(rf"^\s*{3 * spin(6)} +[\d.]+% +9\b", lines, re.M)


def test_a_damaged_jitdump(recorder, tmp_path):
    """Its header lies; the map still counts."""
    damaged = tmp_path / "jit-1.dump"
    damaged.write_bytes(b"JUNK" * 100)
    paths, _ = recorder("dump", tmp_path, *"emit 0 spin 5 load 0 0x40 a run 0 2".split())
    assert paths == {"a": 2 * spin(5)}


# ---- real writers ----

CHURN = """
let total = 0;
const each = Number(process.argv[2]);
for (let round = 0; round < 4; round++) {
    for (let i = 0; i < each; i++) {
        const id = round * each + i;
        const f = new Function(`return function churn_${id}(x) { let s = x;
            for (let k = 0; k < ${3 + id % 5}; k++) s += k; return s; }`)();
        for (let c = 0; c < 1 + id % 7; c++) total += f(c);
    }
    gc();
}
console.log(total);
"""

JS = "(?:JS|LazyCompile|Function|Eval|Script)"  # Node up to 18 has a word for each way to compile

NODE_ITSELF = ["--skip-object=*/node", "--skip-object=*/libnode.so*"]

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="there is no node")


def plain(name):
    """Without what one file writes in another way than the next: bytes that are no ASCII, and `;`,
    which folded paths have between frames."""
    return re.sub(r"[^\x20-\x3a\x3c-\x7e]+", "?", name)


def addresses(flame):
    """(address, name) of every JIT frame."""
    text = support.folded(flame, "--frames=full", "--skip-object=*/node", "--skip-object=*.so*")
    frames = (re.match(r"(.*) \(\[jit\]\+0x([0-9a-f]+)\)", frame)
              for frame in set(re.split(r"[;\n]", text)))
    return {(int(match[2], 16), plain(match[1])) for match in frames if match}


@needs_node
@pytest.mark.parametrize("engine,flag,each", [
    ("native", "--opt", 300), ("native", "--no-opt", 300), ("valgrind", "--opt", 60),
    pytest.param("valgrind", "--opt", 300, marks=pytest.mark.slow),
    pytest.param("valgrind", "--no-opt", 300, marks=pytest.mark.slow)])
def test_v8_churn_is_named_as_its_own_jitdump_says(engine, flag, each, tmp_path):
    """Thousands of functions that live for a moment, collected by force: addresses are used again
    and again, by code that is the same to the byte."""
    (tmp_path / "churn.js").write_text(CHURN)
    flame = tmp_path / "churn.flame"
    done = subprocess.run([support.TRUEFLAME, "record", "--node", f"--engine={engine}",
                           "--detail=function", "-o", flame, "node", "--expose-gc", "--perf-prof",
                           flag, "churn.js", str(each)], cwd=tmp_path, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("isolate-*.log"))
    dump, = tmp_path.glob("jit-*.dump")
    printed = subprocess.run([os.path.join(support.BUILD, "tests/unit/print_code_names"), "jitdump",
                              dump], capture_output=True, check=True).stdout.decode(errors="replace")
    loads = set()
    for line in printed.splitlines():
        if line.startswith("load "):
            _, _, address, _, _, name = line.split(" ", 5)
            loads.add((int(address, 16), plain(name)))
    shown = addresses(flame)
    assert len([name for _, name in shown if "churn_" in name]) >= 4 * each
    reused = len(shown) - len({address for address, _ in shown})
    assert reused > each / 3, "no address was used twice: the test shows nothing"
    assert shown - loads == set()
    # Each has exactly the calls that it had: those of code that was only interpreted are told here.
    by_name = calls(flame)
    for identity in range(4 * each):
        mine = {name: count for name, count in by_name.items()
                if re.match(rf"{JS}:.churn_{identity} ", name)}
        assert mine, identity
        if len(mine) == 1:
            assert sum(mine.values()) == 1 + identity % 7, mine
        else:  # compiled while it ran: the jump into the new code counts too
            assert 0 <= sum(mine.values()) - (1 + identity % 7) <= 2, mine


# V8 compiles when a function has run often enough, and that is counted, not timed; but its optimiser
# works in another thread, and may inline a call, or replace the running top level, before or after any
# of its calls. Without those three every call of the program is a call, and the count is the program's.
COUNTED = ["--no-concurrent-recompilation", "--no-turbo-inlining", "--no-use-osr"]


@needs_node
def test_node_functions_and_their_tiers(tmp_path):
    (tmp_path / "app.js").write_text(
        "function leaf(x) { return x * 2 + 1; }\nfunction mid(x) { return leaf(x) + leaf(x + 1); }\n"
        "let s = 0; for (let i = 0; i < 40000; i++) s += mid(i); console.log(s);\n")
    flame = tmp_path / "app.flame"
    done = support.run("record", "--node", "--engine=native", "-o", flame, "node", *COUNTED,
                       tmp_path / "app.js")
    assert "no names" not in done.stderr
    marked = calls(flame)
    text = support.run("report", flame, "--merge-tiers", "--limit=100000").stdout
    for name, times in (("mid", 40000), ("leaf", 80000)):
        tiers = [tier for tier in marked if re.match(rf"{JS}:[~^+*]{name} ", tier)]
        assert len(tiers) > 1
        row, = [line for line in text.splitlines() if f"JS:{name} " in line]
        # the call that finds new code jumps to it: an entry more for each tier but the first
        assert times <= int(row.split()[4].replace(",", "")) < times + len(tiers)
    path = support.folded(flame, "--merge-tiers", *NODE_ITSELF, "--focus=JS:leaf *")
    assert re.search(r"JS: [^;]*app.js:1(:1)?;JS:mid [^;]*;JS:leaf ", path)


THROWN = """
function after(x) { return x + 1; }
function deep(n) { if (n === 0) throw new Error("x"); return deep(n - 1) + 1; }
function catcher(n) { try { deep(n); } catch (e) { n = after.call(null, n); } return after(n); }
let s = 0;
for (let i = 0; i < 100; i++) s += catcher(i % 5);
console.log(s);
"""


@needs_node
def test_a_function_that_catches_goes_on_in_its_own_frame(tmp_path):
    """V8 throws by jumping into the frame that catches, and goes on with a return address that it
    pushes there; f.call(x) jumps with an argument less on the stack than it was called with."""
    (tmp_path / "app.js").write_text(THROWN)
    flame = tmp_path / "app.flame"
    done = support.run("record", "--node", "--engine=native", "--detail=function", "-o", flame, "node",
                       "--no-opt", "--no-sparkplug", tmp_path / "app.js")
    assert done.stdout == "400\n"
    repairs = json.loads(support.run("info", "--json", flame).stdout)["repairs"]
    assert repairs["unmatched-return"] == repairs["new-stack"] == repairs["stack-switch"] == 0
    assert repairs["unwind"] >= 100
    paths = support.folded(flame, *NODE_ITSELF, "--focus=*:~after *").splitlines()
    assert len([path for path in paths if ":~after " in path]) == 1
    assert [path for path in paths if re.search(f";{JS}:~catcher [^;]*;{JS}:~after [^;]*$", path)]
    assert [count for name, count in calls(flame).items() if ":~after " in name] == [200]


RECURSES = """
function after(x) { return x + 1; }
function f(n) {
    let r = 0;
    try { if (n === 0) throw 1; r = f(n - 1); throw 2; } catch (e) { r += after(n); }
    return r;
}
let s = 0;
for (let i = 0; i < 50; i++) s += f(4);
console.log(s);
"""


@needs_node
def test_a_recursion_that_catches_at_every_depth(tmp_path):
    """What V8 pushes to go on in an inner frame is the return address of that frame itself."""
    (tmp_path / "app.js").write_text(RECURSES)
    flame = tmp_path / "app.flame"
    support.run("record", "--node", "--engine=native", "--detail=function", "-o", flame, "node",
                "--no-opt", "--no-sparkplug", tmp_path / "app.js")
    paths = support.folded(flame, *NODE_ITSELF, "--focus=*:~after *").splitlines()
    depths = [len(re.findall(f";{JS}:~f ", path)) for path in paths
              if re.search(f";{JS}:~f [^;]*;{JS}:~after [^;]*$", path)]
    assert sorted(depths) == [1, 2, 3, 4, 5]


@needs_node
def test_node_without_the_option_is_told_about_it(tmp_path):
    done = support.run("record", "-o", tmp_path / "n.flame", "--engine=native", "node", "-e", "1")
    assert "record --node" in done.stderr


HOT = """
public class Hot {
    static int leaf(int x) { return (x * 31) ^ (x >>> 3); }
    static int mid(int x) { int s = 0; for (int i = 0; i < 20; i++) s += leaf(x + i); return s; }
    static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    public static void main(String[] a) {
        long t = 0;
        for (int i = 0; i < 20000; i++) t += mid(i);
        System.out.println(t + fib(22));
    }
}
"""


def maps_left(flame):
    """The processes of a recording whose perf maps are still there; removes them."""
    pids = set(json.loads(support.run("info", "--json", flame).stdout)["pids"].split())
    left = [pid for pid in pids if os.path.exists(f"/tmp/perf-{pid}.map")]
    for pid in left:
        trampoline_support.remove_map(int(pid))
    return left


@pytest.mark.skipif(not shutil.which("javac"), reason="there is no javac")
@pytest.mark.parametrize("engine", ENGINES)
def test_hot_java_methods_show(engine, tmp_path):
    (tmp_path / "Hot.java").write_text(HOT)
    subprocess.run(["javac", "Hot.java"], cwd=tmp_path, check=True)
    flame = tmp_path / "hot.flame"
    done = support.run("record", f"--engine={engine}", "--detail=function", "-o", flame, "java",
                       "-Xbatch", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit",
                       "-cp", tmp_path,
                       "Hot")
    assert maps_left(flame), "what the program was told to write by others stays"
    assert "Interpreter" in done.stderr and done.stderr.count("Java:") == 1
    rows = {}
    for line in support.run("report", flame, "--limit=100000").stdout.splitlines():
        if line.endswith("[[jit]]"):
            rows[line.split("  ")[-1].removesuffix(" [[jit]]")] = int(
                line.split()[0].replace(",", ""))
    assert rows["int Hot.mid(int)"] > 1_000_000
    assert rows["long Hot.fib(int)"] > 10_000
    rows.pop("Interpreter")
    assert rows["int Hot.mid(int)"] == max(rows.values())


PYTHON = """
def foo(n):
    return sum(i for i in range(n))
def bar(n): return foo(n) + foo(n)
def baz(n): return bar(n) * 2
def main():
    print(sum(baz(5) for i in range(10)))
main()
"""


@pytest.mark.parametrize("options", [["--python=trampoline"], ["--python=off", "-X", "perf"],
                                     ["--python=off", "-X", "perf_jit"]],
                         ids=["ours", "CPython's map", "CPython's jitdump"])
def test_trampolines_are_python_frames(options, tmp_path):
    python = trampoline_support.python("3.13" if "perf_jit" in options else "3.12")
    (tmp_path / "app.py").write_text(PYTHON)
    flame = tmp_path / "app.flame"
    support.run("record", "--engine=native", "--detail=function", "-o", flame, options[0], python,
                *options[1:], tmp_path / "app.py")
    assert bool(maps_left(flame)) == (options[-1] == "perf")
    only = support.folded(flame, "--python=only")
    file = tmp_path / "app.py"
    path = ";".join(f"py::{name}:{file}" for name in
                    ("<module>", "main", "main.<locals>.<genexpr>", "baz", "bar", "foo"))
    assert f"{path} " in only
    assert support.total(only) == support.total(support.folded(flame))
    # the evaluator is not between them
    assert f";py::baz:{file};py::bar:{file};py::foo:{file}" in support.folded(flame)


@pytest.mark.skipif(not shutil.which("php"), reason="there is no php")
def test_php_functions(tmp_path):
    (tmp_path / "app.php").write_text(
        "<?php function leaf($x) { return ($x * 31) ^ ($x >> 3); }\n"
        "function mid($x) { $s = 0; for ($i = 0; $i < 20; $i++) $s += leaf($x + $i); return $s; }\n"
        "$t = 0; for ($i = 0; $i < 100; $i++) $t += mid($i); echo $t;\n")
    os.utime(tmp_path / "app.php", (1e9, 1e9))  # PHP does not compile what was written just now
    flame = tmp_path / "app.flame"
    support.run("record", "--detail=function", "-o", flame, "php", "-d", "opcache.enable_cli=1",
                "-d", "opcache.jit_buffer_size=32M", "-d", "opcache.jit=1205",
                "-d", "opcache.jit_debug=16", tmp_path / "app.php")
    maps_left(flame)
    counts = calls(flame)
    if not counts:
        pytest.skip("this php has no opcache with a compiler")
    assert counts["JIT$leaf"] == 2000
