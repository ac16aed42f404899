#!/usr/bin/python3
"""What watching Python frames costs: scripts recorded with the watch and without, by both engines at
both details, beside callgrind.

    bench/python.py [--rounds=N] [--scale=X] [--only=NAME,...] [--python=PATH]

    library      json, re, decimal and sqlite3: C, called from a little Python
    objects      classes, methods, properties, operators
    generators   pipelines of generators, coroutines, comprehensions
    arithmetic   loops, and hardly a call
    extreme      json's own encoder in Python, a dozen generators deep, and recursion: little but
                 calls, one every four hundred instructions
    imports      only starts: modules that import many others; in no mean

A script takes about a second alone, so that what is measured is what watching costs while a program
works. Starting is another matter, and costs more: each of its paths is new, and with lines there are
nearly twice as many to count. `imports` does nothing else, and --scale=0.333 shows how much of it a
shorter script has.

A recording with the watch and one without run at the same time, on one processor, which the kernel gives
to both in turn: so whatever else the machine does meets both alike, and what of user and system time the
one takes more is the watch's. One after the other, on a machine that is shared, both come out up to half
as long again, by chance. callgrind runs so too, once, beside the slowest recording. A mean is that of
ratios, the geometric one.

The aims are a watch for at most 15 % more than --python=off, and a recording that is at least 3 times
faster than callgrind. Ends with status 1 if the watch changes the number of instructions, as recordings
of a short run with --repeatable have it: else a clock, for one, takes a few more now and then.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("TRUEFLAME_BUILD", HERE.parent / "build"))
TRUEFLAME = BUILD / "trueflame"
CALLGRIND = ["valgrind", "-q", "--vgdb=no", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
RECORDINGS = [(engine, detail) for engine in ("native", "valgrind")
              for detail in ("function", "line")]
SLOWEST = RECORDINGS[-1]
WATCHES = ("off", "auto")
ENVIRONMENT = {**os.environ, "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
# name -> file, and how often it does its work
SCRIPTS = {"library": ("library.py", 120), "objects": ("objects.py", 42),
           "generators": ("generators.py", 240), "arithmetic": ("arithmetic.py", 108),
           "extreme": ("work.py", 150), "imports": ("imports.py", 1)}
APART = "imports"


def recording(place, engine, detail, watch):
    return [TRUEFLAME, "record", "--quiet", f"--engine={engine}", f"--detail={detail}",
            f"--python={watch}", "-o", place / f"{engine} {detail} {watch}.flame", "--"]


def on_one_processor():
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def seconds(*commands):
    """What each of them took, run at the same time on one processor."""
    running = [subprocess.Popen(["setarch", "-R", *map(str, command)], env=ENVIRONMENT,
                                stdout=subprocess.DEVNULL, preexec_fn=on_one_processor)
               for command in commands]
    took = {}
    for _ in commands:
        pid, status, used = os.wait4(-1, 0)
        took[pid] = used.ru_utime + used.ru_stime
        if os.waitstatus_to_exitcode(status):
            sys.exit(f"{[process.args for process in running if process.pid == pid]}: status {status}")
    for process in running:
        process.returncode = 0
    return [took[process.pid] for process in running]


def total(prefix, command, flame):
    seconds([*prefix[:-1], "--repeatable", "--", *command])
    said = subprocess.run([TRUEFLAME, "info", "--json", flame], capture_output=True, check=True)
    return json.loads(said.stdout)["total_instructions"]


def changed(command, place):
    """The recordings whose number of instructions the watch changes. What Python finds in the folders
    that it looks for modules in may change between two recordings, but not every time."""
    found = []
    for engine, detail in RECORDINGS:
        pairs = ({total(recording(place, engine, detail, watch), command,
                        place / f"{engine} {detail} {watch}.flame") for watch in WATCHES}
                 for _ in range(3))
        if not any(len(pair) == 1 for pair in pairs):
            found.append(f"{engine} {detail}")
    return found


def measure(command, rounds, place, engine, detail):
    """The seconds without the watch and with it."""
    sums = [0, 0]
    for turn in range(rounds):
        order = WATCHES if turn % 2 == 0 else WATCHES[::-1]
        took = seconds(*([*recording(place, engine, detail, watch), *command] for watch in order))
        for i, watch in enumerate(WATCHES):
            sums[i] += took[order.index(watch)] / rounds
    return sums


def show(name, way, watched, faster, rest=""):
    print(f"  {name:10} {' '.join(way):17} {100 * (watched - 1):+6.1f} %  {faster:5.1f} x  {rest}".rstrip(),
          flush=True)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--only", default=",".join(SCRIPTS))
    parser.add_argument("--python", default="/usr/bin/python3")
    arguments = parser.parse_args()
    ratios = {way: ([], []) for way in RECORDINGS}
    failed = False
    print("Python frames: what the watch adds (aim: at most +15 %), and how much faster than callgrind "
          "the\nrecording is (aim: 3 x); user+sys seconds, rounds:", arguments.rounds)
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        for name in arguments.only.split(","):
            file, turns = SCRIPTS[name]
            script = [arguments.python, HERE / "programs" / file]
            command = [*script, max(1, round(turns * arguments.scale))]
            callgrind, slowest = seconds([*CALLGRIND, *command],
                                         [*recording(place, *SLOWEST, "auto"), *command])
            for way in RECORDINGS:
                off, watched = measure(command, arguments.rounds, place, *way)
                faster = callgrind / (slowest if way == SLOWEST else watched)
                if name != APART:
                    ratios[way][0].append(watched / off)
                    ratios[way][1].append(faster)
                show(name, way, watched / off, faster, f"without {off:.2f}  watched {watched:.2f}")
            for way in changed([*script, 1], place):
                failed = True
                print(f"  {name}, {way}: the watch changes the number of instructions")
    for way, (watched, faster) in ratios.items():
        if watched:
            show("mean", way, mean(watched), mean(faster))
    sys.exit(failed)


main()
