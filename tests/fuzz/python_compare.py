#!/usr/bin/python3
"""Random Python programs, as CPython says that they ran and as recordings show them.

    python_compare.py [SEED [PROGRAMS]]     FUZZ_SECONDS: no program is begun after that many
    python_compare.py --python=3.11 --engines=native,valgrind --details=line --totals=1 7 1

For each program and Python: it prints and returns what it does alone; calls of its own functions by
path are those that a hook written in C counts; every line that ran has instructions and no other one
has; nothing had to be repaired; counts are those of a recording without Python frames; and both engines
give the same tree. A seed that differs is named with what differs, and its program is kept.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
import python_programs  # noqa: E402
import support  # noqa: E402


class Interpreter:
    def __init__(self, version, path):
        self.version, self.path, self.minor = version, path, support.number(version)
        self.name = support.identity(version, path)

    def includes(self):
        return subprocess.run(
            [self.path, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"],
            capture_output=True, text=True, check=True).stdout.strip()

    def build_hook(self, folder):
        """False: there is nothing to build it with."""
        self.hook = folder / f"hook-{self.name}"
        self.hook.mkdir(exist_ok=True)
        if not os.path.exists(self.includes() + "/Python.h") or not shutil.which("gcc"):
            return False
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-w", "-I" + self.includes(), "-o",
                        self.hook / "python_calls.so", HERE / "python_calls.c"], check=True)
        return True


class Program:
    """One that was run alone, in a folder in which there is nothing else."""

    def __init__(self, interpreter, folder, source):
        self.interpreter, self.folder = interpreter, folder
        self.path = folder / "code" / "program.py"
        self.path.parent.mkdir(parents=True)
        self.path.write_text(source)
        self.alone = self.run([interpreter.path, self.path])

    def run(self, command, **environment):
        return subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=200,
            cwd=self.path.parent,
            env=dict(os.environ, PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1", **environment))

    def said(self, **environment):
        """What the hook wrote, of all processes."""
        output = self.folder / "said"
        done = self.run([self.interpreter.path, HERE / "python_said.py", self.path, output],
                        PYTHONPATH=str(self.interpreter.hook), OWN_FILE=str(self.path),
                        **environment)
        assert done.stdout == self.alone.stdout, "other output under the hook\n" + done.stderr
        for file in self.folder.glob("said.*"):
            yield from map(json.loads, file.read_text().splitlines())
            file.unlink()

    def calls(self):
        """By path: how many there were, and how many of them at least without the hook."""
        calls = {}
        for path, count, doubtful in self.said():
            key = tuple(map(tuple, path))
            most, least = calls.get(key, (0, 0))
            calls[key] = most + count, least + count - doubtful
        return calls

    def lines(self):
        """Those that ran and those that may have instructions, without bytecode that has no line."""
        ran, passed = set(), set()
        for file, line, executed in self.said(OWN_LINES="1"):
            if file == str(self.path) and line > 0:
                (ran if executed else passed).add(line)
        return ran, passed

    def record(self, engine, detail, *options):
        flame = self.folder / f"{engine}-{detail}{''.join(options)}.flame"
        done = self.run([support.TRUEFLAME, "record", f"--engine={engine}", f"--detail={detail}",
                         "--quiet", *options, "-o", flame, "--", self.interpreter.path, self.path])
        assert done.stdout == self.alone.stdout, f"other output\n{done.stdout}{done.stderr[-2000:]}"
        assert done.returncode == self.alone.returncode, f"status {done.returncode}\n{done.stderr}"
        return flame

    def owns(self, frame):
        return frame["file"] in (str(self.path), "<made>")


def recorded_calls(program, flame):
    """Below main, and in threads. The hook has one path less than recordings: the module's."""
    calls = {}
    for path, count in support.calls_by_path(support.export(flame, "--python=only"),
                                             program.owns).items():
        if path[0][0] == "<module>":
            path = path[1:]
        if count and path and path[0][0] in ("main", "on_thread"):
            calls[path] = count
    return calls


def of_program(path):
    return path[0][0] in ("main", "on_thread")


def rootless(calls):
    """Functions that the hook saw with no caller. 3.9 has no ancestors for a generator that it throws
    through, whose frame it makes the current one as it is; recordings have the caller's."""
    return {path[0] for path in calls if not of_program(path)}


def compare_calls(program, flame, expected):
    left_out = rootless(expected) if program.interpreter.minor == 9 else set()
    expected, found = ({path: count for path, count in calls.items()
                        if len(path) < support.LONGEST and of_program(path)
                        and not left_out.intersection(path)}
                       for calls in (expected, recorded_calls(program, flame)))
    different = []
    for path in sorted({*expected, *found}, key=lambda path: (len(path), path)):
        (most, least), count = expected.get(path, (0, 0)), found.get(path, 0)
        if not least <= count <= most:
            different.append((path, most, count))
    assert not different, f"{len(different)} paths of {len(expected)}: (path, said, recorded)\n" + \
        "\n".join(map(str, different[:4]))


def repairs_of(flame):
    return {kind: count for kind, count in support.info(flame)["repairs"].items() if count}


