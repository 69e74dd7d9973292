"""`residuum sweep run` and `residuum sweep status`: settings searched on development data."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from residuum.cli.errors import warn
from residuum.cli.inputs import AsJson, MaybePictureFile
from residuum.cli.outputs import print_json, say
from residuum.cli.study.options import Device, StoreFile
from residuum.cli.study.watching import Words, watching
from residuum.errors import ResiduumError
from residuum.reports import check_picture, save_picture
from residuum.results import Record, Store, default_store, mean_and_deviation
from residuum.study.broken_runs import value_of
from residuum.training.devices import DeviceName, find_device

if TYPE_CHECKING:
    from residuum.study.running import Experiment
    from residuum.sweeps.definitions import Sweep
    from residuum.sweeps.running import Train, Winner
    from residuum.sweeps.tuned_studies import Data

sweep = typer.Typer(
    name="sweep", help="Search for settings on development data.", no_args_is_help=True
)
SweepFile = Annotated[
    Path, typer.Argument(metavar="FILE.toml", help="A sweep file; see docs/studies/sweeps.md.")
]
EngineName = Literal["local", "ray"]


@sweep.command()
def run(
    file: SweepFile,
    engine: Annotated[
        EngineName, typer.Option(help="Train on this machine (local) or on a Ray cluster (ray).")
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="The address of the Ray cluster, or `auto`. Without it a cluster is started on "
            "this machine.",
        ),
    ] = None,
    gpus: Annotated[
        float | None,
        typer.Option(
            min=0, help="GPUs of the cluster for each stack of runs; 0.5 lets two stacks share one."
        ),
    ] = None,
    device: Device = "auto",
    store: StoreFile = None,
    as_json: AsJson = False,
) -> None:
    """Search for the best settings on DEV; then run them with all seeds, and measure on TEST.

    Trials with the same shapes train together. Finished runs are in the store. After an interrupt
    the same command continues from there.

    \b
    residuum sweep run examples/sweeps/tiny.toml
    residuum sweep run sweep.toml --store runs.sqlite --json
    residuum sweep run sweep.toml --engine ray --address auto
    """
    from residuum.sweeps import read_sweep

    wanted = read_sweep(file)
    if engine == "local" and (address or gpus):
        raise ResiduumError(
            "--address and --gpus: expected --engine ray with them, got local; give --engine ray"
        )
    path = Path(store or default_store())
    try:
        if engine == "local":
            winners = _search(wanted, _load(wanted, find_device(device)), path, _local)
        else:
            winners = _search_on_cluster(wanted, device, path, address, gpus)
    except KeyboardInterrupt:
        own = f" --store {store}" if store else ""
        warn(
            "interrupted; the same command continues from here, and "
            f"`residuum sweep status {file}{own}` shows the progress"
        )
        raise
    if as_json:
        print_json([_as_object(one) for one in winners])
    else:
        _print_winners(wanted, winners)


def _load(sweep: Sweep, device: Any) -> Data:
    from residuum.sweeps.tuned_studies import TUNED

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
    find_device("cpu")  # raises if PyTorch is missing; this machine needs no GPU
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
    """Return the words of the study for its runs; a finished run is named by what was searched."""
    from residuum.sweeps.tuned_studies import dev_value

    words: Words[Any] = importlib.import_module(f"residuum.cli.study.{sweep.study}").WORDS
    named = [*sweep.configurations[0], *sweep.space, "seed"]

    def done(record: Record) -> str:
        settings = {name: record.configuration[name] for name in named}
        if record.diverged:
            return f"{in_words(settings)}: {record.diverged}"
        return f"{in_words(settings)}: DEV {dev_value(record, sweep.measure):.2f}%"

    return replace(words, done=done)


def _as_object(winner: Winner) -> dict[str, Any]:
    return {
        "configuration": dict(winner.configuration),
        "settings": dict(winner.settings),
        "dev": winner.value,
        "runs": [
            {
                "id": one.id,
                "seed": one.configuration["seed"],
                "diverged": None if one.diverged is None else asdict(one.diverged),
                **one.measures,
            }
            for one in winner.records
        ],
    }


def _print_winners(sweep: Sweep, winners: Sequence[Winner]) -> None:
    from residuum.sweeps.tuned_studies import TUNED

    measures = TUNED[sweep.study].test_measures
    for winner in winners:
        say(f"{in_words(winner.configuration)}:")
        if not winner.records:
            say("  no trial learnt anything, so there is no winner")
            continue
        say(f"  {in_words(winner.settings)}: {sweep.measure} on DEV {winner.value:.2f}%")
        found = (f"{name} {_mean_and_deviation(winner.records, name)}" for name in measures)
        lost = sum(record.diverged is not None for record in winner.records)
        note = f"; {lost} of them diverged and count at chance level" if lost else ""
        say(f"  on TEST, {len(winner.records)} seeds: {', '.join(found)}{note}")


def _mean_and_deviation(records: Sequence[Record], measure: str) -> str:
    found = mean_and_deviation([value_of(record, measure) for record in records])
    return f"{found.mean:.2f}%" + ("" if found.deviation is None else f" ± {found.deviation:.2f}")


@sweep.command()
def status(
    file: SweepFile,
    store: StoreFile = None,
    output: MaybePictureFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the progress of a sweep, the best settings so far, and the time left.

    The time is for one device. With --output the trials are also drawn.

    \b
    residuum sweep status examples/sweeps/tiny.toml
    residuum sweep status sweep.toml -o scores.png
    """
    if output:
        check_picture(output)
    from residuum.sweeps import read_sweep
    from residuum.sweeps.progress import sweep_progress

    wanted = read_sweep(file)
    found = sweep_progress(wanted, Path(store or default_store()), partial(say, err=True))
    if output:
        from residuum.reports.sweep_figures import draw_sweep

        save_picture(draw_sweep(found, wanted.measure), output)
    if as_json:
        print_json([{**asdict(one), "best_value": one.best_value} for one in found])
        return
    for one in found:
        say(f"{in_words(one.configuration)}:")
        over = f"{len(one.values) + one.given_up} of {one.trials} trials"
        say(f"  {over}, {one.final_runs} of {len(wanted.final_seeds)} final runs")
        if one.best_value is not None:
            best = f"{wanted.measure} on DEV {one.best_value:.2f}%"
            say(f"  best so far: {in_words(one.best)}: {best}")
    lefts = [one.seconds_left for one in found]
    say(f"time left, on one device: {_duration(_total(lefts))}")


def _total(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "not known yet"
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def in_words(settings: Mapping[str, object]) -> str:
    """Return settings as words, such as `relaxation r-product, weight 0.1`."""
    return ", ".join(f"{name} {_short(value)}" for name, value in settings.items()) or "all"


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
