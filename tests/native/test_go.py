"""Go programs without symbols: their own table says where functions are and what they are called."""

import json
import os
import shutil
import subprocess

import pytest

from support import HERE, TRUEFLAME, run

if not shutil.which("go"):
    pytest.skip("no go", allow_module_level=True)

KINDS = {"symbols": (), "stripped": ("-ldflags=-s -w",),
         "stripped pie": ("-buildmode=pie", "-ldflags=-s -w")}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    place = tmp_path_factory.mktemp("go")
    environment = {**os.environ, "CGO_ENABLED": "0", "GO111MODULE": "off", "GOFLAGS": "",
                   "GOCACHE": str(place / "cache"), "HOME": str(place)}
    for kind, options in KINDS.items():
        subprocess.run(["go", "build", *options, "-o", place / kind,
                        HERE / "programs" / "stripped.go"], env=environment, check=True)
    return place


def recorded(programs, kind, engine, detail):
    """What the program printed, and the calls of its own functions."""
    profile = programs / f"{kind} {engine} {detail}.flame"
    done = run([TRUEFLAME, "record", "--quiet", f"--engine={engine}", f"--detail={detail}", "-o",
                profile, "--", programs / kind])
    assert done.returncode == 0, done.stderr.decode()
    info = json.loads(run([TRUEFLAME, "info", "--json", profile]).stdout)
    assert info["repairs"]["unmatched-return"] == 0
    table = json.loads(run([TRUEFLAME, "report", "--json", "--inline=no", "--limit=100000",
                            profile]).stdout)
    return done.stdout, {row["name"]: row["calls"] for row in table["functions"]
                         if row["name"].startswith("main.")}


@pytest.mark.parametrize("detail", ("function", "line"))
@pytest.mark.parametrize("engine", ("native", "valgrind"))
@pytest.mark.parametrize("kind", list(KINDS)[1:])
def test_stripped_go_has_its_names_and_calls(programs, kind, engine, detail):
    expected = recorded(programs, "symbols", engine, detail)
    assert recorded(programs, kind, engine, detail) == expected
    calls = expected[1]
    assert calls["main.fib"] == sum((177, 287, 465, 753))
    assert calls["main.deep"] == 4 + 1000 + 1100 + 1200 + 1300
    assert calls["main.sum"] == calls["main.main"] == 1
