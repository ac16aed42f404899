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
