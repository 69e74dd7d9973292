"""The cost of the paper's grid, computed from one measured number: run-epochs per second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PAIRS: Final = 5_000
BATCH: Final = 64
"""A run-epoch is one pass of one run over PAIRS pairs in batches of BATCH."""

H200: Final = 64.0
"""Run-epochs per second of one H200, evaluation included: the records in `results/` of 42 joint
runs with 5,000 pairs, which trained together, give this number."""

MACHINES: Final = {"1 GPU": 1, "8 GPUs": 8, "8 × 8 GPUs": 64}

_PAIR_SIZES: Final = (1_000, 5_000, 25_000)
_BATCHES: Final = (8, 16, 32, 64)
_CONFIGURATIONS: Final = 4 * 3
"""The number of relaxations times sizes of DIGIT, for each size of PAIR."""


@dataclass(frozen=True)
class Work:
    """A number of runs of some epochs, for each size of PAIR and each batch size."""

    name: str
    runs: int
    epochs: int
    pair_sizes: Sequence[int] = _PAIR_SIZES
    batches: Sequence[int] = _BATCHES

    @property
    def all_runs(self) -> int:
        """The number of all runs."""
        return self.runs * len(self.pair_sizes) * len(self.batches)

    @property
    def run_epochs(self) -> float:
        """The number of run-epochs of all runs."""
        return self.runs * len(self.batches) * self.epochs * sum(self.pair_sizes) / PAIRS

    @property
    def slowdown(self) -> float:
        """The most that smaller batches can cost: the factor if each step takes the same time."""
        return sum(BATCH / batch for batch in self.batches) / len(self.batches)


PAPER: Final = (
    Work("432 settings each, 300 epochs", 108 * _CONFIGURATIONS, 300),
    Work("with three restart periods each", 3 * 108 * _CONFIGURATIONS, 300),
    Work("the same for 1,600 epochs", 3 * 108 * _CONFIGURATIONS, 1_600),
    Work("winners, 3 seeds, 1,600 epochs", 3 * _CONFIGURATIONS, 1_600, batches=(BATCH,)),
)
"""The joint experiments: 9 learning rates × 6 weights × 2 optimisers = 108 runs per batch size."""


def seconds(work: Work, gpus: int, rate: float = H200) -> float:
    """Return the least time in seconds: trials are independent, so GPUs share them evenly.

    >>> seconds(Work("", 10, 7, [5_000], [64]), gpus=2, rate=35.0)
    1.0
    """
    return work.run_epochs / (gpus * rate)


def cost_table(works: Sequence[Work] = PAPER) -> str:
    """Return a table in Markdown: the least and the most time of each work on each machine."""
    lines = [
        _markdown_row(["", "runs", "run-epochs", *MACHINES]),
        _markdown_row(["---", *["--:"] * (2 + len(MACHINES))]),
    ]
    for work in works:
        least = [seconds(work, gpus) for gpus in MACHINES.values()]
        times = [_time_span(one, one * work.slowdown) for one in least]
        lines.append(
            _markdown_row([work.name, f"{work.all_runs:,}", f"{work.run_epochs:,.0f}", *times])
        )
    return "\n".join(lines)


def _time_span(least: float, most: float) -> str:
    return _in_units(least) if least == most else f"{_in_units(least)} to {_in_units(most)}"


def _in_units(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 60:.0f} min"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
