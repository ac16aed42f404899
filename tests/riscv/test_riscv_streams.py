"""Random instruction streams: more than a million instructions agree with qemu-riscv64."""

import sys

import riscv_support as support

support.need(support.COMPILER, support.QEMU)
sys.path.insert(0, str(support.ROOT / "tests" / "fuzz"))
import riscv_streams  # noqa: E402


def test_a_million_random_instructions_agree():
    total, seed = 0, 1
    while total < 1_000_000:
        total += riscv_streams.compare(seed)
        seed += 1
