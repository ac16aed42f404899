"""Tables: their numbers are checked against the folded output, not against themselves."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from support import ROOT, TRUEFLAME, folded, imported, refused, run

TREE = "a 1\na;b 2\na;b;a 4\na;b;a;b 8\na;c 16\nc 32\n"


def report(path, *options):
    return run("report", path, *options).stdout


def test_a_recursive_function_counts_once_per_path(tmp_path):
    rows = json.loads(report(imported(tmp_path, TREE), "--json"))
    costs = {row["name"]: (row["self"], row["total"]) for row in rows["functions"]}
    assert costs == {"a": (5, 31), "b": (10, 14), "c": (48, 48)}
    assert rows["total_instructions"] == 63


def test_the_flat_table(tmp_path):
    assert report(imported(tmp_path, TREE)) == """\
63 instructions in 3 functions

                self                        total                    calls  function
                  48   76.19%                  48   76.19%               0  c
                  10   15.87%                  14   22.22%               0  b
                   5    7.94%                  31   49.21%               0  a
"""


def test_sort_and_limit(tmp_path):
    path = imported(tmp_path, TREE)
    names = [row["name"] for row in
             json.loads(report(path, "--json", "--sort=total", "--limit=2"))["functions"]]
    assert names == ["c", "a"]
    assert "2 more functions (--limit)" in report(path, "--limit=1")
    assert "must be one of self, total, calls" in refused("report", path, "--sort=size")
    assert "not a whole number" in refused("report", path, "--limit=-1")


def test_the_tree_says_what_it_leaves_out(tmp_path):
    path = imported(tmp_path, TREE)
    assert report(path, "--tree", "--min-percent=20") == """\
63 instructions

              total                         self  function
                 32   50.79%                  32  c
                 31   49.21%                   1  a
                 16   25.40%                  16    c
                 14   22.22%                   2    b

not shown: 1 subtrees below 20% with 12 instructions in all (--min-percent)
"""
    assert "not shown: 2 subtrees below depth 1 with 30 instructions" in \
        report(path, "--tree", "--depth=1")


def test_tree_json_has_every_node(program_flame):
    tree = json.loads(report(program_flame, "--tree", "--json"))
    assert sum(node["self"] for node in tree["nodes"]) == tree["total_instructions"]
    roots = [node for node in tree["nodes"] if node["parent"] is None]
    assert sum(node["total"] for node in roots) == tree["total_instructions"]


def test_callers_and_callees_add_up(program_flame):
    answer = json.loads(report(program_flame, "--function=leaf", "--json"))
    callers = {row["name"]: row for row in answer["callers"]}
    assert set(callers) == {"outer", "recurse"}
    assert callers["outer"]["calls"] == 2 and callers["recurse"]["calls"] == 6
    assert sum(row["instructions"] for row in answer["callers"]) == answer["total"]
    assert answer["self"] == answer["total"]

    answer = json.loads(report(program_flame, "--function=recurse", "--json"))
    callees = {row["name"]: row for row in answer["callees"]}
    assert callees["leaf"]["calls"] == 6 and callees["recurse"]["calls"] == 5
    assert answer["self"] + sum(row["instructions"] for row in answer["callees"]) == \
        answer["total"]
    inclusive = sum(int(line.rpartition(" ")[2]) for line in folded(program_flame).splitlines()
                    if ";recurse" in line)
    assert answer["total"] == inclusive


def test_an_unknown_function_is_an_error(tmp_path):
    path = imported(tmp_path, TREE)
    assert "--function=zz: no such function" in refused("report", path, "--function=zz")


def test_lines_add_up_to_the_functions_of_the_file(program_flame):
    answer = json.loads(report(program_flame, "--lines", "program.c", "--json"))
    by_line = {row["line"]: row["instructions"] for row in answer["lines"]}
    functions = json.loads(report(program_flame, "--json", "--limit=100000"))["functions"]
    own = sum(row["self"] for row in functions
              if row["name"] in ("main", "work", "outer", "inner", "leaf", "recurse"))
    assert sum(by_line.values()) == own
    source = open(str(program_flame)[:-len(".flame")] + ".c").read().splitlines()
    inner_loop = 1 + next(i for i, line in enumerate(source) if "sink += i;" in line)
    assert by_line[inner_loop] >= 30  # n and 2n iterations of one instruction or more


def test_lines_show_the_source(program_flame):
    assert "sink += i;" in report(program_flame, "--lines=program.c")


def test_lines_of_a_file_by_a_path_from_here(program_flame):
    source = json.loads(report(program_flame, "--lines=program.c", "--json"))["lines"][0]["file"]
    for path in (os.path.relpath(source), os.path.join(".", os.path.relpath(source))):
        assert "sink += i;" in report(program_flame, f"--lines={path}")


def test_lines_of_a_part_are_of_that_part(tmp_path):
    source, program, path = (tmp_path / name for name in ("parts.c", "parts", "parts.flame"))
    source.write_text("""
        #include <trueflame/trueflame.h>
        int main(void) { TRUEFLAME_DUMP("before"); return 0; }
        """)
    subprocess.run(["gcc", "-g", f"-I{ROOT}/include", source, "-o", program], check=True)
    run("record", "-o", path, program)
    for part in ([], ["--part="], ["--part=before"]):
        lines = json.loads(report(path, "--json", "--lines=parts.c", *part))
        flat = json.loads(report(path, "--json", *part))
        assert lines["total_instructions"] == flat["total_instructions"]


def test_lines_of_an_unknown_file(program_flame, tmp_path):
    assert "knows no line of such a file" in refused("report", program_flame, "--lines=zz.c")
    assert "function detail" in refused("report", imported(tmp_path, TREE), "--lines=zz.c")


def test_colours_only_when_asked_or_on_a_terminal(tmp_path):
    path = imported(tmp_path, TREE)
    assert "\033" not in report(path)
    assert "\033[1;31m" in report(path, "--colour=yes")


@pytest.mark.parametrize("option", ["--tree", "--function=a"])
def test_transforms_apply(tmp_path, option):
    path = imported(tmp_path, TREE)
    assert " b\n" in report(path, option, "--min-percent=0")
    assert " b\n" not in report(path, option, "--min-percent=0", "--skip-function=b")


def on_a_terminal(columns, *arguments):
    """What trueflame prints on a terminal of that width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen([TRUEFLAME, *map(str, arguments)], stdout=slave, env=environment)
    os.close(slave)
    text = b""
    while True:
        try:
            more = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        text += more
    os.close(master)
    assert process.wait() == 0
    return text.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_and_short_names(tmp_path):
    long = "a" * 100 + "::middle::" + "z" * 100
    path = imported(tmp_path, f"{long} 5\n")
    assert long in report(path)
    text = on_a_terminal(120, "report", path)
    assert "\033[1;31m" in text
    assert long not in text and re.search(r"a{5,}\.\.\.z{5,}", text)
    plain = re.sub(r"\033\[[\d;]*m", "", text)
    assert max(len(line) for line in plain.splitlines()) <= 120
    for option in ("--tree", "--function=*"):
        plain = re.sub(r"\033\[[\d;]*m", "", on_a_terminal(120, "report", path, option))
        table = plain[plain.index("\n\n"):]
        assert long not in table and max(len(line) for line in table.splitlines()) <= 120


