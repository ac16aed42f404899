"""Real programs under the native engine, for `make test-all`: they say and do what they do alone, at both
details. Those that are not installed are skipped."""

import pathlib
import shutil

import pytest

from support import record, run, same_as_alone

pytestmark = pytest.mark.slow

COMPILE = """
cat >a.cc <<'END'
#include <iostream>
#include <map>
int main() { std::map<int, int> m; for (int i = 0; i < 999; i++) m[i % 7]++; std::cout << m[3] << "\\n"; }
END
"""
COMMITS = """
rm -rf repository && git init -q repository && cd repository
git config user.email a@example.org && git config user.name somebody
export GIT_COMMITTER_DATE=2020-01-01T00:00:00Z GIT_AUTHOR_DATE=2020-01-01T00:00:00Z
for i in 1 2 3; do seq $i 99 >file$i; git add file$i; git commit -qm "commit $i"; done
git log --stat; git gc -q; git fsck; git diff HEAD~2 | tail -3; git rev-parse HEAD
"""
JAVA = """
cat >A.java <<'END'
public class A {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    public static void main(String[] arguments) throws Exception {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 4; i++) {
            threads[i] = new Thread(() -> {
                String nothing = null;
                try { nothing.length(); } catch (NullPointerException e) { }
            });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        System.gc();
        System.out.println(fib(22));
    }
}
END
java A.java
"""
SHELL = """
declare -A a; for i in {1..300}; do a[$((i % 7))]+=x; done; echo ${#a[3]}; (exit 5); echo $?
trap "echo trapped" USR1; kill -USR1 $$; sleep 0.1 & wait; f() { ((n--)) && f; }; n=200; f
echo $(seq 10 | while read x; do echo $((x * 2)); done); exit 4
"""
RUBY = """
require "json"; puts JSON.dump((1..100).map { |i| { i => i.to_s * 3 } }).size
p 4.times.map { |k| Thread.new { (1..1000).inject { |a, b| a * b % 1000007 } } }.map(&:value)
begin; raise "raised"; rescue => e; puts e.message; end
f = Fiber.new { Fiber.yield 1; 2 }; p f.resume, f.resume
"""
NODE = """
const hash = require("crypto").createHash("sha1").update("x".repeat(1e5)).digest("hex");
const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);
console.log(hash, fib(22)); Promise.resolve(3).then(console.log); setTimeout(() => console.log("late"), 10);
"""
COROUTINES = """
local next = coroutine.wrap(function() for i = 1, 100 do coroutine.yield(i) end end)
local s = 0 for i = 1, 100 do s = s + next() end print(s, pcall(error, "raised"))
"""
QUERY = """
create table t(a, b); create index i on t(b);
with recursive c(x) as (values(1) union all select x + 1 from c where x < 5000)
insert into t select x, x * x % 97 from c;
select b, count(*) from t group by b order by 2, 1 limit 5
"""
PROGRAMS = {
    "git": ["bash", "-c", COMMITS],
    "gcc": ["bash", "-c", "echo 'int main(void) { return 3; }' >a.c && gcc -O2 -g a.c -o a && ./a"],
    "g++": ["bash", "-c", COMPILE + "g++ -O1 a.cc -o a && ./a"],
    "clang": ["bash", "-c", "echo 'int main(void) { return 3; }' >a.c && clang -O2 a.c -o a && ./a"],
    "sqlite3": ["sqlite3", ":memory:", QUERY],
    "perl": ["perl", "-e", "my %h; $h{$_ % 97} += $_ for 1 .. 50000; print join ',', map { $h{$_} } sort keys %h"],
    "ruby": ["ruby", "-e", RUBY],
    "lua": ["lua5.4", "-e", COROUTINES],
    "luajit": ["luajit", "-e", "local ffi = require 'ffi' ffi.cdef 'int abs(int);' local s = 0 "
               "for i = 1, 1e6 do s = s + ffi.C.abs(-i) % 7 end print(s)"],
    "node": ["node", "-e", NODE],
    "java": ["bash", "-c", JAVA],
    "xz": ["xz", "-T2", "-c", "/usr/bin/perl"],
    "zstd": ["zstd", "-T2", "-c", "/usr/bin/perl"],
    "tar": ["bash", "-c", "set -o pipefail; tar cf - /usr/share/doc/bash | gzip -9n"],
    "python3": ["python3", "-c", "import json, hashlib, subprocess; print(json.dumps([1]), "
                "hashlib.sha256(b'').hexdigest(), subprocess.run(['true']).returncode)"],
    "bash": ["bash", "-c", SHELL],
    "busybox": ["busybox", "sh", "-c", "i=0; while [ $i -lt 200 ]; do i=$((i + 1)); done; "
                "echo $i | busybox sha256sum; busybox ls /usr | busybox sort -r"],
    "php": ["php", "-r", "echo json_encode(array_map(fn($x) => $x ** 2, range(1, 50))), "
            "preg_match('/(a+)+b/', str_repeat('a', 20).'b'), md5(str_repeat('x', 10000));"],
    "openssl": ["openssl", "dgst", "-sha512", "/usr/bin/perl"],
    "gawk": ["gawk", "BEGIN { for (i = 0; i < 50000; i++) s[i % 101] += i; n = asort(s); print n, s[1], s[n] }"],
    "vim": ["vim", "-es", "-N", "-u", "NONE", "-c", "call setline(1, range(1, 100))", "-c", "%s/1/X/g",
            "-c", "sort!", "-c", "%print", "-c", "qa!"],
    "gdb": ["gdb", "-batch", "-nx", "-ex", "print 1 + 1"],
    "ffmpeg": ["ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=duration=1:size=160x120:rate=5",
               "-c:v", "mpeg4", "-threads", "2", "-bitexact", "-f", "md5", "-"],
    "convert": ["convert", "-size", "100x100", "gradient:red-blue", "-blur", "0x2", "-resize", "50x50",
                "-depth", "8", "rgb:-"],
    "jq": ["jq", "-n", "[range(1000)] | map(. * 2) | add"],
    "bc": ["bash", "-c", "echo 'scale = 200; 4 * a(1)' | bc -l"],
    "qemu": ["qemu-riscv64", "--version"],
    "go": ["go", "version"],
}
SWITCHES_STACKS = ("node", "java", "go")  # what runs there returns where nobody called


