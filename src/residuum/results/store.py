"""The store: an SQLite file of records that many processes may write, and that a kill cannot hurt.

A record is written in one transaction and is on disk before `add` returns. Writers wait for each
other. The header of the file says that it is a store. A file that is no store, is damaged or comes
from a newer residuum is refused and not changed.

Damage is noticed in two ways. When a store is opened, SQLite checks the structure of the file,
indexes included, so that no record is missed. When a record is read, its checksum is compared with
its content, and its columns with its line.
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
from residuum.printable import printable
from residuum.results.damage import OnDamage, refuse_damaged
from residuum.results.encoding import from_line, to_line
from residuum.results.records import Record, Scalar, canonical

APPLICATION: Final = int.from_bytes(b"rsdm", "big")
SCHEMA: Final = 1
"""The version of the layout. Raise it when the tables or their meaning change."""

PATIENCE: Final = 60.0
"""Seconds to wait for another process that writes."""

_TABLE: Final = """\
CREATE TABLE runs (
    id TEXT PRIMARY KEY, study TEXT NOT NULL, configuration TEXT NOT NULL, line TEXT NOT NULL
)"""
_ROW: Final = "SELECT id, study, configuration, line FROM runs WHERE id = ?"


def default_store() -> Path:
    """Return the path of the default store: RESIDUUM_STORE, or else in the user's data folder."""
    chosen = os.environ.get("RESIDUUM_STORE")
    folder = user_folder("data")
    if chosen:
        return Path(chosen)
    if chosen == "" or folder is None:
        found = "RESIDUUM_STORE is empty" if chosen == "" else "this user has no home folder"
        raise RecordError(
            f"expected a place for the default store, but {found}; name a file in RESIDUUM_STORE"
        )
    return folder / "runs.sqlite"


@final
class Store:
    """The records in one file, for a `with` block. A file that does not exist is made."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        with _explained(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists() and not self.path.is_file():
                raise RecordError("expected a file of runs, found a folder or device; name another")
            if self.path.exists() and self.path.stat().st_size == 1:
                raise RecordError(_FOREIGN)  # SQLite would take one byte for an empty file
            try:
                self._connection = _connect(self.path)
            except sqlite3.OperationalError:
                if not _is_all_in_one_file(self.path) or os.access(self.path.parent, os.W_OK):
                    raise
                # In a read-only folder SQLite cannot make the files beside a store with a log.
                # All records are in this one file, so it need not.
                self._connection = _connect(self.path, "?immutable=1")

    def add(self, record: Record) -> bool:
        """Add a record; return whether it is new. A record with the same id stays as it is."""
        row = (*_columns(record), to_line(record))
        with _explained(self.path):
            done = self._open().execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING", row
            )
        return done.rowcount == 1

    def check_writable(self) -> None:
        """Raise RecordError if no record can be added. Call this before a long training."""
        with _explained(self.path):
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:  # SQLite also locks a file that is read-only
                connection.execute(f"PRAGMA user_version = {SCHEMA}")
            finally:
                connection.execute("ROLLBACK")

    def forget(self, run: str) -> None:
        """Remove the record with this id, so that a damaged run can be trained again."""
        with _explained(self.path):
            done = self._open().execute("DELETE FROM runs WHERE id = ?", (run,))
        if done.rowcount != 1:
            raise self._absent(run)

    def __contains__(self, run: object) -> bool:
        return isinstance(run, str) and self._find(run) is not None

    def get(self, run: str) -> Record:
        """Return the record with this id."""
        found = self._find(run)
        if found is None:
            raise self._absent(run)
        return found

    def records(
        self, study: str | None = None, *, on_damage: OnDamage | None = None, **where: Scalar
    ) -> Iterator[Record]:
        """Yield the records of a study whose configurations have these values, sorted by id.

        All records of the store are read, so that a damaged record is never missed. If some are
        damaged, an error names them all at the end; with `on_damage`, it is called with the error
        of each instead.
        """
        wanted = canonical(where, "where")
        damaged: list[RecordError] = []
        for [run] in self._rows("SELECT id FROM runs ORDER BY id"):
            for row in self._rows(_ROW, run):  # none if another process just removed it
                try:
                    record = self._read(row)
                except RecordError as error:
                    (on_damage or damaged.append)(error)
                    continue
                if study in (None, record.study) and _matches(record, wanted):
                    yield record
        refuse_damaged(damaged, _ADVICE)

    def __iter__(self) -> Iterator[Record]:
        return self.records()

    def close(self) -> None:
        """Close the file. Nothing is lost without it."""
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
                "expected a store that this process opened, found one from before a fork; open it "
                "again"
            )
        if self._connection is None:
            raise RecordError("expected an open store, found a closed one; open it again")
        return self._connection

    def _rows(self, question: str, *values: str) -> list[tuple[Any, ...]]:
        with _explained(self.path):
            return self._open().execute(question, values).fetchall()

    def _find(self, run: str) -> Record | None:
        rows = self._rows(_ROW, run)
        if not rows:
            return None
        try:
            return self._read(rows[0])
        except RecordError as error:
            raise RecordError(f"{error}\n{_ADVICE}") from None

    def _read(self, row: tuple[Any, ...]) -> Record:
        """Return the record of a row; raise if its columns, line and checksum disagree."""
        *columns, line = row
        try:
            if not isinstance(line, str):
                raise RecordError(f"expected a line of text, found {type(line).__name__}")
            record = from_line(line)
            if tuple(columns) != _columns(record):
                raise RecordError(
                    "expected columns that agree with the line, found those of another record"
                )
        except RecordError as error:
            raise RecordError(
                f"{printable(self.path)}, run {printable(columns[0])}: {error}"
            ) from None
        return record

    def _absent(self, run: str) -> RecordError:
        return RecordError(
            f"{printable(self.path)}: expected the id of a run in this store, got {run!r}; "
            "`records()` lists them"
        )


def _connect(path: Path, options: str = "") -> sqlite3.Connection:
    """Open a store. An empty file becomes a store."""
    place = path.as_uri() + options if options else path
    connection = sqlite3.connect(place, timeout=PATIENCE, isolation_level=None, uri=bool(options))
    # The checksum notices damaged text, record by record.
    connection.text_factory = lambda content: content.decode("utf-8", "replace")
    try:
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_all_in_one_file(path: Path) -> bool:
    """Return whether this file has neither a log nor a journal beside it."""
    beside = (path.with_name(path.name + end) for end in ("-wal", "-journal"))
    return path.is_file() and not any(one.exists() and one.stat().st_size for one in beside)


def _columns(record: Record) -> tuple[str, str, str]:
    """Return the columns of a record, without its line."""
    return record.id, record.study, json.dumps(dict(record.configuration))


def _prepare(connection: sqlite3.Connection) -> None:
    """Make a store of an empty file; raise RecordError if the file is no sound store.

    Only SQLite reads the file, under its locks. So a store that another process is making is not
    taken for a foreign file. And no lock is lost: on POSIX, closing a file that was opened without
    SQLite would drop all locks of the process.
    """
    connection.execute("PRAGMA synchronous = EXTRA")  # so that a power cut loses no record
    if _pragma(connection, "user_version") == 0:
        _create(connection)
    version = _pragma(connection, "user_version")
    if _pragma(connection, "application_id") != APPLICATION or version < SCHEMA:
        raise RecordError(_FOREIGN)
    if version > SCHEMA:
        raise RecordError(
            f"expected a store with the layout {SCHEMA}, found {version} of a newer residuum; "
            "install the newer one"
        )
    tables = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'runs'").fetchall()
    if tables != [(_TABLE,)]:
        raise RecordError(_DAMAGED.format("its table of runs is not as residuum makes it"))
    [damage] = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if damage != "ok":
        raise RecordError(_DAMAGED.format(damage))
    # Older versions used a write-ahead log. SQLite drops records of a damaged log silently, so the
    # log is removed, unless another process uses it or the store is read-only.
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = DELETE")


def _create(connection: sqlite3.Connection) -> None:
    """Make the table in an empty file, in one transaction, unless another process just did."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        is_empty = connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None
        if is_empty and _pragma(connection, "application_id") == 0:
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _matches(record: Record, wanted: Mapping[str, Scalar]) -> bool:
    known = record.configuration
    # As text, because True == 1 in Python.
    return all(k in known and json.dumps(known[k]) == json.dumps(v) for k, v in wanted.items())


