"""`residuum study digits`: learn digits from labels, and sums and products from rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, cast

import typer

from residuum.cli.inputs import AsJson
from residuum.cli.study.options import (
    AsMarkdown,
    AsTable,
    Device,
    Epochs,
    Names,
    Seeds,
    StoreFile,
    check_markdown,
    names_in,
    seeds_in,
)
from residuum.cli.study.training import as_object, asked_records, train
from residuum.cli.study.watching import Part, Words
from residuum.errors import ResiduumError
from residuum.relaxations import relaxation as find_relaxation
from residuum.results import Record
from residuum.study.common_settings import check_choice, check_clip
from residuum.study.digits.data.images import ImagesName
from residuum.study.digits.data.sets import DIGIT_SIZES, PAIR_SIZES, PairPool
from residuum.study.digits.settings import STUDY, TUNING, Protocol, Settings, WarmUps
from residuum.training.devices import DeviceName, find_device

QUICK: Final[dict[str, Any]] = {"digit_sizes": (200,), "pair_sizes": (4_000,), "seeds": (0,)}
"""What --quick runs, unless other values are given."""

_IMAGES_PER_EXAMPLE: Final = {"joint": 7, "Digit": 1, "Sum": 2, "Product": 2}
"""Images that the networks see for one example of a stage; a pair counts as two."""


@dataclass(frozen=True)
class Wanted:
    """The options that select runs; an option that was not given is None or empty."""

    images: ImagesName | None
    protocols: Sequence[Protocol]
    relaxations: Sequence[str]
    digit_sizes: Sequence[int]
    pair_sizes: Sequence[int]
    seeds: Sequence[int]
    pair_pool: PairPool | None
    warm_ups: WarmUps
    epochs: int | None
    clip: float | None = None

    @property
    def others(self) -> dict[str, Any]:
        """The given settings that override the chosen ones."""
        return {} if self.clip is None else {"clip": self.clip}


def digits(
    quick: Annotated[
        bool,
        typer.Option("--quick", help="One seed of each on small images, in two minutes."),
    ] = False,
    images: Annotated[
        ImagesName | None,
        typer.Option(
            help="The small images that come with scikit-learn (by default), or MNIST.",
        ),
    ] = None,
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[joint|pipeline]",
            help="Joint learning (by default) or a pipeline, or both.",
        ),
    ] = None,
    relaxation: Names = None,
    digit_size: Annotated[
        list[int] | None,
        typer.Option(
            min=1, help="Labelled images (DIGIT), one size or several. By default three sizes."
        ),
    ] = None,
    pair_size: Annotated[
        list[int] | None,
        typer.Option(
            min=1, help="Unlabelled pairs (PAIR), one size or several. By default the middle size."
        ),
    ] = None,
    seeds: Seeds = None,
    pair_pool: Annotated[
        PairPool | None,
        typer.Option(
            help="Which images pairs are made of: as the paper says (by default), or as the "
            "authors' code did.",
        ),
    ] = None,
    warm_ups: Annotated[
        WarmUps,
        typer.Option(
            help="Which relaxations begin with a warm-up: as the paper says, or as the authors' "
            "code could, Łukasiewicz in pipelines, too.",
        ),
    ] = "paper",
    epochs: Epochs = None,
    clip: Annotated[
        float | None,
        typer.Option(
            metavar="NORM", help="Scale the gradient of each run down to at most this norm."
        ),
    ] = None,
    device: Device = "auto",
    store: StoreFile = None,
    table: AsTable = False,
    markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Learn digits from labels, and sums and products of digits from rules alone.

    Runs that are in the store are not run again. Ctrl-C stops after the epoch under way, and the
    same command goes on from there.

    \b
    residuum study digits --quick
    residuum study digits --images mnist --protocol joint pipeline
    residuum study digits -r r-product --pair-size 4000 --seeds 0,1,2 --json
    residuum study digits --table
    """
    wanted = Wanted(
        images,
        _protocols(protocol or ()),
        names_in(relaxation, find_relaxation),
        digit_size or (),
        pair_size or (),
        seeds_in(seeds),
        pair_pool,
        warm_ups,
        epochs,
        clip,
    )
    check_clip(clip)
    check_markdown(markdown=markdown, table=table)
    if table:
        from residuum.cli.study.digits_reports import print_tables

        asked = asked_records(store, (STUDY, TUNING), lambda record: _is_wanted(record, wanted))
        print_tables(asked, epochs, warm_ups, wanted.others, as_json=as_json, markdown=markdown)
        return
    if quick:
        wanted = _quick(wanted)
    _train(wanted, device, store, as_json)


