"""An archive: records as lines of text, small enough to live beside the code they came from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from residuum.errors import RecordError
from residuum.files import replacing
from residuum.results.encoding import from_line, to_line
from residuum.results.records import Record


def write_archive(path: str | Path, records: Iterable[Record]) -> None:
    """Write records, sorted by id, one line of JSON each; the same records give the same bytes.

    An archive that was there is replaced in one step, or not at all.
    """
    lines = [to_line(record) + "\n" for record in merge(records)]
    try:
        with replacing(Path(path)) as file:
            file.writelines(line.encode("ascii") for line in lines)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise RecordError(f"{path}: the archive cannot be written: {error.strerror}") from error


def read_archive(path: str | Path) -> list[Record]:
    """Return the records of an archive; a broken line is refused with its number."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: the archive cannot be read: {error.strerror}") from error
    found: dict[str, Record] = {}
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n") if content else (), 1):
        try:
            record = from_line(line)
        except RecordError as error:
            raise RecordError(f"{path}, line {number}: {error}") from None
        if record.id in found:
            raise RecordError(f"{path}, line {number}: the run {record.id} stands twice")
        found[record.id] = record
    return list(found.values())


def merge(*sources: Iterable[Record]) -> list[Record]:
    """Return the records of stores and archives together, sorted by id; the first of a run stays.

    `merge(store, read_archive("a.jsonl"), read_archive("b.jsonl"))`
    """
    found: dict[str, Record] = {}
    for source in sources:
        for record in source:
            found.setdefault(record.id, record)
    return [found[run] for run in sorted(found)]
