"""Sweeps whose trials are in PostgreSQL: a real server, which is stopped in the middle."""

import contextlib
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest
import torch
from sqlalchemy import event
from sqlalchemy.engine import Engine

from made_up_training import Training, sweep_in, without_pauses_of_optuna, write
from residuum.errors import ResiduumError
from residuum.results import Store
from residuum.sweeps import read_sweep, storage
from residuum.sweeps.progress import sweep_progress
from residuum.sweeps.running import run_sweep
from residuum.sweeps.tuned_studies import TUNED

if sys.platform == "win32":
    pytest.skip("signals and users of POSIX", allow_module_level=True)
pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'residuum[postgres]'")
PROGRAMS = shutil.which("initdb") or max(
    Path("/usr/lib/postgresql").glob("*/bin/initdb"), default=None, key=str
)
if PROGRAMS is None:
    pytest.skip("no PostgreSQL server is installed: apt install postgresql", True)

PASSWORD = "s3cret@/:{}% ü"
GRID = "learning_rate = [0.1, 0.01]"
RANGE = "learning_rate = {low = 0.001, high = 0.1}"
TPE = 'sampler = "tpe"\ntrials = 3\ntogether = 2'


class Server:
    """A server in a folder of its own that only a socket in the folder leads to."""

    def __init__(self, folder):
        self.folder = folder
        self.options = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        if os.geteuid() == 0:  # for whom PostgreSQL does not run
            nobody = pwd.getpwnam("nobody")
            self.options |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        secret = folder / "password"
        secret.write_text(PASSWORD, encoding="utf-8")
        secret.chmod(0o644)
        self._call(
            "initdb", "--pgdata=data", "--username=me", f"--pwfile={secret}", "--no-sync",
            "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C",
        )  # fmt: skip

    def url(self, password=PASSWORD, database="postgres"):
        return f"postgresql://me:{quote(password, safe='')}@/{database}?host={self.folder}"

    def start(self):
        options = f"-F -k {self.folder} -c listen_addresses="
        self._call("pg_ctl", "start", "--wait", "--pgdata=data", "--log=log", "-o", options)

    def stop(self):
        self._call("pg_ctl", "stop", "--wait", "--pgdata=data", "--mode=immediate")

    def _call(self, program, *words):
        path = Path(PROGRAMS).with_name(program)
        done = subprocess.run([path, *words], timeout=60, **self.options)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def cluster():
    folder = Path(tempfile.mkdtemp(prefix="residuum-"))
    server = Server(folder)
    server.start()
    yield server
    with contextlib.suppress(AssertionError):
        server.stop()
    shutil.rmtree(folder)


@pytest.fixture
def server(cluster):
    """The server, which runs, and whose database is empty."""
    import psycopg

    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return cluster


def write_for(server, folder, space=GRID, more="", **url):
    return write(folder, space, f'{more}\nstorage = "{server.url(**url)}"')


def expected_of(folder, space=GRID, more=""):
    """What a sweep comes to whose trials are in a file."""
    with Store(folder / "expected.sqlite") as store:
        return sweep_in(write(folder, space, more), store)


def noted_sweep(path, store, note):
    """What a sweep comes to that says on the way what is going on."""
    sweep, training = read_sweep(path), Training(store)
    data = TUNED["digits"].load(sweep.settings, torch.device("cpu"))
    return run_sweep(sweep, data, store, training, note), training.trained


def test_a_plain_url_takes_the_driver_that_is_there_and_finds_the_same(tmp_path, server):
    expected = expected_of(tmp_path)
    path = write_for(server, tmp_path)
    with Store(tmp_path / "runs.sqlite") as store:
        assert sweep_in(path, store) == expected
    with storage.open_storage(read_sweep(path), store.path) as found:
        assert found.optuna.engine.driver == "psycopg"
    assert [len(one.values) for one in sweep_progress(read_sweep(path), store.path)] == [2, 2]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ({"password": "guess@/:"}, "password authentication failed"),
        ({"database": "elsewhere"}, 'database "elsewhere" does not exist'),
    ],
)
def test_a_wrong_password_or_database_is_reported_at_once(tmp_path, server, url, reason):
    notes = []
    sweep = read_sweep(write_for(server, tmp_path, **url))
    with pytest.raises(ResiduumError, match=reason) as caught:
        storage.open_storage(sweep, tmp_path / "runs.sqlite", notes.append)
    assert notes == []
    for secret in (PASSWORD, "guess"):
        assert secret not in str(caught.value)


class Outages:
    """Stops the server before some statements, and starts it when the failure is noted."""

    def __init__(self, server, every, returns=True):
        self.server, self.every, self.returns = server, every, returns
        self.statements = 0
        self.notes = []

    def count(self, *_):
        self.statements += 1
        if self.statements % self.every == 0:
            self.server.stop()

    def note(self, line):
        self.notes.append(line)
        if self.returns and "does not answer" in line:
            self.server.start()

    @contextlib.contextmanager
    def happening(self):
        event.listen(Engine, "before_cursor_execute", self.count)
        try:
            yield
        finally:
            event.remove(Engine, "before_cursor_execute", self.count)


@pytest.mark.parametrize(("space", "more"), [(GRID, ""), (RANGE, TPE)], ids=["grid", "tpe"])
def test_outages_are_outlasted_and_change_nothing(tmp_path, server, monkeypatch, space, more):
    expected = expected_of(tmp_path, space, more)
    monkeypatch.setattr(storage, "PAUSES", (0.01,) * 10)
    without_pauses_of_optuna(monkeypatch)
    outages = Outages(server, every=70)
    with Store(tmp_path / "runs.sqlite") as store, outages.happening():
        found = noted_sweep(write_for(server, tmp_path, space, more), store, outages.note)
    assert found == expected
    failures = [line for line in outages.notes if line.endswith("; next attempt in 0.01 s")]
    assert len(failures) == outages.statements // 70 > 2
    for failure in failures:
        assert failure.startswith("storage: postgresql:///postgres does not answer (")
    others = set(outages.notes) - set(failures)
    assert others == {"storage: postgresql:///postgres answers again"}


def test_a_server_that_stays_away_ends_the_sweep_which_continues_later(
    tmp_path, server, monkeypatch
):
    expected, unhindered = expected_of(tmp_path)
    monkeypatch.setattr(storage, "PAUSES", (0.01, 0.02))
    outages = Outages(server, every=240, returns=False)
    path = write_for(server, tmp_path)
    with Store(tmp_path / "runs.sqlite") as store:
        with pytest.raises(ResiduumError) as caught, outages.happening():
            noted_sweep(path, store, outages.note)
        server.start()
        finished = len(list(store))
        found, trained = sweep_in(path, store)
    said = str(caught.value)
    assert said.startswith("storage: postgresql:///postgres does not answer (")
    assert re.search(r"0\.03 s of waiting\. .*server.* same command", said)
    assert said.endswith(str(store.path))
    assert "s3cret" not in said + "".join(outages.notes)
    assert len(outages.notes) == 2
    assert found == expected
    assert 0 < finished == len(unhindered) - len(trained)
