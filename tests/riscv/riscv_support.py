"""Guests for the RISC-V tests: compiled when needed, run by qemu-riscv64 and by us.

qemu's one log line for each instruction is the oracle for totals: `-singlestep -d exec,nochain`.
Both sides get the same arguments, no environment, and standard output to a file: a C library
takes different paths for a terminal, a pipe and a file.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("TRUEFLAME_BUILD", ROOT / "build"))
TRUEFLAME = pathlib.Path(os.environ.get("TRUEFLAME", BUILD / "trueflame"))
MACHINE = BUILD / "tests" / "riscv" / "riscv-run"
COMPILER = "riscv64-linux-gnu-gcc"
QEMU = "qemu-riscv64"
SECONDS = 120

BARE = ["-nostdlib", "-nostartfiles", "-static", "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments"]


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed", allow_module_level=True)


def directory():
    place = pathlib.Path(tempfile.gettempdir()) / f"trueflame-riscv-{os.getuid()}"
    place.mkdir(exist_ok=True)
    return place


def compile_guest(sources, *flags, name=None):
    """The program, built once for each content of sources and flags. A source is a path, or
    (name, text)."""
    digest = hashlib.sha256(repr(flags).encode())
    for source in sources:
        digest.update(source[1].encode() if isinstance(source, tuple) else source.read_bytes())
    for header in sorted(HERE.glob("*.h")):
        digest.update(header.read_bytes())
    place = directory() / digest.hexdigest()[:16]
    first = sources[0][0] if isinstance(sources[0], tuple) else sources[0].name
    program = place / (name or pathlib.Path(first).stem)
    if program.exists():
        return program
    place.mkdir(exist_ok=True)
    paths = []
    for source in sources:
        if isinstance(source, tuple):
            (place / source[0]).write_text(source[1])
            source = place / source[0]
        paths.append(str(source))
    compiler = COMPILER.replace("gcc", "g++") if paths[0].endswith(".cc") else COMPILER
    half = place / f"unfinished.{os.getpid()}"
    done = subprocess.run([compiler, f"-I{HERE}", "-o", half, *paths, *flags],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    half.rename(program)
    return program


class Result:
    def __init__(self, status, stdout, stderr, count=None):
        self.status = status if status >= 0 else 128 - status
        self.stdout, self.stderr, self.count = stdout, stderr, count


def _run(command, environment, cwd, stdin=None):
    with tempfile.TemporaryFile() as output:
        done = subprocess.run([str(word) for word in command], env=environment, cwd=cwd,
                              stdin=stdin or subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.PIPE, timeout=SECONDS)
        output.seek(0)
        return Result(done.returncode, output.read(), done.stderr)


def run_qemu(program, *arguments, counting=True):
    """As qemu runs it; with the number of instructions."""
    options, log = [], None
    with tempfile.TemporaryDirectory() as place:
        if counting:
            log = pathlib.Path(place) / "log"
            os.mkfifo(log)
            options = ["-singlestep", "-d", "exec,nochain", "-D", log]
            counter = subprocess.Popen(["grep", "-c", "^Trace", str(log)], stdout=subprocess.PIPE)
        result = _run([QEMU, *options, f"./{program.name}", *arguments], {}, program.parent)
        if counting:
            result.count = int(counter.communicate(timeout=SECONDS)[0])
    return result


def run_machine(program, *arguments, options=()):
    with tempfile.NamedTemporaryFile("r") as count:
        result = _run([MACHINE, *options, f"./{program.name}", *arguments],
                      {"RISCV_RUN_COUNT": count.name}, program.parent)
        text = count.read()
    result.count = int(text) if text else None
    return result


def record(program, *arguments, options=(), output=None):
    """`trueflame record`; the result has the profile's path."""
    profile = output or pathlib.Path(tempfile.mkdtemp(dir=directory())) / "guest.flame"
    result = _run([TRUEFLAME, "record", "-o", profile, *options, f"./{program.name}", *arguments],
                  {}, program.parent)
    result.profile = profile
    return result


def folded(profile, *options):
    done = subprocess.run([TRUEFLAME, "export", "-f", "folded", *options, profile],
                          capture_output=True, text=True, check=True, timeout=SECONDS)
    tree = {}
    for line in done.stdout.splitlines():
        path, _, count = line.rpartition(" ")
        tree[tuple(path.split(";"))] = int(count)
    return tree


