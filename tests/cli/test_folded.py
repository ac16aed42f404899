"""Folded stacks, in and out, and the transforms seen through them."""
import json
import subprocess

import pytest

from support import folded, imported, refused, run, total

TREE = """\
main 1
main;lib 2
main;lib;work 4
main;work 8
start 16
start;lib;lib;work;lib 32
"""


def test_what_goes_in_comes_out(tmp_path):
    assert folded(imported(tmp_path, TREE)) == TREE


def test_lines_are_sorted_by_frames_not_by_line(tmp_path):
    """As whole lines, "b.part" and "b(int)" would come between b and b;c."""
    path = imported(tmp_path, "m;b;c 1\nm;b.part.0 2\nm;b(int) 3\nm;b 4\nm;b;a 5\n")
    assert folded(path) == "m;b 4\nm;b;a 5\nm;b;c 1\nm;b(int) 3\nm;b.part.0 2\n"


def test_a_path_given_twice_is_one(tmp_path):
    assert folded(imported(tmp_path, "a;b 1\na 2\na;b 3\n")) == "a 2\na;b 4\n"


def test_names_may_have_spaces_and_digits(tmp_path):
    text = "operator new(unsigned long);f 3 4\n"
    assert folded(imported(tmp_path, text)) == text


def test_frames_without_a_name(tmp_path):
    path = imported(tmp_path, "a;;b 1\n;a 2\na; 3\n")
    assert folded(path) == "[unknown];a 2\na;[unknown] 3\na;[unknown];b 1\n"


def test_large_counts_are_exact(tmp_path):
    text = f"a {2**63 + 12345}\nb {2**62 + 1}\n"
    assert folded(imported(tmp_path, text)) == text


@pytest.mark.parametrize("line", ["a;b", "a;b x", "a;b 1.5", "a;b 99999999999999999999", "12"])
def test_lines_without_a_count_are_refused(tmp_path, line):
    source = tmp_path / "bad.folded"
    source.write_text(f"good 1\n{line}\n")
    assert f"{source}: line 2: " in refused("import", "-f", "folded", source, "-o",
                                            tmp_path / "out.flame")


def test_counts_that_exceed_64_bits_are_refused(tmp_path):
    source = tmp_path / "bad.folded"
    source.write_text(f"a {2**64 - 1}\nb 1\n")
    assert "exceed 64 bits" in refused("import", "-f", "folded", source, "-o", tmp_path / "out")


def test_standard_input(tmp_path):
    run("import", "-f", "folded", "-", "-o", tmp_path / "x.flame", stdin="a;b 1\n")
    assert folded(tmp_path / "x.flame") == "a;b 1\n"


def test_skip(tmp_path):
    path = imported(tmp_path, TREE)
    assert folded(path, "--skip-function=lib") == "main 3\nmain;work 12\nstart 16\nstart;work 32\n"
    assert folded(path, "--skip-function=main", "--skip-function=start") == \
        "(skipped) 17\nlib 2\nlib;lib;work;lib 32\nlib;work 4\nwork 8\n"


def test_focus_root_fold_invert(tmp_path):
    path = imported(tmp_path, TREE)
    assert folded(path, "--focus=work") == \
        "(other) 19\nmain;lib;work 4\nmain;work 8\nstart;lib;lib;work;lib 32\n"
    assert folded(path, "--root=lib") == "(other) 25\nlib 2\nlib;lib;work;lib 32\nlib;work 4\n"
    assert folded(path, "--fold-recursion") == \
        "main 1\nmain;lib 2\nmain;lib;work 4\nmain;work 8\nstart 16\nstart;lib 32\n"
    assert folded(path, "--invert") == \
        "lib;main 2\nlib;work;lib;lib;start 32\nmain 1\nstart 16\nwork;lib;main 4\nwork;main 8\n"


