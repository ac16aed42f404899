#!/usr/bin/python3
"""What watching Python frames costs: a script that does little but call Python functions, recorded
with the watch and without, by both engines at both details, beside callgrind.

    bench/python.py [--rounds=N] [--turns=N]

By default, starting and new contexts are half of what is measured; with ten times as many turns, nearly
all of it is calls, one every four hundred instructions, and the share of the watch is larger.
Measured in turn, round after round; of the rounds the least user+sys time counts. The aims are a
watch for at most 15 % more than --python=off, and a recording that is at least 3 times faster than
callgrind. Ends with status 1 if the watch changes the number of instructions.
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


def ways(place):
    made = {"callgrind": CALLGRIND}
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


def total(flame):
    said = subprocess.run([TRUEFLAME, "info", "--json", flame], capture_output=True, check=True)
    return json.loads(said.stdout)["total_instructions"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turns", type=int, default=15)
    arguments = parser.parse_args()
    command = ["/usr/bin/python3", HERE / "programs" / "work.py", arguments.turns]
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        made = ways(place)
        least = dict.fromkeys(made, math.inf)
        totals = {way: set() for way in made}  # Python itself takes a hundred more now and then
        for _ in range(arguments.rounds):
            for way, prefix in made.items():
                least[way] = min(least[way], seconds([*prefix, *command]))
                if way != "callgrind":
                    totals[way].add(total(place / f"{' '.join(way)}.flame"))
        print("Python frames: user+sys seconds, least of", arguments.rounds)
        print(f"  callgrind                 {least['callgrind']:6.2f}")
        for engine, detail in RECORDINGS:
            off, watched = least[engine, detail, "off"], least[engine, detail, "auto"]
            print(f"  {engine:8} {detail:8} without {off:6.2f}  watched {watched:6.2f}  "
                  f"{100 * (watched / off - 1):+6.1f} % (aim: at most +15 %)  "
                  f"{least['callgrind'] / watched:5.1f} x faster than callgrind (aim: 3)")
        wrong = [f"{engine} {detail}" for engine, detail in RECORDINGS
                 if not totals[engine, detail, "off"] & totals[engine, detail, "auto"]]
    for recording in wrong:
        print(f"  {recording}: the watch changes the number of instructions")
    sys.exit(bool(wrong))


main()
