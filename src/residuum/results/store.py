"""The store: an SQLite file of records that many processes may write, and that a kill cannot hurt.

A record is written in one transaction and is on disk before `add` returns. Writers wait for each
other. The file names itself in its header, so that no other file is ever mistaken for a store:
one that is foreign, damaged or from a newer residuum is refused and left as it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, final

from residuum.errors import RecordError
from residuum.files import user_folder
from residuum.results.encoding import from_line, to_line
from residuum.results.records import Record, Scalar, canonical

APPLICATION: Final = int.from_bytes(b"rsdm", "big")
SCHEMA: Final = 1
"""Raise this when the tables, or what they mean, change."""

PATIENCE: Final = 60.0
"""Seconds to wait for another process to finish writing."""

_TABLE: Final = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY, study TEXT NOT NULL, configuration TEXT NOT NULL, line TEXT NOT NULL
)
"""


def default_store() -> Path:
    """Return the file RESIDUUM_STORE names, or the one in the user's folder for data."""
    chosen = os.environ.get("RESIDUUM_STORE")
    folder = user_folder("data")
    if chosen:
        return Path(chosen)
    if chosen == "" or folder is None:
        found = "RESIDUUM_STORE is empty" if chosen == "" else "this user has no home folder"
        raise RecordError(f"{found}: name a file in the variable RESIDUUM_STORE to keep runs in")
    return folder / "runs.sqlite"


@final
class Store:
    """The records in one file, which is made where there is none. Use it in a `with` block."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        with _explained(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists() and not self.path.is_file():
                raise RecordError("expected a file to keep runs in, found a folder or device")
            if self.path.exists() and self.path.stat().st_size == 1:
                raise RecordError(_FOREIGN)  # to SQLite one byte is an empty file
            self._connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
            try:
                _prepare(self._connection)
            except BaseException:
                self.close()
                raise

    def add(self, record: Record) -> bool:
        """Keep a record; return whether it is new. The first of two with the same id stays."""
        configuration = json.dumps(dict(record.configuration))
        row = (record.id, record.study, configuration, to_line(record))
        with _explained(self.path):
            done = self._open().execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING", row
            )
        return done.rowcount == 1

    def check_writable(self) -> None:
        """Raise if no record could be added now: better known before a long training."""
        with _explained(self.path):
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:  # a lock alone may also be had of a file that can only be read
                connection.execute(f"PRAGMA user_version = {SCHEMA}")
            finally:
                connection.execute("ROLLBACK")

    def __contains__(self, run: object) -> bool:
        return isinstance(run, str) and self._rows("SELECT 1 FROM runs WHERE id = ?", run) != []

    def get(self, run: str) -> Record:
        """Return the record with this id."""
        found = self._rows("SELECT line FROM runs WHERE id = ?", run)
        if not found:
            raise RecordError(f"{self.path}: there is no run {run!r}")
        try:
            return from_line(found[0][0])
        except RecordError as error:
            raise RecordError(f"{self.path}, run {run}: {error}") from None

    def records(self, study: str | None = None, **where: Scalar) -> Iterator[Record]:
        """Yield the records of a study whose configurations have these values, by their ids."""
        wanted = canonical(where, "where")
        for run, found, configuration in self._rows(
            "SELECT id, study, configuration FROM runs ORDER BY id"
        ):
            if study in (None, found) and _matches(configuration, wanted):
                yield self.get(run)

    def __iter__(self) -> Iterator[Record]:
        return self.records()

    def close(self) -> None:
        """Close the file; nothing is lost where this is forgotten."""
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return Store, (self.path,)

    def _open(self) -> sqlite3.Connection:
        if self._process != os.getpid():
            raise RecordError(
                "this store was opened by the process this one was forked from; open it again here"
            )
        if self._connection is None:
            raise RecordError("this store is closed; open it again")
        return self._connection

    def _rows(self, question: str, *values: str) -> list[tuple[str, ...]]:
        with _explained(self.path):
            return self._open().execute(question, values).fetchall()


def _prepare(connection: sqlite3.Connection) -> None:
    """Make a store of an empty file; refuse what is no store without writing to it.

    Only SQLite looks into the file, under its locks: what another process has half made is then
    not taken for a foreign file, and no lock of this process is lost, as it would be if the file
    were opened and closed behind SQLite's back.
    """
    connection.execute("PRAGMA synchronous = FULL")
    if _pragma(connection, "user_version") == 0:
        _create(connection)
    version = _pragma(connection, "user_version")
    if _pragma(connection, "application_id") != APPLICATION or version < SCHEMA:
        raise RecordError(_FOREIGN)
    if version > SCHEMA:
        raise RecordError(
            f"this store has the layout {version} of a newer residuum, and this one knows "
            f"{SCHEMA}: install the newer one"
        )
    [damage] = connection.execute("PRAGMA quick_check(1)").fetchone()
    if damage != "ok":
        raise RecordError(_DAMAGED.format(damage))
    # Readers and writers then do not wait for each other. Where that needs memory that the file
    # system cannot share, or another process is at it, SQLite stays with its rollback journal,
    # which is as safe.
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")


def _create(connection: sqlite3.Connection) -> None:
    """Make the table in an empty file, unless another process just did: all of it or nothing."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        is_empty = connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None
        if is_empty and _pragma(connection, "application_id") == 0:
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _matches(configuration: str, wanted: Mapping[str, Scalar]) -> bool:
    known = json.loads(configuration)
    # As text, because True == 1 in Python.
    return all(k in known and json.dumps(known[k]) == json.dumps(v) for k, v in wanted.items())


_DAMAGED: Final = (
    "this store is damaged ({}); it is left as it is. Move it away and restore a copy, or start "
    "anew from an archive"
)
_FOREIGN: Final = "this file is no store of runs, and is left as it is; choose another place"
_REASONS: Final = {
    "SQLITE_BUSY": "another process has kept it locked for too long ({}); try again later",
    "SQLITE_LOCKED": "another process has kept it locked for too long ({}); try again later",
    "SQLITE_READONLY": "it cannot be written ({}); choose another place, or ask for the right to",
    "SQLITE_PERM": "it cannot be written ({}); choose another place, or ask for the right to",
    "SQLITE_FULL": "the disk is full ({}); nothing was written",
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_NOTADB": _FOREIGN,
}
_OTHERWISE: Final = (
    "it cannot be used ({}). Its folder must be writable, and its file system know locks and "
    "shared memory, as local disks do; RESIDUUM_STORE names another place"
)


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system say into what it means for this store."""
    try:
        yield
    except RecordError as error:
        raise RecordError(f"{path}: {error}") from None
    except sqlite3.Error as error:
        name = "_".join(getattr(error, "sqlite_errorname", "").split("_")[:2])
        raise RecordError(f"{path}: {_REASONS.get(name, _OTHERWISE).format(error)}") from error
    except (OSError, ValueError) as error:
        raise RecordError(f"{path}: {_OTHERWISE.format(error)}") from error
