"""What a grid costs: arithmetic from one measured number, run-epochs per second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Machine:
    """So many GPUs, each of which trains so many run-epochs in a second.

    A run-epoch is one pass of one run over 5,000 pairs.
    """

    name: str
    gpus: int
    run_epochs_per_second: float


PAIRS_PER_RUN_EPOCH: Final = 5_000


@dataclass(frozen=True)
class Work:
    """A part of a grid: so many runs of so many epochs for each size of PAIR."""

    name: str
    runs: int
    epochs: int
    pair_sizes: Sequence[int]

    @property
    def run_epochs(self) -> float:
        """The run-epochs of all runs, each size of PAIR in proportion."""
        passes = sum(self.pair_sizes) / PAIRS_PER_RUN_EPOCH
        return self.runs * self.epochs * passes


def seconds(work: Work, machine: Machine) -> float:
    """Return how long a machine takes: trials are independent, so GPUs share them evenly.

    >>> seconds(Work("", 10, 7, [5_000]), Machine("", 2, 35.0))
    1.0
    """
    return work.run_epochs / (machine.gpus * machine.run_epochs_per_second)


def cost_table(works: Sequence[Work], machines: Sequence[Machine]) -> str:
    """Return a table in Markdown: run-epochs of each part, and its days on each machine."""
    heads = ["part", "runs", "run-epochs", *(f"{machine.name}" for machine in machines)]
    lines = [_row(heads), _row(["---", *["--:"] * (len(heads) - 1)])]
    for work in works:
        days = (seconds(work, machine) / 86_400 for machine in machines)
        runs = work.runs * len(work.pair_sizes)
        lines.append(
            _row([work.name, f"{runs:,}", f"{work.run_epochs:,.0f}", *(_days(day) for day in days)])
        )
    return "\n".join(lines)


def _days(days: float) -> str:
    if days >= 365:
        return f"{days / 365:.1f} years"
    return f"{days:.1f} days" if days >= 2 else f"{days * 24:.1f} hours"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
