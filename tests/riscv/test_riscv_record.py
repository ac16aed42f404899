"""`trueflame record` of a guest: budget, checkpoint, faults, signals from outside."""

import json
import os
import pathlib
import resource
import signal
import subprocess
import time

import pytest

import riscv_support as support

support.need(support.COMPILER, support.QEMU)

ASSEMBLY = [*support.BARE, "-march=rv64gc"]


def info(profile):
    return json.loads(subprocess.run([support.TRUEFLAME, "info", "--json", profile],
                                     capture_output=True, check=True).stdout)


def fault_guest():
    return support.compile_guest([support.HERE / "guests" / "fault.c"], "-static", "-O1", "-g")


@pytest.mark.parametrize("detail", ["function", "line"])
@pytest.mark.parametrize("budget", [1, 2, 3, 10, 17, 18, 19, 100, 1000, 1001, 1002, 12345])
def test_budget_is_exact(budget, detail):
    program = support.compile_guest([support.HERE / "guests" / "libc.c"], "-static", "-O2", "-g",
                                    "-lm")
    recorded = support.record(program, options=["--quiet", f"--budget={budget}",
                                                f"--detail={detail}"])
    assert recorded.status == 0
    assert info(recorded.profile)["total_instructions"] == budget
    assert sum(support.folded(recorded.profile).values()) == budget


def test_fault_leaves_profile_and_says_where():
    program = fault_guest()
    recorded = support.record(program)
    assert recorded.status == 128 + signal.SIGSEGV
    assert recorded.stdout == b"before\n"
    lines = recorded.stderr.decode().splitlines()
    assert "SIGSEGV on address 0x10 at pc" in lines[0]
    assert [line.split()[-1] for line in lines[1:4]] == ["innermost", "middle", "main"]
    tree = support.folded(recorded.profile)
    assert any(path[-3:] == ("main", "middle", "innermost") for path in tree)
    assert sum(tree.values()) == support.run_qemu(program).count


ENDLESS = """.globl _start
_start: li a7, 172
1:  addi a0, a0, 1
    ecall
    j 1b
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_guest_that_is_stopped_leaves_its_profile(tmp_path, number):
    program = support.compile_guest([("endless.S", ENDLESS)], *ASSEMBLY)
    profile = tmp_path / "endless.flame"
    running = subprocess.Popen([support.TRUEFLAME, "record", "--quiet", "-o", profile, program],
                               start_new_session=True)
    time.sleep(0.5)
    os.killpg(running.pid, number)
    assert running.wait(timeout=60) == 128 + number
    assert info(profile)["total_instructions"] > 0


def test_checkpoints_are_written_while_it_runs(tmp_path):
    program = support.compile_guest([("endless.S", ENDLESS)], *ASSEMBLY)
    profile = tmp_path / "endless.flame"
    running = subprocess.Popen([support.TRUEFLAME, "record", "--quiet", "--checkpoint=100000",
                                "-o", profile, program], start_new_session=True)
    try:
        for _ in range(300):
            if profile.exists() and profile.stat().st_size:
                break
            time.sleep(0.1)
        seen = info(profile)
        assert seen["total_instructions"] > 0 and seen["total_instructions"] % 100000 == 0
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait(timeout=60)


def test_a_checkpoint_that_fails_is_told_once(tmp_path):
    program = support.compile_guest([support.HERE / "guests" / "libc.c"], "-static", "-O2", "-g",
                                    "-lm")
    done = subprocess.run([support.TRUEFLAME, "record", "--checkpoint=2000", "-o",
                           tmp_path / "p.flame", program], capture_output=True, text=True,
                          restore_signals=False,  # SIGXFSZ stays ignored
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                (4096, 4096)))
    told = [line for line in done.stderr.splitlines() if "cannot write" in line]
    assert len(told) == 2  # a checkpoint, and the profile in the end


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_the_guest_does_not_outlive_record(tmp_path):
    program = support.compile_guest([("endless.S", ENDLESS)], *ASSEMBLY)
    running = subprocess.Popen([support.TRUEFLAME, "record", "--quiet", "--checkpoint=100000", "-o",
                                tmp_path / "endless.flame", program], start_new_session=True)
    for _ in range(300):  # once there is a checkpoint the guest runs
        if (tmp_path / "endless.flame").exists():
            break
        time.sleep(0.1)
    guest = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()[0]
    running.kill()
    running.wait(timeout=60)
    try:
        for _ in range(300):
            if not is_running(guest):
                return
            time.sleep(0.1)
        assert not is_running(guest)
    finally:
        if is_running(guest):
            os.kill(int(guest), signal.SIGKILL)


DEEP = """__attribute__((noinline)) long down(long n)
{ long r = n ? down(n - 1) : 0; __asm__ volatile("" : "+r"(r)); return r + 1; }
int main(void) { return down(1000000) != 1000001; }
"""


def test_the_stack_is_as_large_as_the_hosts_limit(tmp_path):
    program = support.compile_guest([("deep.c", DEEP)], "-static", "-O2", "-g")
    with_stack = f"ulimit -S -s 100000; exec {support.TRUEFLAME} record --quiet -o p.flame {program}"
    assert subprocess.run(["sh", "-c", with_stack], cwd=tmp_path).returncode == 0
    assert info(tmp_path / "p.flame")["contexts"] > 1000000


def test_unknown_system_call_is_reported_once():
    program = support.compile_guest([("odd.S", """.globl _start
_start: li s0, 3
1:  li a7, 999
    ecall
    addi s0, s0, -1
    bnez s0, 1b
    neg a0, a0
    li a7, 93
    ecall
""")], *ASSEMBLY)
    recorded = support.record(program)
    assert recorded.status == 38  # ENOSYS
    assert recorded.stderr.decode().count("system call 999 is not known") == 1


def test_names_and_inlined_functions_come_from_the_executing_address():
    program = support.compile_guest([("inlined.c", """
        static volatile int sink;
        static inline __attribute__((always_inline)) void inlined(int i) { sink = i * 3; }
        __attribute__((noinline)) void leaf(int i) { sink += i; }
        static inline __attribute__((always_inline)) void calls(int i) { leaf(i); }
        __attribute__((noinline)) void work(int n)
        { for (int i = 0; i < n; i++) { inlined(i); calls(i); } }
        int main(void) { work(100); return 0; }
    """)], "-static", "-O1", "-g")
    tree = support.folded(support.record(program, options=["--quiet"]).profile)
    paths = {path[path.index("main"):]: count for path, count in tree.items() if "main" in path}
    assert paths["main", "work", "inlined"] >= 200
    assert paths["main", "work", "calls", "leaf"] >= 300
    assert ("main", "work", "leaf") not in paths


def test_not_a_program_is_one_line(tmp_path):
    broken = tmp_path / "broken"
    broken.write_bytes(fault_guest().read_bytes()[:3000])
    done = subprocess.run([support.TRUEFLAME, "record", "-o", tmp_path / "x.flame", broken],
                          capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("trueflame: ") and done.stderr.count("\n") == 1
    assert str(broken) in done.stderr
    assert not (tmp_path / "x.flame").exists()


def test_dynamic_programs_are_refused(tmp_path):
    program = support.compile_guest([support.HERE / "guests" / "abort.c"], "-O1")
    recorded = support.record(program, output=tmp_path / "x.flame")
    assert recorded.status == 2
    assert b"dynamically linked; link it with -static" in recorded.stderr
