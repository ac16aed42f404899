#!/usr/bin/env python3
"""Ratios of the native engine to running alone: user and system time, best of interleaved rounds.

bench/native.py [ROUNDS [NAME...]]
"""

import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENGINE = ROOT / "build" / "src" / "engines" / "native" / "trueflame-native"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0"}

CALLS = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static unsigned leaf(unsigned x) { return x * 2654435761u ^ (x >> 7); }
__attribute__((noinline)) static unsigned middle(unsigned x) { return leaf(x) + leaf(x + 1); }
__attribute__((noinline)) static unsigned recurse(unsigned n)
{
    return n < 2 ? leaf(n) : recurse(n - 1) + recurse(n - 2) + middle(n);
}
static int compare(const void *a, const void *b)
{
    unsigned x = *(unsigned *)a, y = *(unsigned *)b;
    return x < y ? -1 : x > y;
}
int main(void)
{
    unsigned sum = 0, *values = malloc(4 << 21);
    for (int i = 0; i < 24; i++)
        sum += recurse(27 + i % 2);
    for (int i = 0; i < 1 << 21; i++)
        values[i] = leaf(i + sum);
    qsort(values, 1 << 21, 4, compare);
    printf("%u %u\n", sum, values[777]);
    return 0;
}
"""

PYTHON = """
import json
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(27))
for i in range(2000):
    json.loads(json.dumps([{"a": i, "b": [1, 2, 3]}] * 50))
"""

SQLITE = """create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 1000000)
    insert into t select x, x * 7 % 1000 from c;
select sum(a * b) from t; select count(*) from (select b, sum(a) from t group by b order by 2);
create index i on t(b); select count(*) from t where b = 5;"""

PERL = """my %h; for my $i (1 .. 4000000) { $h{$i % 1000} += $i; $s .= chr(65 + $i % 26) if $i % 7 == 0 }
print length $s"""


def programs(folder):
    source, calls, data = folder / "calls.c", folder / "calls", folder / "data"
    source.write_text(CALLS)
    subprocess.run(["gcc", "-O2", "-o", calls, source], check=True)
    with open(data, "wb") as out:
        while out.tell() < 24 << 20:
            out.write(pathlib.Path(shutil.which("python3") or sys.executable).resolve().read_bytes())
    return {
        "calls": [calls],
        "bzip2": ["bzip2", "-c", data],
        "sqlite3": ["sqlite3", ":memory:", SQLITE],
        "perl": ["perl", "-e", PERL],
        "python3": ["/usr/bin/python3", "-c", PYTHON],
    }


def seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, check=True,
                   stdin=subprocess.DEVNULL, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as folder:
        every = programs(pathlib.Path(folder))
        product, count = 1.0, 0
        for name in sys.argv[2:] or every:
            command = every[name]
            path = shutil.which(command[0], path="/usr/bin:/bin")
            if not path:
                print(f"{name:10} not installed")
                continue
            ways = {
                "alone": ["setarch", "-R", path, *command[1:]],
                "function": [ENGINE, "--", path, path, *command[1:]],
                "line": [ENGINE, "--detail=line", "--", path, path, *command[1:]],
            }
            best = {way: min(values) for way, values in zip(ways, zip(*(
                [seconds(words) for words in ways.values()] for _ in range(rounds))))}
            ratio = best["function"] / best["alone"]
            product, count = product * ratio, count + 1
            print(f"{name:10} alone {best['alone']:6.2f} s   function detail {ratio:5.2f} x   "
                  f"line detail {best['line'] / best['alone']:5.2f} x", flush=True)
        if count:
            print(f"geometric mean, function detail: {product ** (1 / count):.2f} x")


if __name__ == "__main__":
    os.chdir("/")
    main()
