"""Aggregators over groundings, `over=`: from the penalties of groundings to that of their rule.

A new aggregator is a class with the methods of `Aggregator`, and a line in `_CLASSES`; its name and
the range of its parameter stand in `syntax/over.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, final

import torch
from torch import Tensor

from residuum.losses.aggregation.means_of_degrees import mean_of_errors
from residuum.losses.degrees.tensors import TENSORS
from residuum.losses.routes.axes import AlongAxes
from residuum.relaxations import Degree
from residuum.syntax.over import CONJUNCTION, Over


class OnPenalties(ABC):
    """An aggregator of penalties, none of which is negative."""

    @abstractmethod
    def penalty(self, penalties: Any, along: AlongAxes) -> Tensor:
        """Return the penalty of all groundings along axes, which are kept with length 1.

        Over no groundings it is 0.
        """


class OnDegrees(ABC):
    """An aggregator of degrees, which has an `exists` of its own."""

    @abstractmethod
    def forall(self, x: Degree, along: AlongAxes) -> Degree:
        """Return the degree of all groundings along axes: true over none."""

    @abstractmethod
    def exists(self, x: Degree, along: AlongAxes) -> Degree:
        """Return the degree of some grounding along axes: false over none."""


Aggregator = OnPenalties | OnDegrees


@final
class Mean(OnPenalties):
    """The mean of the penalties."""

    def __init__(self, _parameter: float | None) -> None:
        pass

    def penalty(self, penalties: Any, along: AlongAxes) -> Tensor:
        mean: Tensor = along.total(penalties, elsewhere=0.0) / at_least_one(along.number)
        return mean


@final
class LogMeanExp(OnPenalties):
    """t · log of the mean of exp(v / t): near the largest penalty for small t, the mean for large.

    The exponentials are those of differences from the largest penalty, so that none overflows.
    """

    def __init__(self, t: float) -> None:
        self._t = t

    def penalty(self, penalties: Any, along: AlongAxes) -> Tensor:
        t = self._t
        given = along.counted(penalties, 0.0)
        if 0 in (given.shape[d] for d in along.dimensions):
            return given.sum(along.dimensions, keepdim=True)
        largest = given.amax(along.dimensions, keepdim=True).detach()
        number = at_least_one(along.number)
        # The mean of exp(z) − 1, where no z is positive: accurate where all z are near 0. Where it
        # is near −1, the mean of exp(z) itself is accurate.
        scaled = (given - largest) / t
        below = along.total(torch.expm1(scaled), elsewhere=0.0) / number
        mean = along.total(torch.exp(scaled), elsewhere=0.0) / number
        is_small = below < -0.5
        log = torch.where(
            is_small,
            torch.log(mean.masked_fill(~is_small, 1.0)),
            torch.log1p(below.clamp(min=-0.5)),
        )
        return largest + t * log


@final
class Worst(OnPenalties):
    """The mean of a share of the penalties, the largest ones. Equal ones share their gradient."""

    def __init__(self, percentage: float) -> None:
        self._share = Fraction(str(percentage)).limit_denominator(10**6) / 100

    def penalty(self, penalties: Any, along: AlongAxes) -> Tensor:
        dimensions = along.dimensions
        given = along.counted(penalties, -1.0)  # below every penalty
        last = tuple(range(-len(dimensions), 0))
        flat = given.movedim(dimensions, last).flatten(-len(dimensions))
        if not flat.shape[-1]:
            return given.sum(dimensions, keepdim=True)
        wanted = torch.as_tensor(self._wanted(along.number), device=flat.device)
        if wanted.dim():
            wanted = wanted.movedim(dimensions, last).flatten(-len(dimensions))
        wanted = wanted.expand(*flat.shape[:-1], 1)
        fixed = flat.detach()
        sorted_ = fixed.topk(self._wanted(flat.shape[-1]), -1).values
        least = sorted_.gather(-1, wanted.clamp(min=1) - 1)
        larger, equal = fixed > least, fixed == least
        remaining = wanted - larger.sum(-1, keepdim=True)
        share = remaining.to(flat.dtype) / equal.sum(-1, keepdim=True)
        weights = torch.where(equal, share, larger.to(flat.dtype))
        weights = torch.where(fixed.isnan(), fixed, weights).masked_fill(wanted == 0, 0.0)
        total = (weights * flat).sum(-1, keepdim=True) / wanted.clamp(min=1)
        result = total.squeeze(-1)
        for dimension in sorted(d + given.dim() for d in dimensions):
            result = result.unsqueeze(dimension)
        return result

    def _wanted(self, number: Any) -> Any:
        """Return how many penalties count: the share of a number, rounded up."""
        numerator, denominator = self._share.as_integer_ratio()
        return -((-number * numerator) // denominator)


@final
class PMean(OnDegrees):
    """The generalised means of logic tensor networks, on degrees."""

    def __init__(self, p: float) -> None:
        self._p = p

    def forall(self, x: Degree, along: AlongAxes) -> Degree:
        return mean_of_errors(x, along, self._p)

    def exists(self, x: Degree, along: AlongAxes) -> Degree:
        return mean_of_errors(x.negated, along, self._p).negated


_CLASSES: Final[dict[str, Callable[[Any], Aggregator]]] = {
    "mean": Mean,
    "log-mean-exp": LogMeanExp,
    "worst": Worst,
    "p-mean": PMean,
}
"""The class of each aggregator that is not the conjunction of the logic."""


def aggregator_of(over: Over) -> Aggregator | None:
    """Return an aggregator; None for the conjunction of the logic."""
    return None if over == CONJUNCTION else _CLASSES[over.name](over.parameter)


def at_least_one(number: Any) -> Any:
    """Return a number of groundings to divide by: 1 instead of 0."""
    return TENSORS.maximum(number, 1)