def _protocols(given: Sequence[str]) -> list[Protocol]:
    for name in given:
        check_choice("--protocol", name, Protocol)
    return list(cast(Sequence[Protocol], given))


def _quick(wanted: Wanted) -> Wanted:
    if wanted.images == "mnist":
        raise ResiduumError("--quick is for the embedded images; leave it out for MNIST")
    return replace(
        wanted, **{name: getattr(wanted, name) or usual for name, usual in QUICK.items()}
    )


def _train(wanted: Wanted, device: DeviceName, path: Path | None, as_json: bool) -> None:
    """Train the runs that are missing, and print the measures of all."""
    chosen = find_device(device)
    from residuum.study.digits.experiment import Digits

    experiment = Digits(chosen)
    runs = _plan(wanted, "bfloat16" if chosen.type == "cuda" else "float32")
    for run in runs:  # raises for impossible sizes before any training starts
        experiment.sets_of(run)
    records = train(experiment, runs, path, WORDS, as_object if as_json else None)
    if not as_json:
        from residuum.cli.study.digits_reports import print_summary

        print_summary(records, runs[0].images, experiment.sets_of(runs[0]))


def _plan(wanted: Wanted, precision: str) -> list[Settings]:
    from residuum.study.common_settings import SEEDS
    from residuum.study.digits.settings import plan

    images: ImagesName = wanted.images or "embedded"
    return plan(
        images,
        wanted.protocols or ("joint",),
        wanted.relaxations,
        wanted.digit_sizes or DIGIT_SIZES[images],
        wanted.pair_sizes or PAIR_SIZES[images][1:2],
        wanted.seeds or SEEDS,
        epochs=wanted.epochs,
        precision=precision,
        pair_pool=wanted.pair_pool or "paper",
        warm_ups=wanted.warm_ups,
        **wanted.others,
    )


def _is_wanted(record: Record, wanted: Wanted) -> bool:
    known = record.configuration
    asked = {
        "images": [wanted.images] if wanted.images else (),
        "protocol": wanted.protocols,
        "relaxation": wanted.relaxations,
        "digit_size": wanted.digit_sizes,
        "pair_size": wanted.pair_sizes,
        "seed": wanted.seeds,
        "pair_pool": [wanted.pair_pool] if wanted.pair_pool else (),
    }
    return all(not values or known.get(name) in values for name, values in asked.items())


def _common(run: Settings) -> str:
    return f"{run.protocol}, {run.images}, PAIR {run.pair_size:,}, {run.optimiser}"


def _done(record: Record) -> str:
    known, measures = record.configuration, record.measures
    run = (
        f"{known['relaxation']}, {known['protocol']}, DIGIT {known['digit_size']:,}, "
        f"PAIR {known['pair_size']:,}, seed {known['seed']}"
    )
    if record.diverged:
        return f"{run}: {record.diverged}"
    return (
        f"{run}: Digit {measures['digit_accuracy']:.1f}%, operators "
        f"{measures['operator_accuracy']:.1f}%, coherence {measures['coherence']:.1f}%"
    )


def _parts(run: Settings) -> list[Part]:
    """Return the stages of a run; the work of an epoch is the number of images it sees."""
    lengths = {"joint": run.epochs}
    if run.protocol == "pipeline":
        lengths = {"Digit": run.digit_epochs, "Sum": run.epochs, "Product": run.epochs}
    return [
        Part(
            stage,
            epochs,
            _IMAGES_PER_EXAMPLE[stage] * (run.digit_size if stage == "Digit" else run.pair_size),
        )
        for stage, epochs in lengths.items()
    ]


WORDS: Final = Words[Settings](
    stack=_common, row=lambda run: run.relaxation, done=_done, parts=_parts
)
