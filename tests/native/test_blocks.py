"""Random blocks of any instructions leave the same alone and translated: ten million in
make test-all, where each test is a quarter of a million."""

import subprocess

import pytest

from support import BUILD, ENVIRONMENT, same_as_alone

ENGINE = BUILD / "src/engines/native/trueflame-native"
TICK = 150 # microseconds: a signal comes now and then in the midst of a block


def blocks_agree(program, count, seed, tick, *options):
    alone = subprocess.Popen([program, str(count), str(seed)], stdout=subprocess.PIPE)
    command = [program, str(count), str(seed), str(tick)]
    done = subprocess.run([ENGINE, *options, "--", program, *command], capture_output=True,
                          env=ENVIRONMENT, timeout=1200)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == alone.communicate(timeout=1200)[0]


@pytest.fixture(scope="session")
def blocks(compiled):
    return compiled("random_blocks", "-lZydis")


@pytest.mark.parametrize("detail", ("function", "line"))
@pytest.mark.parametrize("seed", (1, 2))
def test_random_blocks_are_recorded(seed, detail, blocks, folder):
    same_as_alone(folder, [blocks, 5000, seed], f"--detail={detail}")


@pytest.mark.parametrize("options", ((), ("--detail=line",), ("--without=avx512",),
                                     ("--without=loop",)),
                         ids=("function", "line", "without-avx512", "without-loop"))
@pytest.mark.parametrize("tick", (0, TICK))
def test_random_blocks_leave_the_same(tick, options, blocks):
    blocks_agree(blocks, 5000, 3, tick, *options)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_ten_million_random_blocks(seed, blocks):
    blocks_agree(blocks, 250000, seed, 0)


@pytest.mark.slow
@pytest.mark.parametrize("options", ((), ("--detail=line",), ("--without=avx512",),
                                     ("--without=loop",)),
                         ids=("function", "line", "without-avx512", "without-loop"))
@pytest.mark.parametrize("tick", (0, TICK))
def test_a_million_more_in_other_ways(tick, options, blocks):
    blocks_agree(blocks, 250000, 2000, tick, *options)
