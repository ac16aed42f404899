"""Inline chains, names and lines equal those of addr2line and llvm-addr2line, at every
instruction of programs compiled here in every form that debug info comes in."""
import os
import shutil
import subprocess

import pytest

from symbols_oracle import (ROOT, addr2line, differences, instruction_addresses, ours, report, run)

SOURCES = os.path.join(ROOT, "tests", "symbols")
CXX = ["chains.cpp"]
C = ["chains.c", "chains_too.c"]
FORMS = {
    "g++": ("g++ -O2 -g", CXX),
    "g++-dwarf4": ("g++ -O2 -g -gdwarf-4", CXX),
    "g++-O0": ("g++ -O0 -g", CXX),
    "g++-O1": ("g++ -O1 -g", CXX),
    "g++-O3-lto": ("g++ -O3 -flto -g", CXX),
    "g++-split": ("g++ -O2 -g -gsplit-dwarf", CXX),
    "g++-split-dwarf4": ("g++ -O2 -g -gdwarf-4 -gsplit-dwarf", CXX),
    "g++-compressed": ("g++ -O2 -g -gz", CXX),
    "g++-compressed-gnu": ("g++ -O2 -g -gz=zlib-gnu", CXX),
    "g++-sections": ("g++ -O2 -g -ffunction-sections -Wl,--gc-sections", CXX),
    "g++-static": ("g++ -O2 -g -static", CXX),
    "clang++": ("clang++ -O2 -g", CXX),
    "clang++-dwarf4": ("clang++ -O2 -g -gdwarf-4", CXX),
    "clang++-split": ("clang++ -O2 -g -gsplit-dwarf", CXX),
    "gcc": ("gcc -O2 -g", C),
    "gcc-dwarf4": ("gcc -O2 -g -gdwarf-4", C),
    "gcc-dwarf3": ("gcc -O2 -g -gdwarf-3 -gstrict-dwarf", C),
    "gcc-no-pie": ("gcc -O2 -g -no-pie", C),
    "gcc-Os": ("gcc -Os -g", C),
    "gcc-lto": ("gcc -O2 -g -flto", C),
    "clang": ("clang -O2 -g", C),
    "riscv64": ("riscv64-linux-gnu-gcc -O2 -g -static", C),
}


# What `make test` runs; the other forms need `make test-all`.
QUICK = {"g++", "g++-dwarf4", "g++-split", "g++-compressed", "g++-O3-lto", "clang++", "gcc",
         "gcc-lto"}


def forms():
    return [form if form in QUICK else pytest.param(form, marks=pytest.mark.slow)
            for form in FORMS]


