"""Threads, processes and signals from outside. Which of several threads goes first is not qemu's
choice but ours, so totals are compared only where they do not depend on it; ours are the same each
time."""

import json
import re
import signal
import subprocess
import time

import pytest

import riscv_support as support

support.need(support.COMPILER, support.QEMU)

STATIC = ["-static", "-O2", "-g", "-pthread"]


def guest(name):
    return support.compile_guest([support.HERE / "guests" / name], *STATIC)


def information(profile):
    return json.loads(subprocess.run([support.TRUEFLAME, "info", "--json", profile],
                                     capture_output=True, check=True).stdout)


@pytest.mark.parametrize("name", ["threads.c", "waiting.c", "blocking.c"])
def test_threads_do_what_they_do_under_qemu(name):
    program = guest(name)
    theirs = support.run_qemu(program, counting=False)
    for ours in (support.run_machine(program), support.record(program)):
        assert ours.stdout == theirs.stdout
        assert ours.status == theirs.status


@pytest.mark.parametrize("detail", ["function", "line"])
def test_a_run_with_threads_can_be_repeated(detail):
    program = guest("threads.c")
    options = ["--quiet", "--repeatable", f"--detail={detail}"]
    first, second = (support.record(program, options=options).profile for _ in range(2))
    tree = support.folded(first)
    assert tree == support.folded(second)
    told = information(first)
    assert sum(tree.values()) == told["total_instructions"]
    assert [t["instructions"] for t in told["threads"]] == \
        [t["instructions"] for t in information(second)["threads"]]
    assert len(told["threads"]) == 8
    assert told["repairs"]["unmatched-return"] == 0


def test_each_thread_has_a_root_and_true_paths():
    tree = support.folded(support.record(guest("threads.c"), options=["--quiet"]).profile,
                          "--inline=no")
    path = ("__thread_start", "start_thread", "worker", "work")
    assert tree[path] > 0
    assert all(p[:3] == path[:3] for p in tree if "work" in p)
    assert any(p[0] == "_start" and p[-1] == "ecall:futex" for p in tree)


def test_budget_is_exact_with_threads():
    recorded = support.record(guest("threads.c"), options=["--quiet", "--budget=300001"])
    assert information(recorded.profile)["total_instructions"] == 300001


PROCESSES = """fork: hello, status 5, shared 44
again: 3 arguments, WHO=me
exec: 9
abort: -6
from the shell
spawn: 0 4
system: 3
signal: 1 0
alarm
"""


def test_processes_have_their_own_profiles_in_one_file():
    recorded = support.record(guest("processes.c"), options=["--quiet"])
    assert recorded.stdout.decode() == PROCESSES
    assert recorded.status == 6
    told = information(recorded.profile)
    assert [(p["exit_status"], p["started_by"], p["parent"]) for p in told["processes"]] == [
        (6, "first", None), (5, "fork", 0), (0, "fork", 0), (9, "exec", 2), (134, "fork", 0),
        (0, "fork", 0), (0, "fork", 0), (0, "fork", 0)]
    tree = support.folded(recorded.profile, "--inline=no")
    assert sum(tree.values()) == told["total_instructions"]
    main = ("_start", "__libc_start_main", "__libc_start_call_main", "main")
    assert tree[(*main, "child_work")] > 1000
    assert (*main, "child_work") in tree and not any(
        p[-1] == "child_work" and p[:-1] != main for p in tree)


def test_children_that_are_not_wanted_run_unrecorded():
    recorded = support.record(guest("processes.c"), options=["--quiet", "--children=no"])
    assert recorded.stdout.decode() == PROCESSES
    assert len(information(recorded.profile)["processes"]) == 1
    assert not any("child_work" in path for path in support.folded(recorded.profile))


HANDLES = r"""
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int seen;
static void see(int number) { seen = number; }
int main(int count, char **arguments) {
    signal(SIGTERM, count > 1 ? SIG_DFL : see);
    puts("ready");
    fflush(stdout);
    while (!seen)
        %s;
    printf("seen %%d\n", seen);
    return 3;
}
"""


@pytest.mark.parametrize("waits", ["pause()", ""], ids=["sleeping", "busy"])
@pytest.mark.parametrize("handles", [True, False], ids=["handled", "default"])
def test_a_signal_from_outside_is_the_guests(tmp_path, waits, handles):
    program = support.compile_guest([("handles.c", HANDLES % waits)], *STATIC)
    arguments = [] if handles else ["default"]
    run = subprocess.Popen([support.TRUEFLAME, "record", "--quiet", "-o", tmp_path / "h.flame",
                            program, *arguments], stdout=subprocess.PIPE, text=True)
    assert run.stdout.readline() == "ready\n"
    time.sleep(0.1)
    run.send_signal(signal.SIGTERM)
    rest = run.communicate(timeout=support.SECONDS)[0]
    assert rest == ("seen 15\n" if handles else "")
    assert run.returncode == (3 if handles else 128 + signal.SIGTERM)
    assert sum(support.folded(tmp_path / "h.flame").values()) > 1000


CLOCK = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
int main(void) {
    struct timespec a, b;
    unsigned char random[8];
    clock_gettime(CLOCK_MONOTONIC, &a);
    sleep(1000);
    clock_gettime(CLOCK_MONOTONIC, &b);
    getrandom(random, sizeof random, 0);
    printf("%ld %ld %ld.%09ld %d %d\n", (long)time(NULL), (long)(b.tv_sec - a.tv_sec), a.tv_sec,
           a.tv_nsec, random[0], random[7]);
    return 0;
}
"""


def test_time_and_randomness_of_a_repeatable_run_are_its_own():
    program = support.compile_guest([("clock.c", CLOCK)], *STATIC)
    runs = [support.record(program, options=["--quiet", "--repeatable"]) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout
    assert re.match(rb"15778\d+ 1000 ", runs[0].stdout)
    assert support.folded(runs[0].profile) == support.folded(runs[1].profile)


EMBEDDED = r"""
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>
int main(void) {
    struct itimerval soon = {.it_value.tv_usec = 1};
    printf("%d %d %d\n", fork(), execl("/bin/true", "true", NULL), setitimer(0, &soon, NULL));
    return 0;
}
"""


def test_an_embedded_machine_leaves_the_process_alone():
    """A machine that does not own its process (riscv.h) does not fork it or send it signals."""
    program = support.compile_guest([("embedded.c", EMBEDDED)], *STATIC)
    ours = support.run_machine(program, options=["--embedded"])
    assert ours.stdout == b"-1 -1 -1\n"
    assert ours.status == 0


def test_a_program_is_told_of_itself_not_of_trueflame():
    recorded = support.record(guest("itself.c"), "one", "two", options=["--quiet"])
    assert recorded.stdout.decode().splitlines() == [
        "./itself one two", "./itself one two", "itself 0", "0 itself", "0 a name that is ",
        "0 a name that is ", "0 other", "0 a name that is "]
