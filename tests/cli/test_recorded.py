"""Reading commands on real recordings: skipping at either time, names that two functions share."""
import subprocess

import pytest

from support import PROGRAM, folded, recorded, run, total


@pytest.mark.parametrize("option", ["--skip-function=leaf", "--skip-function=outer",
                                    "--skip-function=work", "--skip-function=inner",
                                    "--skip-function=main", "--skip-function=[ow]*",
                                    "--skip-object=program", "--skip-function=recurse"])
def test_skipping_while_recording_equals_skipping_afterwards(tmp_path, program_flame, option):
    program, path = str(program_flame)[:-len(".flame")], tmp_path / "skipped.flame"
    run("record", "--engine=valgrind", option, "-o", path, "--", program)
    for view in ("--inline=yes", "--inline=no"):
        assert folded(path, view) == folded(program_flame, view, option)
    assert total(folded(path)) == total(folded(program_flame))


def test_two_functions_of_one_name(tmp_path):
    """Names alone: one frame. With the object: two, told apart by their addresses."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.c").write_text(f"""
            static volatile int sink;
            static __attribute__((noinline)) void helper(void) {{ sink++; }}
            void {name}(void) {{ helper(); sink++; }}
            """)
    (tmp_path / "main.c").write_text("void one(void); void two(void);"
                                     "int main(void) { one(); two(); return 0; }")
    program, path = tmp_path / "program", tmp_path / "program.flame"
    subprocess.run(["gcc", "-O1", "-g", "-static", "-o", program, tmp_path / "main.c",
                    tmp_path / "one.c", tmp_path / "two.c"], check=True)
    run("record", "--engine=valgrind", "-o", path, "--", program)
    rooted = ("--skip-function=one", "--skip-function=two", "--root=main")
    names = [line.rpartition(" ")[0] for line in folded(path, *rooted).splitlines()]
    assert names.count("main;helper") == 1
    full = [line.rpartition(" ")[0] for line in
            folded(path, *rooted, "--frames=full").splitlines() if "helper" in line]
    assert len(full) == 2
    for line in full:
        assert f";helper ({program}+0x" in line


def test_inlined_costs_against_a_build_without_inlining(tmp_path):
    """The same shape, and leaf, which is called in both, has the same cost on the same path."""
    flags = ("-O2", "-g", "-fno-optimize-sibling-calls")  # a tail call would replace outer
    inlined = folded(recorded(tmp_path, "inlined", flags=flags), "--root=main")
    called = folded(recorded(tmp_path, "called", PROGRAM.replace(
        "static inline __attribute__((always_inline))", "__attribute__((noinline)) static"),
        flags=flags), "--root=main")

    def paths(text):
        return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2])
                for line in text.splitlines()}
    inlined, called = paths(inlined), paths(called)
    below = {"main;work;outer;inner", "main;work;outer;leaf"}
    assert {path for path in inlined if "outer;" in path} == below
    assert {path for path in called if "outer;" in path} == below
    assert inlined["main;work;outer;leaf"] == called["main;work;outer;leaf"]


def test_lines_and_functions_conserve_across_details(tmp_path, program_flame):
    """Function detail knows no inlined frames; the rest of the tree is the same."""
    program, path = str(program_flame)[:-len(".flame")], tmp_path / "function.flame"
    run("record", "--engine=valgrind", "--detail=function", "-o", path, "--", program)
    assert folded(path) == folded(program_flame, "--inline=no")
