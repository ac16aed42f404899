"""What the trampoline tests share: the interpreters of this machine, and readers for the files."""
import atexit
import os
import re
import struct
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TRUEFLAME_BUILD", os.path.join(ROOT, "build"))
TRUEFLAME = os.path.join(BUILD, "trueflame")
PACKAGE_DIRECTORY = os.path.join(BUILD, "src", "python")
VERSIONS = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]


def find_interpreters(*arguments):
    script = os.path.join(ROOT, "src", "python", "find_interpreters.py")
    lines = subprocess.run([sys.executable, script, *arguments], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.split()
    return [line.split(";") for line in lines]


INTERPRETERS = {}
for _version, _path in find_interpreters("--paths"):
    INTERPRETERS.setdefault(_version, _path)
INCLUDES = {version: includes.split(":") for version, includes, _ in find_interpreters()}


def python(version):
    """The path of an interpreter that has trampolines here; skips the test when there is none."""
    if version not in INTERPRETERS:
        pytest.skip("no CPython %s on this machine" % version)
    package = os.path.join(PACKAGE_DIRECTORY, "trueflame_trampoline")
    module = "_trampoline.cpython-%s-" % version.replace(".", "")
    if not any(name.startswith(module) for name in os.listdir(package)):
        pytest.skip("CPython %s has no headers here, so no trampolines were built" % version)
    return INTERPRETERS[version]


def environment(directory, **changes):
    """A clean environment whose jitdumps go to `directory`."""
    clean = {key: value for key, value in os.environ.items()
             if not key.startswith(("PYTHON", "TRUEFLAME_"))}
    clean.update(TRUEFLAME_JITDUMP_DIR=str(directory), PYTHONDONTWRITEBYTECODE="1",
                 PYTHONHASHSEED="0")
    clean.update(changes)
    return {key: value for key, value in clean.items() if value is not None}


def remove_map(pid):
    try:
        os.unlink("/tmp/perf-%d.map" % pid)
    except FileNotFoundError:
        pass


def start(command, **options):
    """A process with no map in its way. Numbers of processes come round again, and with them the
    maps of programs that are long gone, of any user."""
    while True:
        try:
            return subprocess.Popen(command, preexec_fn=lambda: remove_map(os.getpid()), **options)
        except subprocess.SubprocessError:
            continue  # one that may not be removed: the next process has another number


class Run:
    """One finished program. A map that the test does not read is removed in the end."""

    def __init__(self, command, directory, **options):
        env = environment(directory, **options.pop("env", {}))
        process = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
                        cwd=str(directory), **options)
        self.stdout, self.stderr = process.communicate(timeout=300)
        self.status, self.pid = process.returncode, process.pid
        self.directory = directory
        atexit.register(remove_map, self.pid)

    def map_entries(self, pid=None):
        path = "/tmp/perf-%d.map" % (pid or self.pid)
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        os.unlink(path)
        assert lines.pop() == "", "the last line ends with a newline"
        return [line.split(" ", 2) for line in lines]

    def map_names(self, pid=None):
        """Names of the functions in the map, without the prefix and the file."""
        return [short_name(name) for _, _, name in self.map_entries(pid)]

    def jitdump(self, pid=None, path=None):
        return read_jitdump(path or os.path.join(str(self.directory),
                                                 "jit-%d.dump" % (pid or self.pid)))


def short_name(name):
    match = re.fullmatch(r"py::(.*?):(.*)", name)
    assert match, name
    return match.group(1)


def run_under_trampoline(version, directory, code, *arguments, names=None, **options):
    """Runs `code` as app.py by `trueflame trampoline`."""
    path = os.path.join(str(directory), "app.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)
    command = [TRUEFLAME, "trampoline"] + (["--names=" + names] if names else [])
    return Run(command + ["--", python(version), path, *arguments], directory, **options)


def run_in_process(version, directory, code, *arguments, **options):
    """Runs `code`, which activates trampolines itself."""
    path = os.path.join(str(directory), "app.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)
    options.setdefault("env", {}).setdefault("PYTHONPATH", PACKAGE_DIRECTORY)
    return Run([python(version), path, *arguments], directory, **options)


def read_jitdump(path):
    """(header fields, records); a record is (id, time, fields as a dict)."""
    with open(path, "rb") as file:
        data = file.read()
    magic, version, size, machine, _, pid, time, flags = struct.unpack_from("<6I2Q", data)
    assert (magic, version, size, flags) == (0x4A695444, 1, 40, 0)
    records, at = [], 40
    while at < len(data):
        kind, total, time = struct.unpack_from("<IIQ", data, at)
        body = data[at + 16:at + total]
        assert len(body) == total - 16, "a record is cut off"
        at += total
        if kind == 0:
            pid2, tid, vma, address, code_bytes, index = struct.unpack_from("<2I4Q", body)
            name, code = body[40:].split(b"\0", 1)
            assert len(code) == code_bytes and vma == address
            fields = dict(pid=pid2, tid=tid, address=address, index=index, code=code,
                          name=name.decode())
        elif kind == 2:
            address, count, where, line, _ = struct.unpack_from("<3Q2I", body)
            fields = dict(address=address, count=count, where=where, line=line,
                          file=body[32:].rstrip(b"\0").decode())
        elif kind == 4:
            unwind, header, mapped = struct.unpack_from("<3Q", body)
            fields = dict(header=header, mapped=mapped, data=body[24:24 + unwind])
            assert len(fields["data"]) == unwind
        else:
            raise AssertionError("record of kind %d" % kind)
        records.append((kind, time, fields))
    return dict(pid=pid, machine=machine), records
