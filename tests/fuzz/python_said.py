"""Runs a program's main() under python_calls and writes what that saw, as JSON lines, to a file for each
process: `python_said.py PROGRAM FILE`. [[[name, line], ...], calls, how many of them may be the hook's
doing], oldest first; with OWN_LINES set, [file, line, whether it ran], of those that ran and that
CPython may be at for a moment."""
import dis
import importlib.util
import json
import os
import sys
import threading

import python_calls

PROGRAM, OUTPUT = sys.argv[1:]
leave = os._exit
passed = ()


def before_ends(code):
    """Lines that 3.12 says it is at for a moment: when a generator that it runs inline has ended, the
    frame points to the instruction that is laid out before the end of the loop, whatever that is."""
    lines, line = set(), code.co_firstlineno
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("END_FOR", "END_SEND"):
            lines.add(line)
        line = instruction.positions.lineno or line
    for inner in code.co_consts:
        if isinstance(inner, type(code)):
            lines |= before_ends(inner)
    return lines


def write():
    with open(f"{OUTPUT}.{os.getpid()}", "w") as file:
        for path, count in python_calls.calls.items():
            codes = [python_calls.codes[number] for number in reversed(path)]
            names = [(getattr(code, "co_qualname", code.co_name), code.co_firstlineno)
                     for code in codes]
            print(json.dumps([names, count, python_calls.doubtful.get(path, 0)]), file=file)
        for name, line in python_calls.lines:
            print(json.dumps([name, line, True]), file=file)
        for line in passed:
            print(json.dumps([PROGRAM, line, False]), file=file)


def written_leave(status):
    python_calls.stop()
    write()
    leave(status)


spec = importlib.util.spec_from_file_location("program", PROGRAM)
program = importlib.util.module_from_spec(spec)
sys.modules["program"] = program
if python_calls.of_lines:
    python_calls.watch()
    if sys.version_info[:2] == (3, 12):
        passed = before_ends(spec.loader.get_code("program"))
spec.loader.exec_module(program)
os._exit = written_leave
os.register_at_fork(after_in_child=python_calls.calls.clear)
os.register_at_fork(after_in_child=python_calls.doubtful.clear)
threading.setprofile(python_calls.watch)
threading.settrace(python_calls.watch)
python_calls.watch()
program.main()
python_calls.stop()
write()
