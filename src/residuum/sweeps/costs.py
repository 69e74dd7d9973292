"""What the paper's grid costs: arithmetic from one measured number, run-epochs per second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PAIRS: Final = 5_000
BATCH: Final = 64
"""A run-epoch is one pass of one run over so many pairs, in batches of this size."""

H200: Final = 64.0
"""Run-epochs per second of one GPU, judging and measuring included: 42 joint runs with 5,000 pairs
that were trained together, as their records in `results/` say."""

MACHINES: Final = {"1 GPU": 1, "8 GPUs": 8, "8 × 8 GPUs": 64}

_PAIR_SIZES: Final = (1_000, 5_000, 25_000)
_BATCHES: Final = (8, 16, 32, 64)
_CONFIGURATIONS: Final = 4 * 3
"""Relaxations and sizes of DIGIT, for each size of PAIR."""


@dataclass(frozen=True)
class Work:
    """So many runs of so many epochs with each size of PAIR and each batch size."""

    name: str
    runs: int
    epochs: int
    pair_sizes: Sequence[int] = _PAIR_SIZES
    batches: Sequence[int] = _BATCHES

    @property
    def all_runs(self) -> int:
        """How many runs that is."""
        return self.runs * len(self.pair_sizes) * len(self.batches)

    @property
    def run_epochs(self) -> float:
        """How many passes over 5,000 pairs that is."""
        return self.runs * len(self.batches) * self.epochs * sum(self.pair_sizes) / PAIRS

    @property
    def slowdown(self) -> float:
        """How much longer it takes than in batches of 64, if time goes by steps, not by images."""
        return sum(BATCH / batch for batch in self.batches) / len(self.batches)


PAPER: Final = (
    Work("432 settings each, 300 epochs", 108 * _CONFIGURATIONS, 300),
    Work("with three restart periods each", 3 * 108 * _CONFIGURATIONS, 300),
    Work("the same for 1,600 epochs", 3 * 108 * _CONFIGURATIONS, 1_600),
    Work("winners, 3 seeds, 1,600 epochs", 3 * _CONFIGURATIONS, 1_600, batches=(BATCH,)),
)
"""Joint learning: 9 learning rates, 6 weights and 2 optimisers (108) with each batch size."""


def seconds(work: Work, gpus: int, rate: float = H200) -> float:
    """Return how long it takes at least: trials are independent, so GPUs share them evenly.

    >>> seconds(Work("", 10, 7, [5_000], [64]), gpus=2, rate=35.0)
    1.0
    """
    return work.run_epochs / (gpus * rate)


def cost_table(works: Sequence[Work] = PAPER) -> str:
    """Return the least and the most time that work takes on each machine, in Markdown."""
    lines = [
        _row(["", "runs", "run-epochs", *MACHINES]),
        _row(["---", *["--:"] * (2 + len(MACHINES))]),
    ]
    for work in works:
        least = [seconds(work, gpus) for gpus in MACHINES.values()]
        times = [_span(one, one * work.slowdown) for one in least]
        lines.append(_row([work.name, f"{work.all_runs:,}", f"{work.run_epochs:,.0f}", *times]))
    return "\n".join(lines)


def _span(least: float, most: float) -> str:
    return _time(least) if least == most else f"{_time(least)} to {_time(most)}"


def _time(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 60:.0f} min"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
