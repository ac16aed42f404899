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
sys.path.insert(0, str(HERE))
import recordings  # noqa: E402

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


@functools.lru_cache(maxsize=None)
def results(file):
    """Test name to whether it passed, and all that was printed."""
    make_pages()
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
