"""Greenlets and gevent: stacks that are copied about under the engine's eyes. For the system's Python,
which has Debian's packages, and those that TRUEFLAME_PYTHONS names."""
import subprocess

import pytest

import support
from test_frames import PYTHONS, engine

GREENLETS = support.HERE + "/greenlets.py"
GEVENT = support.HERE + "/programs/gevents.py"
WITH_PACKAGES = PYTHONS[len(support.VERSIONS):]


def skip_without(path, module):
    if subprocess.run([path, "-c", f"import {module}"], capture_output=True, timeout=60).returncode:
        pytest.skip(f"{path} has no module {module}")


@pytest.fixture(scope="module", params=WITH_PACKAGES)
def greenlets(request, engine, tmp_path_factory):
    """(version, recording of all cases)"""
    version, path = request.param
    skip_without(path, "greenlet")
    flame = tmp_path_factory.mktemp(version) / "greenlets.flame"
    assert support.record(path, flame, GREENLETS, engine=engine) == "done\n"
    return version, flame


def test_trees_written_by_hand(greenlets):
    version, flame = greenlets
    assert not support.wrong_trees(flame, GREENLETS, version)


def test_in_threads(greenlets):
    """Four times the same: once below main(), which is below the module."""
    calls = support.calls_by_path(support.export(greenlets[1], "--python=only"),
                                  lambda frame: frame["file"] == GREENLETS)
    found = {}
    for path, count in calls.items():
        names = [name for name, _ in path]
        if "in_thread" in names:
            below = tuple(names[names.index("in_thread"):])
            found[below] = found.get(below, 0) + count
    one = {("in_thread",): 1}
    for depth, name in (1, "shallow"), (4, "deeper"):
        path = ("in_thread", name)
        one[path] = 1
        for _ in range(depth):
            path += ("down",)
            one[path] = 1
        one[path + ("meet",)] = 1
        one[path + ("meet", "leaf")] = 2
    assert found == {path: 4 * count for path, count in one.items()}


def test_every_return_is_explained(greenlets):
    repairs = support.info(greenlets[1])["repairs"]
    assert repairs["unmatched-return"] == repairs["python-resync"] == repairs["new-stack"] == 0
    assert repairs["stack-switch"] > 3000


@pytest.mark.parametrize("python", WITH_PACKAGES)
def test_gevent(python, engine, tmp_path):
    skip_without(python[1], "gevent")
    flame = tmp_path / "gevent.flame"
    assert support.record(python[1], flame, GEVENT, engine=engine) == "435\n"
    calls = support.calls_by_path(support.export(flame, "--python=only"),
                                  lambda frame: frame["file"] == GEVENT)
    found = {}
    for path, count in calls.items():
        names = tuple(name for name, _ in path if name not in ("<module>", "main"))
        if count and names:
            found[names] = found.get(names, 0) + count
    assert found == {
        ("producer",): 1, ("producer", "leaf"): 20, ("consumer",): 1, ("consumer", "leaf"): 20,
        ("failing",): 1, ("failing", "rec"): 1, ("failing", "rec", "rec"): 1, ("failing", "rec", "rec", "rec"): 1,
        ("failing", "handled"): 1, ("serve",): 1, ("client",): 1, ("leaf",): 31}
    repairs = support.info(flame)["repairs"]
    assert repairs["unmatched-return"] == repairs["python-resync"] == 0
