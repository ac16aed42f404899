"""Starts another Python: see test_programs.py."""
import subprocess
import sys


def in_parent():
    return subprocess.run([sys.executable, "-c",
                           "def in_child(n):\n    return n\nprint(sum(in_child(1) for _ in 'abc'))"],
                          check=True)


in_parent()
