"""Reductions: from one penalty per example to one for the batch, in one process or many."""

from __future__ import annotations

import math
from typing import Any, Final, Literal, final

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.losses.aggregation import capped, conjoined
from residuum.relaxations import Relaxation

Reduction = Literal["none", "mean", "sum", "conjunction"]
REDUCTIONS: Final[tuple[Reduction, ...]] = ("none", "mean", "sum", "conjunction")

Combination = Literal["conjunction", "sum"]


@final
class SharedGroup:
    """A process group, or none. Copies share the group; a file cannot hold it.

    A rule that is read from a file refuses to reduce until it is given its group again. Without
    that it would silently reduce over one process alone.
    """

    def __init__(self, group: Any, *, is_lost: bool = False) -> None:
        self._group = group
        self._is_lost = is_lost

    @property
    def group(self) -> Any:
        """The group itself."""
        if self._is_lost:
            raise GroundingError(
                "this was saved with a process_group, which a file cannot hold; give it again: "
                "`rule.set_process_group(group)`, with None for this process alone"
            )
        return self._group

    def __deepcopy__(self, memo: object) -> SharedGroup:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._is_lost or self._group is not None,)


def _restored(is_lost: bool) -> SharedGroup:
    return SharedGroup(None, is_lost=is_lost)


def check_reduction(reduction: str) -> None:
    """Raise GroundingError unless the word names a reduction."""
    if reduction not in REDUCTIONS:
        raise GroundingError(
            f"reduction: expected one of {', '.join(REDUCTIONS)}, got {reduction!r}"
        )


def check_combination(combine: str) -> None:
    """Raise GroundingError unless the word says how parts make up a total."""
    if combine not in ("conjunction", "sum"):
        raise GroundingError(f"combine: expected 'conjunction' or 'sum', got {combine!r}")


def check_weight(weight: object, name: str) -> None:
    """Raise GroundingError unless the weight of a rule is a finite number, 0 or more.

    A negative weight would reward violations.
    """
    is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not is_number or not 0 <= weight < math.inf:  # type: ignore[operator]
        raise GroundingError(f"the weight of `{name}` is a number from 0 on, got {weight!r}")


def reduce_batch(
    penalties: Tensor,
    reduction: Reduction,
    relaxation: Relaxation,
    counts: Tensor | None = None,
    process_group: Any = None,
) -> Tensor:
    """Return the penalties of examples, which stand along the last dimension, as one number.

    `counts` marks the examples that state something; the mean is over those. An empty batch has
    the mean 0, with gradients of 0. With a `process_group` the batch is that of all its processes:
    the value is the same in each, and gradients are scaled so that the average that
    DistributedDataParallel takes is the gradient of the value.
    """
    if reduction == "none":
        return penalties
    if process_group is not None:
        return _across_processes(penalties, reduction, relaxation, counts, process_group)
    if reduction == "mean":
        number = max(penalties.shape[-1], 1) if counts is None else counts.sum().clamp(min=1)
        return penalties.sum(-1) / number
    return penalties.sum(-1) if reduction == "sum" else conjoined(penalties, relaxation)


def sums_of(penalties: Tensor) -> Tensor:
    """Return the sum of some penalties, and their number, in double precision."""
    count = penalties.new_tensor(len(penalties), dtype=torch.float64)
    return torch.stack([penalties.sum(dtype=torch.float64), count])


def reduce_sums(sums: Tensor, reduction: Reduction, relaxation: Relaxation) -> Tensor:
    """Return what `reduce_batch` returns, from the sum of all penalties and their number."""
    total, count = sums.unbind()
    if reduction == "mean":
        return total / count.clamp(min=1)
    return total if reduction == "sum" else capped(total, relaxation)


def _across_processes(
    penalties: Tensor,
    reduction: Reduction,
    relaxation: Relaxation,
    counts: Tensor | None,
    group: Any,
) -> Tensor:
    from torch import distributed

    world = distributed.get_world_size(group)
    mine = penalties.sum(-1)
    if reduction == "conjunction" and not relaxation.tnorm.penalties_add_up:
        largest = conjoined(penalties, relaxation).detach().clone()
        distributed.all_reduce(largest, distributed.ReduceOp.MAX, group)
        ties = (penalties == largest.unsqueeze(-1)).to(penalties.dtype)
        number = ties.sum(-1)
        distributed.all_reduce(number, group=group)
        mine = (penalties * ties).sum(-1) / number.clamp(min=1)  # ties share the gradient evenly
        return largest + world * (mine - mine.detach())
    total = mine.detach().clone()
    distributed.all_reduce(total, group=group)
    # The value is that of all processes, the gradient that of this process.
    whole = total + world * (mine - mine.detach())
    if reduction == "conjunction":
        return capped(whole, relaxation)
    if reduction == "mean":
        number = torch.as_tensor(
            penalties.shape[-1] if counts is None else counts.sum(), device=penalties.device
        ).clone()
        distributed.all_reduce(number, group=group)
        return whole / number.clamp(min=1)
    return whole
