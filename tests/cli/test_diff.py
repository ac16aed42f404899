"""Diffs: nothing for nothing, exactly the change for a change."""
import json

import pytest

from support import PROGRAM, folded, imported, recorded, refused, run

OLD = "a;b;c 10\na;b 5\nd 2\na;b.part 3\n"
NEW = "a;b;c 14\na;b 5\na;e 2\na;b.part 3\n"


def diff(*arguments, status=0):
    return run("diff", *arguments, status=status).stdout


@pytest.fixture
def pair(tmp_path):
    return imported(tmp_path, OLD, "old"), imported(tmp_path, NEW, "new")


def test_a_profile_with_itself(pair, program_flame):
    assert diff(pair[0], pair[0]) == "no difference: 20 instructions in both\n"
    for path in (pair[0], program_flame):
        assert diff(path, path, "-f", "folded") == ""
        answer = json.loads(diff(path, path, "-f", "json"))
        assert answer["functions"] == [] and answer["paths"] == []


def test_folded_has_the_paths_that_changed(pair):
    assert diff(*pair, "-f", "folded") == "a;b;c 10 14\na;e 0 2\nd 2 0\n"
    assert diff(*pair, "-f", "folded", "--all") == \
        "a;b 5 5\na;b;c 10 14\na;b.part 3 3\na;e 0 2\nd 2 0\n"


def test_text(pair):
    text = diff(*pair)
    assert "change                   +4  +20.00%\n" in text
    assert text.index(" c\n") < text.index(" e\n") < text.index(" a;b;c\n") < text.index(" a;e\n")
    assert "new  a;e\n" in text and "vanished  d\n" in text
    assert "a;b.part" not in text


def test_json(pair):
    answer = json.loads(diff(*pair, "-f", "json"))
    assert answer["total_instructions"] == {"base": 20, "new": 24, "change": 4}
    functions = {row["name"]: row for row in answer["functions"]}
    assert functions["a"]["self"]["change"] == 0
    assert functions["a"]["total"] == {"base": 18, "new": 24, "change": 6}
    assert {row["path"]: row["status"] for row in answer["paths"]} == \
        {"a;b;c": "changed", "a;e": "new", "d": "vanished"}


def test_markdown(pair):
    text = diff(*pair, "-f", "markdown")
    assert text.startswith("**+4 instructions** (+20.00%), from 20 to 24\n")
    assert "| c | 10 | 14 | +4 | +40.00% |\n" in text


def test_source_files_in_another_folder(tmp_path):
    """Functions that have the path of their file in their names, of two checkouts."""
    tree = """\
py::<module>:{0}/app.py 1
py::<module>:{0}/app.py;py::run:{0}/pkg/__init__.py 10
py::<module>:{0}/app.py;py::run:{0}/pkg/sub/__init__.py {1}
py::<module>:{0}/app.py;py::run:{0}/pkg/sub/__init__.py;py::dumps:/usr/lib/json/__init__.py 7
"""
    base = imported(tmp_path, tree.format("/ci/base", 20), "base")
    new = imported(tmp_path, tree.format("/home/me/new", 25), "new")
    assert diff(base, new, "-f", "folded") == \
        "py::<module>:/home/me/new/app.py;py::run:/home/me/new/pkg/sub/__init__.py 20 25\n"
    assert diff(base, imported(tmp_path, tree.format("elsewhere", 20), "third"), "-f", "folded") == ""


def test_source_files_that_cannot_be_told_apart(tmp_path):
    """Two files never become one."""
    base = imported(tmp_path, "py::f:/a/x/util.py 1\n", "base")
    new = imported(tmp_path, "py::f:/b/y/util.py 1\npy::f:/b/z/util.py 1\n", "new")
    assert diff(base, new, "-f", "folded") == \
        "py::f:/a/x/util.py 1 0\npy::f:/b/y/util.py 0 1\npy::f:/b/z/util.py 0 1\n"


