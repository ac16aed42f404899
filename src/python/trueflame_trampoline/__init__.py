"""Lets `perf` see Python functions on stock CPython 3.9 to 3.15.

    activate(names="both")   functions first called from now on get a trampoline and a name
    deactivate()             functions run as if this module had never been imported
    is_active()
    statistics()             how many trampolines there are, and which files have their names

names: "map" writes /tmp/perf-PID.map, "jitdump" a jit-PID.dump for `perf inject -j`, "both" both.
"""

import os as _os
import sys as _sys

try:
    from ._trampoline import activate, deactivate, is_active, statistics
except ModuleNotFoundError as _error:
    if _error.name != __name__ + "._trampoline":
        raise
    _built = sorted(
        _name.split(".")[1]
        for _name in _os.listdir(_os.path.dirname(__file__))
        if _name.startswith("_trampoline.") and _name.endswith(".so")
    )
    raise ImportError(
        "trueflame has no trampolines for this interpreter (%s); it has them for %s"
        % (_sys.implementation.cache_tag, ", ".join(_built) or "none")
    ) from None

__all__ = ["activate", "deactivate", "is_active", "statistics"]
