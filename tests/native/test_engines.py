"""Both engines write the same folded bytes for programs with libc: with --repeatable they show them one
processor, one set of addresses, one auxiliary vector and one stack."""

import pathlib
import shutil
import subprocess

import pytest

from support import TRUEFLAME, run

ENGINES = ("native", "valgrind")
COUNT = "with recursive c(x) as (select 1 union all select x + 1 from c where x < 900) " \
        "select sum(x * x), count(distinct x % 97) from c"
PROGRAMS = {
    "true": ["true"],
    "ls": ["ls", "-l", "/usr/bin"],
    "sed": ["sed", "s/[aeiou]/<&>/g", "/etc/passwd"],
    "bash": ["bash", "-c", "for i in {1..99}; do x+=$i; done; echo ${#x}; exec -a other cat /etc/hostname"],
    "sqlite3": ["sqlite3", ":memory:", COUNT],
    "perl": ["perl", "-e", "$h{$_ % 77} .= $_ for 1 .. 999; print map { length } sort values %h"],
    "bzip2": ["bzip2", "-kc", "/bin/true"],
    "git": ["git", "hash-object", "/bin/true"],
    "python3": ["/usr/bin/python3", "-c", "import json; print(json.dumps(list(range(99))))"],
    "tar": ["tar", "cf", "-", "/etc/passwd"],
    "xz": ["xz", "-kc", "/bin/true"],
    "openssl": ["openssl", "dgst", "-sha256", "/bin/true"],
    "lua5.4": ["lua5.4", "-e", "t = {} for i = 1, 999 do t['k' .. i] = i end print(#t)"],
    "php": ["php", "-r", "echo array_sum(range(1, 1000));"],
    "jq": ["jq", "-n", "[range(1000)] | add"],
}
QUICK = ("true", "sed", "bash", "sqlite3", "perl", "python3")


def recorded(folder, engine, command, detail):
    """Profiles do not lie where the program runs: Python lists that folder, and counts its names."""
    (folder / "profiles").mkdir(exist_ok=True)
    profile = folder / "profiles" / f"{engine}.flame"
    done = run([TRUEFLAME, "record", "--quiet", "--repeatable", f"--engine={engine}",
                f"--detail={detail}", "-o", profile, "--", *command], cwd=folder)
    folded = run([TRUEFLAME, "export", "-f", "folded", "--frames=full", profile], check=True)
    return done.stdout, done.returncode, folded.stdout


def digits_of_pids():
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    return len(str(process.pid))


def recorded_by_both(folder, command, detail):
    """Bash writes down the pid of its parent: done again if that was longer the second time."""
    while True:
        digits = digits_of_pids()
        runs = [recorded(folder, engine, command, detail) for engine in ENGINES]
        if digits_of_pids() == digits:
            return runs


def first_difference(ours, theirs):
    pairs = zip(ours.decode().splitlines(), theirs.decode().splitlines())
    return next((f"{ENGINES[0]}: {a}\n{ENGINES[1]}: {b}" for a, b in pairs if a != b), "")


@pytest.mark.parametrize("detail", ("function", "line"))
@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
                                  for name in sorted(PROGRAMS)])
def test_folded_bytes_are_the_same(name, detail, folder):
    command = PROGRAMS[name]
    if not shutil.which(command[0], path="/usr/bin:/bin"):
        pytest.skip(f"{name} is not installed")
    ours, theirs = recorded_by_both(folder, command, detail)
    assert ours[:2] == theirs[:2]
    assert ours[2] == theirs[2], first_difference(ours[2], theirs[2])
    assert len(ours[2].splitlines()) > 100


@pytest.mark.parametrize("detail", ("function", "line"))
def test_forks_are_the_same(detail, compiled, folder):
    ours, theirs = recorded_by_both(folder, [compiled("forks")], detail)
    assert ours[:2] == theirs[:2]
    assert ours[2] == theirs[2], first_difference(ours[2], theirs[2])


@pytest.mark.parametrize("flags", ([], ["-no-pie"], ["-static"], ["-static-pie"]), ids=str)
def test_surroundings_are_the_same(flags, compiled, folder):
    command = [compiled("surroundings", *flags), "an argument"]
    ours, theirs = (recorded(folder, engine, command, "function") for engine in ENGINES)
    assert ours[0].decode() == theirs[0].decode()
    assert ours[1:] == theirs[1:]
    assert b"xsave fits, state 0, eax ffffffff" in ours[0]


@pytest.mark.parametrize("detail", ("function", "line"))
def test_calls_that_lead_elsewhere_later(detail, compiled, folder):
    command = [compiled("turning_calls")]
    ours, theirs = (recorded(folder, engine, command, detail) for engine in ENGINES)
    assert ours == theirs
    assert b"deep" in ours[2] and b"three" in ours[2]


def test_a_block_that_runs_more_often_than_half_a_word_can_count(compiled, folder):
    ours, theirs = (recorded(folder, engine, [compiled("long_loop")], "line") for engine in ENGINES)
    assert ours == theirs
    assert b"/long_loop) 4400000002\n" in ours[2]


@pytest.mark.parametrize("detail", ("function", "line"))
def test_code_of_a_file_that_changes_in_memory(detail, compiled, folder):
    command = [compiled("changed_files")]
    ours, theirs = (recorded(folder, engine, command, detail) for engine in ENGINES)
    assert ours[:2] == theirs[:2] == (run(command).stdout, 0)


@pytest.mark.parametrize("detail", ("function", "line"))
@pytest.mark.parametrize("way", ("rounds", "main_thread_first", "signalled"))
def test_threads_take_turns_in_one_order(way, detail, compiled, folder):
    command = [compiled("ends"), way, 0]
    runs = [recorded(folder, "native", command, detail) for _ in range(3)]
    assert runs[0] == runs[1] == runs[2]


def test_threads_take_turns_in_a_process_with_all_its_files(compiled, folder):
    runs = [recorded(folder, "native", [compiled("all_files")], "function") for _ in range(3)]
    assert runs[0][:2] == (b"1000 1 64 10\n", 0)
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.slow
@pytest.mark.parametrize("command", (["zstd", "-q", "-T2", "-f", "-o", "/dev/null", "/bin/bash"],
                                     ["node", "-e", "console.log([1, 2].map(x => x * x))"],
                                     ["ruby", "-e", "p 4.times.map { |i| Thread.new { i * i } }.map(&:value)"]),
                         ids=lambda command: command[0])
def test_real_threads_take_turns_in_one_order(command, folder):
    if not shutil.which(command[0], path="/usr/bin:/bin"):
        pytest.skip(f"{command[0]} is not installed")
    runs = [recorded(folder, "native", command, "function") for _ in range(3)]
    assert runs[0] == runs[1] == runs[2]


def test_surroundings_do_not_depend_on_the_callers(compiled, folder, tmp_path):
    command = [compiled("surroundings")]
    here = recorded(folder, "native", command, "function")
    elsewhere = run(["bash", "-c", "ulimit -s 20000; A=a B=b exec \"$@\"", "bash", TRUEFLAME, "record",
                     "--quiet", "--repeatable", "--engine=native", "--detail=function", "-o",
                     tmp_path / "x.flame", "--", *command], cwd=tmp_path)
    assert elsewhere.stdout.decode() == here[0].decode()
    assert pathlib.Path(tmp_path / "x.flame").exists()
