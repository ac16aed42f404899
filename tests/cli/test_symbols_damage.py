"""Damaged debug info: the module falls back to its symbols and says so; nothing crashes or hangs."""
import os
import random
import re
import resource
import struct
import zlib

import pytest

from symbols_oracle import ROOT, instruction_addresses, ours, run

SOURCES = os.path.join(ROOT, "tests", "symbols")


@pytest.fixture(scope="module", params=["-gdwarf-5", "-gdwarf-4"])
def program(request, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("damage") / "program")
    run("g++", "-O2", "-g", request.param, os.path.join(SOURCES, "chains.cpp"), "-o", path)
    addresses = instruction_addresses(path)[::3]
    return path, addresses, ours(path, addresses)[0]


def sections(path):
    """{name: (offset, size)} of what is not loaded: debug info and symbol tables."""
    listing = run("readelf", "-SW", path).stdout
    found = {}
    for name, offset, size in re.findall(
            r"\] (\.debug_\w+)\s+PROGBITS\s+\w+ ([0-9a-f]+) ([0-9a-f]+)", listing):
        found[name] = int(offset, 16), int(size, 16)
    assert ".debug_info" in found
    return found


def damaged(program, tmp_path, change):
    """A copy of the program with `change(bytearray, sections)` applied."""
    data = bytearray(open(program, "rb").read())
    change(data, sections(program))
    path = tmp_path / "damaged"
    path.write_bytes(data)
    return str(path)


def wrong_names(mine, expected):
    """The function that has the code must be right, or nothing at all be said."""
    return [(hex(address), frames, expected[address]) for address, frames in mine.items()
            if "??" not in (frames[-1][0], expected[address][-1][0])
            and frames[-1][0] != expected[address][-1][0]]


def test_random_damage(program, tmp_path):
    path, addresses, expected = program
    for seed in range(60):
        chance = random.Random(seed)

        def change(data, found):
            name = chance.choice(sorted(found))
            offset, size = found[name]
            for _ in range(chance.choice([1, 3, 30])):
                data[offset + chance.randrange(size)] = chance.randrange(256)

        mine, said = ours(damaged(path, tmp_path, change), addresses)
        assert not wrong_names(mine, expected), seed
        assert re.match(r"symbols: (debug|table)\nnote: .*\n$", said), said


@pytest.mark.parametrize("value", [0, 1, 0xfffffff0, 0xffffffff])
def test_absurd_unit_length(program, tmp_path, value):
    path, addresses, expected = program

    def change(data, found):
        struct.pack_into("<I", data, found[".debug_info"][0], value)

    mine, said = ours(damaged(path, tmp_path, change), addresses)
    assert said.startswith("symbols: table\nnote: debug info is damaged"), said
    assert all(frames == [("??", "??", 0)] for frames in mine.values())


@pytest.mark.parametrize("name", [".debug_abbrev", ".debug_line", ".debug_str"])
@pytest.mark.parametrize("filler", [0x00, 0xff, 0x80])
def test_sections_of_nothing(program, tmp_path, name, filler):
    path, addresses, expected = program

    def change(data, found):
        offset, size = found[name]
        data[offset:offset + size] = bytes([filler]) * size

    mine, said = ours(damaged(path, tmp_path, change), addresses)
    assert not wrong_names(mine, expected)
    if name != ".debug_str":
        assert said.startswith("symbols: table\nnote: debug info is damaged"), said


def test_truncated_files(program, tmp_path):
    path, addresses, _ = program
    data = open(path, "rb").read()
    for part in range(1, 20):
        short = tmp_path / "short"
        short.write_bytes(data[:len(data) * part // 20])
        _, said = ours(str(short), addresses)
        assert re.match(r"symbols: \w+\nnote: \S.*\n$", said), said


def test_compressed_sections_that_explode(tmp_path):
    """Two megabytes that would be two gigabytes."""
    path = str(tmp_path / "program")
    run("gcc", "-O2", "-g", "-gz", os.path.join(SOURCES, "chains_too.c"), "-shared", "-o", path)
    addresses = instruction_addresses(path)
    offset, _ = sections(path)[".debug_info"]
    press = zlib.compressobj(9)
    bomb = b"".join(press.compress(bytes(1 << 20)) for _ in range(2048)) + press.flush()
    data = bytearray(open(path, "rb").read())
    place = len(data)
    data += struct.pack("<IIQQ", 1, 0, 2048 << 20, 1) + bomb
    headers, = struct.unpack_from("<Q", data, 0x28)
    for number in range(struct.unpack_from("<H", data, 0x3c)[0]):
        if struct.unpack_from("<Q", data, headers + 64 * number + 24)[0] == offset:
            struct.pack_into("<QQ", data, headers + 64 * number + 24, place, 24 + len(bomb))
    (tmp_path / "bomb").write_bytes(data)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    _, said = ours(str(tmp_path / "bomb"), addresses)
    assert said.startswith("symbols: table\nnote: debug info is damaged (its compressed sections")
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < max(before, 200 * 1024) + 1


NESTED = """
        .text
        .globl f
        .type f, @function
f:      nop
        nop
.Lend:  .size f, . - f
        .section .debug_abbrev, "", @progbits
        .byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0
        .byte 2, 0x2e, 1, 0x11, 1, 0x12, 7, 0, 0
        .byte 3, 0x0b, 1, 0, 0
        .byte 0
        .section .debug_info, "", @progbits
        .long .Lunit_end - .Lunit
.Lunit: .short 4
        .long 0
        .byte 8, 1
        .quad f, .Lend - f
        .byte 2
        .quad f, .Lend - f
        .rept {depth}
        .byte 3
        .endr
        .rept {depth}
        .byte 0
        .endr
        .byte 0, 0
.Lunit_end:
"""


@pytest.mark.parametrize("depth", [100, 3000, 500000])
def test_entries_nested_without_end(tmp_path, depth):
    """Walking over them level by level would take time by the square of the depth."""
    source, library = tmp_path / "nested.s", tmp_path / "nested.so"
    source.write_text(NESTED.format(depth=depth))
    run("gcc", "-shared", "-nostdlib", str(source), "-o", str(library))
    address = run("nm", str(library)).stdout.split(" T f")[0].split()[-1]
    mine, said = ours(str(library), [address])
    if depth == 100:
        assert said.startswith("symbols: debug\n") and mine[int(address, 16)][0][0] == "f"
    else:
        assert said == ("symbols: table\nnote: debug info is damaged (it leads round in circles): "
                        "names come from the symbol table\n")


def test_not_an_elf_file(tmp_path):
    path = tmp_path / "text"
    path.write_text("not an ELF file")
    _, said = ours(str(path), ["1000"])
    assert said == f"symbols: none\nnote: {path} is not an ELF file\n"
    _, said = ours(str(tmp_path), ["1000"])
    assert said == f"symbols: none\nnote: {tmp_path} is not a file\n"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    _, said = ours(str(pipe), ["1000"])
    assert said == f"symbols: none\nnote: {pipe} is not a file\n"