@pytest.mark.parametrize("detail", ("function", "line"))
@pytest.mark.parametrize("name", PROGRAMS)
def test_real_program_is_not_disturbed(name, detail, folder):
    command = PROGRAMS[name]
    needed = name if command[0] == "bash" else command[0]
    if not shutil.which(needed, path="/usr/bin:/bin"):
        pytest.skip(f"{needed} is not installed")
    info = same_as_alone(folder, [shutil.which(command[0], path="/usr/bin:/bin"), *command[1:]],
                         f"--detail={detail}")
    if name not in SWITCHES_STACKS:
        assert info["repairs"]["unmatched-return"] == 0


@pytest.mark.parametrize("compiler", ("gcc", "g++", "clang"))
def test_compiler_with_children(compiler, folder):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source = folder / "hello.c"
    source.write_text('#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n')
    done, info = record(folder, [shutil.which(compiler), "-O2", "-o", folder / "hello", source],
                        "--detail=function")
    assert done.returncode == 0, done.stderr.decode()
    assert len(info["processes"]) > 2
    assert run([folder / "hello"]).stdout == b"hello\n"


PYTHONS = sorted(pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3")) + \
    [pathlib.Path("/usr/bin/python3")]
MODULES = ("test_dict", "test_generators", "test_threading_local", "test_exceptions", "test_json")


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.parent.parent.name)
def test_pythons_own_tests_pass(python, module, folder):
    if run([python, "-c", f"import test.{module}"]).returncode:
        pytest.skip(f"{python} has no {module}")
    command = [python, "-m", "unittest", "-q", f"test.{module}"]
    if run(command, cwd=folder).returncode:
        pytest.skip(f"{python}: {module} does not pass alone")
    done, info = record(folder, command, "--detail=function")
    assert done.returncode == 0, done.stderr.decode()
    assert info["engine"] == "native"
