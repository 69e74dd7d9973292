"""Training of a study from the command line, and the records that --table reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from residuum.cli.errors import warn
from residuum.cli.outputs import print_json, say
from residuum.cli.study.watching import Words, watching
from residuum.errors import RecordError, ResiduumError
from residuum.results import (
    ARCHIVES,
    Record,
    Store,
    archived_records,
    default_store,
    find_records,
    merge,
)

if TYPE_CHECKING:
    from residuum.study.running import Experiment, Run

R = TypeVar("R", bound="Run")


def train(
    experiment: Experiment[R],
    runs: Sequence[R],
    path: Path | None,
    words: Words[R],
    as_object: Callable[[Record], dict[str, Any]] | None,
) -> list[Record]:
    """Train the runs that the store lacks, and return the records of all.

    With `as_object` records are printed as JSON, after an interrupt those that are done.
    """
    from residuum.study.running import id_of, run_all

    path = Path(path or default_store())
    with Store(path) as store:
        ids = {run: id_of(experiment, run) for run in runs}
        missing = [run for run in runs if ids[run] not in store]
        say(f"{len(runs)} runs, {len(runs) - len(missing)} of them found in {path}", err=True)
        try:
            with watching(missing, words) as watch:
                run_all(experiment, missing, store, watch=watch)
        except (KeyboardInterrupt, ResiduumError) as stop:
            done = [ids[run] for run in runs if ids[run] in store]
            if as_object:
                print_json([as_object(store.get(name)) for name in done])
            what = "interrupted" if isinstance(stop, KeyboardInterrupt) else "stopped"
            say(
                f"residuum: {what} with {len(done)} of {len(runs)} runs done; the same "
                "command goes on from here",
                err=True,
            )
            raise
        records = [store.get(ids[run]) for run in runs]
    if as_object:
        print_json([as_object(record) for record in records])
    return records


def as_object(record: Record, measures: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Return a run as a flat object: id, settings, measures, seconds and environment.

    A run that diverged has no measures; `diverged` says where. It is None for other runs.
    """
    return {
        "id": record.id,
        **record.configuration,
        **(record.measures if measures is None else measures),
        "diverged": None if record.diverged is None else asdict(record.diverged),
        "seconds": record.seconds,
        "environment": dict(record.environment),
    }


def asked_records(
    path: Path | None, studies: Collection[str], is_wanted: Callable[[Record], bool]
) -> list[Record]:
    """Return the records of some studies from the store and from the archives in `results/`.

    Damaged records are left out, and named on stderr.
    """

    def tell(damage: RecordError) -> None:
        warn(f"{damage}; this record is left out")

    known = find_records(path, studies, on_damage=tell)
    if path is not None:  # a given store is read with the archives, not instead of them
        known = merge(known, archived_records(tell))
    found = [record for record in known if record.study in studies and is_wanted(record)]
    if not found:
        raise ResiduumError(
            f"no records of this kind in the store or in {ARCHIVES}/*.jsonl; train some first, "
            "with the same command without --table"
        )
    return found