def test_a_terminal_of_80_columns_shows_names(program_flame, tmp_path):
    """Numbers take no more room than they need, and the object goes before the name does."""
    name = "a_function_of_34_characters_in_all"
    base = imported(tmp_path, "_start;main 1\n", "base")
    new = imported(tmp_path, f"_start;main;{name} 123456\n", "new")
    for arguments in (["report", program_flame], ["report", program_flame, "--tree"],
                      ["report", program_flame, "--function=main"], ["diff", base, program_flame],
                      ["report", new], ["report", new, "--tree"], ["diff", base, new]):
        plain = re.sub(r"\033\[[\d;]*m", "", on_a_terminal(80, *arguments))
        table = plain[plain.index("\n\n"):]
        assert max(len(line) for line in table.splitlines()) <= 80
        assert new not in arguments or f"  {name}\n" in table


CONTROLS = "\x1b[31m \x01 \x7f \x9b"


def test_nothing_in_a_name_is_obeyed_by_a_terminal(tmp_path):
    path = imported(tmp_path, f"a{CONTROLS};b{CONTROLS} 5\n")
    for command in (["report", path], ["report", path, "--tree"], ["info", path],
                    ["report", path, f"--function=b{CONTROLS}"],
                    ["diff", imported(tmp_path, "c 1\n", "other"), path]):
        text = run(*command).stdout
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
        assert command[0] == "info" or "b?[31m ? ? ?" in text


def test_a_program_of_two_lines(tmp_path):
    """A file's name may have anything in it; each row of a table stays one."""
    program = tmp_path / "two\nlines\x1b[31m"
    subprocess.run(["gcc", "-x", "c", "-", "-o", program], input=b"int main(void) { return 0; }",
                   check=True)
    path = tmp_path / "two.flame"
    run("record", "-o", path, program)
    for command in ("report", "info"):
        text = run(command, path, *(["--limit=9999"] if command == "report" else [])).stdout
        assert "two?lines?[31m" in text and "\x1b" not in text
        assert not re.search("^lines", text, re.M)
    header = run("export", path, "-f", "callgrind").stdout.split("\n\n")[0]
    assert all(re.match("# |[a-z]+: ", line) for line in header.splitlines())


def test_source_that_never_ends_is_not_read(tmp_path):
    program, path = tmp_path / "program", tmp_path / "endless.flame"
    subprocess.run(["gcc", "-g", "-x", "c", "-", "-o", program], check=True,
                   input=b'#line 1 "/dev/zero"\nint main(void) { return 0; }\n')
    run("record", "-o", path, program)
    assert "(its text cannot be read here)" in report(path, "--lines=/dev/zero")
