"""python3 -m trueflame_trampoline [--names=both|map|jitdump] (FILE | -m MODULE | -c CODE) [ARGS...]

Runs a Python program with trampolines, as the interpreter itself would run it.
"""

import io
import os
import runpy
import sys
import types

from . import activate


def usage(problem):
    sys.stderr.write("trueflame: %s\n%s" % (problem, __doc__))
    sys.exit(2)


def main_module(file=None):
    """A fresh __main__, so that the program finds its own names there and not ours."""
    module = types.ModuleType("__main__")
    module.__builtins__ = __builtins__
    if file is not None:
        module.__file__ = file
        module.__cached__ = None
    sys.modules["__main__"] = module
    return module.__dict__


def set_first_path(directory):
    # With -P or -I the interpreter puts nothing in front, so there is nothing to replace.
    if not sys.flags.isolated and not getattr(sys.flags, "safe_path", False):
        sys.path[0] = directory


def prepare(arguments):
    """A function and its arguments that run the program, with no Python frame of ours between."""
    if arguments[0] in ("-m", "-c") and len(arguments) < 2:
        usage("%s needs an argument" % arguments[0])
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        return runpy.run_module, (arguments[1], None, "__main__", True)
    if arguments[0] == "-c":
        sys.argv = ["-c"] + arguments[2:]
        set_first_path("")
        code = compile(arguments[1], "<string>", "exec", dont_inherit=True)
        space = main_module()
        return exec, (code, space)
    path = arguments[0]
    sys.argv = list(arguments)
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        set_first_path(path)
        return runpy.run_path, (path, None, "__main__")
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        usage("%s: %s" % (path, error.strerror))
    set_first_path(os.path.dirname(os.path.realpath(path)))
    code = compile(source, path, "exec", dont_inherit=True)
    space = main_module(path)
    return exec, (code, space)


def main():
    arguments = sys.argv[1:]
    names = "both"
    while arguments and arguments[0].startswith("--"):
        option = arguments.pop(0)
        if option == "--":
            break
        if option.startswith("--names="):
            names = option[len("--names="):]
        else:
            usage("unknown option %s" % option)
    if not arguments:
        usage("no program to run")
    run, run_arguments = prepare(arguments)
    try:
        activate(names=names)
    except (OSError, RuntimeError, ValueError) as error:
        sys.stderr.write("trueflame: %s\n" % error)
        sys.exit(2)
    run(*run_arguments)


main()
