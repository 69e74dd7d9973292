"""The records that tables and reports are made from: the default store and the archives."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from residuum.errors import RecordError
from residuum.printable import printable
from residuum.results.archive import merge, read_archive
from residuum.results.damage import OnDamage
from residuum.results.records import Record
from residuum.results.store import Store, default_store

ARCHIVES: Final = Path("results")
"""The folder of archives, below the current folder."""


def find_records(
    path: Path | None = None,
    studies: Iterable[str] | None = None,
    on_damage: OnDamage | None = None,
) -> list[Record]:
    """Return the records of one store; without a path, of the default store and the archives.

    `studies` limits the records to some studies. A default store that does not exist is empty. If
    records are damaged, an error names them all; with `on_damage`, it is called with the error of
    each instead, and the other records are returned.
    """
    if path is not None and not path.exists():
        raise RecordError(
            f"there is no store {printable(path)}; name a store that a study has written, or name "
            "none"
        )
    sources: list[Iterable[Record]] = []
    store = path
    if path is None:
        with contextlib.suppress(RecordError):  # without a home folder there is no default store
            store = default_store()
    if store is not None and store.exists():
        with Store(store) as opened:
            sources.append(list(opened.records(on_damage=on_damage)))
    if path is None:
        sources.append(archived_records(on_damage))
    wanted = None if studies is None else set(studies)
    return [one for one in merge(*sources) if wanted is None or one.study in wanted]


def archived_records(on_damage: OnDamage | None = None) -> list[Record]:
    """Return the records of all archives below the current folder; see `find_records`."""
    return merge(*(read_archive(path, on_damage) for path in sorted(ARCHIVES.glob("*.jsonl"))))
