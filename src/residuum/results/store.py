"""The store: an SQLite file of records that many processes may write, and that a kill cannot hurt.

A record is written in one transaction and is on disk before `add` returns. Writers wait for each
other. The file names itself in its header, so that no other file is ever mistaken for a store:
one that is foreign, damaged or from a newer residuum is refused and left as it is.

Damage is noticed in two ways. SQLite checks the structure of the file, indexes included, when it
is opened, so that no record can hide. The checksum of a record is checked when it is read, and
so is that its columns say the same as its line.
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
"""Raise this when the tables, or what they mean, change."""

PATIENCE: Final = 60.0
"""Seconds to wait for another process to finish writing."""

_TABLE: Final = """\
CREATE TABLE runs (
    id TEXT PRIMARY KEY, study TEXT NOT NULL, configuration TEXT NOT NULL, line TEXT NOT NULL
)"""
_ROW: Final = "SELECT id, study, configuration, line FROM runs WHERE id = ?"


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
            try:
                self._connection = _connect(self.path)
            except sqlite3.OperationalError:
                if not _is_all_in_one_file(self.path) or os.access(self.path.parent, os.W_OK):
                    raise
                # Nobody can write here, not even the files that a store with a log needs to be
                # read. All of it is in this one file, so SQLite need not look for others.
                self._connection = _connect(self.path, "?immutable=1")

    def add(self, record: Record) -> bool:
        """Keep a record; return whether it is new. The first of two with the same id stays."""
        row = (*_columns(record), to_line(record))
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

    def forget(self, run: str) -> None:
        """Remove the record with this id, say a damaged one, so that the run can be made again."""
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
        """Yield the records of a study whose configurations have these values, by their ids.

        All records of the store are read, to notice those whose damage would hide them. If some
        are damaged, an error that names them is raised at the end; with `on_damage`, that is
        called with the error of each instead.
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
        """Return the record of a row, all of which says the same and fits the checksum."""
        *columns, line = row
        try:
            if not isinstance(line, str):
                raise RecordError(f"expected a line of text, found {type(line).__name__}")
            record = from_line(line)
            if tuple(columns) != _columns(record):
                raise RecordError("the columns beside its line are those of another record")
        except RecordError as error:
            raise RecordError(
                f"{printable(self.path)}, run {printable(columns[0])}: {error}"
            ) from None
        return record

    def _absent(self, run: str) -> RecordError:
        return RecordError(f"{printable(self.path)}: there is no run {run!r}")


def _connect(path: Path, options: str = "") -> sqlite3.Connection:
    """Open a store, and make one of an empty file."""
    place = path.as_uri() + options if options else path
    connection = sqlite3.connect(place, timeout=PATIENCE, isolation_level=None, uri=bool(options))
    # Damaged text is for the checksum to notice, record by record.
    connection.text_factory = lambda content: content.decode("utf-8", "replace")
    try:
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_all_in_one_file(path: Path) -> bool:
    """Return whether a store lies here without a log or a journal that belongs to it."""
    beside = (path.with_name(path.name + end) for end in ("-wal", "-journal"))
    return path.is_file() and not any(one.exists() and one.stat().st_size for one in beside)


def _columns(record: Record) -> tuple[str, str, str]:
    """Return what is kept of a record beside its line."""
    return record.id, record.study, json.dumps(dict(record.configuration))


def _prepare(connection: sqlite3.Connection) -> None:
    """Make a store of an empty file; refuse what is no store without writing to it.

    Only SQLite looks into the file, under its locks: what another process has half made is then
    not taken for a foreign file, and no lock of this process is lost, as it would be if the file
    were opened and closed behind SQLite's back.
    """
    connection.execute("PRAGMA synchronous = EXTRA")  # or the last record may go in a power cut
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
    tables = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'runs'").fetchall()
    if tables != [(_TABLE,)]:
        raise RecordError(_DAMAGED.format("its table of runs is not as residuum makes it"))
    [damage] = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if damage != "ok":
        raise RecordError(_DAMAGED.format(damage))
    # Older versions kept a write-ahead log. From a damaged log SQLite drops records, and says
    # nothing. Where another process still uses the log, or nobody may write here, it stays.
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = DELETE")


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


def _matches(record: Record, wanted: Mapping[str, Scalar]) -> bool:
    known = record.configuration
    # As text, because True == 1 in Python.
    return all(k in known and json.dumps(known[k]) == json.dumps(v) for k, v in wanted.items())


_ADVICE: Final = (
    "The other records can be read; `residuum archive` copies them. To make a damaged run again, "
    "remove its record first, in Python: residuum.results.Store(file).forget(run)"
)
_DAMAGED: Final = (
    "this store is damaged ({}); it is left as it is. Move it away, and restore a copy or start "
    "anew. `.recover` of SQLite's shell may save some of it"
)
_FOREIGN: Final = "this file is no store of runs, and is left as it is; choose another place"
_REASONS: Final = {
    "SQLITE_BUSY": "another process has kept it locked for too long ({}); try again later",
    "SQLITE_LOCKED": "another process has kept it locked for too long ({}); try again later",
    "SQLITE_READONLY_ROLLBACK": (
        "a process that was writing was killed, and what it left must be undone first ({}); open "
        "it once where it can be written, or copy it there together with its -journal file"
    ),
    "SQLITE_READONLY": "it cannot be written ({}); choose another place, or ask for the right to",
    "SQLITE_PERM": "it cannot be written ({}); choose another place, or ask for the right to",
    "SQLITE_FULL": "the disk is full ({}); nothing was written",
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_ERROR": _DAMAGED,  # such as a format that SQLite does not know
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
        raise RecordError(f"{printable(path)}: {error}") from None
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        kind = "_".join(name.split("_")[:2])
        words = _REASONS.get(name) or _REASONS.get(kind) or _OTHERWISE
        raise RecordError(f"{printable(path)}: {words.format(error)}") from error
    except (OSError, ValueError) as error:
        raise RecordError(f"{printable(path)}: {_OTHERWISE.format(error)}") from error
