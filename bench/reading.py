#!/usr/bin/env python3
"""How fast profiles are read, exported and compared: a generated profile of a million contexts.

Prints a table with the figures to reach and exits with 1 when one is missed. Times are user+sys of
the command, so that a busy machine does not change the verdict; the best of three counts.
"""
import os
import random
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TRUEFLAME = os.path.join(os.environ.get("TRUEFLAME_BUILD", os.path.join(ROOT, "build")),
                         "trueflame")
CONTEXTS = 1_000_000


def write_stacks(path, contexts, seed):
    """Folded stacks of a program-like tree: up to 25 deep, 4,000 functions."""
    chance = random.Random(seed)
    stack, made = [], 0
    with open(path, "w") as file:
        while made < contexts:
            if len(stack) > 24 or chance.random() < 0.3:
                stack = stack[:chance.randint(0, len(stack))]
            more = chance.randint(1, 3)
            stack = stack + [f"function_{chance.randint(0, 4000)}" for _ in range(more)]
            made += more
            file.write(";".join(stack) + f" {chance.randint(1, 1000)}\n")


def measure(*command):
    """(seconds, megabytes) of the best of three runs."""
    best = None
    for _ in range(3):
        process = subprocess.Popen([TRUEFLAME, *command], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, command
        seconds = usage.ru_utime + usage.ru_stime
        if best is None or seconds < best[0]:
            best = (seconds, usage.ru_maxrss / 1024)
    return best


def main():
    folder = tempfile.TemporaryDirectory()
    base, new = (os.path.join(folder.name, name) for name in ("base.flame", "new.flame"))
    for path, seed in ((base, 1), (new, 2)):
        stacks = path + ".folded"
        write_stacks(stacks, CONTEXTS, seed)
        subprocess.run([TRUEFLAME, "import", "-f", "folded", stacks, "-o", path], check=True)
        os.unlink(stacks)

    missed = 0
    print(f"{'a profile of 1 million contexts':34} {'seconds':>8} {'MB':>6}  to reach")
    rows = [
        ("info", ("info", base), None),
        ("report", ("report", base), None),
        ("export folded", ("export", base, "-f", "folded"), 1.0),
        ("export pprof", ("export", base, "-f", "pprof", "-o", "/dev/null"), None),
        ("export speedscope", ("export", base, "-f", "speedscope"), None),
        ("export json", ("export", base, "-f", "json"), None),
        ("diff with itself", ("diff", base, base), 5.0),
        ("diff with another", ("diff", base, new), 5.0),
    ]
    for name, command, limit in rows:
        seconds, megabytes = measure(*command)
        verdict = ""
        if limit is not None:
            good = seconds <= limit
            missed += not good
            verdict = f"{limit:g} s: {'reached' if good else 'MISSED'}"
        print(f"{name:34} {seconds:8.2f} {megabytes:6.0f}  {verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
