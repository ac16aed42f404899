"""`record --raw` and `symbolize` give the file that recording with names gives; also later, and on
another machine."""
import ctypes.util
import os
import shutil
import socket
import struct
import subprocess

import pytest

from symbols_oracle import BUILD, ROOT, run

TRUEFLAME = os.path.join(BUILD, "trueflame")
SOURCE = os.path.join(ROOT, "tests", "symbols", "chains.cpp")
RUN_SECTION = 2  # date, host and process ids: what differs from run to run


def sections(path):
    """{number: bytes of the section, header and all}"""
    data = open(path, "rb").read()
    count, = struct.unpack_from("<I", data, 12)
    at, found = 16, {}
    for _ in range(count):
        number, _, stored, _, _ = struct.unpack_from("<IIQQQ", data, at)
        found[number] = data[at:at + 32 + stored]
        at += 32 + stored
    assert at == len(data)
    return found


def same_profile(one, other):
    a, b = sections(one), sections(other)
    return [number for number in a if number != RUN_SECTION and a[number] != b[number]] == []


def record(program, output, *options):
    done = subprocess.run([TRUEFLAME, "record", *options, "-o", str(output), str(program)],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return output


def folded(profile):
    return run(TRUEFLAME, "export", str(profile), "-f", "folded").stdout


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "bin" / "program"
    path.parent.mkdir()
    run("g++", "-O2", "-g", "-Wl,--build-id", SOURCE, "-o", str(path))
    return path


def test_raw_then_symbolize_is_the_same_file(program, tmp_path):
    named = record(program, tmp_path / "named.flame")
    raw = record(program, tmp_path / "raw.flame", "--raw")
    assert not same_profile(named, raw)
    assert "outer(int)" not in folded(raw) and "outer(int)" in folded(named)
    later = tmp_path / "later.flame"
    run(TRUEFLAME, "symbolize", str(raw), "-o", str(later))
    assert same_profile(named, later)
    run(TRUEFLAME, "symbolize", str(raw))  # in place
    assert open(raw, "rb").read() == open(later, "rb").read()
    run(TRUEFLAME, "symbolize", str(raw))  # again: nothing is left to do
    assert open(raw, "rb").read() == open(later, "rb").read()


def test_debug_info_that_turns_up_later(program, tmp_path):
    named = record(program, tmp_path / "named.flame")
    debug = tmp_path / "debug"
    debug.mkdir()
    run("objcopy", "--only-keep-debug", str(program), str(debug / "program.debug"))
    run("strip", str(program))
    run("objcopy", f"--add-gnu-debuglink={debug / 'program.debug'}", str(program))
    raw = record(program, tmp_path / "raw.flame", "--raw")
    poor = tmp_path / "poor.flame"
    run(TRUEFLAME, "symbolize", str(raw), "-o", str(poor))
    assert "chain<int, 5>::run" not in folded(poor)
    assert "no symbols and no debug info" in run(TRUEFLAME, "info", str(poor)).stdout
    run(TRUEFLAME, "symbolize", str(poor), f"--debug-dir={debug}")
    assert "chain<int, 5>::run" in folded(named)
    assert folded(poor) == folded(named)
    assert "no debug info" not in [
        line for line in run(TRUEFLAME, "info", str(poor)).stdout.splitlines()
        if str(program) in line][0]


def test_on_another_machine(program, tmp_path):
    named = record(program, tmp_path / "named.flame")
    raw = record(program, tmp_path / "raw.flame", "--raw")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.move(program, elsewhere / "program")
    missing = tmp_path / "missing.flame"
    run(TRUEFLAME, "symbolize", str(raw), "-o", str(missing))
    assert f"cannot open {program}" in run(TRUEFLAME, "info", str(missing)).stdout
    assert "outer(int)" not in folded(missing)
    run(TRUEFLAME, "symbolize", str(raw), f"--debug-dir={elsewhere}")
    assert same_profile(named, raw)


def test_a_rebuilt_program_is_not_believed(program, tmp_path):
    raw = record(program, tmp_path / "raw.flame", "--raw")
    run("g++", "-O1", "-g", "-Wl,--build-id", SOURCE, "-o", str(program))
    run(TRUEFLAME, "symbolize", str(raw))
    assert "is not the file that ran: its build id is" in run(TRUEFLAME, "info", str(raw)).stdout
    assert "outer(int)" not in folded(raw)


def test_inline_chains_reach_the_profile(program, tmp_path):
    """Exact counts hang under inlined frames; without them the same sum."""
    named = record(program, tmp_path / "named.flame")
    with_inlined = folded(named)
    without = run(TRUEFLAME, "export", str(named), "-f", "folded", "--inline=no").stdout
    total = sum(int(line.rpartition(" ")[2]) for line in with_inlined.splitlines())
    assert total == sum(int(line.rpartition(" ")[2]) for line in without.splitlines())
    assert "outer(int);chain<int, 5>::run(int);chain<int, 4>::run(int);" in with_inlined
    assert "outer(int);outer::{lambda}::operator()" in with_inlined
    assert "chain<int" not in without and "{lambda}" not in without


def test_the_network_is_asked_only_when_told_to(program, tmp_path):
    run("strip", str(program))
    raw = record(program, tmp_path / "raw.flame", "--raw")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        environment = dict(os.environ, HOME=str(tmp_path), DEBUGINFOD_TIMEOUT="2",
                           DEBUGINFOD_URLS=f"http://127.0.0.1:{server.getsockname()[1]}")
        command = [TRUEFLAME, "symbolize", str(raw), "-o", str(tmp_path / "out.flame")]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
        with pytest.raises(TimeoutError):
            server.accept()
        if ctypes.util.find_library("debuginfod"):
            done = subprocess.Popen([*command, "--debuginfod"], env=environment,
                                    stderr=subprocess.DEVNULL)
            server.settimeout(30)
            server.accept()[0].close()
            done.kill()
            done.wait()


@pytest.mark.parametrize("arguments", [
    [], ["/no/such/file"], [SOURCE], ["--debug-dir=/no/such/directory", SOURCE],
    ["--unknown", SOURCE], [SOURCE, SOURCE]])
def test_bad_input(arguments, tmp_path):
    output = tmp_path / "out.flame"
    done = subprocess.run([TRUEFLAME, "symbolize", *arguments, "-o", str(output)],
                          capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("trueflame: ") and done.stderr.count("\n") == 1
    assert not output.exists()
