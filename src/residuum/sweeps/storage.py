"""The storage in which Optuna keeps its trials: an SQLite file or a database server.

All access goes through `Storage.reach`, which waits while a server is away. No training is lost
with a storage: finished runs are in the store, and a new search has the same trials. No message
holds the password of a storage.
"""

from __future__ import annotations

import importlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, final

from residuum.errors import ResiduumError
from residuum.sweeps.definitions import Sweep

if TYPE_CHECKING:
    from optuna.storages import RDBStorage
    from sqlalchemy import URL

PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 30.0, 30.0)
"""Seconds to wait before each new attempt to reach a storage, two minutes in all."""

SECONDS_TO_CONNECT: Final = 10
"""The most seconds of one attempt to connect to PostgreSQL. The default may be minutes."""

Note = Callable[[str], None]
"""A function that shows a line of text to the user."""

T = TypeVar("T")

_DRIVERS: Final = ("psycopg", "psycopg2")
"""Drivers for PostgreSQL; the first that is installed is used."""

_NO_DRIVER: Final = (
    "storage: expected psycopg, the driver of PostgreSQL, and it is not installed; run: pip "
    "install 'residuum[postgres]'"
)

_TABLES: Final = frozenset({"studies", "trials", "version_info"})
"""Tables that every version of Optuna makes."""

_REFUSALS: Final = ("authentication failed", "does not exist", "no pg_hba.conf entry", "host name")
"""Words in the message of a server that will always refuse. Such an error has no code."""


class _Trouble(NamedTuple):
    """What is wrong with a storage, what to do, and whether waiting may help."""

    found: str
    remedy: str
    may_pass: bool = False


_LOCKED: Final = _Trouble("is locked by another process", "Wait for the other process", True)
_READ_ONLY: Final = _Trouble("cannot be written", "Make the file and its folder writable")
_SQLITE_TROUBLES: Final = {
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_PROTOCOL": _LOCKED,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_PERM": _READ_ONLY,
    "SQLITE_CANTOPEN": _Trouble("cannot be opened", "Name a file in a writable folder"),
    "SQLITE_FULL": _Trouble("cannot grow, as the disk is full", "Free some space"),
    "SQLITE_IOERR": _Trouble("cannot be read or written", "Check the disk and its free space"),
    "SQLITE_CORRUPT": _Trouble("is damaged", "Move it away"),
    "SQLITE_NOTADB": _Trouble("is no SQLite file, and is left as it is", "Move it away"),
}


def storage_beside(store: Path) -> Path:
    """Return the file in which Optuna keeps the trials that belong to a store."""
    return store.absolute().with_name(f"{store.name}.sweeps")


def open_storage(sweep: Sweep, store: Path, note: Note = lambda _line: None) -> Storage:
    """Open the storage that a sweep names; without a name, the file beside the store."""
    try:
        import optuna
    except ImportError:
        raise ResiduumError(
            "expected Optuna to search with, and it is not installed; run: pip install "
            "'residuum[sweeps]'"
        ) from None
    from sqlalchemy import URL

    # Otherwise Optuna logs every trial, and failures with their SQL.
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if sweep.storage is None:
        url = URL.create("sqlite", database=str(storage_beside(store)))
    else:
        url = _parsed(sweep.storage)
    return Storage(url, store.absolute(), note)