@pytest.mark.parametrize("option", ["--skip-function=l*", "--skip-object=*", "--skip-anon",
                                    "--focus=work", "--root=work", "--fold-recursion", "--invert",
                                    "--inline=no", "--python=only", "--python=native",
                                    "--merge-threads=no", "--frames=full", "--frames=raw",
                                    "--annotate"])
def test_no_option_changes_the_sum(program_flame, option):
    info = json.loads(run("info", program_flame, "--json").stdout)
    assert total(folded(program_flame, option)) == info["total_instructions"]


def test_a_function_that_is_not_there_is_an_error(tmp_path):
    path = imported(tmp_path, TREE)
    assert refused("export", path, "-f", "folded", "--focus=nothing") == \
        f"trueflame: {path}: --focus=nothing: no such function in the profile"
    assert "no part is named 'x'" in refused("export", path, "-f", "folded", "--part=x")


@pytest.mark.parametrize("option", ["--inline=maybe", "--python=yes", "--merge-threads=",
                                    "--frames=short"])
def test_values_that_are_none_are_refused(tmp_path, option):
    assert "must be one of" in refused("export", imported(tmp_path, TREE), "-f", "folded", option)


def test_inlined_frames(program_flame):
    text = folded(program_flame, "--annotate", "--root=main")
    paths = {line.rpartition(" ")[0] for line in text.splitlines()}
    assert "main;work;outer_[i];inner_[i]" in paths
    assert "main;work;outer_[i];leaf" in paths
    plain = folded(program_flame, "--root=main")
    assert "main;work;outer;inner " in plain and "_[i]" not in plain
    without = folded(program_flame, "--root=main", "--inline=no")
    assert "outer" not in without and "main;work;leaf " in without


def test_inlining_moves_costs_but_keeps_them(program_flame):
    """What the real function loses, the functions inlined in it have."""
    def self_of(text, prefix):
        return sum(int(line.rpartition(" ")[2]) for line in text.splitlines()
                   if line.startswith(prefix))
    assert self_of(folded(program_flame, "--root=main"), "main;work") == \
        self_of(folded(program_flame, "--root=main", "--inline=no"), "main;work")


def test_full_and_raw_frames(program_flame):
    program = str(program_flame)[:-len(".flame")]
    assert f"main ({program});work ({program});outer ({program})" in \
        folded(program_flame, "--frames=full")
    raw = folded(program_flame, "--frames=raw")
    assert f"{program}+0x" in raw and "main" not in raw


def test_a_deep_path_is_written(tmp_path):
    deep = ";".join(["f"] * 200000)
    path = imported(tmp_path, "\n".join(f"{deep[:2 * n - 1]} 1" for n in (199999, 200000)) + "\n")
    assert folded(path, "--fold-recursion") == "f 2\n"
    assert total(folded(path)) == 2


def test_paths_that_would_fill_a_disk_are_refused_in_words(tmp_path):
    """A recursion 100,000 deep with a cost on each level has 5,000,050,000 frames in its paths."""
    deep = tmp_path / "deep.c"
    deep.write_text("""
        static volatile int sink;
        __attribute__((noinline)) void f(int n) { if (n) f(n - 1); sink++; }
        int main(void) { f(100000); return 0; }
        """)
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-static", deep, "-o",
                    tmp_path / "deep"], check=True)
    path = tmp_path / "deep.flame"
    run("record", "--engine=valgrind", "-o", path, "--", tmp_path / "deep")
    for kind in ("folded", "pprof"):
        line = refused("export", path, "-f", kind)
        assert "frames in all, too many for" in line and "--fold-recursion" in line
    assert "too many for json" in refused("diff", path, path, "-f", "json", "--all")
    assert ";f;f " not in folded(path, "--fold-recursion")
    for kind in ("speedscope", "callgrind", "firefox", "svg", "json"):
        run("export", path, "-f", kind, "-o", tmp_path / kind)
    assert "no difference" in run("diff", path, path).stdout
