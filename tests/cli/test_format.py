"""docs/format.md is to the byte: a reader made of its tables, and of nothing else, reads a profile
and gets the tree that the program gets."""
import collections
import ctypes
import ctypes.util
import json
import os
import re

import pytest

from support import ROOT, folded, run

NONE = 2**32 - 1


def documented_tables():
    """{section: [(column, coding)]}, from the Markdown tables."""
    tables, section, places = collections.defaultdict(list), None, []
    for line in open(os.path.join(ROOT, "docs", "format.md")):
        heading = re.match(r"## (\d+): ", line)
        if heading:
            section, places = int(heading[1]), []
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or set(line.strip()) <= set("|-"):
            continue
        headers = [(re.fullmatch(r"(?:(\d+): )?column", cell), i) for i, cell in enumerate(cells)]
        if any(match for match, _ in headers):
            places = [(int(match[1] or section), i) for match, i in headers if match]
            continue
        for number, i in places:
            if section and cells[i]:
                tables[number].append((cells[i], cells[i + 1].split(",")[0]))
    return tables


def library(name):
    path = ctypes.util.find_library(name)
    if not path:
        pytest.skip(f"lib{name} is not installed")
    return ctypes.CDLL(path)


def sections(data):
    assert data[:8] == bytes.fromhex("89464c414d450d0a")
    number = lambda at, size: int.from_bytes(data[at:at + size], "little")
    assert number(8, 4) == 1
    hashes, zstd = library("xxhash"), library("zstd")
    hashes.XXH64.restype = ctypes.c_uint64
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    at, found = 16, {}
    for expected in range(1, number(12, 4) + 1):
        stored, plain, checksum = number(at + 8, 8), number(at + 16, 8), number(at + 24, 8)
        body = data[at + 32:at + 32 + stored]
        checked = data[at:at + 24] + body
        assert number(at, 4) == expected
        assert hashes.XXH64(checked, ctypes.c_size_t(len(checked)), ctypes.c_uint64(0)) == checksum
        if number(at + 4, 4) == 1:
            unpacked = ctypes.create_string_buffer(plain)
            assert zstd.ZSTD_decompress(unpacked, ctypes.c_size_t(plain), body,
                                        ctypes.c_size_t(stored)) == plain
            body = unpacked.raw
        found[expected] = body
        at += 32 + stored
    assert at == len(data)
    return found


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def text(self, length):
        self.at += length
        return self.data[self.at - length:self.at].decode()


def unzigzag(code):
    return (code >> 1) ^ -(code & 1)


def decoded(coding, code, row, before):
    return {
        "plain": lambda: code,
        "optional": lambda: code - 1 if code else NONE,
        "back": lambda: row - code if code else NONE,
        "delta": lambda: (before + unzigzag(code)) % 2**64,
        "signed": lambda: unzigzag(code),
    }[coding]()


def read_table(body, columns):
    cursor = Cursor(body)
    count = cursor.varint()
    table = {}
    for name, coding in columns:
        values, before = [], 0
        for row in range(count):
            before = decoded(coding, cursor.varint(), row, before)
            values.append(before)
        table[name] = values
    assert cursor.at == len(body)
    return table


def test_the_documented_reader_reads_the_same_tree(program_flame):
    found, tables = sections(program_flame.read_bytes()), documented_tables()
    assert found.keys() == tables.keys() | {2, 3}

    cursor = Cursor(found[3])
    lengths = [cursor.varint() for _ in range(cursor.varint())]
    strings = [cursor.text(length) for length in lengths]
    assert strings[0] == "" and cursor.at == len(found[3])
    cursor = Cursor(found[2])
    date, host, pids = cursor.varint(), *(cursor.text(cursor.varint()) for _ in range(2))
    assert cursor.at == len(found[2])

    data = {number: read_table(found[number], tables[number]) for number in tables}
    info = json.loads(run("info", program_flame, "--json").stdout)
    assert (date, host, pids) == (info["date_seconds"], info["host"], info["pids"])
    assert strings[data[1]["engine"][0]] == info["engine"]
    contexts, functions = data[9], data[5]
    assert sum(contexts["self_instructions"]) == info["total_instructions"]

    paths, costs = [], collections.Counter()
    for parent, function, cost in zip(contexts["parent"], contexts["function"],
                                      contexts["self_instructions"]):
        name = strings[functions["name"][function]]
        above = "" if parent == NONE else paths[parent]
        paths.append("" if parent == NONE else f"{above};{name}" if above else name)
        if cost:
            costs[paths[-1]] += cost
    assert sorted(f"{path} {cost}" for path, cost in costs.items()) == \
        sorted(folded(program_flame, "--inline=no").splitlines())

    blocks, counts = data[10], data[13]
    by_count = sum(count * blocks["instructions"][block]
                   for block, count in zip(counts["block"], counts["count"]))
    assert by_count == info["total_instructions"]
    assert len(data[11]["length"]) >= sum(blocks["instructions"])
