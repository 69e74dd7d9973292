"""What the tasks of the study have in common: settings and index lists of many runs, stacked."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from residuum.study.digits.settings import Settings
from residuum.study.drawing import Indices
from residuum.training.rates import Rate


def stacked(lists: Sequence[Indices], device: torch.device) -> Tensor:
    """Return index lists of the same length with a first dimension of runs."""
    return torch.stack([torch.tensor(one) for one in lists]).to(device)


def rates_of(runs: Sequence[Settings], epoch: int, steps: int) -> Tensor:
    """Return the learning rate of each step and run of an epoch: (steps, runs).

    During a warm-up it is constant; what follows has its schedule from there to the end.
    """
    moments = [epoch + step / steps for step in range(steps)]
    columns = []
    for run in runs:
        if epoch < run.warm_up:
            columns.append([run.warm_up_rate] * steps)
            continue
        rate = Rate(run.learning_rate, run.schedule, run.period)
        length = run.epochs - run.warm_up
        columns.append([rate.at(moment - run.warm_up, length) for moment in moments])
    return torch.tensor(columns, dtype=torch.float64).T


def operations(left: Tensor, right: Tensor) -> dict[str, Tensor]:
    """Return what Sum and Product should say of two digits."""
    return {"Sum": (left + right) % 10, "Product": (left * right) % 10}


def percent(is_right: Tensor) -> Tensor:
    """Return the share along the last dimension."""
    return 100 * is_right.double().mean(-1)
