"""docs/jit.md does what it says: its commands are run on its own examples."""
import os
import re
import shutil
import subprocess

import pytest

from support import BUILD, ROOT

# of a block's commands: the program it needs, the example's file, what must be in the output
EXAMPLES = {
    "node": ("js", "app.js", [r" JS:mid .*app\.js:2\b", r"JS:mid [^;]*;JS:leaf [^;]* \d+$"]),
    "javac": ("java", "Hot.java", [r" int Hot\.mid\(int\) "]),
    "php": ("php", "app.php", [r" 2,000  JIT\$leaf "]),
}


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.S | re.M)


def page():
    with open(os.path.join(ROOT, "docs", "jit.md"), encoding="utf-8") as file:
        return file.read()


def test_every_command_has_an_example():
    assert len(blocks(page(), "sh")) == len(EXAMPLES)


@pytest.mark.parametrize("program", EXAMPLES)
def test_commands(program, tmp_path):
    if not shutil.which(program):
        pytest.skip(f"there is no {program}")
    language, file, shown = EXAMPLES[program]
    source, = blocks(page(), language)
    (tmp_path / file).write_text(source)
    os.utime(tmp_path / file, (1e9, 1e9))  # PHP does not compile what was written just now
    commands, = [block for block in blocks(page(), "sh") if re.search(rf"\b{program} ", block)]
    path = os.pathsep.join([BUILD, os.environ["PATH"]])
    done = subprocess.run(["sh", "-ec", commands], cwd=tmp_path, env={**os.environ, "PATH": path},
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    if program == "php" and "JIT$" not in done.stdout:
        pytest.skip("this php has no opcache with a compiler")
    for expected in shown:
        assert re.search(expected, done.stdout, re.M), done.stdout
