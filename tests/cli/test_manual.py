"""The manual pages and the help texts tell the same options; the pages are well-formed; the code
in docs/json.md does what it says."""
import json
import os
import re
import shutil
import subprocess

import pytest

from support import ROOT, run

MANUAL = os.path.join(ROOT, "docs", "man")
COMMANDS = ["record", "report", "view", "export", "diff", "import", "merge", "symbolize", "info",
            "trampoline"]


def page(name):
    with open(os.path.join(MANUAL, name)) as file:
        return file.read().replace("\\-", "-")


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


@pytest.mark.parametrize("command", COMMANDS)
def test_options(command):
    transforms = options(page("trueflame-transforms.7"))
    in_help = options("\n".join(re.findall(r"^  +(--.*|riscv: .*)", run(command, "--help").stdout,
                                           re.M)))
    in_page = options("\n".join(line for line in page(f"trueflame-{command}.1").splitlines()
                                if line.startswith(".B ")))
    aliases = {"--format", "--output", "--help"}
    shared = transforms if in_help >= transforms else set()
    assert in_help - shared - aliases == in_page - aliases


@pytest.mark.parametrize("name", sorted(os.listdir(MANUAL)))
def test_pages_are_well_formed(name):
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", os.path.join(MANUAL, name)],
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""


def test_formats_of_the_pages_exist():
    text = run("export", "--help").stdout
    for kind in re.findall(r"^  -f (\w+)", text, re.M):
        assert f"\n.B {kind}\n" in page("trueflame-export.1")
    for kind in re.findall(r"^  -f (\w+)", run("import", "--help").stdout, re.M):
        assert f"\n.B {kind}\n" in page("trueflame-import.1")


def test_the_example_of_the_json_format(tmp_path, program_flame):
    with open(os.path.join(ROOT, "docs", "json.md")) as file:
        code = re.search(r"```python\n(.*?)```", file.read(), re.S)[1]
    data = json.loads(run("export", program_flame, "-f", "json").stdout)
    scope = {"nodes": data["nodes"]}
    exec(code, scope)
    roots = [cost for cost, parent in zip(scope["total"], data["nodes"]["parent"]) if parent < 0]
    assert sum(roots) == data["total_instructions"]
