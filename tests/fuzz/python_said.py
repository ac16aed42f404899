"""Runs a program's main() under python_calls and writes what that saw, as JSON lines, to a file for each
process: `python_said.py PROGRAM FILE`. [[[name, line], ...], calls], oldest first; with OWN_LINES
set, [file, line] of those that ran."""
import importlib.util
import json
import os
import sys
import threading

import python_calls

PROGRAM, OUTPUT = sys.argv[1:]
leave = os._exit


def write():
    with open(f"{OUTPUT}.{os.getpid()}", "w") as file:
        for path, count in python_calls.calls.items():
            codes = [python_calls.codes[number] for number in reversed(path)]
            names = [(getattr(code, "co_qualname", code.co_name), code.co_firstlineno)
                     for code in codes]
            print(json.dumps([names, count]), file=file)
        for place in python_calls.lines:
            print(json.dumps(place), file=file)


def written_leave(status):
    python_calls.stop()
    write()
    leave(status)


def watch_thread(*_):
    python_calls.watch()


spec = importlib.util.spec_from_file_location("program", PROGRAM)
program = importlib.util.module_from_spec(spec)
sys.modules["program"] = program
spec.loader.exec_module(program)
os._exit = written_leave
os.register_at_fork(after_in_child=python_calls.calls.clear)
threading.setprofile(python_calls.watch)
threading.settrace(python_calls.watch)
python_calls.watch()
program.main()
python_calls.stop()
write()
