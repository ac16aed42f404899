"""`trueflame record`: what passes through, what is left behind, how runs end, what programs ask for;
on every engine that runs programs of this machine."""
import json
import os
import pty
import re
import resource
import signal
import struct
import subprocess
import time

import pytest

from support import ROOT, TRUEFLAME, folded, refused, run, total

ENGINES = ("valgrind", "native")

ACTS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) void work(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        sink += i;
}

static void *threaded(void *n)
{
    work((unsigned long)n);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *act = argv[1];
    unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

    if (!strcmp(act, "say")) {
        write(1, "to stdout\n", 10);
        write(2, "to stderr\n", 10);
    } else if (!strcmp(act, "copy")) {
        char bytes[4096];
        for (ssize_t count; (count = read(0, bytes, sizeof bytes)) > 0;)
            write(1, bytes, count);
    } else if (!strcmp(act, "exit")) {
        exit(n);
    } else if (!strcmp(act, "_exit")) {
        _exit(n);
    } else if (!strcmp(act, "abort")) {
        abort();
    } else if (!strcmp(act, "kill")) {
        work(1000);
        kill(getpid(), n);
        for (;;)
            pause();
    } else if (!strcmp(act, "crash")) {
        *(volatile int *)n = 1;
    } else if (!strcmp(act, "work")) {
        work(n);
    } else if (!strcmp(act, "touch")) {
        close(open(argv[2], O_CREAT | O_WRONLY, 0666));
    } else if (!strcmp(act, "fork")) {
        for (unsigned long i = 0; i < n; i++) {
            pid_t child = fork();
            if (!child) {
                work(100 + i);
                _exit(0);
            }
            waitpid(child, NULL, 0);
        }
    } else if (!strcmp(act, "vfork")) {
        pid_t child = vfork();
        if (!child) {
            execl(argv[0], argv[0], "work", "5000", NULL);
            _exit(127);
        }
        int status;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    } else if (!strcmp(act, "threads")) {
        for (unsigned long i = 0; i < 8; i++) {
            pthread_t thread;
            pthread_create(&thread, NULL, threaded, (void *)(n + i));
            pthread_join(thread, NULL);
        }
    }
    return 0;
}
"""


def compiled(folder, name, source, *flags):
    code, program = folder / f"{name}.c", folder / name
    code.write_text(source)
    subprocess.run(["gcc", "-O1", "-g", "-w", *flags, code, "-o", program, "-pthread"], check=True)
    return program


@pytest.fixture(scope="session")
def acts(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("acts"), "acts", ACTS, "-static")


@pytest.fixture(params=ENGINES)
def engine(request, acts, tmp_path_factory):
    if request.param == "native":
        probe = tmp_path_factory.mktemp("probe") / "probe.flame"
        done = subprocess.run([TRUEFLAME, "record", "--engine=native", "-o", probe, "--", acts,
                               "exit", "0"], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"engine native: {done.stderr.strip()}")
    return request.param


class Recording:
    def __init__(self, path, done):
        self.path, self.done = path, done

    @property
    def info(self):
        return json.loads(run("info", "--json", self.path).stdout)


def skip_if_refused(engine, done):
    """The reference engine knows every option; another may say that it does not."""
    if engine != "valgrind" and done.returncode == 2 and b"engine cannot run it" in done.stderr:
        pytest.skip(done.stderr.decode().strip())


@pytest.fixture
def record(tmp_path, engine):
    """Records in a folder of its own, with a TMPDIR of its own that must be empty afterwards."""
    number = 0

    def make(*words, status=0, options=(), **more):
        nonlocal number
        number += 1
        path, temporary = tmp_path / f"{number}.flame", tmp_path / "temporary"
        temporary.mkdir(exist_ok=True)
        more.setdefault("env", {**os.environ, "TMPDIR": str(temporary)})
        done = subprocess.run([TRUEFLAME, "record", f"--engine={engine}", "-o", path, *options, "--",
                               *words], capture_output=True, timeout=300, **more)
        skip_if_refused(engine, done)
        assert done.returncode == status, done.stderr.decode()
        assert not list(temporary.iterdir())
        return Recording(path, done)
    return make


def sections(path):
    """{number: stored bytes}, by docs/format.md."""
    data, at, found = path.read_bytes(), 16, {}
    while at < len(data):
        number, _, stored = struct.unpack_from("<IIQ", data, at)
        found[number] = data[at + 32:at + 32 + stored]
        at += 32 + stored
    return found


def assert_same_profile(one, other):
    """The same bytes outside of section 2, `run`."""
    one, other = sections(one), sections(other)
    assert [n for n in one if one[n] != other[n] and n != 2] == []


# ---- what passes through ----

def test_output_passes_through(record, acts):
    done = record(acts, "say").done
    assert done.stdout == b"to stdout\n"
    assert done.stderr.startswith(b"to stderr\ntrueflame: wrote ")


def test_input_passes_through(record, acts):
    data = bytes(range(256)) * 4000
    assert record(acts, "copy", input=data).done.stdout == data


def test_quiet(record, acts):
    assert record(acts, "say", options=["--quiet"]).done.stderr == b"to stderr\n"


def test_arguments_pass_through(record):
    words = ["printf", "%s|", "", " a  b ", "--quiet", "-o", "'\"$HOME*\\", "é", "--"]
    assert record(*words).done.stdout == subprocess.run(words, capture_output=True).stdout


def test_many_arguments(record):
    count = 100000
    assert record("/bin/sh", "-c", "echo $#", *["a"] * count).done.stdout.decode() == f"{count - 1}\n"


@pytest.mark.parametrize("act", ["exit", "_exit"])
@pytest.mark.parametrize("status", [0, 1, 2, 125, 255])
def test_exit_status(record, acts, act, status):
    recording = record(acts, act, str(status), status=status)
    info = recording.info
    assert info["exit_status"] == status and info["ended_by"] == "exit"
    assert total(folded(recording.path)) == info["total_instructions"] > 0


@pytest.mark.parametrize("words,number", [(["abort"], signal.SIGABRT),
                                          (["crash", "0"], signal.SIGSEGV),
                                          (["kill", "15"], signal.SIGTERM),
                                          (["kill", "9"], signal.SIGKILL)])
def test_a_program_that_a_signal_kills(record, acts, words, number):
    recording = record(acts, *words, status=128 + number)
    assert recording.info["exit_status"] == 128 + number
    if words[0] == "kill":
        assert re.search(r"main;work \d+$", folded(recording.path, "--root=main"), re.M)


def test_a_program_killed_from_outside(record, acts, tmp_path, engine):
    """Asking `record` to end is asking the program."""
    path = tmp_path / "ended.flame"
    started = subprocess.Popen([TRUEFLAME, "record", f"--engine={engine}", "--quiet", "-o", path,
                                "--", "sh", "-c", "echo ready; while :; do :; done"],
                               stdout=subprocess.PIPE)
    assert started.stdout.readline() == b"ready\n"
    started.terminate()
    assert started.wait(timeout=60) == 128 + signal.SIGTERM
    assert json.loads(run("info", "--json", path).stdout)["exit_status"] == 128 + signal.SIGTERM


# ---- how a run ends ----

REPEATING = r"""
    .globl _start
