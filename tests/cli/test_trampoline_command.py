"""How people use it: `trueflame trampoline`, `python3 -m trueflame_trampoline`, the environment."""
import os
import re
import signal
import stat
import subprocess

import pytest

from trampoline_support import (INTERPRETERS, PACKAGE_DIRECTORY, TRUEFLAME, VERSIONS, Run,
                                environment, python, remove_map, run_in_process,
                                run_under_trampoline)

every_version = pytest.mark.parametrize("version", VERSIONS)
newest = pytest.mark.parametrize("version", [max(INTERPRETERS, key=lambda v: int(v[2:]))])


def module_run(version, directory, *arguments, **options):
    options.setdefault("env", {}).setdefault("PYTHONPATH", PACKAGE_DIRECTORY)
    return Run([python(version), "-m", "trueflame_trampoline", *arguments], directory, **options)


# ---- trueflame trampoline ----

@every_version
def test_status_output_and_arguments_pass_through(version, tmp_path):
    run = run_under_trampoline(version, tmp_path, """
import sys
print(sys.argv[1:], __name__, file=sys.stderr)
print("out")
sys.exit(41)
""", "-x", "--", "two words")
    assert (run.status, run.stdout) == (41, "out\n")
    assert run.stderr == "['-x', '--', 'two words'] __main__\n"
    run = run_under_trampoline(version, tmp_path, "import os\nos.kill(os.getpid(), 15)\n")
    assert run.status == -signal.SIGTERM


@every_version
def test_search_path_is_the_programs(version, tmp_path):
    code = "import sys\nprint(sys.path)\nprint('sitecustomize' in sys.modules)\n"
    plain = tmp_path / "app.py"
    plain.write_text(code)
    for value in (None, "/somewhere", "/a:/b"):
        expected = Run([python(version), str(plain)], tmp_path, env={"PYTHONPATH": value})
        run = run_under_trampoline(version, tmp_path, code, env={"PYTHONPATH": value})
        assert run.stdout.splitlines()[0] == expected.stdout.splitlines()[0]
        os.unlink("/tmp/perf-%d.map" % run.pid)


@every_version
def test_the_users_sitecustomize_runs(version, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "sitecustomize.py").write_text(
        "def in_site(): print('mine', __name__, __file__)\nin_site()\nVALUE = 5\n")
    run = run_under_trampoline(version, tmp_path,
                               "import sitecustomize\nprint(sitecustomize.VALUE)\n",
                               env={"PYTHONPATH": str(mine)})
    assert run.stdout == "mine sitecustomize %s/sitecustomize.py\n5\n" % mine
    assert run.stderr == "" and "in_site" in run.map_names()


