"""Storages that fail: retried if that may help, else an error, never with a password."""

import contextlib
import random
import sqlite3
import sys
from pathlib import Path

import pytest
import torch
from sqlalchemy import event
from sqlalchemy.engine import Engine
from sqlalchemy.engine.default import DefaultDialect

from made_up_training import RANGES, Training, sweep_in, without_pauses_of_optuna, write
from residuum.errors import ResiduumError
from residuum.results import Store
from residuum.sweeps import read_sweep, storage
from residuum.sweeps.running import run_sweep
from residuum.sweeps.storage import open_storage, storage_beside
from residuum.sweeps.tuned_studies import TUNED

DOCS = Path(__file__).parents[2] / "docs"
GRID = "learning_rate = [0.1, 0.01, 0.001]"
HALVING = 'pruner = "halving"\nleast_epochs = 1'
TPE = 'sampler = "tpe"\ntrials = 4\ntogether = 3'


def noted_sweep(path, store, note):
    """What a sweep comes to that says on the way what is going on."""
    sweep, training = read_sweep(path), Training(store)
    data = TUNED["digits"].load(sweep.settings, torch.device("cpu"))
    return run_sweep(sweep, data, store, training, note), training.trained


def locked():
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorname = "SQLITE_BUSY"
    return error


class Failures:
    """Lets statements and commits fail: some before, some after they have come to be."""

    def __init__(self, monkeypatch, fails):
        self.fails, self.count = fails, 0
        for name in ("do_execute", "do_commit"):
            usual = getattr(DefaultDialect, name)
            monkeypatch.setattr(DefaultDialect, name, self._failing(usual))

    def _failing(self, usual):
        def call(*values, **options):
            if self._is_due("before"):
                raise locked()
            usual(*values, **options)
            if self._is_due("after"):
                raise locked()

        return call

    def _is_due(self, when):
        is_due = self.fails(when)
        self.count += is_due
        return is_due


@pytest.mark.parametrize(("space", "more"), [(GRID, HALVING), (RANGES, TPE)], ids=["grid", "tpe"])
def test_temporary_failures_change_nothing(tmp_path, monkeypatch, space, more):
    path = write(tmp_path, space, more)
    with Store(tmp_path / "expected.sqlite") as store:
        expected = sweep_in(path, store)
    chance, notes = random.Random(0), []
    monkeypatch.setattr(storage, "PAUSES", (1e-6,) * 100)
    without_pauses_of_optuna(monkeypatch)
    failures = Failures(monkeypatch, lambda _when: chance.random() < 0.03)
    with Store(tmp_path / "runs.sqlite") as store:
        assert noted_sweep(path, store, notes.append) == expected
    assert failures.count > 20
    beside = f"storage: {storage_beside(store.path)}"
    waiting = f"{beside} is locked by another process (database is locked); next attempt in 1e-06 s"
    assert set(notes) == {waiting, f"{beside} answers again"}
    assert notes.count(waiting) > failures.count / 2  # some Optuna has an answer to


def test_a_long_failure_ends_the_sweep_and_no_run_is_trained_twice(tmp_path, monkeypatch):
    path = write(tmp_path, GRID)
    with Store(tmp_path / "expected.sqlite") as store:
        expected, unhindered = sweep_in(path, store)
    finished, notes = [], []
    with Store(tmp_path / "runs.sqlite") as store:
        with monkeypatch.context() as patched:
            patched.setattr(storage, "PAUSES", (0.01, 0.02))
            # The runs of the first round are in the store then, and Optuna was told of none.
            Failures(patched, lambda _when: len(list(store)) > len(finished) == 0)
            with pytest.raises(ResiduumError) as caught:
                noted_sweep(path, store, notes.append)
        finished = list(store)
        again, trained = sweep_in(path, store)
    said = str(caught.value)
    assert said.startswith(f"storage: {storage_beside(store.path)} is locked by another process")
    assert "after 0.03 s of waiting" in said
    assert "same command" in said
    assert said.endswith(str(store.path))
    assert [note.partition("; ")[2] for note in notes] == [
        "next attempt in 0.01 s",
        "next attempt in 0.02 s",
    ]
    assert again == expected
    assert len(finished) == 2 * 2 * 3
    assert trained == unhindered[len(finished) :]