_start:
    mov $3, %ebx
again:
    mov $1000, %ecx
    lea buffer(%rip), %rdi
    rep stosb
    mov $7, %ecx
    lea buffer(%rip), %rsi
    lea buffer(%rip), %rdi
    rep movsq
    dec %ebx
    jnz again
    xor %edi, %edi
    mov $231, %eax
    syscall
    .bss
buffer: .skip 4096
"""
REPEATING_TOTAL = 1 + 3 * 9 + 3


@pytest.fixture(scope="session")
def repeating(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repeating")
    (folder / "repeating.S").write_text(REPEATING)
    subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", folder / "repeating.S", "-o",
                    folder / "repeating"], check=True)
    return folder / "repeating"


@pytest.mark.parametrize("detail", ["function", "line"])
def test_a_budget_is_exact(record, repeating, detail):
    for budget in (1, 2, 3, 4, 5, 8, 9, 10, 13, 14, REPEATING_TOTAL - 1, REPEATING_TOTAL):
        info = record(repeating, options=[f"--budget={budget}", f"--detail={detail}"]).info
        assert info["total_instructions"] == budget
        assert info["ended_by"] == ("budget" if budget < REPEATING_TOTAL else info["ended_by"])
    info = record(repeating, options=["--budget=1000000", f"--detail={detail}"]).info
    assert (info["total_instructions"], info["ended_by"]) == (REPEATING_TOTAL, "exit")


@pytest.mark.parametrize("detail", ["function", "line"])
def test_a_budget_of_a_larger_program(record, detail):
    for budget in (1000, 54321, 100003):
        recording = record("/bin/echo", "x", options=[f"--budget={budget}", f"--detail={detail}"])
        assert recording.info["total_instructions"] == budget
        assert total(folded(recording.path)) == budget


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_checkpoints(tmp_path, acts, engine, record):
    """Readable while the program runs, growing; there after kill -9 of everything."""
    record(acts, "exit", "0", options=["--checkpoint=1000"])
    path = tmp_path / "run.flame"
    started = subprocess.Popen([TRUEFLAME, "record", f"--engine={engine}", "--quiet",
                                "--detail=function", "--checkpoint=1000000", "-o", path, "--", acts,
                                "work", "100000000000"], start_new_session=True,
                               env={**os.environ, "TMPDIR": str(tmp_path)})
    try:
        wait_for(path.exists)
        first = json.loads(run("info", "--json", path).stdout)
        assert first["ended_by"] == "checkpoint"
        assert first["total_instructions"] >= 1000000
        wait_for(lambda: json.loads(run("info", "--json", path).stdout)["total_instructions"] >
                 first["total_instructions"])
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
    recording = Recording(path, None)
    assert recording.info["ended_by"] == "checkpoint"
    assert total(folded(path)) == recording.info["total_instructions"]
    assert ";main;work " in folded(path)


def engine_processes(parent):
    out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True)
    return [int(word) for word in out.stdout.split()]


def test_the_engine_killed_after_a_checkpoint(tmp_path_factory, acts, engine, record):
    record(acts, "exit", "0", options=["--checkpoint=1000"])
    tmp_path = tmp_path_factory.mktemp("killed")
    path = tmp_path / "run.flame"
    started = subprocess.Popen([TRUEFLAME, "record", f"--engine={engine}", "--quiet",
                                "--checkpoint=1000000", "-o", path, "--", acts, "work",
                                "100000000000"], env={**os.environ, "TMPDIR": str(tmp_path)})
    wait_for(path.exists)
    for process in engine_processes(started.pid):
        os.kill(process, signal.SIGKILL)
    assert started.wait(timeout=60) == 128 + signal.SIGKILL
    info = Recording(path, None).info
    assert (info["ended_by"], info["exit_status"]) == ("killed", 128 + signal.SIGKILL)
    assert info["total_instructions"] >= 1000000
    assert [file.name for file in tmp_path.iterdir()] == ["run.flame"]


# ---- what cannot be ----

def test_output_that_cannot_be_written_is_found_before_the_run(tmp_path, acts):
    marker = tmp_path / "was run"
    for output in (tmp_path / "missing" / "x.flame", tmp_path):
        said = refused("record", "-o", output, "--", acts, "touch", marker)
        assert str(output) in said
    assert not marker.exists()


def test_a_file_that_is_there_survives_a_refused_run(tmp_path):
    path = tmp_path / "kept.flame"
    path.write_text("precious")
    refused("record", "-o", path, "--", "no such program")
    assert path.read_text() == "precious"


def test_no_device_is_replaced(tmp_path, acts):
    """Written to, as `-o /dev/null` asks, and still a device."""
    device = tmp_path / "null"
    made = subprocess.run(["mknod", "-m", "666", device, "c", "1", "3"], capture_output=True)
    if made.returncode:
        pytest.skip("devices cannot be made here")
    run("record", "--quiet", "-o", device, "--", acts, "exit", "0")
    assert device.is_char_device()


def test_a_full_disk(tmp_path, acts, engine):
    """One clear line, status 2, nothing half-written: for the profile and for what lies before it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    for variables in ("", f"TMPDIR={disk}"):
        script = (f"mount -t tmpfs -o size=8k tmpfs {disk} || exit 77; head -c 4096 /dev/zero >"
                  f" {disk}/filler; {variables} {TRUEFLAME} record --engine={engine} -o"
                  f" {disk}/x.flame -- {acts} exit 0; status=$?; ls {disk}; exit $status")
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True)
        if done.returncode == 77 or "unshare" in done.stderr:
            pytest.skip("no file system can be mounted here")
        assert done.returncode == 2, done.stderr
        assert done.stdout == "filler\n"
        assert re.fullmatch(r"trueflame: .*(No space left|full).*\n", done.stderr)


