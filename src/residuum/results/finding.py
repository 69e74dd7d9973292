"""Where the records lie that a table or a report is made of."""

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
"""Where records that belong to a repository lie, below the current folder."""


def find_records(
    path: Path | None = None,
    studies: Iterable[str] | None = None,
    on_damage: OnDamage | None = None,
) -> list[Record]:
    """Return the records in one store, or without a path in the usual store and the archives.

    `studies` names those that are wanted; without it, all. A store that was never made is empty,
    unless it was asked for. A damaged record is refused; with `on_damage`, that is called with
    its error instead, and the others are returned.
    """
    if path is not None and not path.exists():
        raise RecordError(
            f"there is no store {printable(path)}; name one that a study has written, or leave it "
            "out"
        )
    sources: list[Iterable[Record]] = []
    store = path
    if path is None:
        with contextlib.suppress(RecordError):  # no place to keep runs in: none were kept
            store = default_store()
    if store is not None and store.exists():
        with Store(store) as opened:
            sources.append(list(opened.records(on_damage=on_damage)))
    if path is None:
        sources.append(archived_records(on_damage))
    wanted = None if studies is None else set(studies)
    return [one for one in merge(*sources) if wanted is None or one.study in wanted]


def archived_records(on_damage: OnDamage | None = None) -> list[Record]:
    """Return the records in all archives below the current folder; see `find_records`."""
    return merge(*(read_archive(path, on_damage) for path in sorted(ARCHIVES.glob("*.jsonl"))))
