"""What the tests of Python frames share: the interpreters that are installed, recordings, trees."""
import ast
import glob
import json
import os
import re
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TRUEFLAME_BUILD", os.path.join(ROOT, "build"))
TRUEFLAME = os.path.join(BUILD, "trueflame")
HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "cases.py")
VERSIONS = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def interpreter_of(version):
    """As pyenv installs it, or on the path; None if there is none."""
    paths = sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python{version}")))
    paths += [path for path in [shutil.which(f"python{version}")] if path and is_elf(path)]
    return paths[0] if paths else None
ENGINES = ("valgrind", "native")


def interpreters():
    """Version and path of each Python there is: of each version, the system's own, and what
    TRUEFLAME_PYTHONS names (paths with colons between them)."""
    found = [(version, interpreter_of(version)) for version in VERSIONS]
    system = os.path.realpath("/usr/bin/python3")
    named = [path for path in os.environ.get("TRUEFLAME_PYTHONS", "").split(":") if path]
    for path in [system, *named]:
        found.append((re.search(r"python(3\.\d+)$", path).group(1), path))
    return found


def identity(version, path):
    """What pytest calls it."""
    if path and path.startswith("/usr"):
        return f"{version}-system"
    named = os.environ.get("TRUEFLAME_PYTHONS", "").split(":")
    return f"{version}-{named.index(path)}" if path in named else version


def number(version):
    return int(version.split(".")[1])


def record(interpreter, flame, *arguments, options=(), status=0, engine="valgrind"):
    environment = dict(os.environ, PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run(
        [TRUEFLAME, "record", f"--engine={engine}", "--detail=function", "--quiet", *options, "-o",
         str(flame), "--", interpreter, *map(str, arguments)],
        capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == status, done.stderr
    return done.stdout


def export(flame, *options):
    return json.loads(subprocess.run(
        [TRUEFLAME, "export", str(flame), "-f", "json", *options],
        capture_output=True, text=True, check=True, timeout=120).stdout)


def info(flame):
    return json.loads(subprocess.run([TRUEFLAME, "info", str(flame), "--json"],
                                     capture_output=True, text=True, check=True).stdout)


def short(name):
    """`py::A.f.<locals>.g:FILE` or a qualified name: the last part."""
    return name.rpartition(".")[2] if not name.endswith(">") else \
        re.search(r"(<[^<>]*>)$", name).group(1)


def qualified_name(frame):
    name, file = frame["name"], frame["file"]
    assert name.startswith("py::") and name.endswith(":" + file)
    return name[len("py::"):-len(file) - 1]


LONGEST = 40


def calls_by_path(tree, keep):
    """{path of (name, line) of the frames that `keep` takes: calls}, others spliced out. Paths end
    at LONGEST: all those of a deep recursion take the square of its depth."""
    frames, nodes = tree["frames"], tree["nodes"]
    paths, calls = [], {}
    for parent, frame, count in zip(nodes["parent"], nodes["frame"], nodes["calls"]):
        frame = frames[frame]
        path = paths[parent] if parent >= 0 else ()
        if len(path) < LONGEST and frame["kind"] == "python" and keep(frame):
            path += ((qualified_name(frame), frame["line"]),)
            calls[path] = calls.get(path, 0) + count
        paths.append(path)
    return calls


def hand_written(program):
    """{case: the tree in its docstring}"""
    with open(program, encoding="utf-8") as file:
        module = ast.parse(file.read())
    return {node.name: ast.get_docstring(node) for node in module.body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("case_")}


def expected_calls(text, version):
    """{path of names: calls} of a tree in a docstring."""
    path, calls = [], {}
    for line in text.splitlines():
        indent, name, count, relation, minor = re.fullmatch(
            r"( *)(\S+) (\d+)(?: (<|>=)3\.(\d+))?", line).groups()
        if relation and (number(version) < int(minor)) != (relation == "<"):
            continue
        path[len(indent) // 2:] = [name]
        calls[tuple(path)] = int(count)
    return calls


def wrong_trees(flame, program, version):
    """Cases of the program whose tree in the recording is not that of their docstring, with what it
    is. A frame that only makes a generator (from 3.11 on) is there with no call."""
    found = calls_by_path(export(flame, "--python=only"), lambda frame: frame["file"] == program)
    wrong = []
    for case, text in hand_written(program).items():
        below = {}
        for path, count in found.items():
            names = tuple(short(name) for name, _ in path)
            if count and case in names and names[-1] != case:
                below[names[names.index(case) + 1:]] = count
        if below != expected_calls(text, version):
            wrong.append((case, below))
    return wrong
