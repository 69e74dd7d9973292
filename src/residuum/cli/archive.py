"""`residuum archive`: records from stores into files that live beside the code."""

from __future__ import annotations

import reprlib
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from residuum.cli.inputs import AsJson
from residuum.cli.outputs import print_json, say
from residuum.errors import ResiduumError
from residuum.results import Record, Store, default_store, merge, read_archive, write_archive

LONGEST_NAME: Final = 100
"""Characters; file systems take 255 bytes, some less."""


class Added(NamedTuple):
    """What became of an archive: the runs found for it, those that were new, all it now has."""

    archive: str
    found: int
    added: int
    records: int


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

    What an archive holds of a run stays as it is.

    \b
    residuum archive
    residuum archive first.sqlite second.sqlite --into results
    """
    records = merge(*(_records(path) for path in stores or [default_store()]))
    studies = sorted({record.study for record in records})
    places = {study: _place(into, study) for study in studies}  # all, before anything is written
    done = [
        _add(path, [record for record in records if record.study == study])
        for study, path in places.items()
    ]
    if as_json:
        print_json([added._asdict() for added in done])
        return
    for added in done:
        say(
            f"{added.archive}: {added.added} of {added.found} runs are new, "
            f"{added.records} there now"
        )
    if not done:
        say("there are no runs: nothing was written")


def _records(path: Path) -> list[Record]:
    if not path.is_file():  # a store would be made of it
        raise ResiduumError(f"expected a store of runs, found no file {path}")
    with Store(path) as store:
        return list(store)


def _place(folder: Path, study: str) -> Path:
    is_plain = study.isprintable() and not study.startswith(".") and len(study) <= LONGEST_NAME
    if not is_plain or {*study} & {*'/\\:*?"<>|'}:
        raise ResiduumError(
            f"expected studies whose names can be those of files, at most {LONGEST_NAME} letters, "
            f"digits, spaces and signs such as - and _, found {reprlib.repr(study)}; rename it in "
            "its records, or leave out this store"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResiduumError(
            f"--into: {folder} is no folder for archives: {error.strerror}"
        ) from error
    return folder / f"{study}.jsonl"


def _add(path: Path, records: list[Record]) -> Added:
    known = read_archive(path) if path.exists() else []
    together = merge(known, records)
    new = len(together) - len(known)
    if new:
        write_archive(path, together)
    return Added(str(path), len(records), new, len(together))
