"""A Go program: goroutines are stacks that the program switches, grows and moves by itself, over
threads and signals. Each must have its true path."""

import json
import os
import subprocess

import pytest

import riscv_support as support

support.need("go")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    place = tmp_path_factory.mktemp("go")
    environment = {**os.environ, "CGO_ENABLED": "0", "GOOS": "linux", "GOARCH": "riscv64",
                   "GO111MODULE": "off", "GOCACHE": str(support.directory() / "go"), "HOME": str(place)}
    done = subprocess.run(["go", "build", "-o", place / "goroutines",
                           support.HERE / "guests" / "goroutines.go"], env=environment,
                          capture_output=True, text=True)
    if done.returncode:
        pytest.skip("go cannot build for riscv64: " + done.stderr.strip().splitlines()[-1])
    return place / "goroutines"


# Where goroutines and threads begin: what the program starts, the runtime's own, and goexit, to
# which a goroutine's first function returns.
ROOTS = ("_rt0_riscv64_linux", "main", "runtime.rt0_go", "runtime.clone", "runtime.main",
         "main.main.func", "runtime.goexit", "runtime.gcenable.func", "runtime.forcegchelper",
         "runtime.runfinq", "runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge")


@pytest.mark.parametrize("detail", ["function", "line"])
def test_goroutines_have_their_true_paths(program, detail):
    recorded = support.record(program, options=["--quiet", f"--detail={detail}"])
    assert recorded.status == 0, recorded.stderr.decode()
    assert recorded.stdout.startswith(b"2002100 12502500 runtime error: invalid memory address")
    tree = support.folded(recorded.profile, "--inline=no")
    info = json.loads(subprocess.run([support.TRUEFLAME, "info", "--json", recorded.profile],
                                     capture_output=True, check=True).stdout)
    assert sum(tree.values()) == info["total_instructions"]
    assert info["repairs"]["unmatched-return"] == 0
    strange = {path[0] for path in tree if not path[0].startswith(ROOTS)}
    assert not strange
    # Two instructions a turn more or less would show: four times the same number of them.
    spin = {path: count for path, count in tree.items() if path[-1] == "main.spin"}
    assert sum(spin.values()) % 4 == 0 and sum(spin.values()) > 4 * 3000000 * 5
    assert all(path[-2] == "main.worker" for path in spin)
    deepest = max(path.count("main.deep") for path in tree)
    assert deepest == 5001
    bottom = next(path for path in tree if path.count("main.deep") == deepest)
    assert bottom[:3] == ("runtime.main", "main.main", "main.deep")
    failing = [path for path in tree if "main.fail" in path]
    assert failing and all("main.caught" in path for path in failing)


def test_output_is_qemus(program):
    support.need(support.QEMU)
    theirs = support.run_qemu(program, counting=False)
    ours = support.run_machine(program)
    assert (ours.stdout, ours.status) == (theirs.stdout, theirs.status)
