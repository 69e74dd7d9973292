"""`residuum archive`: records from stores into files that live beside the code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from residuum.cli.inputs import AsJson
from residuum.cli.outputs import print_json, say
from residuum.errors import RecordError, ResiduumError
from residuum.printable import printable
from residuum.results import (
    OnDamage,
    Record,
    Store,
    default_store,
    merge,
    read_archive,
    refuse_damaged,
    write_archive,
)

LONGEST_NAME: Final = 240
"""Bytes of a study's name; file systems take 255 with the ending."""


class Added(NamedTuple):
    """What became of an archive: the runs found for it, those that were new, all it now has.

    `unverified` counts those of them that have no checksum, because an older residuum wrote them.
    """

    archive: str
    found: int
    added: int
    records: int
    unverified: int


def archive(
    stores: Annotated[
        list[Path] | None,
        typer.Argument(metavar="STORE", help="Stores of runs; without any, RESIDUUM_STORE's."),
    ] = None,
    into: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the archives lie, one for each study.")
    ] = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Add the runs of stores to the archives of their studies.

    What an archive holds of a run stays as it is. Damaged records are left out and named. Stores
    whose names begin with - stand after --.

    \b
    residuum archive
    residuum archive first.sqlite second.sqlite --into results
    """
    damaged: list[RecordError] = []
    paths = stores or [default_store()]
    records = merge(*(_records(path, damaged.append) for path in paths))
    places = {study: _place(into, study) for study in sorted({one.study for one in records})}
    done = [
        _add(place, [record for record in records if record.study == study])
        for study, place in places.items()
    ]
    if as_json:
        print_json([added._asdict() for added in done])
    else:
        _print(done)
    refuse_damaged(damaged, "These records are damaged and were left out. All others are archived.")


def _print(done: Sequence[Added]) -> None:
    for added in done:
        older = f", {added.unverified} of them without a checksum" if added.unverified else ""
        say(
            f"{printable(added.archive)}: {added.added} of {added.found} runs are new, "
            f"{added.records} there now{older}"
        )
    if not done:
        say("there are no runs: nothing was written")


def _records(path: Path, on_damage: OnDamage) -> list[Record]:
    if not os.path.isfile(path):  # a store would be made of it
        kind = "a folder" if os.path.isdir(path) else "no file"
        raise ResiduumError(
            f"expected a store of runs, found {kind} {printable(path)}; name a file that a study "
            "has written"
        )
    with Store(path) as store:
        return list(store.records(on_damage=on_damage))


def _place(folder: Path, study: str) -> Path:
    is_short = len(study.encode()) <= LONGEST_NAME
    if not is_short or not study.isprintable() or study[0] in ".-" or set(study) & {"/", "\\"}:
        raise ResiduumError(
            "expected a study whose name can be that of a file (printable, without slashes, no dot "
            f"or dash first, at most {LONGEST_NAME} bytes), found {study!a}; copy its records "
            "with residuum.results.write_archive"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResiduumError(
            f"--into: {printable(folder)} is no folder for archives: {error.strerror}"
        ) from error
    return folder / f"{study}.jsonl"


def _add(path: Path, records: list[Record]) -> Added:
    known = read_archive(path) if os.path.lexists(path) else []
    together = merge(known, records)
    new = len(together) - len(known)
    if new:
        write_archive(path, together)
    unverified = sum(not record.is_verified for record in together)
    return Added(str(path), len(records), new, len(together), unverified)
