"""The pages that the program writes: their data against its other outputs, and the commands."""
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli")]
import pagedata  # noqa: E402
import support  # noqa: E402

THREADS = r"""
#include <pthread.h>
static volatile unsigned long sink;
__attribute__((noinline)) void spin(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
static void *first(void *n) { spin(1000); return n; }
static void *second(void *n) { spin(3000); return n; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_join(a, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(b, 0);
    spin(10);
    return 0;
}
"""


def page_of(path, *options, command="view"):
    output = path.with_suffix(".page.html")
    if command == "view":
        support.run("view", path, "-o", output, *options)
    else:
        support.run("export", path, "-f", "html", "-o", output, *options)
    return pagedata.Decoded(output.read_bytes())


def folded(path, *options):
    lines = {}
    for line in support.folded(path, "--annotate", *options).splitlines():
        name, _, count = line.rpartition(" ")
        lines[name] = int(count)
    return lines


@pytest.fixture(scope="module", name="program")
def recorded_program(tmp_path_factory):
    return support.recorded(tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module", name="threads")
def recorded_threads(tmp_path_factory):
    return support.recorded(tmp_path_factory.mktemp("threads"), name="threads", source=THREADS,
                            flags=("-O2", "-g", "-pthread"))


def test_tree_is_that_of_the_other_exports(program):
    page = page_of(program)
    assert page.folded() == folded(program)
    assert any("_[i]" in path for path in page.folded()), "inlined frames are there"


@pytest.mark.parametrize("options", [
    ["--fold-recursion"], ["--inline=no"], ["--skip-function=leaf"], ["--root=work"],
    ["--focus=inner"], ["--skip-object=*"],
])
def test_transforms_are_those_of_the_other_exports(program, options):
    assert page_of(program, *options).folded() == folded(program, *options)


def test_export_and_view_write_the_same(program):
    view = page_of(program)
    assert page_of(program, command="export").bytes == view.bytes


def test_calls_are_exact(program):
    page = page_of(program)
    calls = {}
    for path, counts in page.paths(0).items():
        if path:
            calls[path[-1]] = calls.get(path[-1], 0) + counts[1]
    assert (calls["work"], calls["recurse"], calls["leaf"]) == (2, 6, 2 + 6)


def test_lines_add_up_to_their_function(program):
    page = page_of(program)
    own = {}
    for path, counts in page.paths(0).items():
        if path:
            name = path[-1].removesuffix("_[i]")
            own[name] = own.get(name, 0) + counts[0]
    for name in ("main", "work", "leaf", "inner", "recurse"):
        number = [i for i, function in enumerate(page.functions) if function[0] == name]
        lines = [row for row in page.lines if row[0] in number]
        assert sum(row[3] for row in lines) == own[name], name
        assert {os.path.basename(row[1]) for row in lines} == {"program.c"}
    assert page.lines == sorted(page.lines, key=lambda row: row[0])


def test_source_is_embedded_only_when_asked(program):
    assert page_of(program).sources == {}
    sources = page_of(program, "--embed-source").sources
    text = next(text for file, text in sources.items() if file.endswith("program.c"))
    assert text == support.PROGRAM


def test_threads_are_kept_apart(threads):
    page = page_of(threads)
    split = folded(threads, "--merge-threads=no")
    assert len(page.threads) == 3 and len(page.roots) == 3
    for root, (thread, part, _) in enumerate(page.roots):
        ordinal = page.threads[thread][1]
        wanted = sum(count for path, count in split.items()
                     if path.startswith(f"process 1 thread {ordinal}:"))
        assert sum(page.folded([root]).values()) == wanted
        assert part == 0
    second = [root for root, row in enumerate(page.roots) if page.threads[row[0]][1] == 3]
    assert any("second;spin" in path for path in page.folded(second))
    assert not any("first" in path for path in page.folded(second))


PARTS = r"""
#include "trueflame/trueflame.h"
static volatile unsigned long sink;
__attribute__((noinline)) void spin(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void warm(void) { spin(100); }
__attribute__((noinline)) void real(void) { spin(5000); }
int main(void)
{
    warm();
    TRUEFLAME_DUMP("warm-up");
    real();
    TRUEFLAME_DUMP("measured");
    spin(10);
    return 0;
}
"""


def test_parts_are_kept_apart(tmp_path):
    include = HERE.parent.parent / "include"
    path = support.recorded(tmp_path, name="parts", source=PARTS,
                            flags=("-O2", "-g", f"-I{include}"))
    page = page_of(path)
    assert [name for name, _ in page.parts] == ["warm-up", "measured", ""]
    for root, (_, part, _) in enumerate(page.roots):
        name = page.parts[part][0]
        assert page.folded([root]) == folded(path, f"--part={name}")
    assert page.folded() == folded(path)
    measured = page_of(path, "--part=measured")
    assert measured.folded() == folded(path, "--part=measured")


def test_difference_has_both_sides(tmp_path):
    base = support.imported(tmp_path, "main 10\nmain;a 20\nmain;b;a 5\nmain;gone 7\n", "base")
    new = support.imported(tmp_path, "main 10\nmain;a 25\nmain;b;a 5\nmain;fresh 9\n", "new")
    output = tmp_path / "diff.html"
    support.run("diff", base, new, "-f", "html", "-o", output)
    page = pagedata.Decoded(output.read_bytes())
    assert page.diff
    both = {";".join(path): (counts[2], counts[0]) for path, counts in page.paths(0).items() if path}
    assert both == {"main": (10, 10), "main;a": (20, 25), "main;b": (0, 0), "main;b;a": (5, 5),
                    "main;gone": (7, 0), "main;fresh": (0, 9)}
    presence = {";".join(path): counts[4] & 3 for path, counts in page.paths(0).items() if path}
    assert (presence["main;gone"], presence["main;fresh"], presence["main;b"]) == (1, 2, 3)


def test_counts_and_names_that_no_program_should_have(tmp_path):
    names = ["</script><script>alert(1)</script>", "x" * 7000, "a\"'&<>", "\u202eevil"]
    text = "".join(f"main;{name} {2 ** 61 + i}\n" for i, name in enumerate(names))
    page = page_of(support.imported(tmp_path, text))
    assert page.folded() == {f"main;{name}": 2 ** 61 + i for i, name in enumerate(names)}
    html = (tmp_path / "profile.page.html").read_bytes()
    assert html.count(b"</script>") == 2, "the data ends where it should"


def test_same_profile_same_bytes(program, tmp_path):
    for name in ("a.html", "b.html"):
        support.run("view", program, "--embed-source", "-o", tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_page_is_bundled_the_same_every_time(tmp_path):
    viewer = HERE.parent.parent / "src/viewer"
    outputs = []
    for run in ("a", "b"):
        folder = tmp_path / run
        folder.mkdir()
        files = [folder / name for name in ("page.c", "page.head", "page.tail")]
        subprocess.run([sys.executable, viewer / "bundle.py", viewer / "main.js",
                        viewer / "page.html", viewer / "style.css", *files], check=True)
        outputs.append([file.read_bytes() for file in files])
    assert outputs[0] == outputs[1]
    built = pathlib.Path(support.BUILD) / "src/viewer"
    assert outputs[0][1] == (built / "page.head").read_bytes()
    assert outputs[0][2] == (built / "page.tail").read_bytes()


def test_output_is_named_after_the_profile(tmp_path):
    path = support.imported(tmp_path, "main 1\n", "app")
    done = support.run("view", path)
    assert (tmp_path / "app.html").is_file()
    assert done.stdout == ""
    assert done.stderr.startswith(f"trueflame: wrote {tmp_path}/app.html (")
    assert support.run("view", path, "-o", "-").stdout.startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("arguments, message", [
    (["missing.flame"], "missing.flame: No such file or directory"),
    ([], "view: needs one FILE; see trueflame view --help"),
    (["--open=maybe", "x.flame"], "--open=maybe: must be one of auto, yes, no"),
])
def test_bad_input_is_refused(arguments, message):
    assert support.refused("view", *arguments) == f"trueflame: {message}"


def test_nothing_is_left_when_it_fails(tmp_path):
    path = support.imported(tmp_path, "main 1\n", "app")
    assert "no such function" in support.refused("view", path, "--root=nosuch")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["app.flame", "app.folded"]


@pytest.mark.parametrize("opening, display, opens", [
    ("yes", "", True), ("no", ":0", False), ("auto", "", False), ("auto", ":0", False),
])
def test_browser_is_opened_only_where_there_is_one(tmp_path, opening, display, opens):
    """auto needs a display and a terminal; the tests have no terminal."""
    path = support.imported(tmp_path, "main 1\n", "app")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "xdg-open").write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened.new\n'
                                    f'mv {tmp_path}/opened.new {tmp_path}/opened\n')
    (tools / "xdg-open").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "DISPLAY": display}
    environment.pop("WAYLAND_DISPLAY", None)
    subprocess.run([support.TRUEFLAME, "view", path, f"--open={opening}"], check=True,
                   env=environment, capture_output=True, timeout=60)
    opened = tmp_path / "opened"
    for _ in range(50 if opens else 5):
        if opened.exists():
            break
        subprocess.run(["sleep", "0.1"], check=True)
    assert opened.exists() == opens
    if opens:
        assert opened.read_text().strip() == str(tmp_path / "app.html")
