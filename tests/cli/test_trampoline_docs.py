"""docs/python.md does what it says: its commands are run, in order, on its own example."""
import os
import re
import subprocess

import pytest

from test_trampoline_perf import PROBLEM
from trampoline_support import BUILD, INTERPRETERS, ROOT, environment, python

NEWEST = max(INTERPRETERS, key=lambda version: int(version.split(".")[1]))


@pytest.mark.slow
def test_every_command(tmp_path):
    with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
        page = file.read()
    programs = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    commands = re.findall(r"^```sh\n(.*?)^```", page, re.S | re.M)
    assert len(programs) == 2 and len(commands) >= 5
    (tmp_path / "app.py").write_text(programs[0])
    (tmp_path / "inside.py").write_text("def work(): pass\n" + programs[1])
    (tmp_path / "bin").mkdir()
    os.symlink(python(NEWEST), str(tmp_path / "bin" / "python3"))
    path = os.pathsep.join([str(tmp_path / "bin"), BUILD, os.environ["PATH"]])
    ran = 0
    for command in commands + ["PYTHONPATH=$(trueflame trampoline --path) python3 inside.py\n"]:
        if command.startswith("perf") and PROBLEM:
            continue
        # Into a file: perf writes its data down a pipe when it has one.
        with open(str(tmp_path / "output"), "w+", errors="replace") as output:
            status = subprocess.call(["sh", "-ec", command], cwd=str(tmp_path), timeout=600,
                                     env=environment(tmp_path, PATH=path), stdout=output,
                                     stderr=subprocess.STDOUT)
            output.seek(0)
            text = output.read()
        assert status == 0, command + text
        if "perf script -i" in command:
            for name in ("foo", "bar", "baz", "main"):
                assert "py::%s:" % name in text
        ran += 1
    assert ran >= 4
    if PROBLEM:
        pytest.skip("all but perf's own commands: " + PROBLEM)