@every_version
def test_a_users_sitecustomize_that_fails(version, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    for line, word in (("raise ValueError('oops')", "ValueError: oops"),
                       ("import no_such_module_at_all", "no_such_module_at_all")):
        (mine / "sitecustomize.py").write_text(line + "\n")
        run = run_under_trampoline(version, tmp_path, "def foo(): print('ran')\nfoo()\n",
                                   env={"PYTHONPATH": str(mine), "PYTHONVERBOSE": None})
        expected = Run([python(version), str(tmp_path / "app.py")], tmp_path,
                       env={"PYTHONPATH": str(mine)})
        assert run.stdout == expected.stdout == "ran\n"
        assert (word in run.stderr) == (word in expected.stderr)
        assert "foo" in run.map_names()


@every_version
def test_virtual_environment(version, tmp_path):
    venv = tmp_path / "venv"
    made = subprocess.run([python(version), "-m", "venv", "--without-pip", str(venv)],
                          env=environment(tmp_path), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if made.returncode != 0:
        pytest.skip("this CPython makes no virtual environments: %s" % made.stdout.decode()[:200])
    packages = venv / "lib" / ("python" + version) / "site-packages"
    (packages / "sitecustomize.py").write_text("print('from the environment')\n")
    (packages / "only_here.py").write_text("def inside(): return 'inside'\n")
    program = tmp_path / "app.py"
    program.write_text("import only_here\nprint(only_here.inside())\n")
    # Debian's own has a sitecustomize of its own, before the environment's.
    plain = Run([str(venv / "bin" / "python3"), str(program)], tmp_path)
    assert plain.stdout.endswith("inside\n")
    run = Run([TRUEFLAME, "trampoline", str(venv / "bin" / "python3"), str(program)], tmp_path)
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout == plain.stdout
    assert "inside" in run.map_names()


@newest
@pytest.mark.parametrize("options, letter, reason", [
    (["-S"], "S", "site module"), (["-I"], "I", "PYTHONPATH"), (["-E"], "E", "PYTHONPATH"),
    (["-sE"], "E", "PYTHONPATH"), (["-uBS"], "S", "site module"),
    (["-X", "dev", "-I"], "I", "PYTHONPATH"), (["-W", "-I", "-E"], "E", "PYTHONPATH"),
    (["-Xdev", "-Wignore", "--check-hash-based-pycs", "default", "-E"], "E", "PYTHONPATH"),
])
def test_options_that_shut_it_out(version, options, letter, reason, tmp_path):
    program = tmp_path / "app.py"
    program.write_text("open('ran', 'w')\n")
    run = Run([TRUEFLAME, "trampoline", "--", python(version), *options, str(program)], tmp_path)
    assert run.status == 2 and run.stdout == ""
    assert run.stderr.count("\n") == 1 and run.stderr.startswith("trueflame: python")
    assert " -%s " % letter in run.stderr and reason in run.stderr
    assert not (tmp_path / "ran").exists()


@newest
def test_letters_that_only_look_like_those_options(version, tmp_path):
    program = tmp_path / "app.py"
    program.write_text("print('ran')\n")
    for options in (["-c", "print('ran')", "-I"], ["-W", "ignore", "-X", "importtime=0"],
                    ["-ucprint('ran')", "-S"], [str(program), "-S"], ["-m", "app", "-E"]):
        command = [TRUEFLAME, "trampoline", python(version), *options]
        if options[0] == "-W":
            command = command[:-2] + [str(program)]
        run = Run(command, tmp_path)
        assert (run.status, run.stdout) == (0, "ran\n"), options
        os.unlink("/tmp/perf-%d.map" % run.pid)


@newest
def test_scripts(version, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!%s\ndef inside(): print('ran')\ninside()\n" % python(version))
    script.chmod(0o755)
    run = Run([TRUEFLAME, "trampoline", "./script"], tmp_path)
    assert (run.status, run.stdout, run.stderr) == (0, "ran\n", "")
    assert "inside" in run.map_names()
    script.write_text("#!%s -I\nprint('ran')\n" % python(version))
    run = Run([TRUEFLAME, "trampoline", "./script"], tmp_path)
    assert run.status == 2 and "ignores PYTHONPATH" in run.stderr and run.stdout == ""
    run = Run([TRUEFLAME, "trampoline", "script"], tmp_path,
              env={"PATH": str(tmp_path) + ":" + os.environ["PATH"]})
    assert run.status == 2 and "ignores PYTHONPATH" in run.stderr


@newest
def test_mistakes(version, tmp_path):
    for arguments, words in (
            ([], "no program to run"), (["--"], "no program to run"),
            (["--bad"], "unknown option '--bad'"), (["--names=perf", "x"], "not 'perf'"),
            (["--", "/no/such/program"], "/no/such/program: No such file or directory"),
            ([str(tmp_path)], "Permission denied")):
        run = Run([TRUEFLAME, "trampoline", *arguments], tmp_path)
        assert run.status == 2 and run.stdout == ""
        assert run.stderr.startswith("trueflame: ") and words in run.stderr
        assert run.stderr.count("\n") == 1
    run = Run([TRUEFLAME, "trampoline", python(version), "-c", "print('ran')"], tmp_path,
              env={"TRUEFLAME_PYTHON_DIR": "/nowhere"})
    assert run.status == 2 and "/nowhere" in run.stderr and run.stdout == ""
    run = Run([TRUEFLAME, "trampoline", python(version), "-c", "print('ran')"], tmp_path,
              env={"TRUEFLAME_JITDUMP_DIR": "/nowhere"})
    assert run.status == 2 and run.stdout == ""
    assert "cannot create /nowhere/jit-%d.dump" % run.pid in run.stderr


@newest
def test_help_and_path(version, tmp_path):
    run = Run([TRUEFLAME, "trampoline", "--help"], tmp_path)
    assert run.status == 0 and run.stdout.startswith("usage: trueflame trampoline")
    run = Run([TRUEFLAME, "trampoline", "--path"], tmp_path)
    assert run.stdout == os.path.realpath(PACKAGE_DIRECTORY) + "\n"


def unsupported_python():
    for pattern in ("/usr/bin/python3.8", os.path.expanduser("~/.pyenv/versions/3.8.*/bin/python3")):
        import glob
        for path in glob.glob(pattern):
            return path
    return None


@newest
def test_an_interpreter_without_trampolines(version, tmp_path):
    old = unsupported_python()
    if not old:
        pytest.skip("no CPython 3.8 on this machine")
    run = Run([TRUEFLAME, "trampoline", "--", old, "-c", "print('ran')"], tmp_path)
    assert run.status == 2 and run.stdout == ""
    assert run.stderr.startswith("trueflame: trueflame has no trampolines for this interpreter "
                                 "(cpython-38); it has them for cpython-3")
    # A program may start another Python; that one runs on, unseen.
    run = run_under_trampoline(version, tmp_path, """
import subprocess, sys
print(subprocess.run([sys.argv[1], "-c", "print('old')"], stdout=subprocess.PIPE).stdout)
""", old)
    assert (run.status, run.stdout) == (0, "b'old\\n'\n")
    assert run.stderr.startswith("trueflame: trueflame has no trampolines")
    os.unlink("/tmp/perf-%d.map" % run.pid)


@newest
def test_python_2_passes_by(version, tmp_path):
    import glob
    found = glob.glob(os.path.expanduser("~/.pyenv/versions/2.7.*/bin/python2.7"))
    if not found:
        pytest.skip("no Python 2.7 on this machine")
    run = run_under_trampoline(version, tmp_path,
                               "import subprocess, sys\n"
                               "sys.exit(subprocess.call([sys.argv[1], '-c', 'print(27)']))",
                               found[0])
    assert (run.status, run.stdout) == (0, "27\n")
    assert run.stderr.count("\n") == 1 and run.stderr.startswith("trueflame: ")


@every_version
def test_children_have_maps_of_their_own(version, tmp_path):
    run = run_under_trampoline(version, tmp_path, """
import multiprocessing, subprocess, sys
def in_worker(n): return n, multiprocessing.current_process().pid
if __name__ == "__main__":
    child = subprocess.Popen([sys.executable, "-c", "def in_child(): pass\\nin_child()"])
    child.wait()
    print(child.pid)
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(1) as pool:
            print(pool.map(in_worker, [1])[0][1])
""")
    assert (run.status, run.stderr) == (0, "")
    child, forked, spawned = map(int, run.stdout.split())
    assert "in_child" in run.map_names(child)
    assert "in_worker" in run.map_names(forked) and "in_worker" in run.map_names(spawned)
    dumps = [name for name in os.listdir(tmp_path) if name.startswith("jit-")]
    assert {"jit-%d.dump" % pid for pid in (run.pid, child, forked, spawned)} <= set(dumps)
    for dump in dumps:  # multiprocessing has helpers of its own
        remove_map(int(dump[4:-5]))


@every_version
def test_exec_in_the_same_process(version, tmp_path):
    run = run_under_trampoline(version, tmp_path, """
import os, sys
if len(sys.argv) == 1:
    def before(): os.execv(sys.executable, [sys.executable, sys.argv[0], "again"])
    before()
def after(): pass
after()
""")
    assert (run.status, run.stderr) == (0, "")
    assert {"before", "after"} <= set(run.map_names())
    def loaded(path=None):
        return {fields["index"]: fields["name"] for kind, _, fields in run.jitdump(path=path)[1]
                if kind == 0}
    first, again = loaded(), loaded(str(tmp_path / ("jit-0%d.dump" % run.pid)))
    assert "before" in " ".join(first.values()) and "after" not in " ".join(first.values())
    assert "after" in " ".join(again.values())
    assert not set(first) & set(again)  # perf names objects by these


@newest
def test_dumps_go_where_perf_unwinds_through_them(version, tmp_path):
    run = run_under_trampoline(version, tmp_path, """
import os, trueflame_trampoline as t
print(t.statistics()["jitdump"])
""", env={"TRUEFLAME_JITDUMP_DIR": None})
    path = run.stdout.strip()
    assert re.fullmatch("/tmp/jit-0*%d.dump" % run.pid, path)
    mode = os.stat(path)
    assert stat.S_IMODE(mode.st_mode) == 0o600 and mode.st_uid == os.geteuid()
    os.unlink(path)
    os.unlink("/tmp/perf-%d.map" % run.pid)


@newest
def test_nothing_in_the_way_is_followed(version, tmp_path):
    """A dump of a process long gone, links to nowhere: left as they are, however many there are."""
    run = run_under_trampoline(version, tmp_path, """
import os, sys, trueflame_trampoline as t
if len(sys.argv) == 1:
    here = os.environ["TRUEFLAME_JITDUMP_DIR"]
    for zeros in range(1, 21):
        os.symlink("nowhere", os.path.join(here, "jit-%s%d.dump" % ("0" * zeros, os.getpid())))
    os.execv(sys.executable, [sys.executable, sys.argv[0], "again"])
print(os.path.basename(t.statistics()["jitdump"]))
""")
    assert run.stdout == "jit-%s%d.dump\n" % ("0" * 21, run.pid)
    assert os.readlink(str(tmp_path / ("jit-0%d.dump" % run.pid))) == "nowhere"
    assert not os.path.exists(str(tmp_path / "nowhere"))


# ---- python3 -m trueflame_trampoline ----

@every_version
def test_run_a_file(version, tmp_path):
    program = tmp_path / "sub" / "app.py"
    program.parent.mkdir()
    (program.parent / "beside.py").write_text("def near(): return 'near'\n")
    program.write_text("""
import sys, pickle
import beside
class Thing: pass
def main(): print(sys.argv, __name__, __file__, beside.near(), sys.path[0])
main()
assert isinstance(pickle.loads(pickle.dumps(Thing())), Thing)
sys.exit(3)
""")
    run = module_run(version, tmp_path, "sub/app.py", "--names=x", "b")
    assert (run.status, run.stderr) == (3, "")
    assert run.stdout == ("['sub/app.py', '--names=x', 'b'] __main__ sub/app.py near %s/sub\n"
                          % tmp_path)
    names = run.map_names()
    assert names[0] == "<module>" and {"main", "near"} <= set(names)


@every_version
def test_run_a_module_and_code(version, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "__main__.py").write_text(
        "import sys\ndef inside(): print(sys.argv[1:], __name__, __package__)\ninside()\n")
    run = module_run(version, tmp_path, "--names=map", "-m", "package", "x")
    assert (run.stdout, run.stderr) == ("['x'] __main__ package\n", "")
    assert "inside" in run.map_names()
    run = module_run(version, tmp_path, "-c", "import sys\ndef f(): print(sys.argv)\nf()", "y")
    assert (run.stdout, run.stderr) == ("['-c', 'y']\n", "") and "f" in run.map_names()
    run = module_run(version, tmp_path, "package", "z")
    assert run.stdout == "['z'] __main__ \n" and "inside" in run.map_names()


@newest
def test_run_where_the_command_cannot(version, tmp_path):
    """-E and -S shut out PYTHONPATH and site; called by name the package works all the same."""
    program = tmp_path / "app.py"
    program.write_text("def inside(): print('ran')\ninside()\n")
    run = Run([python(version), "-I", "-S", "-c",
               "import sys\nsys.path.append(%r)\nsys.argv = ['', %r]\n"
               "import trueflame_trampoline.__main__" % (PACKAGE_DIRECTORY, str(program))],
              tmp_path)
    assert (run.status, run.stdout, run.stderr) == (0, "ran\n", "")
    assert "inside" in run.map_names()


@newest
def test_module_mistakes(version, tmp_path):
    for arguments, words in (([], "no program to run"), (["-m"], "-m needs an argument"),
                             (["--bad", "x"], "unknown option --bad"),
                             (["none.py"], "none.py: No such file"),
                             (["--names=perf", "-c", "1"], "not 'perf'")):
        run = module_run(version, tmp_path, *arguments)
        assert run.status == 2 and run.stdout == "" and words in run.stderr.splitlines()[0]
        assert run.stderr.startswith("trueflame: ")


@newest
def test_a_program_that_fails_shows_its_traceback(version, tmp_path):
    (tmp_path / "app.py").write_text("def bad(): 1 / 0\nbad()\n")
    run = module_run(version, tmp_path, "app.py")
    assert run.status == 1 and run.stderr.rstrip().endswith("ZeroDivisionError: division by zero")
    assert 'File "app.py", line 1, in bad' in run.stderr
    os.unlink("/tmp/perf-%d.map" % run.pid)
