"""`residuum archive`: the records of stores are added to archives, files of text."""

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
"""The longest name of a study in bytes. File systems take 255, with the ending."""


class Added(NamedTuple):
    """The numbers of an archive: runs found for it, runs that were new, and all runs it has now.

    `unverified` counts the runs without a checksum, which an older residuum wrote.
    """

    archive: str
    found: int
    added: int
    records: int
    unverified: int


def archive(
    stores: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="STORE", help="Stores of runs. Without one: the default store (RESIDUUM_STORE)."
        ),
    ] = None,
    into: Annotated[
        Path, typer.Option(metavar="FOLDER", help="The folder of the archives, one for each study.")
    ] = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Add the runs of stores to the archives of their studies.

    A run that an archive has already stays as it is. Damaged records are left out and named. Put --
    before stores whose names begin with -.

    \b
    residuum archive
    residuum archive first.sqlite second.sqlite --into results
    """
    damaged: list[RecordError] = []
    paths = stores or [default_store()]
    records = merge(*(_records_of_store(path, damaged.append) for path in paths))
    places = {study: _archive_path(into, study) for study in sorted({one.study for one in records})}
    done = [
        _add_records(place, [record for record in records if record.study == study])
        for study, place in places.items()
    ]
    if as_json:
        print_json([added._asdict() for added in done])
    else:
        _print_added(done)
    refuse_damaged(damaged, "These records are damaged and were left out. All others are archived.")


def _print_added(done: Sequence[Added]) -> None:
    for added in done:
        older = f", {added.unverified} of them without a checksum" if added.unverified else ""
        say(
            f"{printable(added.archive)}: {added.added} of {added.found} runs are new, "
            f"{added.records} there now{older}"
        )
    if not done:
        say("there are no runs; nothing was written")


def _records_of_store(path: Path, on_damage: OnDamage) -> list[Record]:
    if not os.path.isfile(path):  # otherwise a new store is made here
        kind = "a folder" if os.path.isdir(path) else "no file"
        raise ResiduumError(
            f"expected a store of runs, found {kind} {printable(path)}; name a file that a study "
            "has written"
        )
    with Store(path) as store:
        return list(store.records(on_damage=on_damage))


def _archive_path(folder: Path, study: str) -> Path:
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
            f"--into: the folder {printable(folder)} cannot be made ({error.strerror}); name "
            "another folder"
        ) from error
    return folder / f"{study}.jsonl"


def _add_records(path: Path, records: list[Record]) -> Added:
    known = read_archive(path) if os.path.lexists(path) else []
    together = merge(known, records)
    new = len(together) - len(known)
    if new:
        write_archive(path, together)
    unverified = sum(not record.is_verified for record in together)
    return Added(str(path), len(records), new, len(together), unverified)