def test_a_disk_that_is_full_for_a_while(tmp_path, acts, engine):
    """A process that could not write its counts is missing, and that is said."""
    disk = tmp_path / "disk"
    disk.mkdir()
    fills = (f"{acts} exit 1; head -c 8M /dev/zero >{disk}/filler 2>/dev/null; {acts} exit 2; "
             f"rm {disk}/filler; exit 3")
    script = (f"mount -t tmpfs -o size=4M tmpfs {disk} || exit 77; TMPDIR={disk} {TRUEFLAME} record"
              f" --engine={engine} -o {tmp_path}/x.flame -- sh -c '{fills}'")
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no file system can be mounted here")
    assert done.returncode == 3, done.stderr
    assert re.search(r"^trueflame: \d+ of the processes did not get to write", done.stderr, re.M)
    commands = [process["command"] for process in
                json.loads(run("info", "--json", tmp_path / "x.flame").stdout)["processes"]]
    assert f"{acts} exit 1" in commands and f"{acts} exit 2" not in commands


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_files_that_are_not_open(record, tmp_path, closed):
    """The program's first file has such a number, and can be read."""
    program = compiled(tmp_path, "program", """
        #include <fcntl.h>
        #include <unistd.h>
        int main(int argc, char **argv) { char c; return read(open(*argv, O_RDONLY), &c, 1) - 1; }
    """)
    result = record(program, preexec_fn=lambda: [os.close(number) for number in closed])
    assert "main" in folded(result.path)


