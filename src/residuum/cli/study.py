"""`residuum study digits`: the experiments of the paper, run and tabulated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, cast

import typer

from residuum.cli.inputs import AsJson
from residuum.cli.outputs import print_json
from residuum.errors import ResiduumError
from residuum.relaxations import relaxation as find_relaxation
from residuum.results import Record, Store, default_store, merge, read_archive
from residuum.study.choices import check_choice
from residuum.study.digits.images import ImagesName
from residuum.study.digits.sets import DIGIT_SIZES, PAIR_SIZES, PairPool
from residuum.study.digits.settings import Protocol, Settings
from residuum.training.devices import DeviceName, find_device

study = typer.Typer(name="study", help="Run the experiments of the paper.", no_args_is_help=True)

ARCHIVES: Final = Path("results")
"""Where records that belong to a repository lie, below the current folder."""

QUICK: Final[dict[str, Any]] = {"digit_sizes": (200,), "pair_sizes": (4_000,), "seeds": (0,)}


@dataclass(frozen=True)
class Wanted:
    """What was asked for; what is None or empty was not said."""

    images: ImagesName | None
    protocols: Sequence[Protocol]
    relaxations: Sequence[str]
    digit_sizes: Sequence[int]
    pair_sizes: Sequence[int]
    seeds: Sequence[int]
    pair_pool: PairPool | None
    epochs: int | None


@study.command()
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
            help="Joint learning (by default) or a pipeline; repeat it for both.",
        ),
    ] = None,
    relaxation: Annotated[
        list[str] | None,
        typer.Option(
            "--relaxation",
            "-r",
            metavar="NAME",
            help="A relaxation; repeat it, or separate names by commas. Without it: the paper's.",
        ),
    ] = None,
    digit_size: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Labelled images (DIGIT); repeat it. By default three sizes."),
    ] = None,
    pair_size: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Unlabelled pairs (PAIR); repeat it. By default the middle size."),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Such as 0,20,50, the default.")
    ] = None,
    pair_pool: Annotated[
        PairPool | None,
        typer.Option(
            help="Which images pairs are made of: as the paper says (by default), or as the "
            "authors' code did.",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Instead of those chosen for each relaxation and size."),
    ] = None,
    device: Annotated[
        DeviceName,
        typer.Option(help="By default CUDA where there is any."),
    ] = "auto",
    store: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where runs are kept; see RESIDUUM_STORE."),
    ] = None,
    table: Annotated[
        bool,
        typer.Option(
            "--table",
            help="Train nothing: print the paper's tables and claims from the records in the "
            "store and in results/*.jsonl.",
        ),
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="With --table: as Markdown.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Learn digits from labels, and sums and products of digits from rules alone.

    Runs that are in the store are not run again. Ctrl-C stops after the epoch under way, and the
    same command goes on from there.

    \b
    residuum study digits --quick
    residuum study digits --images mnist --protocol joint --protocol pipeline
    residuum study digits -r r-product --pair-size 4000 --seeds 0,1,2 --json
    residuum study digits --table
    """
    wanted = Wanted(
        images,
        _protocols(protocol or ()),
        _names(relaxation),
        digit_size or (),
        pair_size or (),
        _numbers(seeds),
        pair_pool,
        epochs,
    )
    if markdown and not table:
        raise ResiduumError("--markdown is a form of --table: give both")
    if table:
        from residuum.cli.study_reports import print_tables

        asked = [record for record in _records(store) if _is_wanted(record, wanted)]
        if not asked:
            raise ResiduumError(
                f"no records of this in the store nor in {ARCHIVES}/*.jsonl; train some first, "
                "with the same command without --table"
            )
        print_tables(asked, epochs, as_json=as_json, markdown=markdown)
        return
    if quick:
        wanted = _quick(wanted)
    _train(wanted, device, Path(store or default_store()), as_json)


def _names(given: list[str] | None) -> list[str]:
    names = [part for name in given or () for part in name.split(",")]
    return [find_relaxation(name).name for name in names]


def _protocols(given: Sequence[str]) -> list[Protocol]:
    for name in given:
        check_choice("--protocol", name, Protocol)
    return list(cast(Sequence[Protocol], given))


def _numbers(text: str | None) -> list[int]:
    try:
        numbers = [] if text is None else [int(word) for word in text.split(",")]
    except ValueError:
        numbers = [-1]
    if any(number < 0 for number in numbers):
        raise ResiduumError(f"--seeds: expected whole numbers such as 0,20,50, got {text!r}")
    return numbers


def _quick(wanted: Wanted) -> Wanted:
    if wanted.images == "mnist":
        raise ResiduumError("--quick is for the embedded images; leave it out for MNIST")
    return replace(
        wanted, **{name: getattr(wanted, name) or usual for name, usual in QUICK.items()}
    )


def _train(wanted: Wanted, device: DeviceName, path: Path, as_json: bool) -> None:
    """Run what is missing, and print what came out."""
    from residuum.cli.study_reports import as_object, print_summary
    from residuum.cli.watching import watching

    chosen = find_device(device)
    from residuum.study.digits.running import id_of, run_all, sets_of

    runs = _plan(wanted, "bfloat16" if chosen.type == "cuda" else "float32")
    for run in runs:  # what is impossible is refused before anything is trained
        sets_of(run.images, run.digit_size, run.pair_size, run.pair_pool)
    with Store(path) as store:
        missing = [run for run in runs if id_of(run) not in store]
        typer.echo(
            f"{len(runs)} runs, {len(runs) - len(missing)} of them found in {path}", err=True
        )
        try:
            with watching(missing) as watch:
                run_all(missing, store, device=chosen, watch=watch)
        except KeyboardInterrupt:
            done = [run for run in runs if id_of(run) in store]
            if as_json:
                print_json([as_object(store.get(id_of(run))) for run in done])
            typer.echo(
                f"residuum: interrupted with {len(done)} of {len(runs)} runs done; the same "
                "command goes on from here",
                err=True,
            )
            raise
        records = [store.get(id_of(run)) for run in runs]
    if as_json:
        print_json([as_object(record) for record in records])
    else:
        print_summary(records, runs[0])


def _plan(wanted: Wanted, precision: str) -> list[Settings]:
    from residuum.study.digits.planning import SEEDS, plan

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
    return all(not values or known[name] in values for name, values in asked.items())


def _records(path: Path | None) -> list[Record]:
    """Return the runs of this study in the store and in the archives below this folder."""
    from residuum.study.digits.settings import STUDY, TUNING

    sources: list[Iterable[Record]] = []
    if path is not None and not path.exists():
        raise ResiduumError(f"--store: there is no file {path}")
    path = path or default_store()
    if path.exists():
        with Store(path) as store:
            sources.append([record for name in (STUDY, TUNING) for record in store.records(name)])
    sources += [read_archive(archive) for archive in sorted(ARCHIVES.glob("*.jsonl"))]
    return [record for record in merge(*sources) if record.study in (STUDY, TUNING)]
