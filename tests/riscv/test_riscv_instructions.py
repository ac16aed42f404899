"""Every instruction with every pair of edge values: the same results as qemu-riscv64's.

A generated guest runs one instruction over tables of operands and stores each result, and for
floats the flags; then it writes all of them out. The same program runs under qemu and under us.
"""

import math
import struct

import pytest

import riscv_support as support

support.need(support.COMPILER, support.QEMU)

INTEGERS = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff,
            0x80000000, 0x80000001, 0xffffffff, 0x100000000, 0x123456789abcdef0,
            0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001, 0xfffffffffffffffe,
            0xffffffffffffffff, 0xffffffff80000000, 0xffffffff7fffffff]

IMMEDIATES = [-2048, -2047, -129, -128, -1, 0, 1, 5, 31, 127, 128, 2046, 2047]

THREE_REGISTERS = """add sub sll slt sltu xor srl sra or and addw subw sllw srlw sraw
mul mulh mulhsu mulhu div divu rem remu mulw divw divuw remw remuw""".split()
WITH_IMMEDIATE = "addi slti sltiu xori ori andi addiw".split()
SHIFTS = {"slli": 64, "srli": 64, "srai": 64, "slliw": 32, "srliw": 32, "sraiw": 32}
BRANCHES = "beq bne blt bge bltu bgeu".split()
LOADS = "lb lh lw ld lbu lhu lwu".split()
STORES = "sb sh sw sd".split()
ATOMICS = "amoswap amoadd amoxor amoand amoor amomin amomax amominu amomaxu".split()


def double_bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def single_bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


# Zeros, ones, ties, the ends of the integer ranges, subnormals, infinities and all kinds of NaN.
DOUBLES = [double_bits(v) for v in (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 1e-300, -1e300, 0.1, 2147483647.0,
    2147483648.0, -2147483648.5, 4294967295.5, 9223372036854775808.0, -9223372036854775809.0,
    18446744073709551615.0, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308)]
DOUBLES += [0x000fffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
            0xfff8000000000001, 0x7ff0000000000001, 0xfff4000000000000, 0x3ff0000000000001,
            0x41dfffffffe00000, 0x43dfffffffffffff]
SINGLES = [0xffffffff00000000 | single_bits(v) for v in (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 1e-38, -1e38, 0.1, 2147483520.0,
    2147483648.0, -2147483904.0, 4294967040.0, 9.223372e18, -9.3e18, 3.4028235e38, 1e-45,
    1.17549435e-38)]
SINGLES += [0xffffffff00000000 | bits for bits in
            (0x007fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0xffa00000,
             0x3f800001, 0x4effffff)]
# Not boxed: to be read as NaN.
SINGLES += [0x000000003f800000, 0xfffffffe3f800000]

FEW_DOUBLES = [DOUBLES[i] for i in (0, 1, 2, 3, 6, 10, 11, 20, 21, 23, 24, 25, 26, 28, 30)]
FEW_SINGLES = [SINGLES[i] for i in (0, 1, 2, 3, 6, 10, 11, 19, 20, 22, 23, 24, 25, 27, 29, 31)]

ROUNDINGS = "rne rtz rdn rup rmm".split()


class Guest:
    """Collects tests and their operands; makes the program that runs them."""

    def __init__(self):
        self.lines, self.names, self.tables = [], [], {}

    def table(self, values):
        return self.tables.setdefault(tuple(values), f"table_{len(self.tables)}")

    def loop(self, name, tables, body, results):
        """`body` for every combination: operands in a0, a1, a2; it stores what it likes with
        `sd REG, N(s1)`, `results` words in all."""
        number = len(self.names)
        combinations = math.prod(len(table) for table in tables)
        self.names.append((name, combinations, results, tables))
        registers = ["s2", "s3", "s4"]
        for depth, values in enumerate(tables):
            self.lines += [f"    la {registers[depth]}, {self.table(values)}",
                           f"test_{number}_{depth}:", f"    ld a{depth}, 0({registers[depth]})"]
        self.lines += [f"    {line}" for line in body] + [f"    addi s1, s1, {8 * results}"]
        for depth in reversed(range(len(tables))):
            register = registers[depth]
            self.lines += [f"    addi {register}, {register}, 8",
                           f"    la t0, {self.table(tables[depth])}_end",
                           f"    bgeu {register}, t0, 1f", f"    j test_{number}_{depth}", "1:"]

    def source(self):
        size = sum(8 * combinations * results for _, combinations, results, _ in self.names)
        lines = [".globl _start", "_start:", "    la s1, results", "    la s5, scratch"]
        lines += self.lines
        lines += ["    la s2, results", "1:  li a0, 1", "    mv a1, s2", "    sub a2, s1, s2",
                  "    li a7, 64", "    ecall", "    add s2, s2, a0", "    blt s2, s1, 1b",
                  "    li a0, 0", "    li a7, 93", "    ecall", ".data", ".align 4"]
        for values, label in self.tables.items():
            lines += [f"{label}:"] + [f"    .dword {value & (1 << 64) - 1:#x}" for value in values]
            lines += [f"{label}_end:"]
        lines += [".bss", ".align 4", "scratch: .skip 256", f"results: .skip {size + 64}"]
        return "\n".join(lines) + "\n"

    def explain(self, word):
        """The test whose result is word number `word`."""
        for name, combinations, results, tables in self.names:
            if word < combinations * results:
                index, operands = word // results, []
                for table in reversed(tables):
                    operands.insert(0, table[index % len(table)])
                    index //= len(table)
                return f"{name} {' '.join(f'{o & (1 << 64) - 1:#x}' for o in operands)} " \
                       f"(word {word % results})"
            word -= combinations * results
        return "?"