def test_two_processes_that_make_the_same_tables_do_not_hinder_each_other(tmp_path, monkeypatch):
    usual, notes = storage._connected, []

    def late(*values):
        opened = usual(*values)
        if not notes:  # another process has made the tables between the look and the making
            with opened.engine.connect() as connection:
                connection.exec_driver_sql("CREATE TABLE studies (study_id INTEGER)")
        return opened

    monkeypatch.setattr(storage, "_connected", late)
    monkeypatch.setattr(storage, "PAUSES", (0.01,))
    sweep = read_sweep(write(tmp_path, GRID))
    with open_storage(sweep, tmp_path / "runs.sqlite", notes.append):
        assert "is being set up by another process (table studies already exists)" in notes[0]


def test_pauses_last_two_minutes_as_the_page_says():
    assert sum(storage.PAUSES) == 120
    assert "two minutes" in (DOCS / "studies" / "sweeps.md").read_text(encoding="utf-8")


def opened(tmp_path, more=""):
    """Open the storage of a sweep, and return what is said of it."""
    sweep = read_sweep(write(tmp_path, GRID, more))
    with pytest.raises(ResiduumError) as caught:
        open_storage(sweep, tmp_path / "runs.sqlite")
    return str(caught.value)


def test_a_missing_driver_is_named_with_how_to_install_it(tmp_path, monkeypatch):
    for driver in ("psycopg", "psycopg2"):
        monkeypatch.setitem(sys.modules, driver, None)
    for start in ("postgresql", "postgres", "postgresql+psycopg"):
        said = opened(tmp_path, f'storage = "{start}://me:s3cret@host/db"')
        assert "psycopg" in said
        assert said.endswith("run: pip install 'residuum[postgres]'")
    said = opened(tmp_path, 'storage = "postgresql+psycopg2://me:s3cret@host/db"')
    assert "package psycopg2" in said


def test_a_plain_url_takes_psycopg2_where_that_alone_is_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setitem(sys.modules, "psycopg2", sys)
    assert storage._parsed("postgresql://host/db").drivername == "postgresql+psycopg2"
    assert storage._parsed("postgresql+psycopg://host/db").drivername == "postgresql+psycopg"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://me:s3cret@127.0.0.1:1/db",
        "postgresql+psycopg://me@127.0.0.1:1/db?password=s3cret",
        "postgresql://me:pass@s3cret@127.0.0.1/db",
        "postgresql://me:pass@host:s3cret/db",
        "unknown://me:s3cret@host/db",
        "mysql+unknown://me:s3cret@host/db",
        "mysql://me:s3cret@host/db",
        "sqlite:///file?timeout=s3cret",
        "s3cret",
    ],
)
def test_a_password_is_never_printed(tmp_path, monkeypatch, url):
    monkeypatch.setattr(storage, "PAUSES", (0.0,))
    notes = []
    sweep = read_sweep(write(tmp_path, GRID, f'storage = "{url}"'))
    with pytest.raises(ResiduumError, match="storage: ") as caught:
        open_storage(sweep, tmp_path / "runs.sqlite", notes.append)
    said = f"{caught.value} {notes} {sweep}"
    assert "s3cret" not in said
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_path_may_have_any_character(tmp_path):
    folder = tmp_path / "a?b#{x}%20 é"
    folder.mkdir()
    sweep = read_sweep(write(tmp_path, GRID))
    with open_storage(sweep, folder / "runs.sqlite"):
        assert (folder / "runs.sqlite.sweeps").exists()


