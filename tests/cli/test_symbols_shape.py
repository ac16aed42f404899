"""Inlined functions are frames: the call paths of a program whose functions were inlined are those
of the same program with none inlined, and the counts add up the same with them and without."""
import os
import subprocess

import pytest

from symbols_oracle import BUILD, ROOT, run

TRUEFLAME = os.path.join(BUILD, "trueflame")
SOURCE = os.path.join(ROOT, "tests", "symbols", "shape.c")


def paths(profile, *options):
    """{path from main on: instructions}"""
    text = run(TRUEFLAME, "export", str(profile), "-f", "folded", *options).stdout
    found, total = {}, 0
    for line in text.splitlines():
        path, _, count = line.rpartition(" ")
        total += int(count)
        if ";main" in path:
            found["main" + path.partition(";main")[2]] = int(count)
    return found, total


@pytest.fixture
def profiles(tmp_path):
    made = {}
    for how in ("always_inline", "noinline"):
        program, profile = str(tmp_path / how), tmp_path / (how + ".flame")
        run("gcc", "-O1", "-g", f"-DINLINED={how}", "-Wno-attributes", SOURCE, "-o", program)
        done = subprocess.run([TRUEFLAME, "record", "-o", str(profile), program],
                              capture_output=True, text=True, timeout=120)
        assert done.returncode in (0, 1), done.stderr
        made[how] = profile
    return made


EXPECTED = {
    "main", "main;outer", "main;outer;alone", "main;outer;inner", "main;outer;inner;leaf",
    "main;outer;middle", "main;outer;middle;inner", "main;outer;middle;inner;leaf",
    "main;outer;middle;leaf",
}


def test_the_same_paths(profiles):
    inlined, _ = paths(profiles["always_inline"])
    called, _ = paths(profiles["noinline"])
    assert set(called) == EXPECTED
    assert set(inlined) == EXPECTED
    # The code of `leaf` is the same in both programs, and so are its calls.
    for path in EXPECTED:
        if path.endswith("leaf"):
            assert inlined[path] == called[path]
        else:
            assert 0 < inlined[path] <= called[path] + 4, path


def test_the_same_sum(profiles):
    for profile in profiles.values():
        with_inlined, total = paths(profile)
        without, total_without = paths(profile, "--inline=no")
        assert total == total_without
        assert sum(with_inlined.values()) == sum(without.values())
    without, _ = paths(profiles["always_inline"], "--inline=no")
    assert set(without) == {"main", "main;outer", "main;outer;leaf"}
