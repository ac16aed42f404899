"""Compares profile_symbolize with binutils' addr2line and LLVM's, address by address.

The three agree on a frame when file and line are the same and the names are: equal, or, where an
oracle has only the source's short name (functions that one C++ file can see carry no mangled name
in GCC's debug info), ours is the longer form of it.
"""
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TRUEFLAME_BUILD", os.path.join(ROOT, "build"))
SYMBOL_DUMP = os.path.join(BUILD, "tests", "symbols", "symbol-dump")


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done


def instruction_addresses(path, prefix=""):
    """Every instruction of .text that belongs to a symbol (the padding between does not).
    `prefix` is that of the binutils for the program's machine."""
    listing = run(prefix + "objdump", "-d", "--no-show-raw-insn", "-j", ".text", path).stdout
    sizes = run(prefix + "nm", "-S", path).stdout
    sized = sorted((int(start, 16), int(start, 16) + int(size, 16))
                   for start, size in re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tTwW] ", sizes, re.M))
    aliases.clear()
    for start, name in re.findall(r"^([0-9a-f]+) (?:[0-9a-f]+ )?[tTwWi] (\S+)$", sizes, re.M):
        aliases.setdefault(name, set()).add(start)
    addresses, at, end = [], 0, 0
    for text in re.findall(r"^ +([0-9a-f]+):\t", listing, re.M):
        address = int(text, 16)
        while at < len(sized) and sized[at][0] <= address:
            end = max(end, sized[at][1])
            at += 1
        if address < end:
            addresses.append(text)
    assert addresses
    return addresses


def parse(output):
    """{address: [(name, file, line)]}, innermost frame first."""
    answers, frames, lines = {}, None, output.splitlines()
    at = 0
    while at < len(lines):
        if re.fullmatch(r"0x[0-9a-f]+", lines[at]):
            frames = answers.setdefault(int(lines[at], 16), [])
            at += 1
            continue
        name = lines[at]
        file, _, line = re.sub(r" \(discriminator \d+\)$", "", lines[at + 1]).rpartition(":")
        file = os.path.normpath(file) if file not in ("", "??") else "??"
        frames.append((name, file, int(line) if line.isdigit() else 0))
        at += 2
    return answers


def ours(path, addresses, *options):
    done = run(SYMBOL_DUMP, *options, path, text="\n".join(addresses) + "\n")
    return parse(done.stdout), done.stderr


def addr2line(tool, path, addresses):
    return parse(run(tool, "-aif", "-e", path, text="\n".join(addresses) + "\n").stdout)


demangled = {}
aliases = {}  # symbol to the addresses it stands at


def demangle_all(answers):
    names = sorted({name for frames in answers.values() for name, _, _ in frames} - set(demangled))
    texts = run("c++filt", text="\n".join(names) + "\n").stdout.splitlines()
    demangled.update(zip(names, texts))


def same_name(mine, theirs):
    if mine == theirs or mine.split("@")[0] == theirs.split("@")[0]:
        return True
    if aliases.get(mine, set()) & aliases.get(theirs, set()):
        return True  # Two symbols on one address: the linker folded the same code.
    plain = re.sub(r"(\.(part|constprop|isra|cold|lto_priv)(\.\d+)*)+$", "", mine)
    if plain == re.sub(r"(\.(part|constprop|isra|cold|lto_priv)(\.\d+)*)+$", "", theirs):
        return True
    if theirs.startswith("_Z"):  # Constructors have two symbols on one address.
        return demangled[mine] == demangled[theirs]
    pattern = r"(^|::|\s)" + re.escape(theirs) + r"(\(|<|\[|$)"
    return re.search(pattern, demangled.get(plain, plain)) is not None


def same_chain(mine, theirs):
    if not any(line for _, _, line in mine + theirs):
        return True  # Nobody has debug info here: the symbol tables are tested elsewhere.
    return len(mine) == len(theirs) and all(
        same_name(a[0], b[0]) and a[2] == b[2] and (a[1] == b[1] or a[2] == 0)
        for a, b in zip(mine, theirs))


def differences(mine, oracles):
    """Addresses where no oracle has our chain: [(address, ours, {oracle: chain})]."""
    for answers in (mine, *oracles.values()):
        demangle_all(answers)
    different = []
    for address, frames in mine.items():
        if not any(same_chain(frames, answers[address]) for answers in oracles.values()):
            different.append((address, frames, {k: v[address] for k, v in oracles.items()}))
    return different


def report(different):
    text = []
    for address, frames, theirs in different[:3]:
        text.append(f"{address:#x}\n  ours: {frames}")
        text += [f"  {name}: {chain}" for name, chain in theirs.items()]
    return f"{len(different)} addresses differ\n" + "\n".join(text)
