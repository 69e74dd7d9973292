"""What the tasks of the study have in common: index lists of many runs, and digit arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from residuum.study.drawing import Indices


def stacked(lists: Sequence[Indices], device: torch.device) -> Tensor:
    """Return index lists of the same length with a first dimension of runs."""
    return torch.stack([torch.tensor(one) for one in lists]).to(device)


def operations(left: Tensor, right: Tensor) -> dict[str, Tensor]:
    """Return what Sum and Product should say of two digits."""
    return {"Sum": (left + right) % 10, "Product": (left * right) % 10}


def percent(is_right: Tensor) -> Tensor:
    """Return the share along the last dimension."""
    return 100 * is_right.double().mean(-1)
