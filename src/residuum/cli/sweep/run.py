"""`residuum sweep run`: search, then measure the winners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from residuum.cli.inputs import AsJson
from residuum.cli.outputs import print_json, say
from residuum.cli.study.options import Device, StoreFile
from residuum.cli.study.watching import Words, watching
from residuum.cli.sweep.options import SweepFile, in_words
from residuum.errors import ResiduumError
from residuum.results import Record, Store, default_store, mean_and_deviation
from residuum.training.devices import DeviceName, find_device

if TYPE_CHECKING:
    from residuum.study.running import Experiment
    from residuum.sweeps.definitions import Sweep
    from residuum.sweeps.running import Train, Winner
    from residuum.sweeps.studies import Data

EngineName = Literal["local", "ray"]


def run(
    file: SweepFile,
    engine: Annotated[
        EngineName, typer.Option(help="This machine (by default), or a Ray cluster.")
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="That of the cluster, or `auto`; without it one is started on this machine.",
        ),
    ] = None,
    gpus: Annotated[
        float | None,
        typer.Option(
            min=0, help="Of the cluster, for the runs that train together; 0.5 is half of one."
        ),
    ] = None,
    device: Device = "auto",
    store: StoreFile = None,
    as_json: AsJson = False,
) -> None:
    """Search for the best settings on DEV; then run them with all seeds, and measure on TEST.

    Trials that share their shapes are trained together. What was run is in the store; whatever
    stops a sweep, the same command goes on from there.

    \b
    residuum sweep run examples/sweeps/tiny.toml
    residuum sweep run sweep.toml --store runs.sqlite --json
    residuum sweep run sweep.toml --engine ray --address auto
    """
    from residuum.sweeps import read_sweep

    sweep = read_sweep(file)
    if engine == "local" and (address or gpus):
        raise ResiduumError("--address and --gpus are those of a cluster: give --engine ray, too")
    path = Path(store or default_store())
    try:
        if engine == "local":
            winners = _search(sweep, _load(sweep, find_device(device)), path, _local)
        else:
            winners = _search_on_cluster(sweep, device, path, address, gpus)
    except KeyboardInterrupt:
        own = f" --store {store}" if store else ""
        say(
            "residuum: interrupted; the same command goes on from here, and "
            f"`residuum sweep status {file}{own}` says how far it has come",
            err=True,
        )
        raise
    if as_json:
        print_json([_as_object(one) for one in winners])
    else:
        _print_winners(sweep, winners)


def _load(sweep: Sweep, device: Any) -> Data:
    from residuum.sweeps.studies import TUNED

    return TUNED[sweep.study].load(sweep.settings, device)


def _search(
    sweep: Sweep, data: Data, path: Path, engine: Callable[[Sweep, Store], Train]
) -> list[Winner]:
    from residuum.sweeps.running import run_sweep

    with Store(path) as store:
        return run_sweep(sweep, data, store, engine(sweep, store), partial(say, err=True))


def _search_on_cluster(
    sweep: Sweep, device: DeviceName, path: Path, address: str | None, gpus: float | None
) -> list[Winner]:
    find_device("cpu")  # that PyTorch is there is all that this machine need offer
    from residuum.sweeps.clusters import connected

    with connected(address, device) as chosen:
        share = gpus if gpus is not None else float(chosen.type == "cuda")
        return _search(sweep, _load(sweep, chosen), path, partial(_on_cluster, share))


def _local(sweep: Sweep, store: Store) -> Train:
    from residuum.study.running import run_all

    def train(experiment: Experiment[Any], runs: Sequence[Any]) -> None:
        missing = _missing(experiment, runs, store)
        with watching(missing, words_of(sweep)) as watch:
            run_all(experiment, missing, store, watch=watch)

    return train


def _on_cluster(gpus: float, sweep: Sweep, store: Store) -> Train:
    from residuum.sweeps.clusters import run_all_on_cluster

    def train(experiment: Experiment[Any], runs: Sequence[Any]) -> None:
        missing = _missing(experiment, runs, store)
        numbers = count(1)

        def done(record: Record) -> None:
            what = words_of(sweep).done(record)
            say(f"{next(numbers)} of {len(missing)} done: {what}", err=True)

        run_all_on_cluster(experiment, missing, store, gpus=gpus, done=done)

    return train


def _missing(experiment: Experiment[Any], runs: Sequence[Any], store: Store) -> list[Any]:
    from residuum.study.running import id_of

    missing = [one for one in runs if id_of(experiment, one) not in store]
    say(
        f"{experiment.name}: {len(runs)} runs, {len(runs) - len(missing)} of them found in "
        f"{store.path}",
        err=True,
    )
    return missing


def words_of(sweep: Sweep) -> Words[Any]:
    """Return how the study speaks of its runs, of one that is done by what was searched for."""
    from residuum.cli.study import chunking, digits
    from residuum.sweeps.scores import dev_value

    words: Words[Any] = digits.WORDS if sweep.study == "digits" else chunking.WORDS
    named = [*sweep.configurations[0], *sweep.space, "seed"]

    def done(record: Record) -> str:
        settings = {name: record.configuration[name] for name in named}
        return f"{in_words(settings)}: DEV {dev_value(record, sweep.measure):.2f}%"

    return replace(words, done=done)


def _as_object(winner: Winner) -> dict[str, Any]:
    return {
        "configuration": dict(winner.configuration),
        "settings": dict(winner.settings),
        "dev": winner.value,
        "runs": [
            {"id": one.id, "seed": one.configuration["seed"], **one.measures}
            for one in winner.records
        ],
    }


def _print_winners(sweep: Sweep, winners: Sequence[Winner]) -> None:
    measures = {
        "digits": ("digit_accuracy", "operator_accuracy", "coherence"),
        "chunking": ("f1", "viterbi_f1", "violations"),
    }[sweep.study]
    for winner in winners:
        say(f"{in_words(winner.configuration)}:")
        if not winner.records:
            say("  no trial has learnt anything, so that there is no winner")
            continue
        say(f"  {in_words(winner.settings)}: {sweep.measure} on DEV {winner.value:.2f}%")
        found = (f"{name} {_mean(winner.records, name)}" for name in measures)
        say(f"  on TEST, {len(winner.records)} seeds: {', '.join(found)}")


def _mean(records: Sequence[Record], measure: str) -> str:
    found = mean_and_deviation([record.measures[measure] for record in records])
    return f"{found.mean:.2f}%" + ("" if found.deviation is None else f" ± {found.deviation:.2f}")
