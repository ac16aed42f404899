#!/usr/bin/python3
"""Random RISC-V programs, run by qemu-riscv64 and by us: registers, flags, memory and counts agree.

    riscv_streams.py [SEED [PROGRAMS]]

A program fills the registers with edge values, then goes a number of times through a stream of
random instructions: arithmetic, floats with any rounding mode, memory at any alignment, atomics,
jumps and branches over a few instructions, calls through x1 and x5, control registers; compressed
where the assembler finds a form. In the end it writes all registers and its memory.
"""

import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "riscv"))
import riscv_support as support  # noqa: E402

# x2 is the memory's middle, x3 counts rounds, x4 holds addresses for atomics, x5 links.
FREE = [f"x{i}" for i in range(32) if i not in (2, 3, 4, 5)]
FLOATS = [f"f{i}" for i in range(32)]
ROUNDINGS = ["rne", "rtz", "rdn", "rup", "rmm", "dyn"]

THREE = """add sub sll slt sltu xor srl sra or and addw subw sllw srlw sraw mul mulh mulhsu mulhu
div divu rem remu mulw divw divuw remw remuw""".split()
IMMEDIATE = "addi slti sltiu xori ori andi addiw".split()
LOADS, STORES = "lb lh lw ld lbu lhu lwu".split(), "sb sh sw sd".split()
BRANCHES = "beq bne blt bge bltu bgeu".split()
ATOMICS = "amoswap amoadd amoxor amoand amoor amomin amomax amominu amomaxu".split()
EDGES = [0, 1, -1, 2**31 - 1, -2**31, 2**31, 2**32, 2**63 - 1, -2**63, 0x7ff8000000000000,
         0x7ff0000000000001, 0x3ff0000000000000, -0x100000000 | 0x3f800000, 0x7fffffffffffffff]


