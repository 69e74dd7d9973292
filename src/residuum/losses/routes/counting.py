"""Counts of tensors: of the groundings of a quantifier, or of several degrees.

What is counted lies along the last dimension, so that a count takes few operations: running sums
and conjunctions double their reach with each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

import torch
from torch import Tensor
from torch.nn import functional

from residuum.logic import Count
from residuum.losses.degrees.logits import MIRRORED, Side, degree_with
from residuum.losses.degrees.tensors import LARGEST, TENSORS, impossible
from residuum.losses.routes.axes import AlongAxes
from residuum.relaxations import Degree, Relaxation
from residuum.relaxations.carriers import Exact
from residuum.relaxations.counting import FALSE_SIDES, counted
from residuum.relaxations.degrees import Later
from residuum.relaxations.rows import Combine, Parts
from residuum.relaxations.tnorms import TNorm


def count_along(relaxation: Relaxation, count: Count, x: Degree, along: AlongAxes) -> Degree:
    """Return the degree to which a count of groundings holds. Those that do not count are false."""
    dimensions = along.dimensions

    def side_of(side: Side) -> Tensor:
        given = along.counted(getattr(x, side), TENSORS.constant(FALSE_SIDES[side]))
        return given.movedim(dimensions, _last(len(dimensions))).flatten(-len(dimensions))

    found = _counted(relaxation, count, degree_with(side_of))
    number = Later(lambda: along.total(1.0, elsewhere=0.0))

    def placed(side: Side) -> Tensor:
        result: Tensor = getattr(found, side)
        for dimension in sorted(d + result.dim() + len(dimensions) for d in dimensions):
            result = result.unsqueeze(dimension)
        return _if_possible(count, number.number, side, result) if along.is_masked else result

    return degree_with(placed)


def _if_possible(count: Count, number: Tensor, side: Side, found: Tensor) -> Tensor:
    """Return a side of a count of so many, but exactly `true` or `false` where they are too few."""
    is_most = count.relation == "at most"
    are_few = number <= count.number if is_most else number < count.number
    exact = FALSE_SIDES[MIRRORED[side] if is_most else side]
    return torch.where(are_few, max(float(exact), impossible(found.dtype)), found)


def count_of(
    relaxation: Relaxation, count: Count, degrees: Sequence[Degree], device: torch.device
) -> Degree:
    """Return the degree to which a count of several degrees holds."""

    def side_of(side: Side) -> Tensor:
        sides = [torch.as_tensor(getattr(x, side), device=device) for x in degrees]
        return torch.stack(torch.broadcast_tensors(*sides), -1)  # type: ignore[no-untyped-call]

    return _counted(relaxation, count, degree_with(side_of))


def _last(number: int) -> tuple[int, ...]:
    return tuple(range(-number, 0))


def _counted(relaxation: Relaxation, count: Count, x: Degree) -> Degree:
    found = counted(relaxation.tnorm, count, x, TensorRow(x))

    def finite(side: Side) -> Tensor:
        """Return a side in which the logarithm of 0 is that of other impossible formulas."""
        result: Tensor = getattr(found, side)
        if side not in ("log_true", "log_false"):
            return result
        return torch.where(result < -LARGEST / 2, impossible(result.dtype), result)

    return degree_with(finite)


@final
class TensorRow:
    """Degrees along the last dimension of tensors."""

    on: Final = TENSORS

    def __init__(self, x: Degree) -> None:
        self._true: Tensor = x.true

    def __len__(self) -> int:
        return self._true.shape[-1]

    def constant(self, value: bool) -> Degree:
        nothing = 0.0 * self._true.sum(-1)  # connected to the graph of the inputs
        found = degree_with(lambda side: nothing + TENSORS.constant(FALSE_SIDES[side]))
        return found.negated if value else found

    def total(self, numbers: Any) -> Tensor:
        return self._whole(numbers).sum(-1)

    def log_total(self, logarithms: Any) -> Tensor:
        return torch.logsumexp(self._whole(logarithms), -1)

    def last(self, numbers: Any) -> Tensor:
        return self._whole(numbers)[..., -1]

    def before(self, numbers: Any, first: Exact) -> Tensor:
        earlier = self._whole(numbers)[..., :-1]
        return functional.pad(earlier, (1, 0), value=TENSORS.constant(first))

    def running(self, parts: Parts, combine: Combine) -> Parts:
        found = tuple(map(self._whole, parts))
        reach = 1  # each place holds the combination of so many
        while reach < len(self):
            earlier = tuple(part[..., :-reach] for part in found)
            later = tuple(part[..., reach:] for part in found)
            combined = zip(found, combine(earlier, later), strict=True)
            found = tuple(torch.cat([one[..., :reach], more], -1) for one, more in combined)
            reach *= 2
        return found

    def largest(self, numbers: Any, place: int) -> Tensor:
        given = self._whole(numbers)
        value = given.detach().topk(place, -1).values[..., -1:]
        ties = (given == value).to(given.dtype)  # they share the gradient
        moved = (given - given.detach()) * ties / ties.sum(-1, keepdim=True)
        return (value + moved.sum(-1, keepdim=True)).squeeze(-1)

    def descending(self, x: Degree) -> Degree:
        odds = self._whole(x.log_true - x.log_false)  # tell degrees apart that round to 0 or 1
        order = odds.detach().argsort(-1, descending=True)
        return degree_with(lambda side: self._whole(getattr(x, side)).gather(-1, order))

    def conjoin(self, x: Degree, tnorm: TNorm) -> Degree:
        along = AlongAxes((-1,), 1, {0: len(self)}, None, self._true.device)
        found = tnorm.conjoin_along(x, along)
        return degree_with(lambda side: getattr(found, side).squeeze(-1))

    def _whole(self, numbers: Any) -> Tensor:
        """Return numbers in their full shape. Constants are the same at all places."""
        return torch.as_tensor(numbers, device=self._true.device).expand(self._true.shape)
