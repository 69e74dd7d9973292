"""The conjunction of the logic: how penalties of groundings, rules and examples are combined.

The t-norm decides. With an additive generator penalties add up; without one the largest
counts. Another way is a class with the methods of `Aggregation`, chosen in `aggregation_of`.

Routes that know a conjunction to be a sum (`clause_sums.py`, `tables.py`, `crosses.py`) or a
maximum (`minima.py`) take it themselves: `TNorm.penalties_add_up` in `relaxations/tnorms.py` tells
them which. Inside a formula, conjunctions are degrees, and `TNorm.conjoin_penalties` adds them up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any, Protocol, final

import torch
from torch import Tensor

from residuum.losses.degrees.tensors import TENSORS
from residuum.relaxations import Relaxation


class Aggregation(Protocol):
    """How penalties, none of which is negative, come together."""

    def along(self, penalties: Tensor, dimensions: int | tuple[int, ...], *, keepdim: bool = False
              ) -> Tensor:  # fmt: skip
        """Return the penalty of all that stands along some dimensions; 0 over nothing."""
        ...

    def of_parts(self, parts: Sequence[Any]) -> Any:
        """Return the penalty of several parts, tensors or numbers, which broadcast."""
        ...

    def add_block(
        self,
        totals: Tensor,
        gradients: Sequence[Tensor],
        ties: Tensor,
        penalty: Tensor,
        found: Sequence[Tensor | None],
    ) -> None:
        """Add the penalties of a block and their gradients, in place, to those before it."""
        ...


@final
class Sum:
    """Penalties add up."""

    def along(self, penalties: Tensor, dimensions: int | tuple[int, ...], *, keepdim: bool = False
              ) -> Tensor:  # fmt: skip
        return penalties.sum(dimensions, keepdim=keepdim)

    def of_parts(self, parts: Sequence[Any]) -> Any:
        return sum(parts[1:], start=parts[0])

    def add_block(
        self,
        totals: Tensor,
        gradients: Sequence[Tensor],
        ties: Tensor,  # noqa: ARG002
        penalty: Tensor,
        found: Sequence[Tensor | None],
    ) -> None:
        totals += penalty
        for gradient, part in zip(gradients, found, strict=True):
            if part is not None:
                gradient += part


@final
class Largest:
    """Only the largest penalty counts; equal ones share its gradient evenly."""

    def along(self, penalties: Tensor, dimensions: int | tuple[int, ...], *, keepdim: bool = False
              ) -> Tensor:  # fmt: skip
        listed = (dimensions,) if isinstance(dimensions, int) else dimensions
        if 0 in (penalties.shape[d] for d in listed):
            return penalties.sum(dimensions, keepdim=keepdim)
        return penalties.amax(dimensions, keepdim=keepdim)

    def of_parts(self, parts: Sequence[Any]) -> Any:
        return reduce(TENSORS.maximum, parts)

    def add_block(
        self,
        totals: Tensor,
        gradients: Sequence[Tensor],
        ties: Tensor,
        penalty: Tensor,
        found: Sequence[Tensor | None],
    ) -> None:
        # `ties` counts the blocks that have the largest penalty so far; none is that of no block.
        larger = (penalty > totals) | (ties == 0)
        equal = (penalty == totals) & ~larger
        ties[larger] = 1
        ties[equal] += 1
        for gradient, part in zip(gradients, found, strict=True):
            given = torch.zeros_like(gradient) if part is None else part.to(gradient.dtype)
            shape = penalty.shape + (1,) * (given.dim() - 1)
            mean = gradient + (given - gradient) / ties.reshape(shape)
            gradient.copy_(torch.where((larger | equal).reshape(shape), mean, gradient))
        totals.copy_(torch.maximum(totals, penalty))


SUM = Sum()
LARGEST = Largest()


def aggregation_of(relaxation: Relaxation) -> Aggregation:
    """Return how penalties come together under a relaxation."""
    return SUM if relaxation.tnorm.penalties_add_up else LARGEST


def cap_of(relaxation: Relaxation) -> float | None:
    """Return what an outermost conjunction costs at most, g(0), if the logic says so."""
    tnorm = relaxation.tnorm
    if not relaxation.is_capped or not tnorm.penalties_add_up or tnorm.limit == math.inf:
        return None
    return float(tnorm.limit)


def capped(total: Tensor, relaxation: Relaxation) -> Tensor:
    """Return the penalty of an outermost conjunction."""
    cap = cap_of(relaxation)
    return total if cap is None else total.clamp(max=cap)


def conjoined(penalties: Tensor, relaxation: Relaxation) -> Tensor:
    """Return the penalty of the outermost conjunction of what stands along the last dimension."""
    total = aggregation_of(relaxation).along(penalties, -1)
    return capped(total, relaxation) if relaxation.tnorm.penalties_add_up else changeable(total)


def changeable(largest: Tensor) -> Tensor:
    """Return what may be changed in place: a maximum needs its value again, for its gradient."""
    return largest.clone() if largest.requires_grad else largest
