#!/usr/bin/python3
"""What exactness costs: programs natively, under Valgrind with no tool and with callgrind, and
under trueflame's engines at both details.

    bench/run.py [--rounds=N] [--scale=X] [--only=NAME,...] [--all]

A native run takes about a second at --scale=1. Everything is measured in turn, round after round,
so that a busy machine is busy for all alike; of the rounds the least user+sys time counts.
trueflame's includes its start, names and the writing of the profile. Memory is the peak of the
largest process. Ends with status 1 if a profile is not right: unmatched returns, another output, or
totals that the recordings of a shorter run do not agree on, engine for engine and detail for detail:
those are made with --repeatable, since a clock that is read in the program's own memory, for one,
takes a few instructions more now and then. --all runs the other benchmarks of this folder too.
"""
import argparse
import functools
import json
import math
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = pathlib.Path(os.environ.get("TRUEFLAME_BUILD", ROOT / "build"))
TRUEFLAME = BUILD / "trueflame"
PLACE = BUILD / "bench"
OTHERS = ("reading.py", "symbols.py", "viewer.py", "riscv.py", "native.py", "python.py")
NATIVE, NONE, CALLGRIND = "native", "none", "callgrind"


# ---- the programs: name -> (command, file for its standard input) ----

def scaled(number, scale):
    return max(1, round(number * scale))


def calls(place, scale):
    program = place / "calls"
    subprocess.run(["gcc", "-O1", "-g", "-o", program, HERE / "programs" / "calls.c"], check=True)
    return [program, scaled(45, scale)], None


def bzip2(place, scale):
    text, state, words = place / "text", 1, []
    for _ in range(scaled(3300000, scale)):
        state = (state * 1664525 + 1013904223) % 2**32
        words.append(f"{(state >> 8) % 20000:x}")
    text.write_text(" ".join(words))
    return ["bzip2", "-9", "-c"], text


def sqlite(place, scale):
    script = place / "work.sql"
    script.write_text(f"""
        create table t (id integer primary key, a integer, b text);
        with recursive n(i) as (select 1 union all select i + 1 from n where i < {scaled(600000, scale)})
            insert into t select i, (i * 7919) % 10007, 'row ' || i from n;
        create index by_a on t (a);
        select count(*), sum(length(b)) from t where a between 100 and 5000;
        select a % 97, count(*), max(b) from t group by 1 order by 2 desc, 1 limit 5;
        select count(*) from t x join t y on x.a = y.id where x.b like '%9%';
        update t set b = b || '!' where a % 3 = 0;
        select sum(length(b)) from t;
        """)
    return ["sqlite3", "-batch", ":memory:"], script


def compiler(place, scale):
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True).stdout
    source, lines = place / "large.c", ["struct pair { long a, b; };"]
    for i in range(scaled(550, scale)):
        lines += [f"static long f{i}(struct pair *p, int n)", "{", "    long sum = 0;",
                  f"    for (int i = 0; i < n; i++) {{ sum += p[i].a * {i} ^ p[i].b; p[i].b = sum; }}",
                  f"    switch (n % 4) {{ case 0: sum += {i}; break; case 1: sum -= p->a; break; }}",
                  f"    return n > 9 ? sum : {f'f{i - 1}(p, n + 1)' if i else 'sum'};", "}"]
    lines.append(f"long last(struct pair *p, int n) {{ return f{scaled(550, scale) - 1}(p, n); }}")
    source.write_text("\n".join(lines) + "\n")
    (place / "large.s").touch()  # one that is there already takes six instructions more
    return [cc1.strip(), "-quiet", "-O1", source, "-o", place / "large.s"], None


def perl(_place, scale):
    return ["perl", HERE / "programs" / "work.pl", scaled(145, scale)], None


def python(_place, scale):
    return ["/usr/bin/python3", HERE / "programs" / "work.py", scaled(135, scale)], None


PROGRAMS = {"calls": calls, "bzip2": bzip2, "sqlite3": sqlite, "cc1": compiler, "perl": perl,
            "python3": python}


# ---- the ways to run one ----

def recordings(profiles, *options):
    return {f"{engine} {detail}": [
        TRUEFLAME, "record", "--quiet", f"--engine={engine}", f"--detail={detail}", *options, "-o",
        profiles / f"{engine}-{detail}.flame", "--"]
        for engine in ("valgrind", "native") for detail in ("function", "line")}


