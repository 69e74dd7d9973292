"""`residuum sweep status`: how far a sweep has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from residuum.cli.inputs import AsJson, MaybePicture
from residuum.cli.outputs import print_json, say
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
    found = sweep_progress(sweep, Path(store or default_store()), partial(say, err=True))
    if output:
        from residuum.reports.sweep_figures import draw_sweep

        save_picture(draw_sweep(found, sweep.measure), output)
    if as_json:
        print_json([{**asdict(one), "best_value": one.best_value} for one in found])
        return
    for one in found:
        say(f"{in_words(one.configuration)}:")
        over = f"{len(one.values) + one.given_up} of {one.trials} trials"
        say(f"  {over}, {one.final_runs} of {len(sweep.final_seeds)} final runs")
        if one.best_value is not None:
            best = f"{sweep.measure} on DEV {one.best_value:.2f}%"
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
