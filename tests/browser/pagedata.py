"""Recordings for the page's tests, in the bytes that src/formats/html.c describes.

A second writer of the format, on purpose: the page is tested on recordings that no program would
give (counts beyond 2^53, hostile names, a million contexts) before and beside the program's own.
"""
import base64
import pathlib
import zlib

FILE, ANON, MARKER, PYTHON, JIT = range(5)
KIND_NATIVE, KIND_ANON, KIND_PYTHON, KIND_JIT, KIND_ROOT, KIND_MARKER = range(6)


class Recording:
    """Built by hand: modules, functions, then trees as nested paths."""

    def __init__(self, title, diff=False, unit="instructions"):
        self.diff = diff
        self.strings, self.string_ids = [], {}
        self.string("")
        self.meta = [("title", title), ("unit", unit)]
        self.modules, self.functions = [], []
        self.processes, self.threads, self.parts = [], [], []
        self.roots, self.lines, self.sources = [], [], []
        self.root_function = self.function("(root)", self.module("(markers)", MARKER), KIND_ROOT)

    def string(self, text):
        if text not in self.string_ids:
            self.string_ids[text] = len(self.strings)
            self.strings.append(text)
        return self.string_ids[text]

    def module(self, path, kind=FILE, note=""):
        self.modules.append((path, kind, note))
        return len(self.modules) - 1

    def function(self, name, module, kind=KIND_NATIVE, file="", line=0):
        self.functions.append((name, module, kind, file, line))
        return len(self.functions) - 1

    def process(self, command):
        self.processes.append(command)
        return len(self.processes) - 1

    def thread(self, process, ordinal, name=""):
        self.threads.append((process, ordinal, name))
        return len(self.threads) - 1

    def part(self, name, label=""):
        self.parts.append((name, label))
        return len(self.parts) - 1

    def root(self, thread, part, nodes):
        """nodes: preorder (depth, function, inlined, self, calls[, old_self, old_calls, presence])."""
        self.roots.append((thread, part, nodes))

    def line(self, function, file, line, own):
        self.lines.append((function, file, line, own))

    def source(self, file, text):
        self.sources.append((file, text))

    def encode(self):
        out = bytearray()
        body = self.encode_tables()
        out += b"TFPG\x01"
        put(out, [1 if self.diff else 0])
        texts = [text.encode("utf-8", "surrogatepass") for text in self.strings]
        put(out, [len(texts)])
        put(out, [len(text) for text in texts])
        out += b"".join(texts)
        return bytes(out + body)

    def encode_tables(self):
        out, text = bytearray(), self.string
        put(out, [len(self.meta)])
        for key, value in self.meta:
            put(out, [text(key), text(value)])
        put_table(out, [(text(p), k, text(n)) for p, k, n in self.modules], 3)
        put_table(out, [(text(n), m, k, text(f), line) for n, m, k, f, line in self.functions], 5)
        put_table(out, [(text(c),) for c in self.processes], 1)
        put_table(out, [(p, o, text(n)) for p, o, n in self.threads], 3)
        put_table(out, [(text(n), text(label)) for n, label in self.parts], 2)
        put_table(out, [(t, p, len(nodes)) for t, p, nodes in self.roots], 3)
        self.put_nodes(out)
        put_table(out, [(f, text(file), line, own) for f, file, line, own in sorted(self.lines)], 4)
        put(out, [len(self.sources)])
        for file, content in self.sources:
            put(out, [text(file), text(content)])
        return out

    def put_nodes(self, out):
        columns = [bytearray() for _ in range(7 if self.diff else 4)]
        for _, _, nodes in self.roots:
            above = 0
            for i, (depth, function, inlined, *counts) in enumerate(nodes):
                put(columns[0], [above + 1 - depth if i else 0])
                put(columns[1], [function * 2 + inlined])
                for column, count in zip(columns[2:], counts):
                    put(column, [count])
                above = depth
        for column in columns:
            out += column

    def page(self, build):
        folder = pathlib.Path(build) / "src/viewer"
        data = base64.b64encode(zlib.compress(self.encode(), 6))
        return (folder / "page.head").read_bytes() + data + (folder / "page.tail").read_bytes()


