"""Runs that diverged or broke: the values that they count with, and how many there are in a cell.

A run that diverged was stopped and not measured. In means over seeds it counts at chance level.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Final, NamedTuple

from residuum.results import Record

_DIGITS: Final = (
    "digit_accuracy", "digit_accuracy_in_pairs", "operator_accuracy", "sum_accuracy",
    "product_accuracy", "coherence", "sum_coherence", "product_coherence", "commutativity",
    "associativity", "distributivity",
)  # fmt: skip

CHANCE: Final[Mapping[str, float]] = {
    # An answer drawn from ten agrees with any other answer once in ten times.
    **dict.fromkeys(_DIGITS, 10.0),
    # Who finds no chunk has an F1 of 0.
    "f1": 0.0,
    "viterbi_f1": 0.0,
    # If tags are drawn at random, 220 of the 23² transitions break the rules of the paper.
    "violations": 100 * 220 / 23**2,
    "soft_violations": 100 * 220 / 23**2,
    "viterbi_violations": 0.0,
}
"""The measures of a network that guesses, in percent: what a diverged run counts with."""

MARGIN: Final = 8.0
"""Points. A run that ends further below the median of its cell is broken."""

LEAST_RUNS: Final = 5
"""The fewest runs with a median to be compared with. In smaller cells only diverged runs count as
broken: of three runs with a wide spread, no one can say which is the broken one."""


class Broken(NamedTuple):
    """The number of broken runs in a cell, and of all its runs."""

    broken: int
    runs: int

    def __str__(self) -> str:
        return f"{self.broken} of {self.runs} broken"


def value_of(record: Record, measure: str) -> float:
    """Return a measure of a run; chance level if the run diverged."""
    return record.measures[measure] if record.diverged is None else CHANCE[measure]


def without_diverged(records: Iterable[Record]) -> list[Record]:
    """Return the runs that were trained to their end."""
    return [record for record in records if record.diverged is None]


def count_broken(runs: Iterable[Record], measure: str) -> Broken:
    """Count the runs of a cell that diverged, or end far below the median of a measure."""
    cell = list(runs)
    values = [value_of(run, measure) for run in cell]
    least = median(values) - MARGIN if len(cell) >= LEAST_RUNS else float("-inf")
    are_broken = [
        run.diverged is not None or value < least for run, value in zip(cell, values, strict=True)
    ]
    return Broken(sum(are_broken), len(cell))