def test_a_folder_or_a_foreign_file_is_refused_and_not_changed(tmp_path):
    beside = storage_beside(tmp_path / "runs.sqlite")
    beside.mkdir()
    assert f"{beside} cannot be opened" in opened(tmp_path)
    beside.rmdir()
    beside.write_text("all my notes, which are longer than the header of a database" * 9)
    assert f"{beside} is no SQLite file" in opened(tmp_path)
    assert beside.read_text().startswith("all my notes")
    beside.unlink()
    Store(beside).close()
    before = beside.read_bytes()
    assert f"{beside} is no storage of Optuna: it has the tables runs" in opened(tmp_path)
    assert beside.read_bytes() == before
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE trials (own INTEGER)")
    other.close()
    path = write(tmp_path, GRID, f'storage = "sqlite:///{tmp_path / "other.db"}"')
    with (
        Store(tmp_path / "runs.sqlite") as store,
        pytest.raises(ResiduumError, match=r"other\.db cannot be used \("),
    ):
        sweep_in(path, store)
    assert "nowhere/file cannot be opened" in opened(tmp_path, 'storage = "sqlite:///nowhere/file"')


def test_a_storage_of_another_version_is_refused_with_the_advice_of_optuna(tmp_path):
    path = tmp_path / "runs.sqlite"
    with open_storage(read_sweep(write(tmp_path, GRID)), path):
        pass
    for version, advice in (("v2.6.0.a", "optuna storage upgrade"), ("v99", "pip install -U")):
        with contextlib.closing(sqlite3.connect(storage_beside(path))) as file, file:
            file.execute("UPDATE alembic_version SET version_num = ?", [version])
        said = opened(tmp_path)
        assert "was made by another version of Optuna" in said
        assert advice in said


def begun(tmp_path):
    """A sweep that has stopped after three runs."""
    path = write(tmp_path, GRID)
    with Store(tmp_path / "runs.sqlite") as store:
        assert len(sweep_in(path, store, most=3)[1]) == 3
    return path


def test_a_damaged_storage_can_be_moved_away_and_costs_no_run(tmp_path):
    with Store(tmp_path / "expected.sqlite") as store:
        expected, unhindered = sweep_in(write(tmp_path, GRID), store)
    path = begun(tmp_path)
    beside = storage_beside(tmp_path / "runs.sqlite")
    content = beside.read_bytes()
    beside.write_bytes(content[:4096] + bytes(len(content) - 4096))
    with Store(tmp_path / "runs.sqlite") as store:
        with pytest.raises(
            ResiduumError, match=r"sweeps is damaged .*\. Move it away; then .* same command"
        ):
            sweep_in(path, store)
        beside.rename(tmp_path / "away")
        found, trained = sweep_in(path, store)
    assert found == expected
    assert trained == unhindered[3:]


def test_a_storage_that_cannot_be_written_is_noticed_before_training(tmp_path):
    begun(tmp_path)
    beside = storage_beside(tmp_path / "runs.sqlite")
    path = write(tmp_path, GRID, f'storage = "sqlite:///file:{beside}?mode=ro&uri=true"')
    with Store(tmp_path / "runs.sqlite") as store:
        with pytest.raises(ResiduumError, match=r"cannot be written \(.*\)\. Make the file and"):
            sweep_in(path, store)
        assert len(list(store)) == 3


def test_a_full_disk_ends_the_sweep_which_continues_when_there_is_room(tmp_path):
    path = write(tmp_path, f"learning_rate = {[place / 1000 for place in range(1, 21)]}")
    with Store(tmp_path / "expected.sqlite") as store:
        expected = sweep_in(path, store)
    with open_storage(read_sweep(path), tmp_path / "runs.sqlite"):
        pass
    pages = storage_beside(tmp_path / "runs.sqlite").stat().st_size // 4096 + 1

    def limit(connection, _record):
        connection.execute(f"PRAGMA max_page_count = {pages}")

    notes = []
    with Store(tmp_path / "runs.sqlite") as store:
        event.listen(Engine, "connect", limit)
        try:
            with pytest.raises(ResiduumError, match=r"the disk is full .*\. Free some space; then"):
                noted_sweep(path, store, notes.append)
        finally:
            event.remove(Engine, "connect", limit)
        assert notes == []
        assert sweep_in(path, store) == expected
