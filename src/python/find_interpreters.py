#!/usr/bin/env python3
"""Prints the CPythons of this machine that an extension module can be built for.

One line for each minor version from 3.9 to 3.15, the first found with headers:

    VERSION;INCLUDE_DIRECTORY[:INCLUDE_DIRECTORY];EXTENSION_SUFFIX

Looked for: python3.X and python3 on PATH, in /usr/bin and in the folders of /opt, and pyenv's
versions. With --paths prints VERSION;EXECUTABLE for every distinct interpreter instead, headers or
not (the tests use it).
"""
import glob
import os
import shutil
import subprocess
import sys

MINORS = range(9, 16)
PROBE = r"""
import os, sys, sysconfig
if sys.implementation.name != "cpython": sys.exit(1)
includes = [sysconfig.get_path("include"), sysconfig.get_path("platinclude")]
found = [i for i in dict.fromkeys(includes) if os.path.isdir(i)]
has = any(os.path.exists(os.path.join(i, "Python.h")) for i in found)
print("%d.%d" % sys.version_info[:2], os.path.realpath(sys.executable), ":".join(found) if has else "",
      sysconfig.get_config_var("EXT_SUFFIX") or "", sep=";")
"""


def candidates():
    names = ["python3.%d" % minor for minor in MINORS] + ["python3"]
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    for name in names:
        yield shutil.which(name)
        yield "/usr/bin/" + name
        yield from sorted(glob.glob(os.path.join(pyenv, "versions", "*", "bin", name)))
        yield from sorted(glob.glob(os.path.join("/opt", "*", "bin", name)))


def probe(path):
    """(version, executable, include directories, suffix) of the interpreter, or None."""
    try:
        run = subprocess.run([path, "-I", "-c", PROBE], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    fields = run.stdout.strip().split(";")
    if run.returncode != 0 or len(fields) != 4:
        return None
    major, minor = fields[0].split(".")
    return fields if major == "3" and int(minor) in MINORS else None


def interpreters():
    tried, given = set(), set()
    for path in candidates():
        if not path or not os.access(path, os.X_OK) or path in tried:
            continue
        tried.add(path)
        found = probe(path)
        if found and found[1] not in given:
            given.add(found[1])
            yield found


def main():
    if sys.argv[1:] == ["--paths"]:
        for version, executable, _, _ in interpreters():
            print(version, executable, sep=";")
        return
    best = {}
    for version, _, includes, suffix in interpreters():
        if includes and suffix:
            best.setdefault(suffix, (version, includes, suffix))
    for found in sorted(best.values(), key=lambda found: int(found[0].split(".")[1])):
        print(*found, sep=";")


main()
