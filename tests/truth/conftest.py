"""Builds the oracle and the programs, makes each recording once."""

import json
import os
import pathlib
import subprocess

import pytest

import cases

TRUEFLAME = pathlib.Path(os.environ.get("TRUEFLAME", cases.ROOT / "build" / "trueflame"))
ENGINES = ("valgrind", "native")
REFERENCE = "valgrind"  # must be there; the others may be refused
DETAILS = ("function", "line")
SECONDS = 300


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes a minute or more")


class Run:
    def __init__(self, done):
        self.stdout, self.stderr, self.status = done.stdout, done.stderr, done.returncode


def run(command, case=None, **more):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          capture_output=True, env=cases.environment(case), timeout=SECONDS,
                          **more)
    return Run(done)


@pytest.fixture(scope="session")
def programs_directory():
    """Programs stay between runs, in folders named by the hash of what they are made from."""
    place = cases.ROOT / "build" / "truth"
    place.mkdir(parents=True, exist_ok=True)
    return place


@pytest.fixture(scope="session")
def build_program(programs_directory):
    return lambda case: case.compile(programs_directory)


@pytest.fixture(scope="session")
def oracle_program(tmp_path_factory):
    program = tmp_path_factory.mktemp("oracle") / "step"
    sources = sorted((cases.HERE.parent / "oracle").glob("*.c"))
    subprocess.run(["gcc", "-O2", "-std=gnu11", "-D_GNU_SOURCE", "-o", program, *sources,
                    "-ldw", "-lelf"], check=True)
    return program


class Oracle:
    """Runs single-stepped, each once: total, tree ({} without), output, exit status."""

    def __init__(self, program, build, directory):
        self.program, self.build, self.directory, self.done = program, build, directory, {}

    def of(self, case):
        if case.name not in self.done:
            self.done[case.name] = self._run(case)
        return self.done[case.name]

    def _run(self, case):
        output = self.directory / "steps"
        options = {"tree": ["--folded"], "tables": ["--unwind-tables"]}.get(case.oracle, [])
        options = options + [o for o in case.record_options if o == "--start=off"]
        program = self.build(case)
        stepped = cases.unstripped(program) if case.is_stripped else program
        result = run([self.program, "-o", output, *options, "--", stepped, *case.arguments], case,
                     cwd=program.parent)
        assert result.status != 125, result.stderr.decode()
        first, _, rest = output.read_text().partition("\n")
        result.total = int(first.split()[1])
        result.tree = cases.folded(cases.demangled(rest))
        return result


@pytest.fixture(scope="session")
def oracle(oracle_program, build_program, tmp_path_factory):
    return Oracle(oracle_program, build_program, tmp_path_factory.mktemp("oracle"))


class Recording:
    def __init__(self, file, result, stripped):
        self.file, self.run, self.stripped = file, result, stripped
        self._folded = {}

    def folded_bytes(self, *options):
        if options not in self._folded:
            done = run([TRUEFLAME, "export", self.file, "-f", "folded", *options])
            assert done.status == 0, done.stderr.decode()
            self._folded[options] = done.stdout
        return self._folded[options]

    def tree(self, *options):
        """Of functions that have code of their own: inlined ones are not the engines' doing."""
        tree = cases.folded(self.folded_bytes("--inline=no", *options).decode())
        return cases.name_addresses(tree, self.stripped) if self.stripped else tree

    def info(self):
        done = run([TRUEFLAME, "info", "--json", self.file])
        assert done.status == 0, done.stderr.decode()
        return json.loads(done.stdout)


class Recorder:
    def __init__(self, build, directory):
        self.build, self.directory, self.done = build, directory, {}

    def record(self, case, engine, detail, *options):
        key = (case.name, engine, detail, options)
        if key not in self.done:
            self.done[key] = self._record(*key, case)
        return self.done[key]

    def _record(self, _name, engine, detail, options, case):
        file = self.directory / f"{len(self.done)}.flame"
        program = self.build(case)
        result = run([TRUEFLAME, "record", "--quiet", "-o", file, f"--engine={engine}",
                      f"--detail={detail}", *case.record_options, *options, "--", program,
                      *case.arguments], case, cwd=program.parent)
        assert file.exists(), f"no profile was written: {result.stderr.decode()}"
        return Recording(file, result, program if case.is_stripped else None)


@pytest.fixture(scope="session")
def recorder(build_program, tmp_path_factory):
    return Recorder(build_program, tmp_path_factory.mktemp("recordings"))


_refusals = {}


def refusal(engine, directory):
    """Why `engine` cannot be used here; None when it can."""
    if engine not in _refusals:
        if not TRUEFLAME.exists():
            _refusals[engine] = f"{TRUEFLAME} is not built"
        else:
            done = run([TRUEFLAME, "record", f"--engine={engine}", "-o", directory / "probe.flame",
                        "--", "/bin/true"])
            said = done.stderr.decode().strip()
            _refusals[engine] = None if done.status == 0 else f"engine {engine}: {said}"
    return _refusals[engine]


@pytest.fixture(params=ENGINES)
def engine(request, tmp_path_factory):
    why = refusal(request.param, tmp_path_factory.getbasetemp())
    if why and request.param == REFERENCE:
        pytest.fail(why)
    if why:
        pytest.skip(why)
    return request.param


@pytest.fixture(params=DETAILS)
def detail(request):
    return request.param
