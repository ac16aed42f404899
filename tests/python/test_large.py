"""What is large or has several threads and processes: on one CPython that calls itself for
each Python call, and one that does not; the others are slow."""
import pytest

import support
from support import number
from test_frames import PYTHONS, engine

LARGE = support.HERE + "/large.py"
MADE = 20000  # code objects
FEW = ("3.10", "3.12")


def slow_but_few(python):
    version, path = python.values[0]
    marks = () if version in FEW else pytest.mark.slow
    return pytest.param((version, path), id=python.id, marks=marks)


@pytest.fixture(scope="module", params=[slow_but_few(p) for p in PYTHONS
                                        if number(p.values[0][0]) >= 9])
def large(request, engine, tmp_path_factory):
    """(version, engine, recording, tree of its Python frames)"""
    version, path = request.param
    if not path:
        pytest.skip(f"Python {version} is not installed")
    flame = tmp_path_factory.mktemp(version) / "large.flame"
    assert support.record(path, flame, LARGE, MADE, engine=engine).startswith("done")
    return version, engine, flame, support.export(flame, "--python=only")


def short_calls(tree, file):
    calls = support.calls_by_path(tree, lambda frame: frame["file"] == file)
    return {tuple(support.short(name) for name, _ in path): count
            for path, count in calls.items() if len(path) < 10}


def test_threads_and_fork(large):
    calls = short_calls(large[3], LARGE)
    assert calls[("in_thread",)] == 3
    assert calls[("in_thread", "work")] == 3
    assert calls[("in_thread", "work", "leaf")] == 15
    assert calls[("<module>", "main", "in_child", "work", "leaf")] == 3


def test_short_lived_code(large):
    """Each made function has its own name, though code and names get the same addresses again."""
    made = {}
    for path, count in support.calls_by_path(
            large[3], lambda frame: frame["file"] in ("<string>", LARGE)).items():
        names = [name for name, _ in path]
        if "churn" in names[:-1]:
            made[names[-1]] = made.get(names[-1], 0) + count
    assert made == {"<module>": MADE, **{f"made{i}": MADE // 7 + (i < MADE % 7)
                                         for i in range(7)}}


def test_deep_recursion(large):
    """As deep as the program went, each level once or twice; and it behaves as it does alone."""
    version, tree = large[0], large[3]
    frames, nodes = tree["frames"], tree["nodes"]
    depth, calls, deepest = [], 0, 0
    for parent, frame, count in zip(nodes["parent"], nodes["frame"], nodes["calls"]):
        is_deep = frames[frame]["name"].startswith("py::deep:")
        above = depth[parent] if parent >= 0 else 0
        depth.append(above + is_deep)
        calls += count * is_deep
        deepest = max(deepest, depth[-1])
    expected = 901 + (50001 if number(version) >= 11 else 0)
    assert calls == expected
    assert deepest == (50001 if number(version) >= 11 else 901)


def test_imports(large):
    files = {frame["file"] for frame in large[3]["frames"] if frame["kind"] == "python"}
    assert any(file.endswith("colorsys.py") for file in files)


def test_nothing_had_to_be_repaired(large):
    assert support.info(large[2])["repairs"]["python-resync"] == 0


HEAVY = """
import sys

def leaf(n):
    return n * n

def work(n):
    return sum(map(leaf, range(n))) + sum([leaf(i) for i in range(n)])

def main():
    for _ in range(int(sys.argv[1])):
        work(200)

main()
"""


@pytest.fixture(scope="module", params=[p for p in PYTHONS if p.values[0][0] in FEW])
def heavy(request, tmp_path_factory):
    version, path = request.param
    if not path:
        pytest.skip(f"Python {version} is not installed")
    folder = tmp_path_factory.mktemp(version)
    program = folder / "heavy.py"
    program.write_text(HEAVY)
    arguments = ("-S", program)
    support.record(path, folder / "on.flame", *arguments, 100)
    support.record(path, folder / "off.flame", *arguments, 100, options=["--python=off"])
    support.record(path, folder / "twice.flame", *arguments, 200)
    return folder


def test_the_watch_changes_no_count(heavy):
    on, off = (support.info(heavy / name) for name in ("on.flame", "off.flame"))
    assert on["total_instructions"] == off["total_instructions"]


def test_native_tree_is_the_same_with_and_without(heavy):
    def tree(name):
        found = support.export(heavy / name, "--python=native")
        frames, nodes, paths, costs = found["frames"], found["nodes"], [], {}
        for parent, frame, cost in zip(nodes["parent"], nodes["frame"], nodes["self"]):
            path = (paths[parent] if parent >= 0 else ()) + (frames[frame]["name"],)
            paths.append(path)
            if cost:
                costs[path] = costs.get(path, 0) + cost
        return costs
    assert tree("on.flame") == tree("off.flame")


def test_nearly_everything_has_a_python_frame(heavy):
    """Of what more work costs, all is under a Python frame, but for memory that is freed at the end."""
    def costs(name):
        tree = support.export(heavy / name, "--python=only")
        nodes = tree["nodes"]
        native = sum(cost for frame, cost in zip(nodes["frame"], nodes["self"])
                     if tree["frames"][frame]["kind"] != "python")
        return native, tree["total_instructions"]
    native, total = (twice - once for once, twice in zip(costs("on.flame"), costs("twice.flame")))
    assert total > 1000000
    assert native <= 0.0001 * total