def compare_repairs(program, engine, flame):
    """None. From 3.15 on each extension is asked for a newer way in first, and libc leaves its loader by
    longjmp when a symbol is not there: an unwind, without Python frames too."""
    repairs, alone = repairs_of(flame), {}
    if program.interpreter.minor >= 15 and set(repairs) == {"unwind"}:
        alone = repairs_of(program.record(engine, "function", "--python=off"))
    assert repairs == alone, f"repairs {repairs}, without Python frames {alone}"


def recorded_lines(program, flame):
    done = subprocess.run(
        [support.TRUEFLAME, "report", flame, "--json", "--limit=100000", f"--lines={program.path}"],
        capture_output=True, text=True, check=True, timeout=120)
    return {row["line"]: row["instructions"] for row in json.loads(done.stdout)["lines"]}


def compare_lines(program, flame, ran, passed):
    found = recorded_lines(program, flame)
    source = program.path.read_text().splitlines()
    missing = sorted(ran - set(found))
    assert not missing, "lines that ran have no instructions: " + \
        str([(line, source[line - 1].strip()) for line in missing[:5]])
    extra = sorted(set(found) - ran - passed - {len(source)})  # the last line calls main
    assert not extra, "lines that never ran have instructions: " + \
        str([(line, source[line - 1].strip(), found[line]) for line in extra[:8]])
    return found


def folded(flame):
    return subprocess.run([support.TRUEFLAME, "export", flame, "-f", "folded", "--python=only"],
                          capture_output=True, check=True, timeout=120).stdout


def total_of_folded(text):
    return sum(int(line.rpartition(b" ")[2]) for line in text.splitlines())


def differs_by_itself(program, engine):
    """Valgrind lets threads take turns as they come; what the kernel says of a process, its number or,
    under valgrind, what it has taken, is read by fork from 3.12 on, which counts threads, and by libffi,
    which asks for emulated trampolines."""
    reads = [*(["in_threads(lambda"] if engine == "valgrind" else []), "in_child(lambda",
             "qsorted(lambda"]
    return any(word in program.path.read_text() for word in reads)


def compare_totals(program, engine, detail):
    """The folded text of Python frames alone."""
    with_frames = program.record(engine, detail, "--repeatable")
    without = program.record(engine, "function", "--repeatable", "--python=off")
    totals = [support.info(flame)["total_instructions"] for flame in (with_frames, without)]
    text = folded(with_frames)
    assert total_of_folded(text) == totals[0], f"folded {total_of_folded(text)}, total {totals[0]}"
    if not differs_by_itself(program, engine):
        assert totals[0] == totals[1], f"{totals[0]} instructions, {totals[1]} without Python frames"
    return text


def check(program, engines, details, totals):
    """Yields (what was compared, what differs)."""
    expected, texts, lines = program.calls(), {}, {}
    ran, passed = program.lines() if "line" in details else (set(), set())
    for engine in engines:
        for detail in details:
            name = f"{engine} {detail}"
            try:
                flame = program.record(engine, detail)
                compare_calls(program, flame, expected)
                compare_repairs(program, engine, flame)
                if detail == "line":
                    lines[engine] = compare_lines(program, flame, ran, passed)
                if totals:
                    texts[engine, detail] = compare_totals(program, engine, detail)
            except AssertionError as error:
                yield name, str(error)
    if len({*texts.values()}) > 1 and not any(differs_by_itself(program, one) for one in engines):
        yield "engines", "--python=only differs: " + str(list(texts))


def interpreters(wanted):
    found = [Interpreter(*one) for one in support.interpreters()
             if one[1] and support.number(one[0]) >= 9]
    return [one for one in found if not wanted or one.name in wanted]


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", nargs="?", type=int, default=1)
    parser.add_argument("programs", nargs="?", type=int, default=1000000)
    parser.add_argument("--python", default="")
    parser.add_argument("--engines", default="native")
    parser.add_argument("--details", default="function,line")
    parser.add_argument("--totals", type=int, default=0, help="1: of all programs, 2: of every other")
    parser.add_argument("--keep", help="the folder for programs that differ")
    return parser.parse_args()


def differences_of(seed, python, folder, given):
    source = python_programs.Program(seed, python.minor).text()
    totals = given.totals and seed % given.totals == 0
    try:
        program = Program(python, folder, source)
        found = list(check(program, given.engines.split(","), given.details.split(","), totals))
    except (AssertionError, subprocess.TimeoutExpired) as error:
        found = [("hook", str(error))]
    if found and given.keep:
        pathlib.Path(given.keep, f"{seed}-{python.name}.py").write_text(source)
    shutil.rmtree(folder)
    return found


def main():
    given = arguments()
    end = time.monotonic() + float(os.environ.get("FUZZ_SECONDS", 600))
    compared = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        pythons = [one for one in interpreters(given.python.split(",") if given.python else [])
                   if one.build_hook(pathlib.Path(folder))]
        for seed in range(given.seed, given.seed + given.programs):
            for python in pythons:
                if time.monotonic() > end:
                    break
                compared += 1
                for what, difference in differences_of(seed, python, pathlib.Path(folder, "run"),
                                                       given):
                    failed += 1
                    print(f"seed {seed}, {python.name}, {what}: {difference}", flush=True)
            if time.monotonic() > end:
                break
    print(f"{compared} programs compared, {failed} differences", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
