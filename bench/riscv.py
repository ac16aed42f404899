#!/usr/bin/python3
"""How fast RISC-V guests run: without a profile, with one, and under qemu-riscv64.

    bench/riscv.py [ROUNDS]

Everything in one run, in turn, so that a busy machine is busy for all alike; the least user time
of the rounds counts. `record` includes its start, names and the writing of the profile.
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILER, QEMU = "riscv64-linux-gnu-gcc", "qemu-riscv64"
TRUEFLAME = ROOT / "build" / "trueflame"
MACHINE = ROOT / "build" / "tests" / "riscv" / "riscv-run"
# name: (source, flags, arguments)
GUESTS = {"loop": ("loop.c", ["-O2"], ["4000"]), "fib": ("fib.c", ["-O1"], ["35"])}


def user_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([str(word) for word in command], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def instructions(program, arguments, place):
    count = place / "count"
    subprocess.run([MACHINE, program, *arguments], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "RISCV_RUN_COUNT": str(count)})
    return int(count.read_text())


def measure(name, place, rounds):
    source, flags, arguments = GUESTS[name]
    program = place / name
    subprocess.run([COMPILER, "-static", *flags, "-o", program,
                    ROOT / "bench" / "riscv" / source], check=True)
    ways = {
        "qemu-riscv64": [QEMU, program, *arguments],
        "no profile": [MACHINE, program, *arguments],
        "function detail": [TRUEFLAME, "record", "--quiet", "--detail=function", "-o",
                            place / "out.flame", program, *arguments],
        "line detail": [TRUEFLAME, "record", "--quiet", "-o", place / "out.flame", program,
                        *arguments],
    }
    least = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for way, command in ways.items():
            least[way] = min(least[way], user_seconds(command))
    return instructions(program, arguments, place), least


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as directory:
        for name in GUESTS:
            count, least = measure(name, pathlib.Path(directory), rounds)
            print(f"{name}: {count:,} instructions")
            for way, seconds in least.items():
                print(f"  {way:16} {seconds:7.3f} s  {count / seconds / 1e6:6.0f} MIPS"
                      f"  {least['qemu-riscv64'] / seconds:5.2f} x qemu"
                      f"  {seconds / least['no profile'] - 1:+6.1%} over no profile")


if __name__ == "__main__":
    main()
