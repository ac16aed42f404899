"""The bytes in template.h are what the assembler makes of template_*.S, code and unwind tables."""
import re
import shutil
import subprocess

import pytest

from trampoline_support import ROOT

SOURCE = ROOT + "/src/python"
PRINT = r"""
#include <stdio.h>
#include "python/template.h"
int main(void)
{
    for (int i = 0; i < TEMPLATE_CODE_SIZE; i++)
        printf("%02x", template_code[i]);
    printf(" ");
    for (int i = 0; i < TEMPLATE_EH_FRAME_SIZE; i++)
        printf("%02x", template_eh_frame[i]);
    printf(" %d %d %d\n", TEMPLATE_FDE_OFFSET, TEMPLATE_PC_BEGIN_OFFSET, TEMPLATE_ELF_MACHINE);
}
"""


def assembler(machine):
    for command in (["%s-linux-gnu-gcc" % machine], ["clang", "--target=%s-linux-gnu" % machine]):
        if shutil.which(command[0]):
            return command
    pytest.skip("no assembler for %s here" % machine)


def section(path, name):
    dump = subprocess.run(["readelf", "-x", name, path], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    rows = re.findall(r"^  0x[0-9a-f]+ ((?:[0-9a-f]+ ){1,4})", dump, re.M)
    return bytes.fromhex("".join(rows).replace(" ", ""))


@pytest.mark.parametrize("machine, number", [("x86_64", 62), ("aarch64", 183)])
def test_template(machine, number, tmp_path):
    compiled = str(tmp_path / "template.o")
    subprocess.run(assembler(machine) + ["-c", "%s/template_%s.S" % (SOURCE, machine), "-o",
                                         compiled], check=True)
    printer = tmp_path / "print.c"
    printer.write_text(PRINT)
    subprocess.run(["cc", "-DTEMPLATE_FOR_" + machine.upper(), "-I" + ROOT + "/src", str(printer),
                    "-o", str(tmp_path / "print")], check=True)
    words = subprocess.run([str(tmp_path / "print")], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.split()
    code, frames = bytes.fromhex(words[0]), bytes.fromhex(words[1])
    entry, begin, elf_machine = map(int, words[2:])
    assert elf_machine == number
    assert code == section(compiled, ".text")
    assert frames == section(compiled, ".eh_frame")
    assert frames[begin:begin + 4] == bytes(4)  # to be filled in
    assert begin == entry + 8
    assert int.from_bytes(frames[entry + 4:entry + 8], "little") == entry + 4  # its CIE comes first


RUN = r"""
#include "python/template.h"
typedef long evaluator(long, long, int);
typedef long trampoline(long, long, int, evaluator *);
static __attribute__((section(".text"), aligned(16))) const uint8_t code[] = {TEMPLATE_CODE};
static long return_address, callers_frame;

/* Keeps a frame pointer, as the whole file does: the chain must lead through the trampoline. */
static __attribute__((noinline)) long walk(long thread, long frame, int throwing)
{
    long *pointer = __builtin_frame_address(0);
    return_address = pointer[1];
    callers_frame = ((long *)pointer[0])[0];
    return thread * 100 + frame * 10 + throwing;
}

static void leave(long status)
{
    register long number __asm__("x8") = 93, argument __asm__("x0") = status;
    __asm__ volatile("svc 0" : : "r"(number), "r"(argument));
}

void _start(void)
{
    long result = ((trampoline *)code)(1, 2, 3, walk);
    long offset = return_address - (long)code;
    leave(result != 123 || offset <= 0 || offset >= TEMPLATE_CODE_SIZE ||
          callers_frame != (long)__builtin_frame_address(0));
}
"""


def test_template_runs_on_aarch64(tmp_path):
    for need in ("clang", "ld.lld", "qemu-aarch64"):
        if not shutil.which(need):
            pytest.skip("no %s here" % need)
    (tmp_path / "run.c").write_text(RUN)
    subprocess.run(["clang", "--target=aarch64-linux-gnu", "-fuse-ld=lld", "-nostdlib", "-static",
                    "-O1", "-fno-omit-frame-pointer", "-ffreestanding", "-Wno-section",
                    "-DTEMPLATE_FOR_AARCH64", "-I" + ROOT + "/src", str(tmp_path / "run.c"), "-o",
                    str(tmp_path / "run")], check=True)
    assert subprocess.call(["qemu-aarch64", str(tmp_path / "run")]) == 0
