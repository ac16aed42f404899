"""The recordings that the page's tests open; each small one has numbers one can add in one's head."""
import random
from pagedata import (CALLED_IN_BASE, IN_BASE, IN_NEW, INLINED_IN_NEW, JIT, KIND_JIT, KIND_MARKER,
                      KIND_PYTHON, MARKER, PYTHON, Paths, Recording)


def app():
    """Two processes, three threads, two parts; inlined frames, recursion, every origin."""
    r = Recording("./app --fast input.txt")
    r.meta += [("engine", "native"), ("exit status", "0")]
    exe = r.module("/home/user/app/app")
    own_library = r.module("/home/user/app/libhelper.so")
    libz = r.module("/usr/lib/x86_64-linux-gnu/libz.so.1",
                    note="no debug information: install zlib1g-dbgsym")
    libc = r.module("/usr/lib/x86_64-linux-gnu/libc.so.6")
    python = r.module("/home/user/app/script.py", PYTHON)
    jit = r.module("/tmp/perf-1.map", JIT)
    marker = r.module("(marker)", MARKER)
    f = {}
    for name, module, *rest in [
            ("main", exe), ("parse(std::vector<int> const&)", exe), ("fib", exe), ("step", exe),
            ("helper", own_library), ("inflate", libz), ("memcpy", libc), ("worker", exe),
            ("py::run:script.py", python, KIND_PYTHON), ("jit_loop", jit, KIND_JIT),
            ("(signal 11)", marker, KIND_MARKER), ("on_signal", exe)]:
        f[name] = r.function(name, module, *rest, file="/src/app.c" if module == exe else "",
                             line=10 * len(f) + 1)
    r.names = f
    first = r.process("./app --fast input.txt")
    second = r.process("./app --child")
    threads = [r.thread(first, 1, "app"), r.thread(first, 2, "worker"), r.thread(second, 1, "app")]
    warm, end = r.part("warm-up", "n=1"), r.part("")
    main, parse, fib, step = f["main"], f["parse(std::vector<int> const&)"], f["fib"], f["step"]

    tree = Paths(r)
    tree.add([main], 100)
    tree.add([main, parse], 300, 3)
    tree.add([main, parse, (step, 1)], 200, 3)
    tree.add([main, parse, f["memcpy"]], 150, 30)
    tree.add([main, fib], 40)
    tree.add([main, fib, fib], 60, 2)
    tree.add([main, fib, fib, fib], 80, 4)
    tree.add([main, fib, fib, fib, step], 20, 4)
    tree.add([main, f["inflate"]], 250, 5)
    tree.add([main, f["inflate"], f["memcpy"]], 50, 5)
    tree.add([main, f["helper"]], 90, 9)
    tree.add([main, f["py::run:script.py"]], 110)
    tree.add([main, f["py::run:script.py"], f["jit_loop"]], 130)
    tree.add([main, f["helper"], f["(signal 11)"], f["on_signal"]], 20)
    r.root(threads[0], end, tree.nodes())
    r.root(threads[0], warm, Paths(r).add([main, parse], 100, 1).nodes())
    r.root(threads[1], end, Paths(r).add([f["worker"], fib], 500, 7).add(
        [f["worker"]], 300, 1).nodes())
    r.root(threads[2], end, Paths(r).add([main, f["inflate"]], 500, 10).nodes())
    for line, own in [(31, 40), (32, 60), (34, 600)]:
        r.line(fib, "/src/app.c", line, own)
    r.source("/src/app.c", "\n".join(
        ["long fib(long n)" if i == 31 else f"    line {i};" for i in range(1, 60)]))
    r.line(f["helper"], "/src/helper.c", 7, 90)
    return r


def huge():
    """Counts that a double cannot hold: 2^53 + 1 and friends."""
    r = Recording("huge")
    exe = r.module("/bin/huge")
    main, odd, even = (r.function(n, exe) for n in ("main", "odd", "even"))
    tree = Paths(r)
    tree.add([main], 1, 2 ** 53 + 1)
    tree.add([main, odd], 2 ** 53 + 1, 2 ** 60 + 7)
    tree.add([main, even], 2 ** 63 + 4, 1)
    r.root(r.thread(r.process("huge"), 1), r.part(""), tree.nodes())
    return r


HOSTILE = [
    "</script><script>window.hurt=1</script>",
    "<img src=x onerror='window.hurt=1'>",
    "quote\"'`${window.hurt=1}\\",
    "bidi\u202eesrever\u202c\u2066end\u2069",
    "control\x01\x1b[31m\nnewline\ttab",
    "javascript:window.hurt=1",
    "x" * 7000,
    "emoji 👩‍🔬 日本語",
    "__proto__",
    "constructor",
]


