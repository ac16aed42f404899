"""What the tests of the commands share: running trueflame, and small profiles to run it on."""
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TRUEFLAME_BUILD", os.path.join(ROOT, "build"))
TRUEFLAME = os.path.join(BUILD, "trueflame")


def run(*arguments, status=0, stdin=None):
    """Runs trueflame; asserts its exit status; gives back stdout and stderr."""
    done = subprocess.run([TRUEFLAME, *map(str, arguments)], input=stdin, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == status, f"{arguments}: {done.returncode}: {done.stderr}"
    return done


def refused(*arguments, stdin=None):
    """Runs trueflame on bad input: status 2, nothing on stdout, one line on stderr, given back."""
    done = run(*arguments, status=2, stdin=stdin)
    assert done.stdout == ""
    assert done.stderr.startswith("trueflame: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.rstrip("\n")


def imported(folder, folded, name="profile"):
    """A profile of folded stacks."""
    source, path = folder / f"{name}.folded", folder / f"{name}.flame"
    source.write_text(folded)
    run("import", "-f", "folded", source, "-o", path)
    return path


def folded(path, *options):
    return run("export", path, "-f", "folded", *options).stdout


def total(folded_text):
    return sum(int(line.rpartition(" ")[2]) for line in folded_text.splitlines())


PROGRAM = r"""
#include <stdlib.h>
static volatile unsigned long sink;
static inline __attribute__((always_inline)) void inner(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sink += i;
}
__attribute__((noinline)) void leaf(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sink ^= i;
}
static inline __attribute__((always_inline)) void outer(unsigned n)
{
    inner(n);
    leaf(n);
}
__attribute__((noinline)) void work(unsigned n)
{
    outer(n);
    sink++;
}
__attribute__((noinline)) unsigned recurse(unsigned n)
{
    unsigned result = n ? recurse(n - 1) + 1 : 0;
    leaf(2);
    return result;
}
int main(int argc, char **argv)
{
    unsigned n = argc > 1 ? atoi(argv[1]) : 10;
    work(n);
    work(2 * n);
    sink += recurse(5);
    return 0;
}
"""


def recorded(folder, name="program", source=PROGRAM, arguments=(), flags=("-O2", "-g")):
    """A profile of a compiled program, recorded by the reference engine."""
    code, program, path = folder / f"{name}.c", folder / name, folder / f"{name}.flame"
    code.write_text(source)
    subprocess.run(["gcc", *flags, "-static", code, "-o", program], check=True)
    run("record", "--engine=valgrind", "-o", path, "--", program, *arguments)
    return path
