"""A minute of fuzzing in all, from the committed corpus: every target at least replays its corpus.
`make fuzz` does ten minutes each."""
import glob
import os
import shutil
import subprocess

import pytest

from support import ROOT

SECONDS = 60


def test_a_minute_of_fuzzing():
    if not shutil.which("clang"):
        pytest.skip("clang is not installed")
    targets = glob.glob(os.path.join(ROOT, "tests", "fuzz", "fuzz_*.c"))
    done = subprocess.run([os.path.join(ROOT, "tests", "fuzz", "run.sh")], capture_output=True,
                          text=True, timeout=1800,
                          env={**os.environ, "FUZZ_SECONDS": str(max(1, SECONDS // len(targets)))})
    assert done.returncode == 0, done.stdout + done.stderr
