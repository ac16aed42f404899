"""Turns CPython's own trampolines on, or finds them on: see test_programs.py."""
import sys


def foo(n):
    return n


def bar(n):
    return foo(n) + 1


def main():
    for i in range(30):
        bar(i)


if sys.argv[1] == "activate_stack_trampoline":
    sys.activate_stack_trampoline("perf")
main()
print(sys.is_stack_trampoline_active())