def test_a_program_that_confines_itself(record, engine, tmp_path):
    """It runs under native as alone. The reference engine is confined with it, and ends; what was
    counted until then is there."""
    program = compiled(tmp_path, "program", """
        #include <linux/seccomp.h>
        #include <sys/prctl.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        __attribute__((noinline)) void before(void) { for (volatile int i = 0; i < 1000; i++); }
        int main(void)
        {
            before();
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
            write(1, "confined", 8);
            syscall(SYS_exit, 0);
        }
    """)
    result = record(program, status=0 if engine == "native" else 128 + signal.SIGKILL)
    assert ";main;before " in folded(result.path)


def test_a_small_stack(record, tmp_path):
    """The limit is the program's; libraries that read debug information need more than it."""
    program = compiled(tmp_path, "program", "int main(void) { return 7; }")
    limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_STACK, (65536, 65536))}
    path = record(program, status=7, **limited).path
    for words in (["report", path], ["export", path, "-f", "html", "-o", tmp_path / "page"],
                  ["diff", path, path, "-f", "html", "-o", tmp_path / "page"]):
        done = subprocess.run([TRUEFLAME, *words], capture_output=True, **limited)
        assert done.returncode == 0, done.stderr


def test_programs_that_cannot_be_run(tmp_path, acts):
    plain = tmp_path / "plain"
    plain.write_text("#!/bin/sh\n")
    assert refused("record", "--", "no such program") == "trueflame: no such program: no such program"
    assert str(tmp_path) in refused("record", "--", tmp_path)
    assert "Permission denied" in refused("record", "--", plain)
    for byte, what in ((4, b"\x01"), (18, b"\x28")):  # 32 bits; ARM
        other, image = tmp_path / f"other{byte}", bytearray(acts.read_bytes())
        image[byte:byte + 1] = what
        other.write_bytes(image)
        other.chmod(0o755)
        assert refused("record", "--", other) == f"trueflame: {other}: not an x86-64 program"
    assert "not a RISC-V program" in refused("record", "--engine=riscv", "--", acts)


@pytest.mark.parametrize("words,said", [
    (["--no-such", "true"], "no-such"),
    (["--budget=x", "true"], "--budget"),
    (["--budget=-1", "true"], "--budget"),
    (["--engine=fast", "true"], "--engine=fast"),
    (["--detail=some", "true"], "--detail=some"),
    (["--start", "maybe", "true"], "--start=maybe"),
    (["-o"], "-o"),
    ([], "no command"),
])
def test_options_that_cannot_be(words, said):
    assert said in refused("record", *words)