def hostile():
    r = Recording("<b>bold</b> & </title><script>window.hurt=1</script>")
    exe = r.module("/tmp/<i>evil</i>\u202e.so", note="<script>window.hurt=1</script>")
    tree = Paths(r)
    for i, name in enumerate(HOSTILE):
        fn = r.function(name, exe, file="</style>.c", line=1)
        tree.add([fn], 100 + i)
        tree.add([fn, fn], 10)
        r.line(fn, "</style>.c", 1, 5)
    r.source("</style>.c", "<script>window.hurt=1</script>\n\u202e\n")
    thread = r.thread(r.process("<u>command</u>"), 1, "<s>thread</s>")
    r.root(thread, r.part("<em>part</em>"), tree.nodes())
    r.root(r.thread(0, 2, "'\"><x>"), r.part("two"), Paths(r).add([1], 5).nodes())
    return r


def diff():
    """Two builds: parse got slower, render faster, cache is new, legacy is gone, log the same,
    and format, in log, is inlined now."""
    r = Recording("app: before → after", diff=True)
    exe = r.module("/home/user/app/app")
    names = ["main", "parse", "lex", "render", "cache", "legacy", "log", "format"]
    f = {name: r.function(name, exe) for name in names}
    r.names = f
    tree = Paths(r)
    main = f["main"]
    tree.add([main], 100, 1, 100, 1)
    tree.add([main, f["parse"]], 200, 2, 100, 2)
    tree.add([main, f["parse"], f["lex"]], 350, 20, 250, 20)
    tree.add([main, f["render"]], 100, 1, 400, 1)
    tree.add([main, f["cache"]], 150, 5, 0, 0)
    tree.add([main, f["legacy"]], 0, 0, 80, 4)
    tree.add([main, f["log"]], 70, 7, 70, 7)
    tree.add([main, f["log"], (f["format"], 1)], 30, 0, 30, 7,
             bits=IN_BASE | IN_NEW | CALLED_IN_BASE | INLINED_IN_NEW)
    r.root(r.thread(r.process("app"), 1), r.part(""), tree.nodes())
    return r


def deep(depth=100_000):
    """One stack as deep as recursion goes."""
    r = Recording("deep")
    exe = r.module("/bin/deep")
    main, down, up = (r.function(n, exe) for n in ("main", "down", "up"))
    rows = [(0, r.root_function, 0, 0, 0), (1, main, 0, 10, 1)]
    rows += [(2 + i, down if i % 2 == 0 else up, 0, 3, 1) for i in range(depth - 1)]
    r.root(r.thread(r.process("deep"), 1), r.part(""), rows)
    return r


def crowd():
    """One wide frame and five thousand that are too narrow to draw."""
    r = Recording("crowd")
    exe = r.module("/bin/crowd")
    main = r.function("main", exe)
    tree = Paths(r).add([main, r.function("wide", exe)], 300_000)
    for i in range(5000):
        tree.add([main, r.function(f"narrow_{i}", exe)], 1)
    r.root(r.thread(r.process("crowd"), 1), r.part(""), tree.nodes())
    return r


def million(contexts=1_000_000, functions=20_000, seed=1):
    """A large program: random trees with names as long as C++ has them."""
    chance = random.Random(seed)
    r = Recording("million")
    modules = [r.module(f"/opt/app/lib{i}.so") for i in range(40)]
    for i in range(functions):
        r.function(f"library{i % 40}::Component{i % 977}<std::vector<int>>::method_{i}(int, char)",
                   chance.choice(modules), file=f"/src/part{i % 300}.cc", line=i)
    rows = [(0, r.root_function, 0, 0, 0)]
    used, youngest = {}, {}
    path = [0]
    while len(rows) < contexts + 1:
        if len(path) > 60 or (len(path) > 2 and chance.random() < 0.25):
            del path[chance.randrange(2, len(path)):]
        taken = used.setdefault(path[-1], set())
        fn = 1 + int(functions * chance.random() ** 3)
        if fn in taken:
            path.append(youngest[path[-1]])
            continue
        taken.add(fn)
        own = int(chance.paretovariate(0.7)) % 10 ** 9
        rows.append((len(path), fn, int(chance.random() < 0.1), own, 1 + own % 97))
        youngest[path[-1]] = len(rows) - 1
        path.append(len(rows) - 1)
    r.root(r.thread(r.process("million"), 1), r.part(""), rows)
    return r


ALL = {"app": app, "huge": huge, "hostile": hostile, "diff": diff, "deep": deep,
       "crowd": crowd, "million": million}

if __name__ == "__main__":
    import sys
    build, name, output = sys.argv[1:]
    with open(output, "wb") as file:
        file.write(ALL[name]().page(build))
