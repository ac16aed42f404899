#!/usr/bin/python3
"""What the native engine costs: ratios of user and system time to running alone.

    bench/native.py [--rounds=N] [--scale=X] [--only=NAME,...] [--callgrind]

The programs are those of bench/run.py: about a second alone. `engine` is the run
itself, at function detail and with Python frames watched; `record` is all that `trueflame record`
does, names included; `line` is the engine at line detail. Measured in turn, round after round; of
the rounds the least counts. Then two threads, each with the work of one: by the clock, which says
nothing on a busy machine; and by the processor's time that a unit of work takes, which two threads
that never wait for one another have on a processor each. Then how long small programs take.
"""
import argparse
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import run

ENGINE = run.BUILD / "src" / "engines" / "native" / "trueflame-native"
CALLGRIND = ["valgrind", "-q", "--vgdb=no", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0",
               "LC_ALL": "C.UTF-8"}
ALONE = "alone"

THREADS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static unsigned leaf(unsigned x) { return x * 2654435761u ^ (x >> 7); }
__attribute__((noinline)) static unsigned fib(unsigned n)
{
    return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2);
}
static void *work(void *count)
{
    unsigned sum = 0;
    for (long i = 0; i < (long)count; i++)
        sum += i % 1024 ? leaf(i + sum) : fib(12 + i % 5);
    return (void *)(unsigned long)sum;
}
int main(int argc, char **argv)
{
    pthread_t threads[16];
    int count = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], 0, work, (void *)100000000L);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], 0);
    return 0;
}
"""


def ways(place, callgrind):
    record = [run.TRUEFLAME, "record", "--quiet", "--engine=native", "--detail=function", "-o",
              place / "a.flame", "--"]
    engine = [ENGINE, "--python=yes"]
    made = {
        ALONE: lambda command: ["setarch", "-R", *command],
        "engine": lambda command: [*engine, "--", command[0], *command],
        "record": lambda command: [*record, *command],
        "line": lambda command: [*engine, "--detail=line", "--", command[0], *command],
    }
    if callgrind:
        made["callgrind"] = lambda command: [*CALLGRIND, *command]
    return made


def usage(command, stdin):
    with open(stdin or os.devnull, "rb") as source:
        process = subprocess.Popen([str(word) for word in command], stdin=source,
                                   stdout=subprocess.DEVNULL, env=ENVIRONMENT)
        _, status, taken = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"{command}: status {status}")
    return taken


def used(command, stdin):
    """User and system seconds."""
    taken = usage(command, stdin)
    return taken.ru_utime + taken.ru_stime


def found(command):
    path = subprocess.run(["sh", "-c", 'command -v "$1"', "sh", str(command[0])],
                          capture_output=True, text=True, env=ENVIRONMENT, check=False).stdout
    return [path.strip(), *command[1:]] if path else None


def measure(made, command, stdin, rounds):
    seconds = dict.fromkeys(made, math.inf)
    for _ in range(rounds):
        for way, words in made.items():
            seconds[way] = min(seconds[way], used(words(command), stdin))
    return seconds


def table(made, only, place, rounds, scale):
    print(f"{'':10}{ALONE:>9}" + "".join(f"{way:>11}" for way in made if way != ALONE))
    ratios = {way: [] for way in made if way != ALONE}
    for name in only:
        command, stdin = run.PROGRAMS[name](place, scale)
        command = found(command)
        if not command:
            print(f"{name:10}not installed")
            continue
        seconds = measure(made, command, stdin, rounds)
        for way, values in ratios.items():
            values.append(seconds[way] / seconds[ALONE])
        print(f"{name:10}{seconds[ALONE]:7.2f} s" +
              "".join(f"{values[-1]:9.2f} x" for values in ratios.values()), flush=True)
    print(f"{'geomean':19}" + "".join(f"{run.geometric_mean(r):9.2f} x" for r in ratios.values()))
    if "callgrind" in ratios:
        faster = [c / r for c, r in zip(ratios["callgrind"], ratios["record"])]
        print(f"record is {run.geometric_mean(faster):.1f} x faster than callgrind")


def least(command, rounds):
    """Seconds by the clock, of the processor's time, and how often a thread waited."""
    clock, processor, waits = math.inf, math.inf, math.inf
    for _ in range(rounds):
        start = time.monotonic()
        taken = usage(command, None)
        clock = min(clock, time.monotonic() - start)
        processor = min(processor, taken.ru_utime + taken.ru_stime)
        waits = min(waits, taken.ru_nvcsw)
    return clock, processor, waits


def threads(place, rounds):
    (place / "threads.c").write_text(THREADS)
    subprocess.run(["gcc", "-O1", "-o", place / "threads", place / "threads.c"], check=True)
    program = place / "threads"
    for name, start in ((ALONE, [program]), ("engine", [ENGINE, "--", program, "threads"]),
                        ("line", [ENGINE, "--detail=line", "--", program, "threads"])):
        one, two = (least([*start, n], rounds) for n in "12")
        print(f"{name}: two threads do {2 * one[0] / two[0]:.2f} x the work of one by the clock, "
              f"{4 * one[1] / two[1]:.2f} x on a processor each; they waited {two[2]} times",
              flush=True)


def start_up(rounds):
    for command in (["/bin/true"], ["/usr/bin/python3", "-c", "pass"]):
        words = [ENGINE, "--python=yes", "--", command[0], *command]
        seconds = min(used(words, None) for _ in range(4 * rounds))
        print(f"{' '.join(command)}: {1000 * seconds:.0f} ms, of the processor's time")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--only", default=",".join(run.PROGRAMS))
    parser.add_argument("--callgrind", action="store_true", help="beside callgrind, which is slow")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        table(ways(place, options.callgrind), options.only.split(","), place, options.rounds,
              options.scale)
        threads(place, options.rounds)
        start_up(options.rounds)


if __name__ == "__main__":
    main()
