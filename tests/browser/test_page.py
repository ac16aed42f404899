"""Runs the page's tests (*.test.mjs: node's test runner, Chromium) and reports each as its own."""
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("TRUEFLAME_BUILD", HERE.parent.parent / "build")).resolve()
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
sys.path[:0] = [str(HERE), str(HERE.parent / "cli")]
import recordings  # noqa: E402
import support  # noqa: E402

MADE_HERE = ["app", "crowd", "deep", "diff", "hostile", "huge"]


def why_not():
    if not shutil.which("node"):
        return "node is not installed"
    if not os.path.exists(CHROMIUM):
        return f"{CHROMIUM} is not installed"
    if not (HERE / "node_modules/playwright-core").is_dir():
        return "tests/browser/node_modules is missing: run npm ci there"
    return ""


def find_tests():
    for file in sorted(HERE.glob("*.test.mjs")):
        for name in re.findall(r"^test\('((?:[^'\\]|\\.)*)'", file.read_text(), re.M):
            yield pytest.param(file.name, name, id=f"{file.name[:-9]}: {name}")


@functools.lru_cache(maxsize=None)
def make_pages():
    folder = BUILD / "browser"
    folder.mkdir(exist_ok=True)
    for name in MADE_HERE:
        (folder / f"{name}.html").write_bytes(recordings.ALL[name]().page(BUILD))
    made = folder / "made"
    made.mkdir(exist_ok=True)
    old = support.recorded(made, name="program", arguments=["10"])
    new = support.recorded(made, name="program-slower", arguments=["200"])
    support.run("view", old, "--embed-source", "-o", folder / "program.html")
    support.run("diff", old, new, "-f", "html", "-o", folder / "program-diff.html")
    for name, arguments in (("program", ["report", old]), ("program-diff", ["diff", old, new])):
        options = ["--json"] if name == "program" else ["-f", "json"]
        (folder / f"{name}.json").write_text(
            support.run(*arguments, *options, "--limit=100000").stdout)


@functools.lru_cache(maxsize=None)
def make_examples():
    """The pages of `make demo`, made anew when the program or an example is newer."""
    sources = [BUILD / "trueflame", *HERE.glob("../../examples/**/*.*")]
    made = BUILD / "demo/primes.html"
    if not made.exists() or made.stat().st_mtime < max(file.stat().st_mtime for file in sources):
        subprocess.run([HERE.parent.parent / "examples/demo.sh"], check=True, timeout=500,
                       env={**os.environ, "TRUEFLAME_BUILD": str(BUILD)}, capture_output=True)
    for page in (BUILD / "demo").glob("*.html"):
        shutil.copy(page, BUILD / "browser" / f"example-{page.name}")


@functools.lru_cache(maxsize=None)
def results(file):
    """Test name to whether it passed, and all that was printed."""
    make_pages()
    if file == "examples.test.mjs":
        make_examples()
    done = subprocess.run(["node", "--test", "--test-reporter=tap", file], cwd=HERE, text=True,
                          env={**os.environ, "TRUEFLAME_BUILD": str(BUILD)},
                          capture_output=True, timeout=600, check=False)
    outcome = {}
    for failed, name in re.findall(r"^ *(not )?ok \d+ - (.*)$", done.stdout, re.M):
        outcome[name.replace("\\#", "#")] = not failed
    return outcome, done.stdout + done.stderr


def section(printed, name):
    """What the runner said of one test."""
    start = printed.find(f"# Subtest: {name}\n")
    end = printed.find("# Subtest: ", start + 1)
    return printed if start < 0 else printed[start:end if end > 0 else None]


@pytest.mark.parametrize("file, name", find_tests())
def test_page(file, name):
    reason = why_not()
    if reason:
        pytest.skip(reason)
    outcome, printed = results(file)
    assert outcome.get(name) is True, section(printed, name)