def test_scripts(record, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho from a script\nexit 3\n")
    script.chmod(0o755)
    assert record(script, status=3).done.stdout == b"from a script\n"


# ---- processes ----

def test_children(record, acts):
    words = ["sh", "-c", f"{acts} say | {acts} copy; {acts} exit 5"]
    recording = record(*words, status=5)
    processes = recording.info["processes"]
    assert len(processes) >= 4
    assert sum(process["command"].startswith(str(acts)) for process in processes) == 3
    alone = record(*words, status=5, options=["--children=no"])
    assert not any(p["command"].startswith(str(acts)) for p in alone.info["processes"])
    assert alone.info["total_instructions"] < recording.info["total_instructions"]
    assert alone.done.stdout == recording.done.stdout == b"to stdout\n"


def test_fifty_forks(record, acts):
    info = record(acts, "fork", "50").info
    assert len(info["processes"]) == 51
    assert [p["started_by"] for p in info["processes"]] == ["first"] + 50 * ["fork"]
    # each works a turn longer than the one before
    costs = [0] * 51
    for thread in info["threads"]:
        costs[thread["process"]] += thread["instructions"]
    steps = {b - a for a, b in zip(costs[1:], costs[2:])}
    assert len(steps) == 1 and steps.pop() > 0


def test_vfork_and_exec(record, acts):
    recording = record(acts, "vfork")
    commands = [process["command"] for process in recording.info["processes"]]
    assert f"{acts} work 5000" in commands
    assert ";main;work " in folded(recording.path)


# ---- what programs ask for ----

def test_nothing_asked_for_is_an_empty_profile(record, acts):
    recording = record(acts, "work", "1000", options=["--start=off"])
    assert recording.info["total_instructions"] == 0
    assert recording.info["unrecorded_instructions"] > 1000
    assert folded(recording.path) == ""
    run("report", recording.path)


REQUESTS = r"""
#include <trueflame/trueflame.h>
#include <stdlib.h>
static volatile unsigned long sink;
__attribute__((noinline)) void spin(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void first(void) { spin(100); sink++; }
__attribute__((noinline)) void second(void) { spin(200); sink++; }
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void)
{
    int items[] = {3, 1, 2};
    spin(1000);
    TRUEFLAME_START();
    first();
    TRUEFLAME_LABEL("with a label");
    TRUEFLAME_DUMP("one");
    second();
    TRUEFLAME_STOP();
    spin(5000);
    TRUEFLAME_TOGGLE();
    first();
    TRUEFLAME_TOGGLE();
    TRUEFLAME_DUMP("two");
    TRUEFLAME_START();
    second();
    TRUEFLAME_ZERO();
    TRUEFLAME_SKIP_OBJECT("*/libc.so*");
    qsort(items, 3, sizeof *items, compare);
    TRUEFLAME_STOP();
    return 0;
}
"""


def test_parts_labels_and_skipped_objects(record, tmp_path):
    program = compiled(tmp_path, "requests", REQUESTS, f"-I{ROOT}/include")
    recording = record(program, options=["--start=off"])
    parts = recording.info["parts"]
    assert [part["name"] for part in parts[:2]] == ["one", "two"]
    assert parts[0]["label"] == "with a label" and parts[1]["label"] == ""
    assert sum(p["instructions"] for p in parts) == recording.info["total_instructions"]

    def part(name):
        text = folded(recording.path, "--inline=no", "--root=main", f"--part={name}")
        return {line.rpartition(" ")[0] for line in text.splitlines()}
    assert part("one") == {"main", "main;first", "main;first;spin"}
    assert part("two") == {"main", "main;first", "main;first;spin", "main;second",
                           "main;second;spin"}
    last = part(parts[2]["name"])
    assert "main;compare" in last and not any("second" in path or "qsort" in path for path in last)


def test_programs_made_for_callgrind(record, tmp_path):
    program = compiled(tmp_path, "callgrind", r"""
        #include <valgrind/callgrind.h>
        static volatile unsigned long sink;
        __attribute__((noinline)) void one(void) { for (int i = 0; i < 100; i++) sink++; }
        __attribute__((noinline)) void two(void) { for (int i = 0; i < 100; i++) sink++; }
        __attribute__((noinline)) void never(void) { for (int i = 0; i < 100; i++) sink++; }
        int main(void)
        {
            never();
            CALLGRIND_START_INSTRUMENTATION;
            never();
            CALLGRIND_ZERO_STATS;
            one();
            CALLGRIND_DUMP_STATS_AT("first");
            two();
            CALLGRIND_DUMP_STATS;
            CALLGRIND_STOP_INSTRUMENTATION;
            never();
            CALLGRIND_TOGGLE_COLLECT;
            one();
            CALLGRIND_TOGGLE_COLLECT;
            never();
            return 0;
        }
        """)
    recording = record(program, options=["--start=off"])
    names = [part["name"] for part in recording.info["parts"]]
    assert names == ["first", "2", ""]
    paths = [set(re.findall(r"^(\S*) \d+$", folded(recording.path, "--inline=no", "--root=main",
                                                     f"--part={name}"), re.M)) for name in names]
    assert paths[0] == {"main", "main;one"}
    assert paths[1] == {"main", "main;two"}
    assert paths[2] == {"main", "main;one"}
    assert "never" not in folded(recording.path)


FOUND_LATE = r"""
    .globl _start
_start:
    xor %ebx, %ebx
    jmp middle              # first as a part of what runs
once:
    call middle             # then as a function of its own
    mov $39, %eax           # getpid: a system call, after which translations may go
    syscall
    call middle
    mov $60, %eax
    xor %edi, %edi
    syscall
middle:
    inc %ebx
    cmp $1, %ebx
    je once
    ret
"""


def test_a_function_found_after_its_code_ran(record, tmp_path):
    """Without symbols a function is known once it is called, be it translated already."""
    source, program = tmp_path / "late.S", tmp_path / "late"
    source.write_text(FOUND_LATE)
    subprocess.run(["gcc", "-nostdlib", "-static", "-s", source, "-o", program], check=True)
    recording = record(program)
    assert recording.done.returncode == 0
    counts = sorted(int(line.rsplit(" ", 1)[1]) for line in folded(recording.path).splitlines())
    assert counts == [8, 12]


# ---- the same again ----

def test_two_runs_are_the_same(record):
    one, two = (record("/bin/ls", "/usr").path for _ in range(2))
    assert_same_profile(one, two)


def test_two_runs_of_processes_are_the_same(record, acts):
    one, two = (record(acts, "fork", "5", options=["--repeatable"]).path for _ in range(2))
    assert_same_profile(one, two)


@pytest.mark.parametrize("words", [["/bin/ls", "/usr"],
                                   ["/usr/bin/perl", "-e", "print join ' ', keys %ENV"],
                                   ["/usr/bin/python3", "-S", "-c", "print(len(set('abc')))"]])
def test_repeatable_is_the_same_in_another_environment(record, tmp_path, words):
    elsewhere = tmp_path / "else" / "where"
    elsewhere.mkdir(parents=True)
    one = record(*words, options=["--repeatable"])
    two = record(*words, options=["--repeatable"], cwd=elsewhere,
                 env={"ADDED": "x" * 777, **os.environ, "TMPDIR": str(elsewhere), "LANG": "C",
                      "PWD": str(elsewhere)})
    assert one.done.stdout == two.done.stdout
    assert_same_profile(one.path, two.path)


# ---- limits ----

def test_max_contexts(record, tmp_path):
    program = compiled(tmp_path, "deep", r"""
        static volatile int sink;
        __attribute__((noinline)) int down(int n) { int r = n ? down(n - 1) : 0; sink++; return r; }
        int main(void) { return down(20000); }
        """, "-static")
    whole = record(program, options=["--detail=function"]).info
    assert whole["contexts"] > 20000 and whole["folded_contexts"] == 0
    folding = record(program, options=["--detail=function", "--max-contexts=5000"])
    info = folding.info
    assert info["folded_contexts"] > 0 and info["contexts"] < 6000
    assert info["total_instructions"] == whole["total_instructions"]
    assert "folded" in run("info", folding.path).stdout


def test_the_live_line(tmp_path, engine):
    """On a terminal: instructions, rate, contexts and memory; gone when the run is over. The
    program makes a system call now and then: the native engine tells when it has control."""
    turns = 4000 if engine == "native" else 400 # seconds of work for either
    words = ["perl", "-e", f"for (1..{turns}) {{ $s += $_ for 1..12000; syswrite STDOUT, '' }}"]
    leader, follower = pty.openpty()
    started = subprocess.Popen([TRUEFLAME, "record", f"--engine={engine}", "-o",
                                tmp_path / "x.flame", "--", *words],
                               stderr=follower)
    os.close(follower)
    seen = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(leader)
    assert started.wait() == 0
    lines = re.findall(rb"\r\x1b\[Ktrueflame: ([\d,]+) instructions, (\d+) million a second, "
                       rb"([\d,]+) contexts, (\d+) MB", seen)
    assert lines, seen
    counts = [int(line[0].replace(b",", b"")) for line in lines]
    assert counts == sorted(counts) and counts[-1] > 0
    assert all(int(line[3]) > 0 for line in lines)
    assert seen.endswith(b"\r\x1b[Ktrueflame: wrote " + os.fsencode(tmp_path / "x.flame") + b"\r\n")


def test_no_live_line_without_a_terminal(record, acts):
    assert record(acts, "work", "50000000").done.stderr.count(b"\n") == 1
