"""How a study is run from the command line, and where its records are found again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import typer

from residuum.cli.outputs import print_json
from residuum.cli.study.watching import Words, watching
from residuum.errors import ResiduumError
from residuum.results import Record, Store, default_store, merge, read_archive

if TYPE_CHECKING:
    from residuum.study.running import Experiment, Run

R = TypeVar("R", bound="Run")

ARCHIVES: Final = Path("results")
"""Where records that belong to a repository lie, below the current folder."""


def train(
    experiment: Experiment[R],
    runs: Sequence[R],
    path: Path | None,
    words: Words[R],
    as_object: Callable[[Record], dict[str, Any]] | None,
) -> list[Record]:
    """Run what is missing, and return the records of all.

    With `as_object` they are printed as JSON, also those that are done at an interrupt.
    """
    from residuum.study.running import id_of, run_all

    path = Path(path or default_store())
    with Store(path) as store:
        ids = {run: id_of(experiment, run) for run in runs}
        missing = [run for run in runs if ids[run] not in store]
        typer.echo(
            f"{len(runs)} runs, {len(runs) - len(missing)} of them found in {path}", err=True
        )
        try:
            with watching(missing, words) as watch:
                run_all(experiment, missing, store, watch=watch)
        except KeyboardInterrupt:
            done = [ids[run] for run in runs if ids[run] in store]
            if as_object:
                print_json([as_object(store.get(name)) for name in done])
            typer.echo(
                f"residuum: interrupted with {len(done)} of {len(runs)} runs done; the same "
                "command goes on from here",
                err=True,
            )
            raise
        records = [store.get(ids[run]) for run in runs]
    if as_object:
        print_json([as_object(record) for record in records])
    return records


def as_object(record: Record, measures: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Return a run as a flat object: its settings, its measures, and what it took."""
    return {
        "id": record.id,
        **record.configuration,
        **(record.measures if measures is None else measures),
        "seconds": record.seconds,
        "environment": dict(record.environment),
    }


def find_records(
    path: Path | None, studies: Collection[str], is_wanted: Callable[[Record], bool]
) -> list[Record]:
    """Return the runs of some studies in the store and in the archives below this folder."""
    sources: list[Iterable[Record]] = []
    if path is not None and not path.exists():
        raise ResiduumError(f"--store: there is no file {path}")
    path = path or default_store()
    if path.exists():
        with Store(path) as store:
            sources.append([record for name in studies for record in store.records(name)])
    sources += [read_archive(archive) for archive in sorted(ARCHIVES.glob("*.jsonl"))]
    found = [record for record in merge(*sources) if record.study in studies and is_wanted(record)]
    if not found:
        raise ResiduumError(
            f"no records of this in the store nor in {ARCHIVES}/*.jsonl; train some first, "
            "with the same command without --table"
        )
    return found
