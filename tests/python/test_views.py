"""--python=mixed|only|native, the same wherever profiles are looked at."""
import json
import re
import subprocess

import pytest

import support
from support import TRUEFLAME

PROGRAM = """
import re

def leaf(match):
    return "x"

def work(n):
    return [re.sub("a+", leaf, "baab") for _ in range(n)]

work(50)
"""
MODES = ("mixed", "only", "native")
CARRIER = "_PyEval_EvalFrameDefault"  # carries Python calls, and is shown for nothing else


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("views")
    (folder / "program.py").write_text(PROGRAM)
    support.record("/usr/bin/python3", folder / "one.flame", folder / "program.py")
    (folder / "program.py").write_text(PROGRAM.replace("50", "60"))
    support.record("/usr/bin/python3", folder / "two.flame", folder / "program.py")
    return folder


def run(*arguments, status=0):
    done = subprocess.run([TRUEFLAME, *map(str, arguments)], capture_output=True, text=True,
                          timeout=100)
    assert done.returncode == status, done.stderr
    return done.stdout if not status else done.stderr


def check(text, mode):
    """What a text that names all frames must have and must not have."""
    assert bool(re.search(r"py::leaf:", text)) == (mode != "native")
    assert ("(native)" in text) == (mode == "only")
    assert CARRIER in text if mode == "native" else True
    assert CARRIER not in text if mode == "only" else True


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("format", ["folded", "speedscope", "callgrind", "svg"])
def test_exports(recorded, format, mode):
    check(run("export", recorded / "one.flame", "-f", format, f"--python={mode}"), mode)


@pytest.mark.parametrize("mode", MODES)
def test_json(recorded, mode):
    tree = support.export(recorded / "one.flame", f"--python={mode}")
    check("\n".join(tree["frames"][frame]["name"] for frame in tree["nodes"]["frame"]), mode)


def test_what_carries_a_python_call_is_not_below_it(recorded):
    folded = run("export", recorded / "one.flame", "-f", "folded", "--python=mixed")
    assert not re.search(f"(?m)py::.*{CARRIER}", folded)


@pytest.mark.parametrize("mode", MODES)
def test_the_sum_is_the_same(recorded, mode):
    total = support.info(recorded / "one.flame")["total_instructions"]
    lines = run("export", recorded / "one.flame", "-f", "folded", f"--python={mode}").splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == total


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", [["--limit=100000"], ["--tree", "--min-percent=0", "--depth=1000"]])
def test_reports(recorded, options, mode):
    check(run("report", recorded / "one.flame", f"--python={mode}", *options), mode)


@pytest.mark.parametrize("mode", MODES)
def test_diffs(recorded, mode):
    check(run("diff", recorded / "one.flame", recorded / "two.flame", "-f", "folded",
              f"--python={mode}"), mode)
    changes = json.loads(run("diff", recorded / "one.flame", recorded / "two.flame", "-f", "json",
                             f"--python={mode}"))
    assert bool(re.search("py::leaf:", json.dumps(changes))) == (mode != "native")


@pytest.mark.parametrize("mode", MODES)
def test_pages(recorded, tmp_path, mode):
    run("view", recorded / "one.flame", "-o", tmp_path / "page.html", f"--python={mode}")
    run("export", recorded / "one.flame", "-f", "html", "-o", tmp_path / "same.html",
        f"--python={mode}")
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "same.html").read_bytes()


def test_modes_give_different_pages(recorded, tmp_path):
    pages = set()
    for mode in MODES:
        run("view", recorded / "one.flame", "-o", tmp_path / "page.html", f"--python={mode}")
        pages.add((tmp_path / "page.html").read_bytes())
    assert len(pages) == 3


def test_the_wrong_command_says_which_is_right(recorded):
    for mode in MODES:
        said = run("record", f"--python={mode}", "-o", recorded / "not.flame", "true", status=2)
        assert f"trueflame report --python={mode}" in said
    for command in "report", "view", "export":
        assert "--python=native" in run(command, recorded / "one.flame", "--python=off", status=2)
    assert not (recorded / "not.flame").exists()
