"""The native engine: programs run as they do alone, and every instruction is counted.

The programs of tests/native/programs are hard on an engine; real programs are what it is for. The
oracle single-steps (tests/oracle).
"""

import json
import os
import re
import shutil

import pytest

from support import BUILD, HERE, TRUEFLAME, record, run, same_as_alone


@pytest.mark.parametrize("detail", ("function", "line"))
@pytest.mark.parametrize("name", ("signals", "threads", "changing_code", "changed_files",
                                  "shared_memory", "near_code",
                                  "own_view", "nested", "waiting", "filters", "family",
                                  "kept_registers", "alignment", "round_addresses",
                                  "faulting_calls", "forks", "forks_while_mapping",
                                  "code_come_and_gone", "code_looked_ahead", "code_taken_away",
                                  "only_run", "upper_halves"))
def test_program_is_not_disturbed(name, detail, compiled, folder):
    info = same_as_alone(folder, [compiled(name)], f"--detail={detail}")
    assert info["repairs"]["unmatched-return"] == 0


@pytest.mark.parametrize("part", ("interrupted", "posted", "by_bits", "moved", "crowd",
                                  "stopped"))
def test_wait_with_a_limit_ends_before_it(part, compiled, folder):
    same_as_alone(folder, [compiled("timed_waits"), part], "--repeatable", "--detail=function")


def test_other_memory_goes_around_what_is_shared(compiled, folder):
    same_as_alone(folder, [compiled("shared_memory")], "--repeatable", "--detail=function")


def test_status_has_nothing_of_chance_in_it(folder):
    command = ["grep", "-E", "^Name|^SigQ|ctxt_switches", "/proc/self/status"]
    done, _ = record(folder, command, "--repeatable", "--detail=function")
    name, waiting, *switches = done.stdout.decode().splitlines()
    assert name == "Name:\tgrep" and waiting.startswith("SigQ:\t0/")
    assert switches == ["voluntary_ctxt_switches:\t0", "nonvoluntary_ctxt_switches:\t0"]


def test_stat_has_nothing_of_chance_in_it(folder):
    program = "import os; print(open('/proc/self/stat').read().split()[9:17], os.getpid())"
    command = ["/usr/bin/python3", "-c", program + "; print(open('/proc/self/stat').read(), end='')"]
    done, _ = record(folder, command, "--repeatable", "--detail=function")
    faults_and_times, pid, stat = re.fullmatch(r"(\[.*\]) (\d+)\n(.*)\n",
                                               done.stdout.decode()).groups()
    assert faults_and_times == str(["0"] * 8)
    assert stat.startswith(f"{pid} (python3) R ") and stat.count(" ") == 51


def test_no_page_is_waited_for_with_the_turn(folder):
    """As whoever is to bring it waits for the turn: userfaultfd(2) is not there."""
    program = ("import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"
               "print(libc.syscall(323, 0), ctypes.get_errno())")
    done, _ = record(folder, ["/usr/bin/python3", "-c", program], "--repeatable",
                     "--detail=function")
    assert done.stdout == b"-1 38\n"


def test_thread_that_runs_to_the_end_is_counted(compiled, folder):
    info = same_as_alone(folder, [compiled("running_thread")], "--detail=function")
    assert info["total_instructions"] >= 3 * 100000000


def folded(folder):
    return run([TRUEFLAME, "export", "-f", "folded", folder / "profile.flame"]).stdout.decode()


def test_contexts_with_less_room_count_the_same(compiled, folder):
    trees = []
    for detail in ("function", "line"):
        same_as_alone(folder, [compiled("many_contexts")], f"--detail={detail}")
        trees.append([line for line in folded(folder).splitlines() if ";descend " in line])
    assert len(trees[0]) > 900 and trees[0] == trees[1]


def test_contexts_whose_counters_were_given_back_count_the_same(compiled, folder):
    trees = []
    for detail in ("function", "line"):
        same_as_alone(folder, [compiled("seldom_contexts", "-O2")], f"--detail={detail}")
        trees.append([line for line in folded(folder).splitlines() if ";walk;" in line])
    assert len(trees[0]) > 60000 and trees[0] == trees[1]


