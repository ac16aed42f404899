"""The programs of tests/truth: found, read, built, and run.

A program opens with a comment that says which rule it shows and what must come out:

    build: freestanding                 how it is built, see BUILDS; more words are compiler flags
    with: libx.so = x_library.c         a shared library built beside it (more words: flags)
    link: libx.so                       ... and linked to it
    stripped: yes                       the symbols are taken out; trees still speak of them
    arguments: a b                      what the program is given
    record: --start=off                 options of every recording
    oracle: tree | tables | total | none
                                        what single-stepping can say about it (see BUILDS)
    total: 1234                         instructions in all, counted by hand
    contexts: 56                        how many paths there are at least
    folded: no                          the tree is too big to be written out
    slow: yes                           takes a minute or more (pytest -m "not slow" leaves it out)
    repeatable: no                      threads race: counts differ from run to run
    tree [OPTIONS]:                     the whole folded tree; a count may be * (any, not zero)
    below F [G...] [OPTIONS]:           the same for what runs under F or G, paths cut off above
    paths [OPTIONS]:                    frames that must stand next to each other in some path
    never [OPTIONS]:                    frames that must not

OPTIONS are those of `record`, or of `export` where `record` has no such option. The lines of the
last four are indented below them. In a frame, `a|b` is either.
"""

import collections
import fnmatch
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# Frames for the oracle to walk, and code that does what the source says and no more.
FREESTANDING = """-nostdlib -static -no-pie -fno-pie -ffreestanding -O1 -fno-omit-frame-pointer
    -foptimize-sibling-calls -fno-shrink-wrap -fno-schedule-insns2 -fno-stack-protector -fno-ipa-ra
    -fno-tree-loop-distribute-patterns -fcf-protection=none -fno-asynchronous-unwind-tables
    -Wl,--build-id=none -Wno-unused-value"""
LIBRARY = "-O1 -fno-omit-frame-pointer -foptimize-sibling-calls -fno-stack-protector -g"

# how: (flags, what the oracle can say)
BUILDS = {
    "freestanding": (FREESTANDING, "tree"),
    # glibc has no frame pointers, but unwind tables. Its start-up depends on the processor and on
    # the environment, both other under an engine: tree and total are those of a recorded window.
    "static": (LIBRARY + " -static -no-pie", "tables"),
    "dynamic": (LIBRARY, "none"),
}

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
# String functions that need nothing of the processor, so that the oracle and every engine run the
# same ones. Only where that is needed: reading this, glibc 2.36 looks at bytes beyond its end, and
# takes now longer and now shorter.
TUNABLES = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-ERMS,-FSRM,"
    "-BMI1,-BMI2,-SSE4_1,-SSE4_2,-SSSE3,-RTM,-MOVBE,-LZCNT,-POPCNT,-FMA,-XSAVEC,-XSAVE",
}

EXPORT_OPTIONS = ("--skip-anon", "--fold-recursion", "--focus", "--root", "--merge-threads",
                  "--part")

HEADINGS = ("tree", "below", "paths", "never")


class Expectation:
    def __init__(self, kind, roots, options):
        self.kind, self.roots, self.options, self.lines = kind, roots, tuple(options), []
        self.export_options = tuple(o for o in options if o.split("=")[0] in EXPORT_OPTIONS)
        self.record_options = tuple(o for o in options if o not in self.export_options)

    def skipped_frames(self):
        """Globs of what its options skip; None where they do more than skip functions."""
        globs = [o.split("=", 1)[1] for o in self.options if o.startswith("--skip-function=")]
        globs += ["[[]anon]" for o in self.options if o == "--skip-anon"]
        return globs if len(globs) == len(self.options) else None

    def __str__(self):
        return " ".join([self.kind, *self.roots, *self.options])


