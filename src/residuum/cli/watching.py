"""What is seen of a training: a display on a terminal, plain lines elsewhere; always on stderr."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from residuum.cli.interrupts import holding_interrupts

if TYPE_CHECKING:
    from residuum.results import Record
    from residuum.study.digits.running import Stage
    from residuum.study.digits.settings import Settings
    from residuum.training.tasks import Curves

STOPPING: Final = "finishing the epoch under way; press Ctrl-C again to stop at once"

# Images that networks see for one example of a stage, a pair counting twice.
_IMAGES_PER_EXAMPLE: Final = {"joint": 7, "Digit": 1, "Sum": 2, "Product": 2}


class Row(NamedTuple):
    """Where the runs of one relaxation stand: means of their losses and measures on DEV."""

    relaxation: str
    losses: Mapping[str, float]
    measures: Mapping[str, float]


@contextmanager
def watching(runs: Sequence[Settings]) -> Iterator[Watching]:
    """Show how the training of runs is going, while it is.

    An interrupt then stops it after the epoch under way, and a second one at once.
    """
    screen = _Screen() if sys.stderr.isatty() else _Lines()
    with holding_interrupts(lambda: screen.note(STOPPING)) as is_stopping, screen.shown():
        yield Watching(runs, screen, is_stopping)


class Watching:
    """Told what is going on, tells it on, and raises KeyboardInterrupt where it may stop."""

    def __init__(
        self,
        runs: Sequence[Settings],
        screen: _Screen | _Lines,
        is_stopping: Callable[[], bool],
    ) -> None:
        self._runs = runs
        self._screen = screen
        self._is_stopping = is_stopping
        self._over = 0
        self._clock = _Clock(sum(map(_work, runs)))
        self._work_before = 0.0
        self._stack: Sequence[Settings] = ()

    def stack_starts(self, runs: Sequence[Settings]) -> None:
        """Take note of runs that are now trained together."""
        self._stop_if_asked()
        self._work_before += sum(map(_work, self._stack))
        self._stack = runs
        first = runs[0]
        self._screen.note(
            f"{_count(len(runs), 'run')} together: {first.protocol}, {first.images}, "
            f"PAIR {first.pair_size:,}, {first.optimiser}"
        )

    def epoch_is_over(self, stage: Stage, epoch: int, curves: Curves) -> None:
        """Take note of an epoch."""
        each = sum(_work_per_epoch(run, stage.name) for run in self._stack)
        earlier = sum(_work_before(run, stage.name) for run in self._stack)
        left = self._clock.time_left(self._work_before + earlier + epoch * each, each)
        heading = (
            f"{stage.name}: epoch {epoch} of {stage.epochs}, "
            f"{self._over} of {_count(len(self._runs), 'run')} done, {_duration(left)} left"
        )
        is_judged = bool(curves.judged) and curves.judged[-1] == epoch
        self._screen.show(heading, list(_rows(stage, curves)), is_judged)
        self._stop_if_asked()

    def run_is_over(self, record: Record) -> None:
        """Take note of a run."""
        self._over += 1
        known, measures = record.configuration, record.measures
        self._screen.note(
            f"done: {known['relaxation']}, {known['protocol']}, DIGIT {known['digit_size']:,}, "
            f"PAIR {known['pair_size']:,}, seed {known['seed']}: "
            f"Digit {measures['digit_accuracy']:.1f}%, operators "
            f"{measures['operator_accuracy']:.1f}%, coherence {measures['coherence']:.1f}%"
        )

    def _stop_if_asked(self) -> None:
        if self._is_stopping():
            raise KeyboardInterrupt


class _Clock:
    """Tells how long the rest will take, by what was done so far."""

    def __init__(self, work: float) -> None:
        self._work = work
        self._started = time.monotonic()
        self._done = self._done_here = 0.0

    def time_left(self, done: float, least: float) -> float:
        """Return seconds; what was done beyond `least` since the last call was done before."""
        self._done_here += min(done - self._done, least)
        self._done = done
        elapsed = time.monotonic() - self._started
        return (self._work - done) * elapsed / self._done_here


class _Lines:
    """Lines of text, where there is no terminal."""

    @contextmanager
    def shown(self) -> Iterator[None]:
        yield

    def note(self, text: str) -> None:
        # A handler of signals may come here while a line is being written.
        os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"{text}\n".encode())

    def show(self, heading: str, rows: Sequence[Row], is_judged: bool) -> None:
        if is_judged:
            self.note("\n".join([heading, *(f"  {_line(row)}" for row in rows)]))


class _Screen:
    """A picture of the present state at the bottom of a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True)
        self._live = Live(
            console=self._console, transient=True, redirect_stdout=False, redirect_stderr=False
        )

    @contextmanager
    def shown(self) -> Iterator[None]:
        with self._live:
            yield

    def note(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False)

    def show(self, heading: str, rows: Sequence[Row], _is_judged: bool) -> None:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        table = Table(title=heading, title_justify="left", box=SIMPLE_HEAD)
        table.add_column("", no_wrap=True)
        for kind, names in (("loss", rows[0].losses), ("DEV", rows[0].measures)):
            for name in names:
                short = name.removesuffix("_coherence").removesuffix("_accuracy")
                table.add_column(f"{kind}: {short}", justify="right")
        for row in rows:
            losses = (f"{value:.3g}" for value in row.losses.values())
            measures = (f"{value:.1f}%" for value in row.measures.values())
            table.add_row(row.relaxation, *losses, *measures)
        self._live.update(table)


def _rows(stage: Stage, curves: Curves) -> Iterator[Row]:
    places: dict[str, list[int]] = {}
    for place, run in enumerate(stage.runs):
        places.setdefault(run.relaxation, []).append(place)

    def means(tables: Mapping[str, Sequence[Sequence[float]]], mine: list[int]) -> dict[str, Any]:
        return {
            name: sum(table[-1][place] for place in mine) / len(mine)
            for name, table in tables.items()
            if name not in ("total", "score")
        }

    for relaxation, mine in places.items():
        yield Row(relaxation, means(curves.losses, mine), means(curves.measures, mine))


def _line(row: Row) -> str:
    losses = ", ".join(f"{name} {value:.3g}" for name, value in row.losses.items())
    measures = ", ".join(f"{name} {value:.1f}%" for name, value in row.measures.items())
    return f"{row.relaxation}: loss of {losses}; on DEV {measures}".replace("_", " ")


def _work(run: Settings) -> float:
    last = "joint" if run.protocol == "joint" else "Product"
    return _work_before(run, last) + run.epochs * _work_per_epoch(run, last)


def _work_before(run: Settings, stage: str) -> float:
    """Return how many images are seen in the stages before one."""
    if stage in ("joint", "Digit"):
        return 0.0
    digit = run.digit_epochs * _work_per_epoch(run, "Digit")
    return digit + (run.epochs * _work_per_epoch(run, "Sum") if stage == "Product" else 0.0)


def _work_per_epoch(run: Settings, stage: str) -> float:
    size = run.digit_size if stage == "Digit" else run.pair_size
    return size * _IMAGES_PER_EXAMPLE[stage]


def _duration(seconds: float) -> str:
    minutes, rest = divmod(math.ceil(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' if number != 1 else ''}"
