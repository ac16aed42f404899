#!/usr/bin/env python3
"""Symbolising a module with 30 MB of debug info: under 2 s and under 300 MB.

The module is compiled here once (some minutes) and kept in build/bench. Two questions are timed:
the profile of a run of it, and, as the worst case, every instruction of its text at once. Time is
processor time, so that other programs on the machine do not count; the limits are for the
profile. Prints one line each; exit status 1 when a limit is passed.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("TRUEFLAME_BUILD", os.path.join(ROOT, "build"))
HERE = os.path.join(BUILD, "bench", "symbols")
UNITS = 8
MOST_SECONDS = 2.0
MOST_MEGABYTES = 300
LEAST_DEBUG_INFO = 30_000_000


def compile_units():
    """The program, compiled unless it is there already."""
    program = os.path.join(HERE, "program")
    if os.path.exists(program):
        return program
    os.makedirs(HERE, exist_ok=True)
    source = os.path.join(ROOT, "bench", "symbols_unit.cpp")
    names = range(1, UNITS + 1)
    print(f"compiling {UNITS} units, once", file=sys.stderr)
    for name in names:
        subprocess.run(["g++", "-std=c++17", "-O2", "-g", "-c", f"-DUNIT={name}", source, "-o",
                        os.path.join(HERE, f"{name}.o")], check=True)
    main = "".join(f"long unit_{name}(int);\n" for name in names)
    main += "int main(int n, char **) { return (" + "+".join(f"unit_{i}(n)" for i in names) + ") & 1; }\n"
    subprocess.run(["g++", "-O2", "-g", "-x", "c++", "-", "-x", "none",
                    *(os.path.join(HERE, f"{name}.o") for name in names), "-o", program],
                   input=main, text=True, check=True)
    return program


def debug_info_bytes(program):
    listing = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True).stdout
    return int(re.search(r" \.debug_info +PROGBITS +\w+ +\w+ +(\w+)", listing).group(1), 16)


def measure(command, input_path=os.devnull):
    """(processor seconds, megabytes) of a command that must succeed."""
    with open(input_path, "rb") as stream:
        child = subprocess.Popen(command, stdin=stream, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, command
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    program = compile_units()
    size = debug_info_bytes(program)
    assert size >= LEAST_DEBUG_INFO, size
    raw, named = os.path.join(HERE, "raw.flame"), os.path.join(HERE, "named.flame")
    trueflame = os.path.join(BUILD, "trueflame")
    subprocess.run([trueflame, "record", "--raw", "--quiet", "-o", raw, program],
                   stdout=subprocess.DEVNULL)
    seconds, megabytes = measure([trueflame, "symbolize", raw, "-o", named])
    print(f"symbolize, {size / 1e6:.1f} MB of debug info: {seconds:.2f} s, {megabytes:.0f} MB "
          f"(limits {MOST_SECONDS} s, {MOST_MEGABYTES} MB)")
    failed = seconds > MOST_SECONDS or megabytes > MOST_MEGABYTES

    listing = subprocess.run(["objdump", "-d", "-j", ".text", "--no-show-raw-insn", program],
                             capture_output=True, text=True).stdout
    addresses = re.findall(r"^ +([0-9a-f]+):\t", listing, re.M)
    every = os.path.join(HERE, "addresses")
    with open(every, "w") as file:
        file.write("\n".join(addresses) + "\n")
    dump = os.path.join(BUILD, "tests", "symbols", "symbol-dump")
    seconds, megabytes = measure([dump, program], every)
    print(f"all {len(addresses):,} instructions of it, printed: {seconds:.2f} s, "
          f"{megabytes:.0f} MB, {seconds / len(addresses) * 1e6:.2f} µs each")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
