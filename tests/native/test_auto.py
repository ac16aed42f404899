"""The engine that `record` takes by itself."""

import json

from support import TRUEFLAME, record, run

TAKEN = "-Wl,-Ttext-segment=0x70000000" # where the native engine has its code cache


def recorded_by_itself(folder, command, *options):
    profile = folder / "auto.flame"
    done = run([TRUEFLAME, "record", "-o", profile, *options, "--", *command], cwd=folder)
    info = run([TRUEFLAME, "info", "--json", profile])
    return done, json.loads(info.stdout)


def test_native_comes_first(compiled, folder):
    done, info = recorded_by_itself(folder, [compiled("nested")])
    assert (done.returncode, info["engine"]) == (0, "native")
    assert done.stderr.decode() == f"trueflame: wrote {folder / 'auto.flame'}\n"


def test_what_native_refuses_runs_on_the_reference(compiled, folder):
    program = compiled("nested", "-static", "-no-pie", TAKEN)
    alone = run([program])
    done, info = recorded_by_itself(folder, [program])
    assert (done.stdout, done.returncode) == (alone.stdout, alone.returncode)
    assert info["engine"] == "valgrind"
    assert done.stderr.decode().splitlines() == [
        f"trueflame: {program} is linked at an address the engine uses: the valgrind engine runs it",
        f"trueflame: wrote {folder / 'auto.flame'}"]


def test_native_alone_refuses_with_that_line(compiled, folder):
    program = compiled("nested", "-static", "-no-pie", TAKEN)
    done, _ = record(folder, [program])
    assert done.returncode == 2
    assert done.stderr.decode() == f"trueflame: {program} is linked at an address the engine uses\n"
