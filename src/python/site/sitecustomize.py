"""Activates trampolines in a program that knows nothing of them, then gets out of the way.

`trueflame trampoline` puts this directory in front of PYTHONPATH; every Python started below it
imports this file first. The search path and the program's own sitecustomize are then as they would
have been. Any Python may come by here, so the language is what 2.7 and 3.x have in common.
"""

import os
import sys


def _activate(directory):
    """Returns None, or one sentence on why there are no trampolines here."""
    sys.path.insert(0, os.path.dirname(directory))
    try:
        import trueflame_trampoline

        trueflame_trampoline.activate(names=os.environ.get("TRUEFLAME_TRAMPOLINE_NAMES", "both"))
    except (ImportError, SyntaxError, OSError, RuntimeError, ValueError) as error:
        return str(error)
    finally:
        del sys.path[0]


def _chain():
    """Imports the sitecustomize that this one stands in front of, if there is one."""
    ours = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", ours)


def _start():
    directory = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != directory]
    problem = _activate(directory)
    if problem:
        sys.stderr.write("trueflame: %s\n" % problem)
        # The program that was asked for must not run unseen; one that it starts may.
        if os.environ.get("TRUEFLAME_TRAMPOLINE_PID") == str(os.getpid()):
            sys.stderr.flush()
            os._exit(2)
    _chain()


_start()