@final
class Storage:
    """The storage of a sweep, for a `with` block. All access goes through `reach`."""

    def __init__(self, url: URL, store: Path, note: Note) -> None:
        self.name = _name(url)
        self._store = store
        self._note = note
        self._secrets = _secrets(url)
        self._is_open = False
        self.optuna: RDBStorage = self.reach(lambda: self._open(url))
        self._is_open = True

    def reach(self, access: Callable[[], T]) -> T:
        """Return the result of an access to the storage; try again if waiting may help.

        A failed access is repeated from its start, so its repetition must have the same result.
        """
        from optuna.exceptions import StorageInternalError
        from sqlalchemy.exc import SQLAlchemyError

        waited = 0.0
        for pause in (*PAUSES, None):
            try:
                result = access()
            except (SQLAlchemyError, StorageInternalError) as error:
                trouble = self._trouble(error)
            else:
                if waited:
                    self._note(f"storage: {self.name} answers again")
                return result
            if not trouble.may_pass or pause is None:
                break
            self._note(f"storage: {self.name} {trouble.found}; next attempt in {pause:g} s")
            time.sleep(pause)
            waited += pause
        still = f", still so after {waited:g} s of waiting" if waited else ""
        raise self._error(f"{trouble.found}{still}", trouble.remedy)

    def __enter__(self) -> Storage:
        return self

    def __exit__(self, *_: object) -> None:
        self.optuna.engine.dispose()

    def _open(self, url: URL) -> RDBStorage:
        is_file = url.get_backend_name() == "sqlite"
        try:
            if is_file:
                self._refuse_foreign(url)
            storage = _connected(url, {} if is_file else _engine_options(url))
        except ResiduumError:
            raise
        except (TypeError, ValueError):  # the message may hold a password
            raise self._error("has an unknown option after `?`", "Correct it") from None
        except RuntimeError as error:  # Optuna says that its tables have changed
            found = f"was made by another version of Optuna ({error})"
            raise self._error(found, "Do that, or name another storage") from None
        if is_file:
            _make_quick(storage)
        return storage

    def _refuse_foreign(self, url: URL) -> None:
        """Raise if the database belongs to another program; Optuna would add its tables to it."""
        from sqlalchemy import create_engine, inspect

        engine = create_engine(url)
        try:
            found = set(inspect(engine).get_table_names())
        finally:
            engine.dispose()
        if found and not found & _TABLES:
            raise self._error(
                f"is no storage of Optuna: it has the tables {', '.join(sorted(found))}, and is "
                "left unchanged",
                "Name another file",
            )

    def _trouble(self, error: Exception) -> _Trouble:
        """Return what an exception of SQLAlchemy or Optuna means for the user."""
        from sqlalchemy.exc import (
            DBAPIError,
            InterfaceError,
            OperationalError,
            PendingRollbackError,
            SQLAlchemyError,
        )

        cause = error if isinstance(error, SQLAlchemyError) else error.__cause__
        if isinstance(cause, PendingRollbackError):  # Optuna used a lost connection again
            cause = cause.__context__
        reason = cause.orig if isinstance(cause, DBAPIError) else cause
        words = " ".join(str(reason or error).split())
        for secret in self._secrets:
            words = words.replace(secret, "***")
        if "already exists" in words:
            return _Trouble(f"is being set up by another process ({words})", "Wait for it", True)
        if isinstance(reason, sqlite3.Error):
            code = "_".join(getattr(reason, "sqlite_errorname", "").split("_")[:2])
            trouble = _SQLITE_TROUBLES.get(code, _Trouble("cannot be used", "Move it away"))
            return trouble._replace(found=f"{trouble.found} ({words})")
        is_lost = isinstance(cause, OperationalError | InterfaceError) or (
            isinstance(cause, DBAPIError) and cause.connection_invalidated
        )
        is_refused = not self._is_open and any(refusal in words for refusal in _REFUSALS)
        if is_lost and not is_refused:
            return _Trouble(f"does not answer ({words})", "Check that its server runs", True)
        return _Trouble(f"cannot be used ({words})", "Correct that, or name another storage")

    def _error(self, found: str, remedy: str) -> ResiduumError:
        return ResiduumError(
            f"storage: {self.name} {found}. {remedy}; then run the same command again. It "
            f"continues after the finished runs, which are all kept in {self._store}"
        )


def _parsed(text: str) -> URL:
    """Return the URL of a storage; one of PostgreSQL gets a driver that is installed."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    # No message shows the text, nor that of SQLAlchemy: both may hold part of a password.
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    if url is None or "@" in (url.host or ""):
        raise ResiduumError(
            "storage: expected a URL such as postgresql://user@host/database or sqlite:///file, "
            "got another form. In a password write %40 for @, %3A for :, %2F for / and %25 for %"
        )
    if url.drivername not in ("postgres", "postgresql"):
        return url
    # By default SQLAlchemy takes psycopg2, also where only psycopg is installed.
    for driver in _DRIVERS:
        try:
            importlib.import_module(driver)
        except ImportError:
            continue
        return url.set(drivername=f"postgresql+{driver}")
    raise ResiduumError(_NO_DRIVER)


def _connected(url: URL, options: dict[str, Any]) -> RDBStorage:
    from optuna.storages import RDBStorage

    # Optuna formats the URL, so braces must be doubled.
    text = url.render_as_string(hide_password=False).replace("{", "{{").replace("}", "}}")
    try:
        return RDBStorage(text, engine_kwargs=options)
    except ImportError as error:
        missing = getattr(error.__cause__, "name", None) or url.get_driver_name()
    if missing == "psycopg":
        raise ResiduumError(_NO_DRIVER)
    raise ResiduumError(
        f"storage: {url.drivername} expects the Python package {missing}, which is not installed; "
        "install it with pip, or name another storage"
    )


def _make_quick(storage: RDBStorage) -> None:
    """Let commits to an SQLite file not wait for the disk. Optuna makes a dozen per trial.

    Trials that a power cut loses are asked for again, with the same result.
    """
    from sqlalchemy import event

    with storage.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    event.listen(
        storage.engine, "checkout", lambda raw, *_: raw.execute("PRAGMA synchronous = NORMAL")
    )


def _engine_options(url: URL) -> dict[str, Any]:
    """Return the options of a connection to a server. A lost connection is replaced."""
    options: dict[str, Any] = {"pool_pre_ping": True}
    if url.get_driver_name() in _DRIVERS and "connect_timeout" not in url.query:
        options["connect_args"] = {"connect_timeout": SECONDS_TO_CONNECT}
    return options


def _name(url: URL) -> str:
    """Return the name of a storage in messages: without user, password and options."""
    if url.get_backend_name() == "sqlite":
        return url.database or "SQLite's memory"
    host = f"{url.host or ''}:{url.port}" if url.port else url.host or ""
    return f"{url.get_backend_name()}://{host}/{url.database or ''}"


def _secrets(url: URL) -> list[str]:
    """Return the passwords in a URL, the longest first."""
    hidden = [value for key, value in url.query.items() if "pass" in key.lower()]
    found = [str(one) for one in (url.password, *hidden) if one]
    return sorted(found, key=len, reverse=True)