class Case:
    def __init__(self, source):
        self.source = source
        self.name = f"{source.parent.name}/{source.stem}"
        self.values = {}
        self.libraries, self.expectations = [], []
        self._read_heading()
        words = self.values.get("build", "").split()
        if not words or words[0] not in BUILDS:
            raise ValueError(f"{source}: no `build:` in the heading")
        flags, oracle = BUILDS[words[0]]
        self.build = words[0]
        self.flags = flags.split() + words[1:]
        self.oracle = self.values.get("oracle", oracle)
        self.record_options = tuple(shlex.split(self.values.get("record", "")))
        self.arguments = shlex.split(self.values.get("arguments", ""))
        self.has_oracle_tree = self.oracle in ("tree", "tables")
        self.is_stripped = self.values.get("stripped") == "yes"
        self.is_writable = self.values.get("folded") != "no"
        self.is_slow = self.values.get("slow") == "yes"
        self.is_repeatable = self.values.get("repeatable") != "no"

    def _read_heading(self):
        text = self.source.read_text()
        comment = re.match(r"/\*(.*?)\*/", text, re.DOTALL)
        if not comment:
            raise ValueError(f"{self.source}: no heading")
        current = None
        for line in comment.group(1).splitlines():
            line = re.sub(r"^ \*( |$)", "", line)
            if line.startswith("    ") and current:
                current.lines.append(line.strip())
                continue
            match = re.fullmatch(r"(\w+)( [^:]*)?:\s*(.*)", line)
            current = None
            if not match:
                continue
            key, middle, value = match.group(1), (match.group(2) or "").split(), match.group(3)
            if key in HEADINGS and not value:
                roots = [w for w in middle if not w.startswith("-")]
                options = [w.replace("\\", ":") for w in middle if w.startswith("-")]
                current = Expectation(key, roots, options)
                self.expectations.append(current)
            elif key == "with":
                name, words = value.split(" = ")
                self.libraries.append((name.strip(), words.split()))
            elif not middle:
                self.values[key] = value

    def compile(self, directory):
        """The finished program, built in a folder of its own under `directory`."""
        digest = hashlib.sha256(repr((self.flags, self.is_stripped, self.libraries)).encode())
        sources = [self.source, *sorted((HERE / "include").iterdir())]
        sources += [self.source.parent / words[0] for _, words in self.libraries]
        sources += sorted((ROOT / "include").rglob("*.h"))
        for source in sources:
            digest.update(source.read_bytes())
        place = directory / digest.hexdigest()[:16]
        program = place / self.source.stem
        if program.exists():
            return program
        place.mkdir(parents=True, exist_ok=True)
        include = [f"-I{HERE / 'include'}", f"-I{ROOT / 'include'}"]
        for name, words in self.libraries:
            source = self.source.parent / words[0]
            _compile([*LIBRARY.split(), "-shared", "-fPIC", *include, *words[1:]], [source],
                     place / name)
        link = [str(place / name) for name in self.values.get("link", "").split()]
        half = place / f"unfinished-{os.getpid()}"
        _compile([*self.flags, *include], [self.source, *link, *self.values.get("libs", "").split()],
                 half, ["-Wl,-rpath,$ORIGIN"] if self.libraries else [])
        if self.is_stripped:
            shutil.copy(half, unstripped(program))
            subprocess.run(["strip", half], check=True)
        half.rename(program)
        return program


def unstripped(program):
    """The twin of a stripped program that still has its symbols; the same code, byte for byte."""
    return program.with_name("unstripped")


def _compile(flags, inputs, output, last=()):
    compiler = "g++" if str(inputs[0]).endswith(".cc") else "gcc"
    command = [compiler, *flags, "-o", str(output), *map(str, inputs), *last]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")


def all_cases():
    sources = sorted(p for s in ("*.c", "*.cc", "*.S") for p in HERE.glob(f"*/{s}"))
    return [Case(p) for p in sources if p.parent.name != "include" and
            not p.stem.endswith("_library")]


