"""Storms of signals, faults, threads and processes by the thousand under the native engine."""

import pytest

from support import same_as_alone

QUICK = [("storm", 1), ("storm", 2), ("storm", 3), ("faults", 3000), ("threads", 500), ("forks", 12),
         ("spawns", 3), ("masks", 1), ("unwinds", 1), ("unwinds", 2)]
SLOW = [("faults", 1000000), ("threads", 10000), ("forks", 200), ("spawns", 50)]
SEEDED = ("storm", "masks", "unwinds")
AT_ONCE = 50 # seeds that are one test


def torture(compiled, folder, kind, number, detail):
    info = same_as_alone(folder, [compiled("torture"), kind, number], f"--detail={detail}")
    assert info["repairs"]["unmatched-return"] == 0, number


@pytest.mark.parametrize("detail", ("function", "line"))
@pytest.mark.parametrize("kind,number", [*QUICK, *(pytest.param(*more, marks=pytest.mark.slow)
                                                   for more in SLOW)])
def test_torture(kind, number, detail, compiled, folder):
    torture(compiled, folder, kind, number, detail)


@pytest.mark.slow
@pytest.mark.parametrize("detail", ("function", "line"))
@pytest.mark.parametrize("kind", SEEDED)
@pytest.mark.parametrize("first", range(1, 1001, AT_ONCE))
def test_a_thousand_seeds(kind, first, detail, compiled, folder):
    for seed in range(first, first + AT_ONCE):
        torture(compiled, folder, kind, seed, detail)
