"""Processes with threads end in every way under the native engine: the status is right, there is a
profile, and its sum is conserved, whatever the other threads were doing."""

import random

import pytest

from support import TRUEFLAME, record, run, same_as_alone

STATUS = {"rounds": 3, "while_spinning": 4, "forks": 5, "spawns": 6, "cancelled": 8,
          "another_program": 9, "signalled": 10, "while_threads_come_and_go": 11,
          "main_thread_first": 0, "twice": 7, "while_forking": 12, "while_spawning": 13,
          "aborted": 134, "killed": 143, "faulted": 139}
PAUSES = (0, 50, 200, 1000, 5000, 20000)
AT_ONCE = 20


def ends(compiled, folder, way, pause, detail):
    done, info = record(folder, [compiled("ends"), way, pause], f"--detail={detail}")
    assert (done.returncode, done.stdout, done.stderr) == (STATUS[way], b"", b""), pause
    folded = run([TRUEFLAME, "export", "-f", "folded", folder / "profile.flame"], check=True).stdout
    assert sum(int(line.split()[-1]) for line in folded.splitlines()) == info["total_instructions"]
    assert info["repairs"]["unmatched-return"] == 0


@pytest.mark.parametrize("way", STATUS)
@pytest.mark.parametrize("detail", ("function", "line"))
def test_end(way, detail, compiled, folder):
    ends(compiled, folder, way, 1000, detail)


def test_a_spawned_child_outlives_threads_in_turns(compiled, folder):
    for pause in PAUSES:
        done, _ = record(folder, [compiled("ends"), "while_spawning", pause], "--repeatable",
                         "--detail=function")
        assert done.returncode == STATUS["while_spawning"], pause


@pytest.mark.parametrize("threads", ((), ("threads",)))
@pytest.mark.parametrize("options", ((), ("--repeatable",)))
def test_a_child_that_ends_by_a_signal_leaves_its_maker_what_it_held(threads, options, compiled,
                                                                     folder):
    same_as_alone(folder, [compiled("ended_spawns"), *threads], "--detail=function", *options)


@pytest.mark.parametrize("detail", ("function", "line"))
@pytest.mark.parametrize("options", ((), ("--repeatable",)))
def test_a_budget_may_end_in_a_child_of_vfork(options, detail, compiled, folder):
    """Most of what the program executes, they do."""
    command = [compiled("ended_spawns")]
    _, whole = record(folder, command, f"--detail={detail}", *options)
    for part in range(5, 10):
        budget = whole["total_instructions"] * part // 10 + part
        done, info = record(folder, command, f"--detail={detail}", f"--budget={budget}", *options)
        assert (done.returncode, info["total_instructions"]) == (0, budget)


@pytest.mark.parametrize("threads", ((), ("threads",)))
def test_a_child_killed_in_what_it_shares_ends_its_maker(threads, compiled, folder):
    """Nobody gives back the locks that it held, or knows what it had changed by then."""
    done, _ = record(folder, [compiled("killed_spawns"), *threads], "--detail=function")
    assert done.returncode == 125
    assert b"a child of vfork was killed while it changed what the engine knows" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("way", STATUS)
@pytest.mark.parametrize("seed", range(5))
def test_ends_again_and_again(way, seed, compiled, folder):
    chance = random.Random(seed)
    for _ in range(AT_ONCE):
        ends(compiled, folder, way, chance.choice(PAUSES), chance.choice(("function", "line")))
