"""The p-mean of errors along axes, on all four sides of a degree.

Of degrees x it is 1 − (mean of (1 − x)^p)^(1/p), where p ≥ 1. Each side is computed in the way that
keeps its digits: near true from the errors 1 − x, near false from 1 − (1 − x)^p. The gradient of
the p-th root is unbounded at 0, that of the mean is not: errors are divided by the largest of them
first, and where that is below the floor of degrees, their p-mean goes on as their mean.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from residuum.losses.degrees.logits import Side, degree_with
from residuum.losses.degrees.tensors import TENSORS, floor
from residuum.losses.routes.axes import AlongAxes
from residuum.relaxations import Degree
from residuum.relaxations.degrees import Later


def mean_of_errors(x: Degree, along: AlongAxes, p: float) -> Degree:
    """Return the degree of the groundings of x: true over no groundings."""
    mean = _Mean(x, along, p)

    def side(name: Side) -> Tensor:
        found: Tensor = getattr(mean, name)()
        return found

    return degree_with(side)


class _Mean:
    """The four sides of a p-mean of errors."""

    def __init__(self, x: Degree, along: AlongAxes, p: float) -> None:
        self._x = x
        self._along = along
        self._p = p
        self._number = TENSORS.maximum(along.number, 1)
        self._error = Later(self._compute_error)
        self._rest = Later(self._compute_rest)

    def false(self) -> Tensor:
        found: Tensor = self._error.number
        return found

    def true(self) -> Tensor:
        is_near_false, rest = self._near_false()
        return torch.where(is_near_false, self._small_truth(rest), 1 - self.false())

    def log_true(self) -> Tensor:
        """Return log of the truth; near false from logarithms, which hold where it underflows."""
        is_near_false, _ = self._near_false()
        x, p = self._x, self._p
        each = _log_rest(x.true, x.log_true, x.log_false, p)
        rest = self._along.log_total(each) - self._log_number(each)
        kept = rest.clamp(max=-0.5)
        near_false = _log_rest(torch.exp(kept), kept, torch.log1p(-torch.exp(kept)), 1 / p)
        near_true = torch.log1p(-self.false().masked_fill(is_near_false, 0.0))
        return torch.where(is_near_false, near_false, near_true)

    def log_false(self) -> Tensor:
        is_near_false, rest = self._near_false()
        norm = self._along.log_norm(self._x.log_false, self._p)
        near_true = norm - self._log_number(norm) / self._p
        return torch.where(is_near_false, torch.log1p(-self._small_truth(rest)), near_true)

    def _near_false(self) -> tuple[Tensor, Tensor]:
        """Return where the mean of 1 − error^p is ½ or less, and that mean, at most ½."""
        rest: Tensor = self._rest.number
        is_near_false = (rest <= 0.5) & torch.as_tensor(self._along.number > 0, device=rest.device)
        return is_near_false, rest.clamp(max=0.5)

    def _small_truth(self, rest: Tensor) -> Tensor:
        return -torch.expm1(torch.log1p(-rest) / self._p)

    def _log_number(self, like: Tensor) -> Any:
        number = self._number
        if isinstance(number, Tensor):
            return torch.log(number.to(like.dtype))
        return math.log(number)

    def _compute_error(self) -> Tensor:
        along, p = self._along, self._p
        errors = along.counted(self._x.false, 0.0)
        dimensions = along.dimensions
        mean: Tensor = errors.sum(dimensions, keepdim=True) / self._number
        if p == 1 or 0 in (errors.shape[d] for d in dimensions):
            return mean
        largest = errors.detach().amax(dimensions, keepdim=True)
        is_zero = largest < floor(largest)
        scaled = errors / largest.masked_fill(is_zero, 1.0)
        total = _power(scaled, p).sum(dimensions, keepdim=True) / self._number
        norm = largest * total.masked_fill(is_zero, 1.0) ** (1 / p)
        return torch.where(is_zero, mean, norm)

    def _compute_rest(self) -> Tensor:
        """Return the mean of 1 − error^p over the groundings."""
        true, false = (torch.as_tensor(one) for one in (self._x.true, self._x.false))
        small = -torch.expm1(self._p * torch.log1p(-true.clamp(max=0.5)))
        each = torch.where(true <= 0.5, small, 1 - _power(false, self._p))
        mean: Tensor = self._along.total(each, elsewhere=0.0) / self._number
        return mean


def _power(x: Tensor, p: float) -> Tensor:
    """Return x^p with finite derivatives of first and second order at 0."""
    found: Tensor = x**p if p >= 2 else x if p == 1 else TENSORS.power(x, p)
    return found


def _log_rest(true: Any, log_true: Any, log_false: Any, p: float) -> Tensor:
    """Return log(1 − (1 − x)^p) of a degree x. Where x underflows, it is log x + log p."""
    true, log_true, log_false = (torch.as_tensor(one) for one in (true, log_true, log_false))
    is_small = true * max(p, 1.0) < torch.finfo(log_true.dtype).eps
    power = p * torch.where(is_small, -1.0, log_false)
    return torch.where(is_small, log_true + math.log(p), torch.log(-torch.expm1(power)))
