"""Progress of a training on stderr: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from statistics import fmean
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from residuum.cli.interrupts import holding_interrupts
from residuum.printable import printable, printable_lines

if TYPE_CHECKING:
    from residuum.results import Record
    from residuum.study.running import Run, Stage
    from residuum.training.loop import Curves

STOPPING: Final = "finishing the epoch under way; press Ctrl-C again to stop at once"

R = TypeVar("R", bound="Run")


class Part(NamedTuple):
    """A stage of a run: its epochs, and the work of each epoch in any unit."""

    stage: str
    epochs: int
    work: float


@dataclass(frozen=True)
class Words(Generic[R]):
    """How a study describes its runs.

    `stack` describes what the runs of a stack have in common. Runs with the same `row` are shown
    as one row. `done` describes a finished run. `parts` returns the stages of a run.
    """

    stack: Callable[[R], str]
    row: Callable[[R], str]
    done: Callable[[Record], str]
    parts: Callable[[R], Sequence[Part]]


class Row(NamedTuple):
    """The means of the latest losses, and of the measures on DEV, over the runs of a row."""

    name: str
    losses: Mapping[str, float]
    measures: Mapping[str, float]


@contextmanager
def watching(runs: Sequence[R], words: Words[R]) -> Iterator[Watching[R]]:
    """Show the progress of a training while the context is open.

    An interrupt stops the training after the current epoch, and a second interrupt at once.
    """
    screen = _Screen() if sys.stderr.isatty() else _Lines()
    with holding_interrupts(lambda: screen.note(STOPPING)) as is_stopping, screen.shown():
        yield Watching(runs, words, screen, is_stopping)


class Watching(Generic[R]):
    """A watcher that shows progress, and raises KeyboardInterrupt after an interrupt."""

    def __init__(
        self,
        runs: Sequence[R],
        words: Words[R],
        screen: _Screen | _Lines,
        is_stopping: Callable[[], bool],
    ) -> None:
        self._runs = runs
        self._words = words
        self._screen = screen
        self._is_stopping = is_stopping
        self._over = 0
        self._clock = _Clock(self._work(runs))
        self._work_before = 0.0
        self._stack: Sequence[R] = ()

    def stack_starts(self, runs: Sequence[R]) -> None:
        """Show which runs are now trained together."""
        self._stop_if_asked()
        self._work_before += self._work(self._stack)
        self._stack = runs
        self._screen.note(f"{_count(len(runs), 'run')} together: {self._words.stack(runs[0])}")

    def epoch_is_over(self, stage: Stage[R], epoch: int, curves: Sequence[Curves]) -> None:
        """Show the state after an epoch."""
        parts = [part for run in self._stack for part in self._words.parts(run)]
        each = sum(part.work for part in parts if part.stage == stage.name)
        done = self._work_before + self._work(self._stack, stage.name) + epoch * each
        heading = (
            f"{stage.name}: epoch {epoch} of {stage.epochs}, {self._over} of "
            f"{_count(len(self._runs), 'run')} done, "
            f"{_duration(self._clock.time_left(done, each))} left"
        )
        for run, mine in zip(stage.runs, curves, strict=True):
            if mine.diverged and mine.diverged.epoch == epoch:
                name = f"{self._words.row(run)}, seed {run.seed}"
                self._screen.note(f"{stage.name}: {name} {mine.diverged}")
        is_judged = any(epoch in mine.judged for mine in curves)
        rows = list(_rows([self._words.row(run) for run in stage.runs], curves))
        self._screen.show(heading, rows, is_judged)
        self._stop_if_asked()

    def run_is_over(self, record: Record) -> None:
        """Show that a run is done."""
        self._over += 1
        self._screen.note(f"done: {self._words.done(record)}")

    def note(self, message: str) -> None:
        """Show a message."""
        self._screen.note(message)

    def _work(self, runs: Sequence[R], before: str | None = None) -> float:
        """Return the work of runs, or only of their stages before the stage `before`."""
        return sum(
            part.epochs * part.work
            for run in runs
            for part in takewhile(lambda part: part.stage != before, self._words.parts(run))
        )

    def _stop_if_asked(self) -> None:
        if self._is_stopping():
            raise KeyboardInterrupt


class _Clock:
    """Estimates the time left from the work done so far."""

    def __init__(self, work: float) -> None:
        self._work = work
        self._started = time.monotonic()
        self._done = self._done_here = 0.0

    def time_left(self, done: float, least: float) -> float:
        """Return the seconds left.

        Progress beyond `least` since the last call was made before this process, so it does not
        count for the speed.
        """
        self._done_here += min(done - self._done, least)
        self._done = done
        elapsed = time.monotonic() - self._started
        return (self._work - done) * elapsed / self._done_here


class _Lines:
    """Plain lines of text, where stderr is no terminal."""

    @contextmanager
    def shown(self) -> Iterator[None]:
        yield

    def note(self, text: str) -> None:
        # A signal handler may call this while a line is written, so no buffered stream is used.
        line = f"{printable_lines(text)}\n".encode()
        os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, line)

    def show(self, heading: str, rows: Sequence[Row], is_judged: bool) -> None:
        if is_judged:
            self.note("\n".join([heading, *(f"  {_line(row)}" for row in rows)]))


class _Screen:
    """A live table at the bottom of a terminal."""

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
        self._console.print(printable_lines(text), markup=False, highlight=False)

    def show(self, heading: str, rows: Sequence[Row], _is_judged: bool) -> None:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(printable(heading)), title_justify="left", box=SIMPLE_HEAD)
        table.add_column("", no_wrap=True)
        losses = dict.fromkeys(name for row in rows for name in row.losses)
        measures = dict.fromkeys(name for row in rows for name in row.measures)
        for kind, names in (("loss", losses), ("DEV", measures)):
            for name in names:
                short = name.removesuffix("_coherence").removesuffix("_accuracy")
                table.add_column(Text(printable(f"{kind}: {short}")), justify="right")
        for row in rows:
            costs = (f"{row.losses[name]:.3g}" if name in row.losses else "" for name in losses)
            shares = (
                f"{row.measures[name]:.1f}%" if name in row.measures else "" for name in measures
            )
            table.add_row(Text(printable(row.name)), *costs, *shares)
        self._live.update(table)


def _rows(names: Sequence[str], curves: Sequence[Curves]) -> Iterator[Row]:
    """Yield a row for the runs with each name; runs that diverged are only counted."""
    rows: dict[str, list[Curves]] = {}
    for name, mine in zip(names, curves, strict=True):
        rows.setdefault(name, []).append(mine)
    for row, all_members in rows.items():
        # A run that diverged in an earlier stage has no losses.
        members = [one for one in all_members if one.losses and one.diverged is None]
        lost = len(all_members) - len(members)
        name = f"{row} ({lost} of {len(all_members)} diverged)" if lost else row
        losses = _means([one.losses for one in members])
        if not math.isnan(losses.get("total", math.nan)):  # a part with weight 0 is NaN
            losses = {part: loss for part, loss in losses.items() if not math.isnan(loss)}
        losses.pop("total", None)
        measures = _means([one.measures for one in members])
        measures.pop("score", None)
        yield Row(name, losses, measures)


def _means(curves: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, float]:
    """Return the mean of the last value of each curve, over the runs that have it."""
    last: dict[str, list[float]] = {}
    for one in curves:
        for name, values in one.items():
            last.setdefault(name, []).append(values[-1])
    return {name: fmean(values) for name, values in last.items()}


def _line(row: Row) -> str:
    if not row.losses:
        return row.name
    losses = ", ".join(f"{name} {value:.3g}" for name, value in row.losses.items())
    measures = ", ".join(f"{name} {value:.1f}%" for name, value in row.measures.items())
    return f"{row.name}: loss of {losses}; on DEV {measures}".replace("_", " ")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(math.ceil(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' if number != 1 else ''}"