_ADVICE: Final = (
    "The other records can be read; `residuum archive` copies them. To train a damaged run again, "
    "first remove its record in Python: residuum.results.Store(file).forget(run)"
)
_DAMAGED: Final = (
    "expected a sound store, found a damaged one ({}); it is not changed. Move it away, and "
    "restore a copy or start a new store. `.recover` of SQLite's shell may save some records"
)
_FOREIGN: Final = "this file is no store of runs, and is not changed; name another file"
_REASONS: Final = {
    "SQLITE_BUSY": "another process has locked the store for too long ({}); try again later",
    "SQLITE_LOCKED": "another process has locked the store for too long ({}); try again later",
    "SQLITE_READONLY_ROLLBACK": (
        "a killed process left an unfinished write, which must be undone first ({}); open the "
        "store once where it can be written, or copy it there together with its -journal file"
    ),
    "SQLITE_READONLY": "the store cannot be written ({}); name another file, or get the permission",
    "SQLITE_PERM": "the store cannot be written ({}); name another file, or get the permission",
    "SQLITE_FULL": "the disk is full ({}); nothing was written. Free some space",
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_ERROR": _DAMAGED,  # such as a format that SQLite does not know
    "SQLITE_NOTADB": _FOREIGN,
}
_OTHERWISE: Final = (
    "the store cannot be used ({}). Its folder must be writable, and its file system must have "
    "locks and shared memory, as local disks do; name another file in RESIDUUM_STORE"
)


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the system into a RecordError about this store."""
    try:
        yield
    except RecordError as error:
        raise RecordError(f"{printable(path)}: {error}") from None
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        kind = "_".join(name.split("_")[:2])
        words = _REASONS.get(name) or _REASONS.get(kind) or _OTHERWISE
        raise RecordError(f"{printable(path)}: {words.format(error)}") from error
    except (OSError, ValueError) as error:
        raise RecordError(f"{printable(path)}: {_OTHERWISE.format(error)}") from error
