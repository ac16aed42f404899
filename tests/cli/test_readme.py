"""The commands that README.md shows are run, and print what it says they print."""
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TRUEFLAME_BUILD", ROOT / "build"))


def blocks(language):
    text = (ROOT / "README.md").read_text()
    return re.findall(r"```%s\n(.*?)```" % language, text, re.S)


def run(script, folder):
    script = script.replace("build/trueflame", str(BUILD / "trueflame"))
    script = script.replace("examples/", f"{ROOT}/examples/")
    return subprocess.run(["sh", "-ec", script], cwd=folder, text=True, capture_output=True,
                          env=dict(os.environ, BROWSER="true", DISPLAY=""))


def test_readme_commands(tmp_path):
    set_up, first, *rest = blocks("sh")
    assert "make demo" in set_up and "make test" in set_up
    shown = run(first, tmp_path)
    assert shown.returncode == 0, shown.stderr
    printed = (shown.stdout + shown.stderr)
    expected = blocks("")[0]
    # Start-up costs depend on the machine's libraries; what the program itself did does not.
    for line in expected.splitlines():
        if "[primes]" in line:
            count, calls = line.split()[0], line.split()[4]
            name = line.split()[5]
            found = [l.split() for l in printed.splitlines() if f" {name} [" in l]
            assert found and found[0][0] == count and found[0][4] == calls, (line, printed)
    for script in rest:
        result = run(script, tmp_path)
        # The gate at the end finds an improvement, which is no regression.
        assert result.returncode == 0, (script, result.stdout, result.stderr)
