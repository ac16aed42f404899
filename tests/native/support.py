"""Programs run alone and under the native engine."""

import json
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("TRUEFLAME_BUILD", ROOT / "build"))
TRUEFLAME = BUILD / "trueflame"
# glibc registers rseq where there is one, and under this engine there is none.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
               "PERL_HASH_SEED": "0", "PYTHONHASHSEED": "0"}


def run(command, **more):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          capture_output=True, env=ENVIRONMENT, timeout=600, **more)


def record(folder, command, *options):
    profile = folder / "profile.flame"
    done = run([TRUEFLAME, "record", "--quiet", "--engine=native", "-o", profile, *options, "--",
                *command], cwd=folder)
    info = run([TRUEFLAME, "info", "--json", profile])
    return done, json.loads(info.stdout) if info.returncode == 0 else None


def same_as_alone(folder, command, *options):
    alone = run(command, cwd=folder)
    done, info = record(folder, command, *options)
    status = alone.returncode if alone.returncode >= 0 else 128 - alone.returncode
    assert (done.stdout, done.returncode) == (alone.stdout, status), done.stderr.decode()
    assert info["engine"] == "native"
    return info
