"""Builds the oracle and the programs, makes each recording once.

What does not depend on trueflame stays in build/truth between runs: the programs, and what the
oracle said of them, each under a hash of all that it was made from. With pytest-xdist all tests of
a program run in one worker, so that they share its recordings.
"""

import base64
import hashlib
import json
import os
import pathlib
import subprocess

import pytest

import cases

BUILD = pathlib.Path(os.environ.get("TRUEFLAME_BUILD", cases.ROOT / "build"))
TRUEFLAME = pathlib.Path(os.environ.get("TRUEFLAME", BUILD / "trueflame"))
ENGINES = ("valgrind", "native")
REFERENCE = "valgrind"  # must be there; the others may be refused
DETAILS = ("function", "line")
SECONDS = 300


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes a minute or more")
    config.addinivalue_line("markers", "xdist_group: tests that share recordings")


def pytest_collection_modifyitems(items):
    for item in items:
        case = getattr(item, "callspec", None) and item.callspec.params.get("case")
        if case:
            item.add_marker(pytest.mark.xdist_group(case.name))


class Run:
    def __init__(self, stdout, stderr, status):
        self.stdout, self.stderr, self.status = stdout, stderr, status


def run(command, case=None, **more):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          capture_output=True, env=cases.environment(case), timeout=SECONDS,
                          **more)
    return Run(done.stdout, done.stderr, done.returncode)


@pytest.fixture(scope="session")
def programs_directory():
    """Programs stay between runs, in folders named by the hash of what they are made from."""
    place = BUILD / "truth"
    place.mkdir(parents=True, exist_ok=True)
    return place


@pytest.fixture(scope="session")
def build_program(programs_directory):
    return lambda case: case.compile(programs_directory)


@pytest.fixture(scope="session")
def plain_run(build_program):
    """The program without any engine, run once."""
    done = {}

    def of(case):
        if case.name not in done:
            program = build_program(case)
            done[case.name] = run([program, *case.arguments], case, cwd=program.parent)
        return done[case.name]
    return of


def digest_of(words, files):
    digest = hashlib.sha256(repr(words).encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@pytest.fixture(scope="session")
def oracle_program(programs_directory):
    folder = cases.HERE.parent / "oracle"
    sources = sorted(folder.glob("*.c"))
    program = programs_directory / f"step-{digest_of((), sorted(folder.iterdir()))}"
    if not program.exists():
        half = programs_directory / f"step-{os.getpid()}"
        subprocess.run(["gcc", "-O2", "-std=gnu11", "-D_GNU_SOURCE", "-o", half, *sources,
                        "-ldw", "-lelf"], check=True)
        half.rename(program)
    return program


class Oracle:
    """Runs single-stepped, each once: total, tree ({} without), output, exit status."""

    def __init__(self, program, build):
        self.program, self.build, self.done = program, build, {}

    def of(self, case):
        if case.name not in self.done:
            self.done[case.name] = self._kept(case)
        return self.done[case.name]

    def _kept(self, case):
        program = self.build(case)
        stepped = cases.unstripped(program) if case.is_stripped else program
        options = {"tree": ["--folded"], "tables": ["--unwind-tables"]}.get(case.oracle, [])
        options = options + [o for o in case.record_options if o == "--start=off"]
        words = (options, case.arguments, cases.environment(case))
        libraries = [program.parent / name for name, _ in case.libraries]
        kept = program.parent / f"steps-{digest_of(words, [self.program, stepped, *libraries])}"
        if not kept.exists():
            self._run(case, stepped, options, kept)
        said = json.loads(kept.read_text())
        result = Run(base64.b64decode(said["stdout"]), b"", said["status"])
        result.total, result.tree = said["total"], cases.folded(said["folded"])
        return result

    def _run(self, case, stepped, options, kept):
        output = kept.with_name(f"steps-{os.getpid()}")
        result = run([self.program, "-o", output, *options, "--", stepped, *case.arguments], case,
                     cwd=stepped.parent)
        assert result.status != 125, result.stderr.decode()
        first, _, rest = output.read_text().partition("\n")
        output.write_text(json.dumps({
            "stdout": base64.b64encode(result.stdout).decode(), "status": result.status,
            "total": int(first.split()[1]), "folded": cases.demangled(rest)}))
        output.rename(kept)


@pytest.fixture(scope="session")
def oracle(oracle_program, build_program):
    return Oracle(oracle_program, build_program)


class Recording:
    def __init__(self, file, result, stripped):
        self.file, self.run, self.stripped = file, result, stripped
        self._folded, self._trees, self._info = {}, {}, None

    def folded_bytes(self, *options):
        if options not in self._folded:
            done = run([TRUEFLAME, "export", self.file, "-f", "folded", *options])
            assert done.status == 0, done.stderr.decode()
            self._folded[options] = done.stdout
        return self._folded[options]

    def tree(self, *options):
        """Of functions that have code of their own: inlined ones are not the engines' doing."""
        if options not in self._trees:
            tree = cases.folded(self.folded_bytes("--inline=no", *options).decode())
            self._trees[options] = \
                cases.name_addresses(tree, self.stripped) if self.stripped else tree
        return self._trees[options]

    def info(self):
        if self._info is None:
            done = run([TRUEFLAME, "info", "--json", self.file])
            assert done.status == 0, done.stderr.decode()
            self._info = json.loads(done.stdout)
        return self._info


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