def compile_form(form, directory):
    command, sources = FORMS[form]
    command = command.split()
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]}")
    program = str(directory / "program")
    done = subprocess.run(
        [*command, "-Wl,--build-id", *(os.path.join(SOURCES, source) for source in sources),
         "-o", program], cwd=directory, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def oracles(path, addresses, prefix=""):
    tools = [tool for tool in (prefix + "addr2line", "llvm-addr2line") if shutil.which(tool)]
    return {tool: addr2line(tool, path, addresses) for tool in tools}


def needs_llvm(form):
    """binutils 2.40 does not read these forms."""
    return "split" in form or "compressed-gnu" in form


@pytest.mark.parametrize("form", forms())
def test_every_instruction(form, tmp_path):
    if needs_llvm(form) and not shutil.which("llvm-addr2line"):
        pytest.skip("no llvm-addr2line")
    program = compile_form(form, tmp_path)
    prefix = "riscv64-linux-gnu-" if form == "riscv64" else ""
    addresses = instruction_addresses(program, prefix)
    if len(addresses) > 20000:  # A static program: its own code and some of the library's.
        addresses = addresses[::len(addresses) // 20000 + 1]
    mine, said = ours(program, addresses)
    assert said == "symbols: debug\nnote: \n"
    different = differences(mine, oracles(program, addresses, prefix))
    assert not different, report(different)
    if "-O0" not in form:
        assert any(len(frames) > 1 for frames in mine.values())
    if form in ("g++", "g++-split", "g++-O3-lto"):
        names = {name for frames in mine.values() for name, _, _ in frames}
        assert "outer::{lambda}::operator()" in names and "operator()" not in names
        assert "outer::{lambda}::operator()<int>" in names


@pytest.mark.parametrize("form", ["g++", "g++-dwarf4", "clang++", "gcc"])
def test_inlined_functions_are_not_second_functions(form, tmp_path):
    """A function that was inlined here and called there is one function: also constructors, whose
    inlined copies have a symbol of their own, and functions that one file only can see."""
    program = compile_form(form, tmp_path)
    addresses = instruction_addresses(program)
    mine, said = ours(program, addresses, "--functions")
    assert said == "symbols: debug\nnote: \nsecond entries: 0\n"
    owners = {frames[-1][0] for frames in mine.values()}
    inlined = {frame[0] for frames in mine.values() for frame in frames[:-1]}
    assert form == "clang++" or owners & inlined  # else the test shows nothing


@pytest.mark.parametrize("version", [4, 5])
def test_a_relative_directory_is_put_in_front_once(version, tmp_path):
    """Compilers told to leave out where they ran name files relative to that place."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "one.c").write_text("int main(void)\n{\n    return 0;\n}\n")
    program = str(tmp_path / "program")
    for source, where, named in (("src/one.c", tmp_path, "pkg/src/one.c"),
                                 ("one.c", tmp_path / "src", "pkg/src/one.c")):
        done = subprocess.run(["gcc", "-g", f"-gdwarf-{version}",
                               f"-fdebug-prefix-map={tmp_path}=pkg", source, "-o", program],
                              cwd=where, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        mine, _ = ours(program, instruction_addresses(program))
        files = {file for frames in mine.values() for name, file, _ in frames if name == "main"}
        assert files == {named}


@pytest.mark.parametrize("way", ["zlib", "zlib-gnu", "zstd"])
def test_compressed(way, tmp_path):
    """However sections are compressed, and those of a file that dwz made too."""
    program = compile_form("g++", tmp_path)
    addresses = instruction_addresses(program)
    expected, _ = ours(program, addresses)
    small = str(tmp_path / "small")
    done = subprocess.run(["objcopy", f"--compress-debug-sections={way}", program, small],
                          capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"objcopy: {done.stderr.strip()}")
    assert ours(small, addresses) == (expected, "symbols: debug\nnote: \n")
    if not shutil.which("dwz"):
        return
    twin, common = shutil.copy(program, tmp_path / "twin"), str(tmp_path / "common.debug")
    run("dwz", "-m", common, "-r", program, str(twin))
    for path in (program, common):
        run("objcopy", f"--compress-debug-sections={way}", path)
    assert ours(program, addresses) == (expected, "symbols: debug\nnote: \n")


def test_dwz(tmp_path):
    if not shutil.which("dwz"):
        pytest.skip("no dwz")
    program = compile_form("g++", tmp_path)
    addresses = instruction_addresses(program)
    expected, _ = ours(program, addresses)
    small = str(tmp_path / "small")
    run("dwz", program, "-o", small)
    mine, said = ours(small, addresses)
    assert said == "symbols: debug\nnote: \n"
    assert mine == expected


def test_dwz_with_a_common_file(tmp_path):
    if not shutil.which("dwz"):
        pytest.skip("no dwz")
    program = compile_form("g++", tmp_path)
    twin = shutil.copy(program, tmp_path / "twin")
    addresses = instruction_addresses(program)
    expected, _ = ours(program, addresses)
    common = tmp_path / "common.debug"
    run("dwz", "-m", str(common), "-r", program, str(twin))
    assert common.exists()
    mine, said = ours(program, addresses)
    assert said == "symbols: debug\nnote: \n"
    assert mine == expected

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.move(common, elsewhere)
    mine, said = ours(program, addresses)
    assert "dwz" in said
    assert mine != expected and mine.keys() == expected.keys()
    mine, said = ours(program, addresses, f"--debug-dir={elsewhere}")
    assert said == "symbols: debug\nnote: \n"
    assert mine == expected


PACKAGED = {
    "g++-split": ("g++ -O2 -g -gsplit-dwarf", "llvm-dwp"),
    "g++-split-dwarf4": ("g++ -O2 -g -gdwarf-4 -gsplit-dwarf", "dwp"),
    "clang++-split": ("clang++ -O2 -g -gsplit-dwarf -fno-split-dwarf-inlining", "llvm-dwp"),
}


def packaged(form, folder):
    """A program with split debug info; what it says, as .dwo files; and those files in a package."""
    command, tool = PACKAGED[form]
    compiler = command.split()[0]
    for needed in (compiler, tool):
        if not shutil.which(needed):
            pytest.skip(f"no {needed}")
    program, split = str(folder / "program"), str(folder / "chains.dwo")
    for arguments in (["-c", os.path.join(SOURCES, "chains.cpp"), "-o", "chains.o"],
                      ["chains.o", "-o", program]):
        done = subprocess.run([*command.split(), *arguments], cwd=folder, capture_output=True,
                              text=True)
        assert done.returncode == 0, done.stderr
    addresses = instruction_addresses(program)
    expected = ours(program, addresses)
    assert expected[1] == "symbols: debug\nnote: \n"
    done = subprocess.run([tool, split, "-o", program + ".dwp"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    os.remove(split)
    return program, addresses, expected


@pytest.mark.parametrize("form", PACKAGED)
def test_a_package_of_split_debug_info(form, tmp_path):
    program, addresses, expected = packaged(form, tmp_path)
    assert ours(program, addresses) == expected
    (tmp_path / "x").mkdir()
    shutil.move(program + ".dwp", tmp_path / "x")
    mine, said = ours(program, addresses)
    assert "1 of 1" in said and mine != expected[0]
    assert ours(program, addresses, f"--debug-dir={tmp_path / 'x'}") == expected


def test_a_damaged_package(tmp_path):
    """Every index is too short, and every number in it is wrong once: never a crash."""
    program, addresses, expected = packaged("g++-split-dwarf4", tmp_path)
    package = tmp_path / "program.dwp"
    whole = package.read_bytes()
    row = next(line.split() for line in
               run("readelf", "-SW", str(package)).stdout.replace("[ ", "[").splitlines()
               if ".debug_cu_index" in line)
    start, size = int(row[4], 16), int(row[5], 16)
    for at in range(start, start + size, 4):
        for value in (b"\xff\xff\xff\xff", b"\1\0\0\0"):
            package.write_bytes(whole[:at] + value + whole[at + 4:])
            mine, _ = ours(program, addresses[::50])
            assert mine.keys() == {int(text, 16) for text in addresses[::50]}
    package.write_bytes(whole[:len(whole) // 2])
    assert "1 of 1" in ours(program, addresses)[1]
    package.write_bytes(whole)
    assert ours(program, addresses) == expected


def build_id_of(program):
    return run("readelf", "-n", program).stdout.split("Build ID: ")[1].split()[0]


def separate(program, debug_file):
    """Moves debug info and .symtab into a file of their own, as distributions do."""
    run("objcopy", "--only-keep-debug", program, str(debug_file))
    run("strip", program)


@pytest.mark.parametrize("place", ["beside", ".debug", "debug-dir", "by-build-id"])
def test_separate_debug_file(place, tmp_path):
    program = compile_form("g++", tmp_path)
    addresses = instruction_addresses(program)
    expected, _ = ours(program, addresses)
    debug_file = tmp_path / "program.debug"
    separate(program, debug_file)
    mine, said = ours(program, addresses)
    assert said.startswith("symbols: none\nnote: no symbols and no debug info")
    assert mine != expected

    options = []
    if place == "by-build-id":
        build_id = build_id_of(program)
        target = tmp_path / "debug" / ".build-id" / build_id[:2] / (build_id[2:] + ".debug")
        options = [f"--debug-dir={tmp_path / 'debug'}"]
    else:
        run("objcopy", f"--add-gnu-debuglink={debug_file}", program)
        target = {"beside": tmp_path, ".debug": tmp_path / ".debug",
                  "debug-dir": tmp_path / "x"}[place] / "program.debug"
        if place == "debug-dir":
            options = [f"--debug-dir={tmp_path / 'x'}"]
    target.parent.mkdir(parents=True, exist_ok=True)
    if target != debug_file:
        shutil.move(debug_file, target)
    mine, said = ours(program, addresses, *options)
    assert said == "symbols: debug\nnote: \n"
    assert mine == expected


def test_wrong_debug_file_is_not_taken(tmp_path):
    (tmp_path / "other").mkdir()
    program = compile_form("gcc", tmp_path)
    other = compile_form("gcc-dwarf4", tmp_path / "other")
    debug_file = tmp_path / "program.debug"
    run("objcopy", "--only-keep-debug", other, str(debug_file))
    addresses = instruction_addresses(program)
    run("strip", program)
    run("objcopy", f"--add-gnu-debuglink={debug_file}", program)
    _, said = ours(program, addresses)
    assert said.startswith("symbols: none\n")


def test_module_elsewhere(tmp_path):
    """A profile from another machine: the file is found below a debug directory, or only its
    debug file by build id."""
    program = compile_form("gcc", tmp_path)
    addresses = instruction_addresses(program)
    expected, _ = ours(program, addresses)
    build_id = build_id_of(program)
    root = tmp_path / "root"
    (root / "opt").mkdir(parents=True)
    shutil.move(program, root / "opt" / "tool")
    options = [f"--build-id={build_id}", f"--debug-dir={root}"]
    for path in ("/opt/tool", str(root / "opt" / "tool")):
        mine, said = ours(path, addresses, *options)
        assert said == "symbols: debug\nnote: \n"
        assert mine == expected
    _, said = ours("/opt/tool", addresses, "--build-id=00" + build_id[2:], f"--debug-dir={root}")
    assert said.startswith("symbols: none\nnote: cannot open /opt/tool")

    debug_file = root / ".build-id" / build_id[:2] / (build_id[2:] + ".debug")
    debug_file.parent.mkdir(parents=True)
    separate(str(root / "opt" / "tool"), debug_file)
    os.remove(root / "opt" / "tool")
    mine, said = ours("/opt/tool", addresses, *options)
    assert said == "symbols: debug\nnote: \n"
    assert mine == expected


def test_missing_split_files(tmp_path):
    program = compile_form("g++-split", tmp_path)
    addresses = instruction_addresses(program)
    for name in os.listdir(tmp_path):
        if name.endswith(".dwo"):
            os.remove(tmp_path / name)
    mine, said = ours(program, addresses)
    assert said == ("symbols: debug\n"
                    "note: split debug info is missing: 1 of 1 .dwo files were not found\n")
    # Names and lines remain; they are in the program itself.
    assert any(frames[-1][0] == "main" and frames[0][2] for frames in mine.values())


@pytest.mark.slow
def test_rust(tmp_path):
    if not shutil.which("rustc"):
        pytest.skip("no rustc")
    for mangling in ("legacy", "v0"):
        program = str(tmp_path / mangling)
        extra = ["-C", "symbol-mangling-version=v0"] if mangling == "v0" else []
        run("rustc", "-O", "-g", *extra, os.path.join(SOURCES, "chains.rs"), "-o", program)
        addresses = instruction_addresses(program)
        addresses = addresses[:8000] + addresses[8000::40]
        mine, said = ours(program, addresses)
        assert said == "symbols: debug\nnote: \n"
        different = differences(mine, oracles(program, addresses))
        assert not different, report(different)
