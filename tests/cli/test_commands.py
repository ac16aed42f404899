"""What holds for every command: help, and one clear line for bad input."""
import json
import os
import resource
import signal
import subprocess

import pytest

from support import TRUEFLAME, imported, recorded, refused, run

FILE_COMMANDS = [("info",), ("report",), ("export", "-f", "folded"), ("diff", os.devnull)]


def test_help_names_every_command():
    text = run("--help").stdout
    for command in ("record", "report", "export", "diff", "import", "info", "merge", "symbolize"):
        assert f"\n  {command} " in text


@pytest.mark.parametrize("command", ["report", "export", "diff", "import", "info", "merge",
                                     "symbolize"])
def test_every_command_has_help(command):
    assert run(command, "--help").stdout.startswith(f"trueflame {command} ")


def test_version():
    assert run("--version").stdout.startswith("trueflame ")


def test_no_command_is_an_error():
    assert run(status=2).stdout == ""


def test_unknown_command():
    assert refused("frobnicate") == \
        "trueflame: unknown command 'frobnicate'; see trueflame --help"


@pytest.mark.parametrize("command", FILE_COMMANDS)
def test_unknown_option(command):
    line = refused(*command, "--frobnicate", "x.flame")
    assert "unknown option '--frobnicate'" in line and command[0] in line


@pytest.mark.parametrize("command", FILE_COMMANDS[:3])
def test_missing_file(command, tmp_path):
    path = tmp_path / "none.flame"
    assert refused(*command, path) == f"trueflame: {path}: No such file or directory"


@pytest.mark.parametrize("command", FILE_COMMANDS[:3])
def test_not_a_profile(command, tmp_path):
    path = tmp_path / "text.flame"
    path.write_text("hello\n")
    assert refused(*command, path) == f"trueflame: {path}: not a trueflame profile"


def test_a_folder_is_not_a_profile(tmp_path):
    assert str(tmp_path) in refused("info", tmp_path)


@pytest.mark.parametrize("kept", [0, 7, 20, 100, -1])
def test_truncated_profile(kept, tmp_path):
    path = imported(tmp_path, "a;b 1\n")
    path.write_bytes(path.read_bytes()[:kept])
    assert refused("info", path).startswith(f"trueflame: {path}: ")


def test_altered_profile(tmp_path):
    path = imported(tmp_path, "a;b 1\n")
    whole = path.read_bytes()
    for at in range(0, len(whole), 11):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
        assert refused("info", path).startswith(f"trueflame: {path}: ")


def test_no_output_is_left_when_it_fails(tmp_path):
    bad = tmp_path / "bad.flame"
    bad.write_text("nothing")
    out = tmp_path / "out"
    refused("export", bad, "-f", "folded", "-o", out)
    refused("import", "-f", "folded", bad, "-o", out)
    assert sorted(os.listdir(tmp_path)) == ["bad.flame"]


def test_an_output_that_cannot_be_written(tmp_path):
    path = imported(tmp_path, "a 1\n")
    out = tmp_path / "no" / "such" / "folder"
    assert f"{out}: cannot be created" in refused("export", path, "-f", "folded", "-o", out)


def test_a_full_disk_is_noticed(tmp_path):
    path = imported(tmp_path, "a 1\n")
    assert "/dev/full: cannot be written" in refused("export", path, "-f", "folded", "-o",
                                                     "/dev/full")


def test_a_file_that_may_not_grow(tmp_path):
    """Beyond the limit the kernel sends a signal, which would end it without a word."""
    path = imported(tmp_path, "".join(f"a;b{i} 1\n" for i in range(2000)))
    folder = tmp_path / "out"
    folder.mkdir()
    done = subprocess.run([TRUEFLAME, "export", path, "-f", "json", "-o", folder / "x"], text=True,
                          capture_output=True, preexec_fn=lambda: resource.setrlimit(
                              resource.RLIMIT_FSIZE, (8192, 8192)))
    assert done.returncode == 2 and "cannot be written: File too large" in done.stderr
    assert os.listdir(folder) == []


def test_too_little_memory_is_not_a_damaged_profile(tmp_path):
    path, said = imported(tmp_path, "".join(f"a;b{i} 1\n" for i in range(500))), set()
    for kilobytes in range(6000, 12000, 100):
        done = subprocess.run(["bash", "-c", f'ulimit -v {kilobytes}; exec "$@"', "bash", TRUEFLAME,
                               "report", path], text=True, capture_output=True)
        said.add(done.stderr if done.returncode != 127 else "")  # else the loader's words
    assert not [words for words in said if "damaged" in words]


def writes_in(process, folder):
    files = f"/proc/{process.pid}/fd"
    try:
        return any(os.readlink(f"{files}/{name}").startswith(f"{folder}/") for name in os.listdir(files))
    except OSError:
        return False


def test_a_signal_leaves_nothing_behind(tmp_path):
    path = imported(tmp_path, "".join(f"a;b{i} 1\n" for i in range(100000)))
    folder = tmp_path / "out"
    folder.mkdir()
    process = subprocess.Popen([TRUEFLAME, "export", path, "-f", "json", "-o", folder / "x"])
    while process.poll() is None and not writes_in(process, folder):
        pass
    process.send_signal(signal.SIGINT)
    if process.wait() == -signal.SIGINT:  # else it was done before
        assert os.listdir(folder) == []
    else:
        assert os.listdir(folder) == ["x"]


def test_options_stand_before_or_after_the_file(tmp_path):
    path = imported(tmp_path, "a;b 1\n")
    assert run("export", "-f", "folded", path, "--invert").stdout == \
        run("export", path, "--invert", "-f", "folded").stdout == "b;a 1\n"


def test_info_json(program_flame):
    info = json.loads(run("info", program_flame, "--json").stdout)
    for key in ("version", "engine", "command", "exit_status", "total_instructions", "contexts",
                "parts", "processes", "threads", "modules", "repairs"):
        assert key in info
    assert info["exit_status"] == 0
    assert info["engine"] == "valgrind"
    assert info["total_instructions"] > 0
    assert sum(thread["instructions"] for thread in info["threads"]) == info["total_instructions"]
    assert sum(part["instructions"] for part in info["parts"]) == info["total_instructions"]
    assert sum(module["instructions"] for module in info["modules"]) == info["total_instructions"]


def test_info_says_the_same_in_words(program_flame):
    info = json.loads(run("info", program_flame, "--json").stdout)
    assert f"instructions  {info['total_instructions']:,}\n" in run("info", program_flame).stdout


def test_the_same_run_gives_the_same_profile(tmp_path):
    """All but the run section (date, pids, host), which is the second one."""
    first = recorded(tmp_path, "same").read_bytes()
    os.rename(tmp_path / "same.flame", tmp_path / "first.flame")
    second = recorded(tmp_path, "same").read_bytes()

    def without_run(data):
        meta = 16 + 32 + int.from_bytes(data[24:32], "little")
        run_end = meta + 32 + int.from_bytes(data[meta + 8:meta + 16], "little")
        return data[:meta], data[run_end:]

    assert without_run(first) == without_run(second)