@pytest.mark.slow
def test_contexts_beyond_those_that_are_near(compiled, folder):
    info = same_as_alone(folder, [compiled("more_contexts")], "--detail=function")
    assert info["contexts"] > 4 << 20
    rows = json.loads(run([TRUEFLAME, "report", "--json", "--sort=calls", folder / "profile.flame"]).stdout)
    calls = {row["name"]: row["calls"] for row in rows["functions"]}
    assert calls["one"] == calls["other"] == 3 * ((1 << 21) - 1)


@pytest.mark.parametrize("detail", ("function", "line"))
def test_recording_is_switched_on_for_a_thread_in_a_loop(detail, compiled, folder):
    same_as_alone(folder, [compiled("window", "-I", HERE.parent.parent / "include")], "--start=off",
                  f"--detail={detail}")
    spins = [line for line in folded(folder).splitlines() if ";spin " in line]
    assert len(spins) == 1 and int(spins[0].split()[-1]) > 1000


def test_the_kernels_own_code_has_names(compiled, folder):
    info = same_as_alone(folder, [compiled("clocks")])
    modules = [module["path"] for module in info["modules"]]
    assert "[vdso]" in modules and "[anon]" not in folded(folder)


def test_nobody_needs_restartable_sequences(compiled, folder):
    done, _ = record(folder, ["env", "-u", "GLIBC_TUNABLES", compiled("sequences")])
    assert done.stdout.decode().splitlines() == [
        "libc has 0 bytes", "registered: no such call", "barriers: no, refused", "others: ready",
        "a thread is somewhere", "a thread is somewhere"]


@pytest.mark.parametrize("kind", ("interrupt", "jump"))
def test_instructions_that_leave_64_bit_code_are_refused(kind, compiled, folder):
    done, _ = record(folder, [compiled("leaves_64_bits"), kind])
    assert done.returncode != 0
    assert done.stderr.startswith(b"trueflame: the program uses ")
    assert b"--engine=valgrind" in done.stderr and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("what", ("avx512", "loop"))
@pytest.mark.parametrize("name", ("signals", "threads", "upper_halves"))
def test_another_processor(name, what, compiled, folder):
    command = [compiled(name)]
    alone = run(command, cwd=folder)
    done = run([BUILD / "src/engines/native/trueflame-native", f"--without={what}", "--", command[0],
                *command], cwd=folder)
    assert (done.stdout, done.returncode) == (alone.stdout, alone.returncode), done.stderr.decode()


LIMITS = ("size", "memory", "data", "files")


@pytest.mark.parametrize("engine", ("native", "valgrind"))
@pytest.mark.parametrize("what", (["user"], ["others"], ["root"], ["root", "user"], ["rules"],
                                  *(list(LIMITS[:i + 1]) for i in range(len(LIMITS)))), ids="-".join)
def test_what_a_program_gives_up_is_no_loss(what, engine, compiled, folder):
    if os.geteuid() and what[0] not in (*LIMITS, "rules"):
        pytest.skip("only root can give up its rights")
    if engine == "valgrind" and what not in (["user"], ["others"]):
        pytest.skip("the reference engine writes its file by name, and has the program's limits")
    command = [compiled("gives_up"), *what]
    alone = run(command, cwd=folder)
    done, info = record(folder, command, f"--engine={engine}")
    assert (done.stdout, done.returncode) == (alone.stdout, 3), done.stderr.decode()
    assert len(info["processes"]) == 2


def test_the_next_program_has_its_limits(folder):
    command = ["bash", "-c", "ulimit -v 500000; ulimit -n 50; ulimit -Sd 100000; exec -a x bash -c "
                             "'ulimit -Hv; ulimit -Sv; ulimit -Hn; ulimit -Hd; ulimit -d'"]
    same_as_alone(folder, command)


REAL = {
    "true": ["/bin/true"],
    "git": ["git", "--version"],
    "sqlite3": ["sqlite3", ":memory:", "select sum(value) from json_each('[1,2,3]')"],
    "perl": ["perl", "-e", 'print join ",", map { $_ * 2 } 1 .. 5'],
}
QUICK = ("true",)


