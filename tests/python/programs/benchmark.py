"""A benchmark that says what is to be recorded: see test_programs.py."""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])


def leaf(n):
    return n + 1


def work():
    return sum(leaf(i) for i in range(25))


def start():
    library.start()


def root_frame():
    start()
    work()
    library.stop(b"work")


def skip_the_interpreter():
    for line in open("/proc/self/maps", encoding="utf-8"):
        path = line.split()[-1]
        if " r-xp " in line and ("/libpython" in path or "/python3" in path):
            library.skip(path.encode())


work()
if sys.argv[2]:
    skip_the_interpreter()
root_frame()
