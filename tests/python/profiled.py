"""Runs a program's main() under sys.setprofile and prints how often each Python function was called
on each path of the program's own frames: [[[name, line], ...], calls] as JSON lines. What CPython
says about itself, to compare a recording with. `profiled.py PROGRAM [FOLDER]`: the program's own
frames are those of the folder's files."""
import importlib.util
import json
import sys

PROGRAM = sys.argv[1]
OWN = sys.argv[2] if len(sys.argv) > 2 else PROGRAM
calls = {}


def path_of(frame):
    path = []
    while frame:
        if frame.f_code.co_filename.startswith(OWN):
            code = frame.f_code
            path.append((getattr(code, "co_qualname", code.co_name), code.co_firstlineno))
        frame = frame.f_back
    return tuple(reversed(path))


def hook(frame, event, argument):
    if event == "call" and frame.f_code.co_filename.startswith(OWN):
        path = path_of(frame)
        calls[path] = calls.get(path, 0) + 1


spec = importlib.util.spec_from_file_location("program", PROGRAM)
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
sys.setprofile(hook)
program.main()
sys.setprofile(None)
for path, count in calls.items():
    print(json.dumps([path, count]))