class Stream:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.labels = 0

    def pick(self, values):
        return self.random.choice(values)

    def x(self):
        return self.pick(FREE)

    def f(self):
        return self.pick(FLOATS)

    def offset(self, width):
        return self.random.randrange(-2000, 2000 - width)

    def label(self):
        self.labels += 1
        return f"l{self.labels}"

    def skip_some(self, jump):
        """`jump` over a few instructions."""
        label = self.label()
        return [jump(label), *self.several(self.random.randrange(4)), f"{label}:"]

    def arithmetic(self):
        return [f"{self.pick(THREE)} {self.x()}, {self.x()}, {self.x()}"]

    def two_address(self):
        to = self.x()
        return [f"{self.pick(THREE)} {to}, {to}, {self.x()}"]

    def immediate(self):
        small = self.random.randrange(-32, 32)
        value = self.pick([small, self.random.randrange(-2048, 2048)])
        return [f"{self.pick(IMMEDIATE)} {self.x()}, {self.x()}, {value}"]

    def shift(self):
        name, width = self.pick([("slli", 64), ("srli", 64), ("srai", 64), ("slliw", 32),
                                 ("srliw", 32), ("sraiw", 32)])
        return [f"{name} {self.x()}, {self.x()}, {self.random.randrange(width)}"]

    def upper(self):
        return [f"lui {self.x()}, {self.random.randrange(1 << 20)}"]

    def constant(self):
        return [f"li {self.x()}, {self.pick(EDGES)}"]

    def address(self):
        label = self.label()
        to = self.x()
        return [f"{label}: auipc {to}, {self.random.randrange(1 << 20)}", f"la x4, {label}",
                f"sub {to}, {to}, x4"]

    def load(self):
        return [f"{self.pick(LOADS)} {self.x()}, {self.offset(8)}(x2)"]

    def store(self):
        return [f"{self.pick(STORES)} {self.x()}, {self.offset(8)}(x2)"]

    def atomic(self):
        width, size = self.pick([("w", 4), ("d", 8)])
        place = f"addi x4, x2, {self.random.randrange(-200, 200) * size}"
        if self.random.random() < 0.3:
            to = self.x()
            return [place, f"lr.{width} {self.x()}, (x4)",
                    *self.pick([[], self.store(), [f"addi x4, x2, {size}"]]),
                    f"sc.{width} {to}, {self.x()}, (x4)", f"snez {to}, {to}"]
        return [place, f"{self.pick(ATOMICS)}.{width} {self.x()}, {self.x()}, (x4)"]

    def branch(self):
        return self.skip_some(lambda to: f"{self.pick(BRANCHES)} {self.x()}, {self.x()}, {to}")

    def jump(self):
        return self.skip_some(lambda to: f"j {to}")

    def indirect(self):
        label = self.label()
        return [f"la x4, {label}", "jr x4", *self.several(2), f"{label}:"]

    def call(self):
        name, after = self.label(), self.label()
        link, back = self.pick([("x5", "x5"), ("x1", "x4")])
        keep = ["mv x4, x1"] if link == "x1" else []
        return [f"j {after}", f"{name}:", *keep, *self.plain(3), f"jr {back}", f"{after}:",
                f"jal {link}, {name}", f"li {link}, 1"]

    def float_arithmetic(self):
        letter, rounding = self.pick("sd"), self.pick(ROUNDINGS)
        name = self.pick(["fadd", "fsub", "fmul", "fdiv", "fmadd", "fmsub", "fnmadd", "fnmsub",
                          "fsqrt"])
        operands = {"fsqrt": 1}.get(name, 3 if name.startswith(("fm", "fnm")) and name != "fmul"
                                    else 2)
        words = ", ".join(self.f() for _ in range(operands + 1))
        return [f"{name}.{letter} {words}, {rounding}"]

    def float_other(self):
        letter = self.pick("sd")
        name = self.pick(["fsgnj", "fsgnjn", "fsgnjx", "fmin", "fmax"])
        return [f"{name}.{letter} {self.f()}, {self.f()}, {self.f()}"]

    def float_compare(self):
        letter = self.pick("sd")
        return [self.pick([f"{self.pick(['feq', 'flt', 'fle'])}.{letter} {self.x()}, {self.f()}, "
                           f"{self.f()}", f"fclass.{letter} {self.x()}, {self.f()}"])]

    def float_convert(self):
        letter, to, rounding = self.pick("sd"), self.pick(["w", "wu", "l", "lu"]), self.pick(
            ROUNDINGS)
        exact = letter == "d" and to in ("w", "wu")
        return [self.pick([
            f"fcvt.{to}.{letter} {self.x()}, {self.f()}, {rounding}",
            f"fcvt.{letter}.{to} {self.f()}, {self.x()}" + ("" if exact else f", {rounding}"),
            f"fcvt.s.d {self.f()}, {self.f()}, {rounding}", f"fcvt.d.s {self.f()}, {self.f()}",
            f"fmv.x.d {self.x()}, {self.f()}", f"fmv.d.x {self.f()}, {self.x()}",
            f"fmv.x.w {self.x()}, {self.f()}", f"fmv.w.x {self.f()}, {self.x()}"])]

    def float_memory(self):
        name = self.pick(["flw", "fld", "fsw", "fsd"])
        return [f"{name} {self.f()}, {self.offset(8)}(x2)"]

    def control(self):
        return [self.pick([f"fsrmi {self.random.randrange(5)}", f"frflags {self.x()}",
                           f"frcsr {self.x()}", f"fsflagsi {self.random.randrange(32)}",
                           "fence", "fence.i"])]

    def plain(self, count):
        kinds = [self.arithmetic, self.two_address, self.immediate, self.shift, self.load,
                 self.store, self.float_arithmetic]
        return [line for _ in range(count) for line in self.pick(kinds)()]

    def several(self, count):
        kinds = ([self.arithmetic, self.two_address, self.immediate, self.shift] * 4 +
                 [self.load, self.store, self.branch, self.float_arithmetic] * 3 +
                 [self.constant, self.upper, self.address, self.atomic, self.jump, self.indirect,
                  self.call, self.float_other, self.float_compare, self.float_convert,
                  self.float_memory, self.control])
        return [line for _ in range(count) for line in self.pick(kinds)()]

    def source(self, length, rounds):
        lines = [".globl _start", "_start:", "    la x2, middle", f"    li x3, {rounds}"]
        lines += [f"    li {register}, {self.pick(EDGES)}" for register in FREE if register != "x0"]
        lines += [f"    fmv.d.x {register}, {self.x()}" for register in FLOATS]
        lines += ["again:"] + [f"    {line}" for line in self.several(length)]
        lines += ["    addi x3, x3, -1", "    beqz x3, end", "    la x4, again", "    jr x4", "end:"]
        lines += ["    la x4, result"]
        lines += [f"    sd x{i}, {8 * i}(x4)" for i in range(32) if i not in (1, 4, 5)]
        lines += [f"    fsd f{i}, {256 + 8 * i}(x4)" for i in range(32)]
        lines += ["    frcsr x6", "    sd x6, 512(x4)", "    li a0, 1", "    la a1, memory",
                  "    li a2, 8192", "    li a7, 64", "    ecall", "    li a0, 0", "    li a7, 93",
                  "    ecall", ".bss", ".align 4", "memory: .skip 2048", "middle: .skip 2048",
                  "result: .skip 4096"]
        return "\n".join(lines) + "\n"


def compare(seed, length=600, rounds=100, options=()):
    """The number of instructions that agreed; an AssertionError where they did not."""
    source = Stream(seed).source(length, rounds)
    program = support.compile_guest([(f"stream-{seed}.S", source)], *support.BARE, "-march=rv64gc",
                                    "-Wl,--no-relax")
    theirs = support.run_qemu(program)
    ours = support.run_machine(program, options=["--abi=linux", *options])
    assert ours.status == theirs.status, f"seed {seed}: status {ours.status}, {theirs.status}"
    assert ours.count == theirs.count, f"seed {seed}: {ours.count} instructions, {theirs.count}"
    if ours.stdout != theirs.stdout:
        words = len(theirs.stdout) // 8
        pairs = zip(struct.unpack(f"<{words}Q", ours.stdout),
                    struct.unpack(f"<{words}Q", theirs.stdout))
        raise AssertionError(f"seed {seed}: " + ", ".join(
            f"word {i} {a:#x} {b:#x}" for i, (a, b) in enumerate(pairs) if a != b))
    return ours.count


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    programs = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    total = sum(compare(seed + i) for i in range(programs))
    print(f"{total} instructions of {programs} programs agree with qemu-riscv64")


if __name__ == "__main__":
    main()