def integer_guest():
    guest = Guest()
    for name in THREE_REGISTERS:
        guest.loop(name, [INTEGERS, INTEGERS], [f"{name} a3, a0, a1", "sd a3, 0(s1)"], 1)
        guest.loop(f"{name} onto itself", [INTEGERS, INTEGERS],
                   [f"{name} a0, a0, a1", "sd a0, 0(s1)", f"{name} x0, a0, a1", "sd x0, 8(s1)"], 2)
    for name in WITH_IMMEDIATE:
        for immediate in IMMEDIATES:
            guest.loop(f"{name} {immediate}", [INTEGERS],
                       [f"{name} a3, a0, {immediate}", "sd a3, 0(s1)"], 1)
    for name, width in SHIFTS.items():
        for amount in (0, 1, width // 2, width - 1):
            guest.loop(f"{name} {amount}", [INTEGERS],
                       [f"{name} a3, a0, {amount}", "sd a3, 0(s1)"], 1)
    for constant in (0, 1, 0x7ffff, 0x80000, 0xfffff):
        guest.loop(f"lui {constant}", [[0]], [f"lui a3, {constant}", "sd a3, 0(s1)"], 1)
        guest.loop(f"auipc {constant}", [[0]],
                   [f"1: auipc a3, {constant}", "la a4, 1b", "sub a3, a3, a4", "sd a3, 0(s1)"], 1)
    return guest


def branch_guest():
    guest = Guest()
    for name in BRANCHES:
        guest.loop(name, [INTEGERS, INTEGERS],
                   ["li a3, 1", f"{name} a0, a1, 9f", "li a3, 0", "9: sd a3, 0(s1)"], 1)
        guest.loop(f"{name} with zero", [INTEGERS],
                   ["li a3, 1", f"{name} a0, x0, 9f", "li a3, 0", "9: sd a3, 0(s1)",
                    "li a3, 1", f"{name} x0, a0, 9f", "li a3, 0", "9: sd a3, 8(s1)"], 2)
    guest.loop("jal", [[0]], ["jal t1, 8f", "8: la t2, 8b", "sub t1, t1, t2", "sd t1, 0(s1)"], 1)
    guest.loop("jalr with an odd target", [[1]],
               ["la t1, 8f", "jalr t1, 1(t1)", "sd x0, 0(s1)", "8: la t2, 8b", "sub t1, t1, t2",
                "sd t1, 0(s1)"], 1)
    guest.loop("jalr onto its own source", [[1]],
               ["la ra, 8f", "jalr ra, 0(ra)", "sd x0, 0(s1)", "8: la t2, 8b", "sub t1, ra, t2",
                "sd t1, 0(s1)"], 1)
    return guest


def memory_guest():
    guest = Guest()
    for name in LOADS:
        for offset in (0, 1, 3, 7, -5):
            guest.loop(f"{name} {offset}", [INTEGERS],
                       ["sd a0, 16(s5)", "not a3, a0", "sd a3, 8(s5)", "sd a3, 24(s5)",
                        f"{name} a3, {16 + offset}(s5)", "sd a3, 0(s1)",
                        f"{name} x0, {16 + offset}(s5)"], 1)
    for name in STORES:
        for offset in (0, 1, 3, 7, -5):
            guest.loop(f"{name} {offset}", [INTEGERS],
                       ["sd x0, 8(s5)", "sd x0, 16(s5)", "sd x0, 24(s5)",
                        f"{name} a0, {16 + offset}(s5)", "ld a3, 8(s5)", "sd a3, 0(s1)",
                        "ld a3, 16(s5)", "sd a3, 8(s1)", "ld a3, 24(s5)", "sd a3, 16(s1)"], 3)
    return guest


def atomic_guest():
    guest = Guest()
    for name in ATOMICS:
        for width in "wd":
            for order in ("", ".aq", ".rl", ".aqrl"):
                guest.loop(f"{name}.{width}{order}", [INTEGERS, INTEGERS] if not order else
                           [INTEGERS[:6], INTEGERS[-6:]],
                           ["sd a0, 8(s5)", "addi a4, s5, 8", f"{name}.{width}{order} a3, a1, (a4)",
                            "sd a3, 0(s1)", "ld a3, 8(s5)", "sd a3, 8(s1)"], 2)
    for width in "wd":
        guest.loop(f"lr/sc.{width}", [INTEGERS, INTEGERS],
                   ["sd a0, 8(s5)", "addi a4, s5, 8", f"lr.{width} a3, (a4)", "sd a3, 0(s1)",
                    f"sc.{width} a5, a1, (a4)", "sd a5, 8(s1)", "ld a3, 8(s5)", "sd a3, 16(s1)",
                    # a second one without a reservation
                    f"sc.{width} a5, a0, (a4)", "snez a5, a5", "sd a5, 24(s1)"], 4)
        guest.loop(f"sc.{width} elsewhere", [INTEGERS[:3]],
                   ["addi a4, s5, 8", f"lr.{width} a3, (a4)", f"sc.{width} a5, a0, (s5)",
                    "snez a5, a5", "sd a5, 0(s1)"], 1)
    return guest


def float_body(instruction, to, more=()):
    """Clears the flags, does it, keeps result and flags."""
    store = f"fsd {to}, 0(s1)" if to.startswith("f") else f"sd {to}, 0(s1)"
    return ["fmv.d.x fa0, a0", "fmv.d.x fa1, a1", "fmv.d.x fa2, a2", "fsflags x0", *more,
            instruction, "frflags a5", store, "sd a5, 8(s1)"]


def float_guest(letter):
    values, few = (SINGLES, FEW_SINGLES) if letter == "s" else (DOUBLES, FEW_DOUBLES)
    guest = Guest()
    for rounding in ROUNDINGS:
        for name in ("fadd", "fsub", "fmul", "fdiv"):
            guest.loop(f"{name}.{letter} {rounding}", [values, values],
                       float_body(f"{name}.{letter} fa3, fa0, fa1, {rounding}", "fa3"), 2)
        guest.loop(f"fsqrt.{letter} {rounding}", [values],
                   float_body(f"fsqrt.{letter} fa3, fa0, {rounding}", "fa3"), 2)
        for name in ("fmadd", "fmsub", "fnmadd", "fnmsub"):
            guest.loop(f"{name}.{letter} {rounding}", [few, few, few],
                       float_body(f"{name}.{letter} fa3, fa0, fa1, fa2, {rounding}", "fa3"), 2)
    for name in ("fsgnj", "fsgnjn", "fsgnjx", "fmin", "fmax"):
        guest.loop(f"{name}.{letter}", [values, values],
                   float_body(f"{name}.{letter} fa3, fa0, fa1", "fa3"), 2)
    for name in ("feq", "flt", "fle"):
        guest.loop(f"{name}.{letter}", [values, values],
                   float_body(f"{name}.{letter} a3, fa0, fa1", "a3"), 2)
    guest.loop(f"fclass.{letter}", [values], float_body(f"fclass.{letter} a3, fa0", "a3"), 2)
    return guest


def conversion_guest(letter):
    values = SINGLES if letter == "s" else DOUBLES
    guest = Guest()
    for mode, rounding in enumerate(ROUNDINGS):
        # by the instruction, and by frm
        for way, more in ((rounding, ()), ("dyn", (f"fsrmi {mode}",))):
            for to in ("w", "wu", "l", "lu"):
                guest.loop(f"fcvt.{to}.{letter} {way} {rounding}", [values],
                           float_body(f"fcvt.{to}.{letter} a3, fa0, {way}", "a3", more), 2)
                if letter == "d" and to in ("w", "wu"):
                    continue
                guest.loop(f"fcvt.{letter}.{to} {way} {rounding}", [INTEGERS],
                           float_body(f"fcvt.{letter}.{to} fa3, a0, {way}", "fa3", more), 2)
            if letter == "d":
                guest.loop(f"fcvt.s.d {way} {rounding}", [values],
                           float_body(f"fcvt.s.d fa3, fa0, {way}", "fa3", more), 2)
    if letter == "d":
        guest.loop("fcvt.d.s", [SINGLES], float_body("fcvt.d.s fa3, fa0", "fa3"), 2)
        for to in ("w", "wu"):
            guest.loop(f"fcvt.d.{to}", [INTEGERS], float_body(f"fcvt.d.{to} fa3, a0", "fa3"), 2)
        guest.loop("fmv.x.d", [values], float_body("fmv.x.d a3, fa0", "a3"), 2)
        guest.loop("fld, fsd", [values],
                   ["sd a0, 9(s5)", "fld fa3, 9(s5)", "fsd fa3, 1(s5)", "ld a3, 1(s5)",
                    "sd a3, 0(s1)"], 1)
    else:
        guest.loop("fmv.x.w", [values], float_body("fmv.x.w a3, fa0", "a3"), 2)
        guest.loop("fmv.w.x", [INTEGERS], float_body("fmv.w.x fa3, a0", "fa3"), 2)
        guest.loop("flw, fsw", [values],
                   ["sd a0, 8(s5)", "flw fa3, 9(s5)", "fsd fa3, 0(s1)", "sd x0, 0(s5)",
                    "fsw fa3, 1(s5)", "ld a3, 0(s5)", "sd a3, 8(s1)"], 2)
    return guest


def dynamic_rounding_guest():
    """frm changes under code that has already been translated."""
    guest = Guest()
    for mode in range(5):
        for letter, values in (("s", SINGLES), ("d", DOUBLES)):
            for name in ("fadd", "fmul", "fdiv"):
                guest.loop(f"{name}.{letter} frm {mode}", [values, FEW_DOUBLES if letter == "d"
                                                           else FEW_SINGLES],
                           float_body(f"{name}.{letter} fa3, fa0, fa1", "fa3",
                                      (f"fsrmi {mode}",)), 2)
    guest.loop("one instruction, all frm", [[0, 1, 2, 3, 4], DOUBLES],
               ["fmv.d.x fa1, a1", "fsrm a0", "fsflags x0", "fdiv.d fa3, fa1, fa1",
                "fadd.d fa4, fa3, fa1", "frcsr a3", "sd a3, 0(s1)", "fsd fa4, 8(s1)"], 2)
    return guest


def csr_guest():
    guest = Guest()
    for name in ("csrrw", "csrrs", "csrrc"):
        for register in ("fflags", "frm", "fcsr"):
            guest.loop(f"{name} {register}", [[0, 1, 0x15, 0x1f, 0x63, 0x9f, 0xffff], [0, 3, 0x1f]],
                       ["fscsr a0", f"{name} a3, {register}, a1", "frcsr a4", "sd a3, 0(s1)",
                        "sd a4, 8(s1)", "fscsr x0", f"{name} a3, {register}, x0", "sd a3, 16(s1)"],
                       3)
            for constant in (0, 1, 31):
                guest.loop(f"{name}i {register} {constant}", [[0, 1, 0x15, 0x9f]],
                           ["fscsr a0", f"{name}i a3, {register}, {constant}", "frcsr a4",
                            "sd a3, 0(s1)", "sd a4, 8(s1)", "fscsr x0"], 2)
    return guest


def compressed_guest():
    """Each compressed form, spelled out; everything else here is compressed where it fits."""
    guest = Guest()
    for name, more in (("c.add a0, a1", 0), ("c.mv a0, a1", 0), ("c.sub a0, a1", 0),
                       ("c.xor a0, a1", 0), ("c.or a0, a1", 0), ("c.and a0, a1", 0),
                       ("c.addw a0, a1", 0), ("c.subw a0, a1", 0), ("c.addi a0, -32", 0),
                       ("c.addi a0, 31", 0), ("c.addiw a0, -32", 0), ("c.addiw a0, 0", 0),
                       ("c.li a0, -32", 0), ("c.li a0, 31", 0), ("c.lui a0, 1", 0),
                       ("c.lui a0, 0xfffe0", 0), ("c.lui a0, 31", 0), ("c.slli a0, 1", 0),
                       ("c.slli a0, 63", 0), ("c.srli a0, 1", 0), ("c.srli a0, 63", 0),
                       ("c.srai a0, 1", 0), ("c.srai a0, 63", 0), ("c.andi a0, -32", 0),
                       ("c.andi a0, 31", 0), ("c.nop", 0)):
        guest.loop(name, [INTEGERS, INTEGERS], [name, "sd a0, 0(s1)"], 1)
    for name, setup in (("c.lw a0, 124(a4)", "addi a4, s5, 0"), ("c.ld a0, 248(a4)",
                        "addi a4, s5, -128"), ("c.lwsp a0, 252(sp)", "addi sp, s5, -128"),
                        ("c.ldsp a0, 504(sp)", "addi sp, s5, -384"),
                        ("c.fld fa0, 248(a4)", "addi a4, s5, -128"),
                        ("c.fldsp fa0, 504(sp)", "addi sp, s5, -384")):
        guest.loop(name, [INTEGERS], ["mv t3, sp", "sd a0, 120(s5)", "sd a0, 124(s5)", setup,
                                      "fmv.d.x fa0, x0", name, "mv sp, t3", "sd a0, 0(s1)",
                                      "fsd fa0, 8(s1)"], 2)
    for name, setup in (("c.sw a0, 124(a4)", "addi a4, s5, 0"), ("c.sd a0, 248(a4)",
                        "addi a4, s5, -128"), ("c.swsp a0, 252(sp)", "addi sp, s5, -128"),
                        ("c.sdsp a0, 504(sp)", "addi sp, s5, -384"),
                        ("c.fsd fa0, 248(a4)", "addi a4, s5, -128"),
                        ("c.fsdsp fa0, 504(sp)", "addi sp, s5, -384")):
        guest.loop(name, [INTEGERS], ["mv t3, sp", "sd x0, 120(s5)", "sd x0, 128(s5)", setup,
                                      "fmv.d.x fa0, a0", name, "mv sp, t3", "ld a3, 120(s5)",
                                      "sd a3, 0(s1)", "ld a3, 124(s5)", "sd a3, 8(s1)"], 2)
    guest.loop("c.addi16sp", [INTEGERS], ["mv t3, sp", "mv sp, a0", "c.addi16sp sp, -512",
                                          "mv a3, sp", "c.addi16sp sp, 496", "mv a4, sp",
                                          "mv sp, t3", "sd a3, 0(s1)", "sd a4, 8(s1)"], 2)
    guest.loop("c.addi4spn", [INTEGERS], ["mv t3, sp", "mv sp, a0", "c.addi4spn a3, sp, 4",
                                          "c.addi4spn a4, sp, 1020", "mv sp, t3", "sd a3, 0(s1)",
                                          "sd a4, 8(s1)"], 2)
    guest.loop("c.beqz, c.bnez, c.j", [INTEGERS],
               ["li a3, 0", "c.beqz a0, 8f", "c.addi a3, 1", "8: c.bnez a0, 8f", "c.addi a3, 2",
                "8: c.j 8f", "c.addi a3, 4", "8: sd a3, 0(s1)"], 1)
    guest.loop("c.jr, c.jalr", [[0]],
               ["la t1, 8f", "c.jr t1", "nop", "8: la t1, 8f", "c.jalr t1", "7: nop", "nop",
                "8: la t2, 7b", "sub t2, ra, t2", "sd t2, 0(s1)"], 1)
    return guest


GUESTS = {
    "integers": integer_guest, "branches": branch_guest, "memory": memory_guest,
    "atomics": atomic_guest, "singles": lambda: float_guest("s"),
    "doubles": lambda: float_guest("d"), "conversions of singles": lambda: conversion_guest("s"),
    "conversions of doubles": lambda: conversion_guest("d"),
    "dynamic rounding": dynamic_rounding_guest, "control registers": csr_guest,
    "compressed": compressed_guest,
}


@pytest.mark.parametrize("name", GUESTS)
def test_results_are_qemus(name):
    guest = GUESTS[name]()
    program = support.compile_guest([(name.replace(" ", "-") + ".S", guest.source())],
                                    *support.BARE, "-march=rv64gc")
    theirs = support.run_qemu(program, counting=False)
    ours = support.run_machine(program, options=["--abi=linux"])
    assert (ours.status, theirs.status) == (0, 0), ours.stderr
    assert len(ours.stdout) == len(theirs.stdout) > 0
    words = len(theirs.stdout) // 8
    pairs = zip(struct.unpack(f"<{words}Q", ours.stdout),
                struct.unpack(f"<{words}Q", theirs.stdout))
    wrong = [f"{guest.explain(i)}: {a:#x}, but qemu has {b:#x}"
             for i, (a, b) in enumerate(pairs) if a != b]
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:20])
