"""`residuum sweep status`: how far a sweep has come."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from residuum.cli.inputs import AsJson, MaybePicture
from residuum.cli.outputs import print_json, print_table
from residuum.cli.study.options import StoreFile
from residuum.cli.sweep.options import SweepFile, in_words
from residuum.reports import check_picture, save_picture
from residuum.results import default_store


def status(
    file: SweepFile, store: StoreFile = None, output: MaybePicture = None, as_json: AsJson = False
) -> None:
    """Say how far a sweep has come, what is best so far, and how long the rest takes.

    Times are those of one device. With --output the trials are also drawn.

    \b
    residuum sweep status examples/sweeps/tiny.toml
    residuum sweep status sweep.toml -o scores.png
    """
    if output:
        check_picture(output)
    from residuum.sweeps import read_sweep
    from residuum.sweeps.progress import sweep_progress

    sweep = read_sweep(file)
    found = sweep_progress(sweep, Path(store or default_store()))
    if output:
        from residuum.reports.sweep_figures import draw_sweep

        save_picture(draw_sweep(found, sweep.measure), output)
    if as_json:
        print_json([{**asdict(one), "best_value": one.best_value} for one in found])
        return
    heads = ("configuration", "trials", "best on DEV", "its settings", "final runs", "time left")
    print_table(
        heads,
        (
            [
                in_words(one.configuration),
                f"{len(one.values) + one.given_up} of {one.trials}",
                "–" if one.best_value is None else f"{one.best_value:.2f}%",
                in_words(one.best) if one.best else "–",
                f"{one.final_runs} of {len(sweep.final_seeds)}",
                _duration(one.seconds_left),
            ]
            for one in found
        ),
    )
    lefts = [one.seconds_left for one in found if one.seconds_left is not None]
    if len(found) > 1 and len(lefts) == len(found):
        typer.echo(f"together: {_duration(sum(lefts))}")


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "not known yet"
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