def test_markdown_shows_names_as_they_are(tmp_path):
    base = imported(tmp_path, "a 1\n", "base")
    new = imported(tmp_path, "a 1\na;py::__init__ 1\na;x_y 1\na;f<int&>*|[] 1\n", "new")
    names = [row.split(" | ")[0] for row in diff(base, new, "-f", "markdown").splitlines()[4:]]
    assert sorted(names) == ["| f&lt;int&amp;>\\*\\|\\[\\]", "| py::\\_\\_init\\_\\_", "| x_y"]


@pytest.mark.parametrize("limit, status", [("19%", 1), ("20%", 0), ("19.99%", 1), ("3", 1),
                                           ("4", 0), ("0", 1), ("0%", 1)])
def test_fail_above(pair, limit, status):
    done = run("diff", *pair, "-f", "folded", f"--fail-above={limit}", status=status)
    assert ("instructions grew from 20 to 24, by 4" in done.stderr) == (status == 1)
    run("diff", pair[1], pair[0], f"--fail-above={limit}")  # less is never too much


@pytest.mark.parametrize("limit", ["", "x", "5x", "-1%", "%", "1e99"])
def test_limits_that_are_none(pair, limit):
    refused("diff", *pair, f"--fail-above={limit}")


def test_needs_two_files(pair):
    assert "needs BASE and NEW" in refused("diff", pair[0])


def test_normalised_only_when_asked(tmp_path):
    old, new = imported(tmp_path, "a 1\nb 2\n", "old"), imported(tmp_path, "a 10\nb 20\n", "new")
    assert diff(old, new, "-f", "folded") == "a 1 10\nb 2 20\n"
    assert diff(old, new, "-f", "folded", "--normalise") == ""


def test_one_more_iteration_shows_exactly_that_path(tmp_path):
    """work's first call runs its loops once more: the change is in inner and leaf under work, in
    no other path, and each count is the one that the two folded files have."""
    old = recorded(tmp_path, "old")
    changed = PROGRAM.replace("work(n);\n    work(2 * n);", "work(n + 1);\n    work(2 * n);")
    assert changed != PROGRAM
    new = recorded(tmp_path, "new", changed)
    options = ("--root=main", "--skip-function=atoi")
    answer = diff(old, new, "-f", "folded", *options)
    changes = {}
    for line in answer.splitlines():
        path, base, count = line.rsplit(" ", 2)
        changes[path] = int(count) - int(base)
    # main itself computes n + 1; what main calls from outside it (the C library) may not change.
    assert changes.keys() - {"main"} == {"main;work;outer;inner", "main;work;outer;leaf"}
    before, after = (dict((line.rpartition(" ")[0], int(line.rpartition(" ")[2]))
                          for line in folded(path, *options).splitlines()) for path in (old, new))
    for path, change in changes.items():
        assert change == after.get(path, 0) - before.get(path, 0)
    assert changes["main;work;outer;inner"] > 0 and changes["main;work;outer;leaf"] > 0


def test_changed_inlining_is_labelled(tmp_path):
    """inner is called in one build and inlined in the other: one path, and the label."""
    old = recorded(tmp_path, "old")
    new = recorded(tmp_path, "new", PROGRAM.replace(
        "static inline __attribute__((always_inline)) void inner",
        "__attribute__((noinline)) void inner"))
    answer = json.loads(diff(old, new, "-f", "json", "--root=main"))
    inner = [row for row in answer["paths"] if row["path"] == "main;work;outer;inner"]
    assert len(inner) == 1
    assert inner[0]["inlining"] == "no longer inlined"
    assert inner[0]["status"] == "changed"
    assert "no longer inlined  main;work;outer;inner\n" in diff(old, new, "--root=main")
    answer = json.loads(diff(new, old, "-f", "json", "--root=main"))
    assert [row["inlining"] for row in answer["paths"] if "inlining" in row] == ["now inlined"]
