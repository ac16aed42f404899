"""The engine that `record` takes by itself."""

import json

import pytest

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


def test_a_child_that_native_refuses_runs_by_itself(compiled, folder):
    program = compiled("nested", "-static", "-no-pie", TAKEN)
    command = ["sh", "-c", f"{program}; echo $?; exec {program}"]
    alone = run(command)
    done, info = record(folder, command)
    assert (done.stdout, done.returncode) == (alone.stdout, alone.returncode), done.stderr
    assert info["total_instructions"] > 0


def recorded_within(folder, kilobytes, command, of="v"):
    """With so much address space and no way to more, as batch systems have it; `of`: d for data."""
    done = run(["sh", "-c", f'ulimit -{of} {kilobytes}; exec "$@"', "sh", TRUEFLAME, "record", "-o",
                folder / "within.flame", "--", *command], cwd=folder)
    return done.returncode, done.stdout.decode(), done.stderr.decode().splitlines()


limits_memory = pytest.mark.skipif(b"__asan_init" in TRUEFLAME.read_bytes(),
                                   reason="the address sanitizer takes all address space")


@limits_memory
def test_little_address_space_is_enough(compiled, folder):
    alone = run([compiled("nested")])
    status, printed, said = recorded_within(folder, 600000, [compiled("nested")])
    assert (status, printed) == (alone.returncode, alone.stdout.decode())
    assert said == [f"trueflame: wrote {folder / 'within.flame'}"]


@limits_memory
def test_less_is_enough_for_the_reference(compiled, folder):
    alone = run([compiled("nested")])
    status, printed, said = recorded_within(folder, 320000, [compiled("nested")])
    assert (status, printed) == (alone.returncode, alone.stdout.decode())
    assert said[0] == ("trueflame: the limit on memory is too small for the native engine: "
                       "the valgrind engine runs it")


@limits_memory
@pytest.mark.parametrize("of", ("v", "d"))
def test_too_little_is_said(of, compiled, folder):
    assert recorded_within(folder, 150000, [compiled("nested")], of) == (
        2, "", ["trueflame: the limit on memory is too small for the native engine"])