def folded(text):
    """{(frame, ...): count}"""
    tree = {}
    for line in text.splitlines():
        path, _, count = line.rpartition(" ")
        frames = tuple(path.split(";"))
        if frames in tree:
            raise AssertionError(f"path stands twice: {path}")
        tree[frames] = int(count)
    return tree


def demangled(text):
    return subprocess.run(["c++filt"], input=text, check=True, capture_output=True, text=True).stdout


def name_addresses(tree, program):
    """Frames known by their address only, 0x..., get the names that the twin of `program` has."""
    names = {}
    for line in subprocess.run(["nm", "--defined-only", unstripped(program)], check=True,
                               capture_output=True, text=True).stdout.splitlines():
        address, _, name = line.split()
        names[int(address, 16)] = name
    named = collections.Counter()  # a library's addresses may be the program's too
    for path, count in tree.items():
        named[tuple(names.get(int(f, 16), f) if f.startswith("0x") else f for f in path)] += count
    return dict(named)


def _frame_matches(pattern, frame):
    return frame in pattern.split("|")


def _path_matches(pattern, path):
    return len(pattern) == len(path) and all(map(_frame_matches, pattern, path))


def _contains(path, pattern):
    return any(_path_matches(pattern, path[i:i + len(pattern)])
               for i in range(len(path) - len(pattern) + 1))


def _expected(lines):
    wanted = []
    for line in lines:
        path, _, count = line.rpartition(" ")
        if not path or not re.fullmatch(r"\d+|\*", count):
            raise ValueError(f"no count: {line}")
        wanted.append((tuple(path.split(";")), count))
    return wanted


def cut_above(tree, roots):
    """What runs under one of `roots`, paths starting there."""
    cut = {}
    for path, count in tree.items():
        for i, frame in enumerate(path):
            if frame in roots:
                cut[path[i:]] = cut.get(path[i:], 0) + count
                break
    return cut


def difference(expectation, tree):
    """Sentences on how `tree` is not as expected; none when it is."""
    if expectation.kind == "paths":
        return [f"no path has  {line}" for line in expectation.lines
                if not any(_contains(path, tuple(line.split(";"))) for path in tree)]
    if expectation.kind == "never":
        return [f"there is  {';'.join(path)}" for line in expectation.lines for path in tree
                if _contains(path, tuple(line.split(";")))]
    if expectation.kind == "below":
        tree = cut_above(tree, expectation.roots)
    said, left = [], dict(tree)
    for pattern, count in _expected(expectation.lines):
        found = [path for path in left if _path_matches(pattern, path)]
        if not found:
            said.append(f"missing      {';'.join(pattern)} {count}")
            continue
        actual = left.pop(found[0])
        if count != "*" and actual != int(count):
            said.append(f"other count  {';'.join(pattern)} {count}, but is {actual}")
        if count == "*" and actual == 0:
            said.append(f"no count     {';'.join(pattern)}")
    said += [f"unexpected   {';'.join(path)} {count}" for path, count in left.items()]
    return said


def tree_difference(left, right, left_name, right_name):
    said = []
    for path in sorted(set(left) | set(right)):
        if left.get(path) != right.get(path):
            said.append(f"{';'.join(path)}: {left_name} {left.get(path)}, "
                        f"{right_name} {right.get(path)}")
    return said


def skipped(tree, globs):
    """The tree after frames matching `globs` gave their cost to their nearest visible caller."""
    result = {}
    for path, count in tree.items():
        kept = tuple(f for f in path if f.startswith("(") or
                     not any(fnmatch.fnmatchcase(f, g) for g in globs))
        kept = kept or ("(skipped)",)
        result[kept] = result.get(kept, 0) + count
    return result


def environment(case=None):
    tunables = TUNABLES if case and case.build == "static" else {}
    temporary = {k: v for k, v in os.environ.items() if k == "TMPDIR"}
    return {**ENVIRONMENT, **tunables, **temporary}
