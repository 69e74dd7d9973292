"""From one penalty per example to one for the batch, in one process or many."""

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
    """A process group, or none: copies share it, and a file cannot hold it.

    What was read from a file must be given its group again, lest it should reduce too little.
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
    """Raise for a word that is no reduction."""
    if reduction not in REDUCTIONS:
        raise GroundingError(
            f"expected a reduction among {', '.join(REDUCTIONS)}, got {reduction!r}"
        )


def check_combination(combine: str) -> None:
    """Raise for a word that says nothing of how parts make up a whole."""
    if combine not in ("conjunction", "sum"):
        raise GroundingError(f"combine: expected 'conjunction' or 'sum', got {combine!r}")


def check_weight(weight: object, name: str) -> None:
    """Raise for what cannot weigh a rule: a negative weight would reward its violation."""
    is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not is_number or not 0 <= weight < math.inf:  # type: ignore[operator]
        raise GroundingError(f"the weight of `{name}` is a number from 0 on, got {weight!r}")


def reduce_batch(
    penalty: Tensor,
    reduction: Reduction,
    relaxation: Relaxation,
    counts: Tensor | None = None,
    process_group: Any = None,
) -> Tensor:
    """Return the penalty of the batch; `counts` marks the examples that state something.

    With a `process_group` the batch is that of all its processes: the value is the same in each,
    and gradients are scaled so that DistributedDataParallel's average is the gradient of it.
    """
    if reduction == "none":
        return penalty
    if process_group is not None:
        return _across_processes(penalty, reduction, relaxation, counts, process_group)
    if reduction == "mean":
        number = max(penalty.numel(), 1) if counts is None else counts.sum().clamp(min=1)
        return penalty.sum() / number
    if reduction == "sum" or not penalty.numel():
        return penalty.sum()
    return conjoined(penalty.flatten(), relaxation)


def _across_processes(
    penalty: Tensor,
    reduction: Reduction,
    relaxation: Relaxation,
    counts: Tensor | None,
    group: Any,
) -> Tensor:
    from torch import distributed

    world = distributed.get_world_size(group)
    mine = penalty.sum()
    if reduction == "conjunction" and not relaxation.tnorm.penalties_add_up:
        largest = penalty.amax().detach() if penalty.numel() else mine.detach()
        distributed.all_reduce(largest, distributed.ReduceOp.MAX, group)
        ties = (penalty == largest).to(penalty.dtype)
        number = ties.sum()
        distributed.all_reduce(number, group=group)
        mine = (penalty * ties).sum() / number.clamp(min=1)  # the gradient is shared evenly
        return largest + world * (mine - mine.detach())
    total = mine.detach().clone()
    distributed.all_reduce(total, group=group)
    # The value of the whole, with the gradient of this part.
    whole = total + world * (mine - mine.detach())
    if reduction == "conjunction":
        return capped(whole, relaxation)
    if reduction == "mean":
        number = torch.as_tensor(
            penalty.numel() if counts is None else counts.sum(), device=penalty.device
        ).clone()
        distributed.all_reduce(number, group=group)
        return whole / number.clamp(min=1)
    return whole