def ways(profiles):
    valgrind = ["valgrind", "-q", "--vgdb=no"]
    return {
        NATIVE: [],
        NONE: [*valgrind, "--tool=none", "--vex-guest-chase=no"],
        CALLGRIND: [*valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null"],
        **recordings(profiles),
    }


class Cost:
    def __init__(self, seconds=math.inf, megabytes=0.0, refused=None):
        self.seconds, self.megabytes, self.refused = seconds, megabytes, refused


ENVIRONMENT = {**os.environ, "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "LC_ALL": "C.UTF-8"}


@functools.cache
def launcher():
    program = PLACE / "launch"
    subprocess.run(["gcc", "-O1", "-o", program, HERE / "launch.c"], check=True)
    return program


def run(command, stdin, output):
    used = f"{output}.used"
    with open(stdin or os.devnull, "rb") as source, open(output, "wb") as out, \
            open(f"{output}.err", "wb") as errors:
        # Hash tables of pointers cost what their addresses make them cost: the same each time.
        status = subprocess.run([launcher(), used, "setarch", "-R", *map(str, command)],
                                stdin=source, stdout=out, stderr=errors, env=ENVIRONMENT,
                                check=False).returncode
    said = pathlib.Path(f"{output}.err").read_text(errors="replace").strip()
    if status:
        return Cost(refused=said or f"status {status}")
    user, system, kilobytes = map(int, pathlib.Path(used).read_text().split())
    return Cost((user + system) / 1e6, kilobytes / 1024)


def measure(command, stdin, made, place, rounds):
    costs = {way: Cost() for way in made}
    for number in range(rounds):
        for way, prefix in made.items():
            if costs[way].refused:
                continue
            cost = run([*prefix, *command], stdin, place / f"output of {way}")
            if cost.refused:
                costs[way] = cost
                continue
            costs[way].seconds = min(costs[way].seconds, cost.seconds)
            costs[way].megabytes = max(costs[way].megabytes, cost.megabytes)
    return costs


# ---- are the profiles right? ----

def information(flame):
    return json.loads(subprocess.run([TRUEFLAME, "info", "--json", flame], check=True,
                                     capture_output=True).stdout)


def check_totals(name, costs, scale):
    """Of a run that is the same each time, a twentieth as long: what differs that must not."""
    place = PLACE / "short"
    place.mkdir(exist_ok=True)
    command, stdin = PROGRAMS[name](place, scale / 20)
    totals = {}
    for way, prefix in recordings(place, "--repeatable").items():
        if costs[way].refused:
            continue
        cost = run([*prefix, *command], stdin, place / f"output of {way}")
        if cost.refused:
            return [f"{name}: {way}: repeatable: {cost.refused}"]
        totals[way] = information(place / f"{way.replace(' ', '-')}.flame")["total_instructions"]
    if len(set(totals.values())) < 2:
        return []
    return [f"{name}: repeatable recordings differ: "
            + ", ".join(f"{way} {total:,}" for way, total in totals.items())]


def check(name, costs, place):
    """Sentences on what is wrong."""
    wrong, plain = [], (place / f"output of {NATIVE}").read_bytes()
    totals = {}
    for way, cost in costs.items():
        if cost.refused and way in (NATIVE, "valgrind function", "valgrind line"):
            wrong.append(f"{name}: {way}: {cost.refused}")
        if cost.refused or way in (NATIVE, NONE, CALLGRIND):
            continue
        if (place / f"output of {way}").read_bytes() != plain:
            wrong.append(f"{name}: {way}: the program printed something else")
        info = information(place / f"{way.replace(' ', '-')}.flame")
        totals[way] = info["total_instructions"]
        if info["repairs"]["unmatched-return"]:
            wrong.append(f"{name}: {way}: {info['repairs']['unmatched-return']} unmatched returns")
    return wrong, totals


# ---- the table ----

def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def table(results, base, title, cell):
    names = list(next(iter(results.values())))
    print(f"\n{title}\n{'':10}" + "".join(f"{way:>20}" for way in names))
    ratios = {way: [] for way in names}
    for program, costs in results.items():
        row = f"{program:10}"
        for way in names:
            if costs[way].refused:
                row += f"{'-':>20}"
                continue
            text, value = cell(costs[way])
            ratio = value / cell(costs[base])[1]
            ratios[way].append(ratio)
            row += f"{f'{text} ({ratio:.2f} x)':>20}"
        print(row)
    print(f"{'geomean':10}" + "".join(f"{f'{geometric_mean(r):.2f} x' if r else '-':>20}"
                                      for r in ratios.values()))


def against(results, base, title, faster=False):
    """Geometric mean and worst of the ratios to another way than native."""
    for way in next(iter(results.values())):
        pairs = [(c[way].seconds, c[base].seconds) for c in results.values()
                 if not c[way].refused and not c[base].refused]
        if " " in way and pairs:
            ratios = [b / a if faster else a / b for a, b in pairs]
            worst = min(ratios) if faster else max(ratios)
            print(f"  {way:18} {geometric_mean(ratios):6.2f} x, at worst {worst:.2f} x  {title}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--all", action="store_true", help="the other benchmarks too")
    options = parser.parse_args()
    PLACE.mkdir(parents=True, exist_ok=True)
    results, wrong, made = {}, [], ways(PLACE)
    for name in options.only.split(","):
        command, stdin = PROGRAMS[name](PLACE, options.scale)
        print(f"{name}: {' '.join(map(str, command))}", flush=True)
        results[name] = measure(command, stdin, made, PLACE, options.rounds)
        said, totals = check(name, results[name], PLACE)
        wrong += said + check_totals(name, results[name], options.scale)
        for way, total in totals.items():
            print(f"  {way:18} {total:>16,} instructions")
        for way, cost in results[name].items():
            if cost.refused:
                print(f"  {way:18} not run: {cost.refused.splitlines()[-1]}")
    table(results, NATIVE, "user+sys seconds (ratio to native)",
          lambda cost: (f"{cost.seconds:.2f}", max(cost.seconds, 0.001)))
    table(results, NATIVE, "peak memory in MB (ratio to native)",
          lambda cost: (f"{cost.megabytes:.0f}", cost.megabytes))
    print("\ntrueflame's engines")
    against(results, NONE, "as slow as valgrind --tool=none")
    against(results, CALLGRIND, "faster than callgrind", faster=True)
    for sentence in wrong:
        print(f"WRONG {sentence}")
    if not wrong:
        print("no unmatched returns; both engines count the same, at both details")
    for other in OTHERS if options.all else ():
        if (HERE / other).exists():
            print(f"\n==== bench/{other}", flush=True)
            subprocess.run([HERE / other], check=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
