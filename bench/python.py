#!/usr/bin/python3
"""What watching Python frames costs: scripts recorded with the watch and without, by both engines at
both details, beside callgrind.

    bench/python.py [--rounds=N] [--scale=X] [--only=NAME,...]

    library      json, re, decimal and sqlite3: C, called from a little Python
    objects      classes, methods, properties, operators
    generators   pipelines of generators, coroutines, comprehensions
    arithmetic   loops, and hardly a call
    extreme      json's own encoder in Python, a dozen generators deep, and recursion: little but
                 calls, one every four hundred instructions

A script takes a fifth to a third of a second alone, of which starting Python is a twentieth; recorded,
starting and the contexts that it makes are a third to a half. With --scale=10 nearly all of it is what
the script does.
Measured in turn, round after round; of the rounds the least user+sys time counts. What takes a second or
two, and so comes out the more by chance, runs four times in a round, callgrind in the first round only.
A mean is that of ratios, the geometric one. The aims are a watch for at most 15 % more than --python=off,
and a recording that is at least 3 times faster than callgrind. Ends with status 1 if the watch changes
the number of instructions, as recordings of a short run with --repeatable have it: else a clock, for one,
takes a few more now and then.
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
ENVIRONMENT = {**os.environ, "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
# name -> file, and how often it does its work
SCRIPTS = {"library": ("library.py", 20), "objects": ("objects.py", 7),
           "generators": ("generators.py", 40), "arithmetic": ("arithmetic.py", 18),
           "extreme": ("work.py", 25)}
ALONE = "alone"
OFTEN = 4  # how often a round has what is short


def ways(place):
    made = {ALONE: [], "callgrind": CALLGRIND}
    for engine, detail in RECORDINGS:
        for watch in ("off", "auto"):
            made[engine, detail, watch] = [
                TRUEFLAME, "record", "--quiet", f"--engine={engine}", f"--detail={detail}",
                f"--python={watch}", "-o", place / f"{engine} {detail} {watch}.flame", "--"]
    return made


def seconds(command):
    process = subprocess.Popen(["setarch", "-R", *map(str, command)], env=ENVIRONMENT,
                               stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"{command}: status {status}")
    return used.ru_utime + used.ru_stime


def total(prefix, command, flame):
    seconds([*prefix[:-1], "--repeatable", "--", *command])
    said = subprocess.run([TRUEFLAME, "info", "--json", flame], capture_output=True, check=True)
    return json.loads(said.stdout)["total_instructions"]


def changed(script, place):
    """The recordings whose number of instructions the watch changes. What Python finds in the folders
    that it looks for modules in may change between two recordings, but not every time."""
    made, command = ways(place), ["/usr/bin/python3", script, 1]
    found = []
    for engine, detail in RECORDINGS:
        pairs = ({total(made[engine, detail, watch], command, place / f"{engine} {detail} {watch}.flame")
                  for watch in ("off", "auto")} for _ in range(3))
        if not any(len(pair) == 1 for pair in pairs):
            found.append(f"{engine} {detail}")
    return found


def is_due(way, turn):
    if way == "callgrind":
        return turn == 0
    return turn % OFTEN == 0 or "valgrind" not in way


def measure(command, rounds, place):
    """The least time by way."""
    made = ways(place)
    least = dict.fromkeys(made, math.inf)
    for turn in range(rounds * OFTEN):
        for way, prefix in made.items():
            if is_due(way, turn):
                least[way] = min(least[way], seconds([*prefix, *command]))
    return least


def show(name, recording, watched, faster, rest=""):
    print(f"  {name:10} {recording:17} {100 * (watched - 1):+6.1f} %  {faster:5.1f} x  {rest}".rstrip(),
          flush=True)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--only", default=",".join(SCRIPTS))
    arguments = parser.parse_args()
    ratios = {recording: ([], []) for recording in RECORDINGS}
    failed = False
    print("Python frames: what the watch adds (aim: at most +15 %), and how much faster than callgrind "
          "the\nrecording is (aim: 3 x); user+sys seconds, rounds:", arguments.rounds)
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only.split(","):
            file, turns = SCRIPTS[name]
            place, script = pathlib.Path(folder), HERE / "programs" / file
            least = measure(["/usr/bin/python3", script, max(1, round(turns * arguments.scale))],
                            arguments.rounds, place)
            for engine, detail in RECORDINGS:
                off, watched = least[engine, detail, "off"], least[engine, detail, "auto"]
                faster = least["callgrind"] / watched
                ratios[engine, detail][0].append(watched / off)
                ratios[engine, detail][1].append(faster)
                show(name, f"{engine} {detail}", watched / off, faster,
                     f"alone {least[ALONE]:.2f}  without {off:.2f}  watched {watched:.2f}  "
                     f"callgrind {least['callgrind']:.2f}")
            for recording in changed(script, place):
                failed = True
                print(f"  {name}, {recording}: the watch changes the number of instructions")
    for (engine, detail), (watched, faster) in ratios.items():
        show("mean", f"{engine} {detail}", mean(watched), mean(faster))
    sys.exit(failed)


main()
