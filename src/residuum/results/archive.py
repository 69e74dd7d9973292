"""Archives: files with one line of JSON per record, small enough for a repository."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from residuum.errors import RecordError
from residuum.files import replacing
from residuum.printable import printable
from residuum.results.damage import OnDamage, refuse_damaged
from residuum.results.encoding import from_line, to_line
from residuum.results.records import Record


def write_archive(path: str | Path, records: Iterable[Record]) -> None:
    """Write records, sorted by id, one line of JSON each. Equal records give equal bytes.

    An archive with this path is replaced in one step, or stays as it was.
    """
    lines = [to_line(record) + "\n" for record in merge(records)]
    try:
        with replacing(Path(path)) as file:
            file.writelines(line.encode("ascii") for line in lines)
            file.flush()
            os.fsync(file.fileno())
    except (OSError, ValueError) as error:
        raise RecordError(
            f"{printable(path)}: the archive cannot be written ({_reason(error)}); name another "
            "place, or make room there"
        ) from error


def read_archive(path: str | Path, on_damage: OnDamage | None = None) -> list[Record]:
    """Return the records of an archive.

    If lines are damaged, an error names them all. With `on_damage`, it is called with the error of
    each damaged line instead, and the other records are returned.
    """
    name = printable(path)
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise RecordError(
            f"{name}: the archive cannot be read ({_reason(error)}); name another"
        ) from error
    found: dict[str, Record] = {}
    damaged: list[RecordError] = []
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n") if content else (), 1):
        try:
            record = from_line(line)
            if record.id in found:
                raise RecordError(f"expected each run once, found {record.id} a second time")
            found[record.id] = record
        except RecordError as error:
            damaged.append(RecordError(f"{name}, line {number}: {error}"))
    if on_damage is None:
        refuse_damaged(damaged, _ADVICE)
    else:
        for one in damaged:
            on_damage(one)
    return list(found.values())


_ADVICE: Final = (
    "Restore the archive from version control or from a copy, or delete these lines. Each line is "
    "one record, and the others can be read."
)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def merge(*sources: Iterable[Record]) -> list[Record]:
    """Return the records of several sources, sorted by id. Of equal ids the first record counts.

    `merge(store, read_archive("a.jsonl"), read_archive("b.jsonl"))`
    """
    found: dict[str, Record] = {}
    for source in sources:
        for record in source:
            found.setdefault(record.id, record)
    return [found[run] for run in sorted(found)]