class Decoded:
    """The data of a page, read back; an error in its bytes is an assertion."""

    def __init__(self, html):
        start = html.index(b'id="recording">') + len(b'id="recording">')
        data = html[start:html.index(b"</script>", start)]
        self.bytes, self.at = zlib.decompress(base64.b64decode(data, validate=True)), 5
        assert self.bytes[:5] == b"TFPG\x01"
        self.diff = self.number() == 1
        lengths = self.numbers(self.number())
        self.strings = [self.take(length).decode() for length in lengths]
        self.meta = dict(self.pairs())
        self.modules = self.table("tnt")
        self.functions = self.table("tnntn")
        self.processes = self.table("t")
        self.threads = self.table("nnt")
        self.parts = self.table("tt")
        self.roots = self.table("nnn")
        size = sum(nodes for _, _, nodes in self.roots)
        self.nodes = [self.numbers(size) for _ in range(7 if self.diff else 4)]
        self.lines = self.table("ntnn")
        self.sources = dict(self.pairs())
        assert self.at == len(self.bytes)

    def take(self, length):
        self.at += length
        assert self.at <= len(self.bytes)
        return self.bytes[self.at - length:self.at]

    def number(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def numbers(self, count):
        return [self.number() for _ in range(count)]

    def pairs(self):
        return [(self.strings[self.number()], self.strings[self.number()])
                for _ in range(self.number())]

    def table(self, kinds):
        count = self.number()
        columns = [self.numbers(count) for _ in kinds]
        for i, kind in enumerate(kinds):
            if kind == "t":
                columns[i] = [self.strings[text] for text in columns[i]]
        return list(zip(*columns))

    def paths(self, root):
        """Path (names, root first, inlined ones marked) to [self, calls, ...] of one root."""
        first = sum(nodes for _, _, nodes in self.roots[:root])
        climb, frame, *counts = self.nodes
        path, found = [], {}
        for i in range(first, first + self.roots[root][2]):
            if i > first:
                del path[len(path) - climb[i]:]
                name = self.functions[frame[i] >> 1][0]
                path.append(name + ("_[i]" if frame[i] & 1 else ""))
            found.setdefault(tuple(path), [0] * len(counts))
            found[tuple(path)] = [a + column[i] for a, column in
                                  zip(found[tuple(path)], counts)]
        return found

    def folded(self, roots=None):
        """All (or the given) roots merged, as `export -f folded --annotate` writes them."""
        lines = {}
        for root in range(len(self.roots)) if roots is None else roots:
            for path, counts in self.paths(root).items():
                if counts[0]:
                    text = ";".join(path)
                    lines[text] = lines.get(text, 0) + counts[0]
        return lines


def put(out, numbers):
    for number in numbers:
        while number > 127:
            out.append(number & 127 | 128)
            number >>= 7
        out.append(number)


def put_table(out, rows, columns):
    put(out, [len(rows)])
    for i in range(columns):
        put(out, [row[i] for row in rows])


IN_BASE, IN_NEW, INLINED_IN_BASE, CALLED_IN_BASE, INLINED_IN_NEW, CALLED_IN_NEW = (
    1 << i for i in range(6))


def presence(node):
    """enum diff_presence: in a recording is what counts there, itself or below."""
    if "presence" in node:
        return node["presence"]
    own, calls, old, old_calls = node["counts"]
    below = 0
    for kid in node["kids"].values():
        below |= presence(kid)
    is_inlined = node["frame"][1]
    bits = 0
    if old or old_calls or below & IN_BASE:
        bits |= IN_BASE | (INLINED_IN_BASE if is_inlined else CALLED_IN_BASE)
    if own or calls or below & IN_NEW:
        bits |= IN_NEW | (INLINED_IN_NEW if is_inlined else CALLED_IN_NEW)
    return bits


class Paths:
    """A tree from folded paths; siblings in order of appearance."""

    def __init__(self, recording):
        self.recording = recording
        self.root = {"frame": (recording.root_function, 0), "kids": {}, "counts": [0, 0, 0, 0]}

    def add(self, frames, own, calls=1, old=0, old_calls=0, bits=None):
        """frames: function numbers, or (function, 1) for an inlined one."""
        node = self.root
        for frame in frames:
            frame = frame if isinstance(frame, tuple) else (frame, 0)
            node = node["kids"].setdefault(frame, {"frame": frame, "kids": {},
                                                   "counts": [0, 0, 0, 0]})
        for i, count in enumerate((own, calls, old, old_calls)):
            node["counts"][i] += count
        if bits is not None:
            node["presence"] = bits
        return self

    def nodes(self):
        rows, waiting = [], [(0, self.root)]
        while waiting:
            depth, node = waiting.pop()
            counts = node["counts"] + [presence(node)] if self.recording.diff else node["counts"][:2]
            rows.append((depth, *node["frame"], *counts))
            waiting.extend((depth + 1, kid) for kid in reversed(list(node["kids"].values())))
        return rows