def single_steps(oracle, folder, command):
    """Of several runs: git reads a clock, in its own memory, which takes more steps now and then."""
    totals, steps = [], folder / "steps"
    for _ in range(6 if command[0].endswith("git") else 1):
        run([oracle, "-o", steps, "--", *command], check=True, cwd=folder)
        totals.append(int(steps.read_text().split()[1]))
    return totals


@pytest.mark.parametrize("detail", ("function", "line"))
@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
                                  for name in sorted(REAL)])
def test_total_is_that_of_single_stepping(name, detail, oracle, folder):
    command = [shutil.which(REAL[name][0], path="/usr/bin:/bin"), *REAL[name][1:]]
    if not command[0]:
        pytest.skip(f"{name} is not installed")
    info = same_as_alone(folder, command, f"--detail={detail}")
    assert info["total_instructions"] in single_steps(oracle, folder, command)


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ("address", "thread", "undefined"))
def test_sanitizers(sanitizer, compiled, folder):
    same_as_alone(folder, [compiled("threads", f"-fsanitize={sanitizer}")], "--detail=function")


@pytest.mark.parametrize("content", (b"", b"no program", b"\x7fELF" + bytes(60)))
def test_what_cannot_run_is_refused(content, folder):
    program = folder / "bad"
    program.write_bytes(content)
    program.chmod(0o755)
    done, _ = record(folder, [program])
    assert done.returncode != 0
    assert done.stderr.startswith(b"trueflame: ") and done.stderr.count(b"\n") <= 2


def test_repeatable_shows_one_machine(compiled, folder):
    program = compiled("machine")
    said = []
    for number in range(2):
        done, info = record(folder, [program], "--repeatable", f"--detail={('function', 'line')[number]}")
        assert done.returncode == 0, done.stderr.decode()
        said.append((done.stdout, info["total_instructions"]))
    assert said[0] == said[1]
    lines = said[0][0].decode().splitlines()
    assert lines[:5] == ["leaves 13, vendor GenuineIntel", "avx2 1, avx512f 0", "rdrand 0",
                         "state 7 0", "vdso 0"]
    assert lines[5].startswith("1577836800 ")
    assert lines[6].endswith(" 1000")
    assert lines[7] == "slept 2001000"


@pytest.mark.parametrize("command", (
    ["python3", "-c", "import json, threading\n"
     "threads = [threading.Thread(target=json.dumps, args=([i] * 50,)) for i in range(8)]\n"
     "[t.start() for t in threads], [t.join() for t in threads]\nprint(json.dumps([1, {}]))"],
    pytest.param(["java", "-version"], marks=pytest.mark.slow),
    pytest.param(["node", "-e", "console.log([3, 1, 2].sort())"], marks=pytest.mark.slow),
), ids=lambda command: command[0])
@pytest.mark.parametrize("detail", ((), ("--detail=line",)), ids=("function", "line"))
def test_a_small_cache_makes_room(command, detail, folder):
    """Less than the program's code takes: it is thrown away and translated again, many times."""
    program = shutil.which(command[0], path="/usr/bin:/bin")
    if not program:
        pytest.skip(f"{command[0]} is not installed")
    engine = BUILD / "src/engines/native/trueflame-native"
    done = run([engine, "--cache-size=9000000", *detail, "--", program, *command])
    alone = run([program, *command[1:]])
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout), done.stderr.decode()


IN_MEMORY = """import os
file = os.memfd_create("program")
os.write(file, open("/bin/true", "rb").read())
os.execve(file, ["true"], {})"""


def said(folder, command):
    done = run([TRUEFLAME, "record", "--engine=native", "-o", folder / "profile.flame", "--",
                *command], cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    return done.stderr.decode()


def test_a_program_that_leaves_the_recording_is_named(folder):
    assert "was executed outside of the recording: it is a file in memory\n" in \
        said(folder, ["/usr/bin/python3", "-c", IN_MEMORY])
    assert "outside" not in said(folder, ["env", "true"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_program_of_another_user_leaves_the_recording(folder):
    other, own = folder / "other", folder / "own"
    for copy in (other, own):
        shutil.copy("/bin/true", copy)
    os.chown(other, 65534, -1)
    for copy in (other, own):
        copy.chmod(0o4755)
    assert f"{other} was executed outside of the recording: it is set-uid\n" in \
        said(folder, ["env", other])
    assert "outside" not in said(folder, ["env", own])
