import subprocess

import pytest

from support import HERE


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("native")


@pytest.fixture(scope="session")
def oracle(folder):
    program = folder / "step"
    subprocess.run(["gcc", "-O2", "-std=gnu11", "-D_GNU_SOURCE", "-o", program,
                    *sorted((HERE.parent / "oracle").glob("*.c")), "-ldw", "-lelf"], check=True)
    return program


@pytest.fixture(scope="session")
def compiled(folder):
    def compile_program(name, *flags):
        program = folder / "".join([name, *(str(flag).replace("/", "-") for flag in flags)])
        if not program.exists():
            subprocess.run(["gcc", "-O1", "-std=gnu11", "-w", "-pthread", "-o", program,
                            HERE / "programs" / f"{name}.c", *flags], check=True)
        return program
    return compile_program
