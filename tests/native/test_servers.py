"""Servers under the native engine, for `make test-all`: with their processes and threads, under the load
of their own clients, told to end as one does. Those that are not installed are skipped."""

import contextlib
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

from support import BUILD, TRUEFLAME, run

pytestmark = pytest.mark.slow
FOUND_IN = "/usr/bin:/bin:/usr/sbin:" + ":".join(glob.glob("/usr/lib/postgresql/*/bin"))
details = pytest.mark.parametrize("detail", ("function", "line"))


def need(*names):
    found = [shutil.which(name, path=FOUND_IN) for name in names]
    for name, path in zip(names, found):
        if not path:
            pytest.skip(f"{name} is not installed")
    return found


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def say(command, **more):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, timeout=120,
                          capture_output=True, **more)


def wait_until(answers):
    end = time.monotonic() + 90
    while not answers():
        assert time.monotonic() < end, "it does not answer"
        time.sleep(0.2)


@contextlib.contextmanager
def served(profile, command, detail, **more):
    """The server, recorded; it has ended, by itself, when the block is left."""
    server = subprocess.Popen(
        [TRUEFLAME, "record", "--quiet", "--engine=native", f"--detail={detail}", "-o", profile, "--",
         *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    try:
        yield server
        said = server.communicate(timeout=120)[0]
        assert server.returncode == 0, said.decode()
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.communicate()
    info = run([TRUEFLAME, "info", profile])
    assert info.returncode == 0 and b"unmatched-return: 0\n" in info.stdout, info.stdout.decode()


@details
def test_redis(detail, tmp_path):
    server, client, bench = need("redis-server", "redis-cli", "redis-benchmark")
    port = str(free_port())

    def ask(*words):
        return say([client, "-p", port, *words]).stdout.decode().strip()

    with served(tmp_path / "redis.flame", [server, "--port", port, "--save", "", "--dir", tmp_path],
                detail, start_new_session=True):
        wait_until(lambda: ask("ping") == "PONG")
        done = say([bench, "-p", port, "-n", "1000", "-c", "8", "-q", "-t", "set,get,lpush,lrange_100"])
        assert done.returncode == 0, done.stderr.decode()
        assert ask("eval", "local s = 0 for i = 1, 1000 do s = s + i end return s", "0") == "500500"
        ask("bgsave")
        wait_until(lambda: (tmp_path / "dump.rdb").exists())
        ask("shutdown", "nosave")


NGINX = """
worker_processes 2; error_log {folder}/error.log notice; pid {folder}/pid;
events {{ worker_connections 64; }}
http {{
    access_log off; gzip on; gzip_types *; sendfile on;
    client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
    uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
    server {{
        listen 127.0.0.1:{port}; root {folder}/pages; autoindex on;
        location ~ ^/say/(.*)$ {{ return 200 "said $1"; }}
    }}
}}
"""


@details
def test_nginx(detail):
    server, client = need("nginx", "curl")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # the workers are somebody else
        port = free_port()
        os.mkdir(folder + "/pages")
        content = bytes(i * i % 251 for i in range(300000))
        with open(folder + "/pages/page", "wb") as file:
            file.write(content)
        with open(folder + "/conf", "w", encoding="utf-8") as file:
            file.write(NGINX.format(folder=folder, port=port))

        def get(path):
            return say([client, "-s", "--compressed", f"http://127.0.0.1:{port}/{path}"]).stdout

        def tell(number):
            with open(folder + "/pid", encoding="utf-8") as file:
                os.kill(int(file.read()), number)

        with served(folder + "/nginx.flame",
                    [server, "-p", folder, "-c", folder + "/conf", "-g", "daemon off;"], detail,
                    start_new_session=True):
            wait_until(lambda: get("say/hello") == b"said hello")
            for _ in range(5):
                assert get("page") == content
                assert b"page" in get("")
            tell(signal.SIGHUP)  # new workers
            wait_until(lambda: "gracefully shutting down" in open(folder + "/error.log").read())
            assert get("say/again") == b"said again"
            tell(signal.SIGQUIT)


def as_nobody_special():
    """PostgreSQL does not run as root."""
    if os.getuid():
        return {}
    try:
        account = pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("there is no user to run PostgreSQL as")
    if say(["test", "-x", BUILD / "trueflame"], user=account.pw_uid, group=account.pw_gid,
           extra_groups=[]).returncode:
        pytest.skip(f"{account.pw_name} may not run {TRUEFLAME}")
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


@details
def test_postgres_with_pgbench(detail):
    server, make, client, bench = need("postgres", "initdb", "psql", "pgbench")
    user = as_nobody_special()
    with tempfile.TemporaryDirectory() as folder:
        if user:
            os.chown(folder, user["user"], user["group"])
        done = say([make, "-D", folder + "/data", "-A", "trust", "-U", "postgres", "-N"], **user)
        assert done.returncode == 0, done.stderr.decode()
        at = ["-h", folder, "-p", "5432", "-U", "postgres"]

        def ask(query):
            return say([client, *at, "-Atc", query], **user).stdout.decode().strip()

        with served(folder + "/postgres.flame",
                    [server, "-D", folder + "/data", "-k", folder, "-c", "listen_addresses=", "-p", "5432"],
                    detail, start_new_session=True, **user):
            wait_until(lambda: ask("select 1") == "1")
            assert ask("select sum(i * i % 7) from generate_series(1, 10000) i") == "20001"
            for arguments in (["-i", "-s", "1"], ["-c", "4", "-j", "2", "-t", "20"]):
                done = say([bench, *at, *arguments, "postgres"], **user)
                assert done.returncode == 0, done.stderr.decode()
            assert ask("select count(*) from pgbench_history") == "80"
            with open(folder + "/data/postmaster.pid", encoding="utf-8") as file:
                os.kill(int(file.readline()), signal.SIGINT)
