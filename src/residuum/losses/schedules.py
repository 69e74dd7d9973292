"""Schedules: weights and relaxations as functions of the epoch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import torch
from torch import nn

from residuum.errors import GroundingError
from residuum.logic.terms import as_label
from residuum.losses.degrees.parameters import find_logic
from residuum.losses.reductions import check_weight
from residuum.relaxations import Relaxation

T = TypeVar("T")
Schedule = Callable[[int], T]

PATIENCE: Final = 1000
"""After so many calls with gradients, a schedule whose epoch was never set causes a warning."""


class Scheduled(nn.Module):
    """What has an epoch: rules, knowledge and theories, whose weights may depend on it.

    A state dict has the epoch as `epoch`. One without it, from an older version, loads as well.
    """

    _epoch = 0
    _calls = 0
    """How many calls have used a schedule before the epoch was set."""
    _was_set = False

    @property
    def epoch(self) -> int:
        """The present epoch, which schedules are functions of. You set it, or add to it."""
        return self._epoch

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        epoch = as_label(epoch)
        if not isinstance(epoch, int) or isinstance(epoch, bool) or epoch < 0:
            raise GroundingError(f"epoch: expected an integer, 0 or more, got {epoch!r:.80}")
        self._epoch = epoch
        self._was_set = True

    @property
    def has_schedule(self) -> bool:
        """Whether anything depends on the epoch."""
        raise NotImplementedError

    def watch_schedule(self) -> None:
        """Count a call, and warn once if a schedule seems to have been forgotten.

        An epoch can have more calls than that. So whoever sets the epoch, if only to 0, is not
        warned, nor are calls without gradients counted.
        """
        if self._was_set or torch.compiler.is_compiling() or not torch.is_grad_enabled():
            return
        self._calls += 1
        if self._calls == PATIENCE and self.has_schedule:
            warnings.warn(
                f"a weight or relaxation is a schedule, but its epoch was never set in "
                f"{PATIENCE:,} calls; set `.epoch` at the start of each epoch (to 0 if this is "
                "still the first one)",
                stacklevel=3,
            )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if self.has_schedule or self._was_set:  # other rules have no state
            destination[f"{prefix}epoch"] = torch.tensor(self._epoch)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *others: Any) -> None:
        saved = state_dict.pop(f"{prefix}epoch", None)
        if saved is not None:
            self.epoch = int(saved)
        super()._load_from_state_dict(state_dict, prefix, *others)


def check_scheduled_weight(weight: float | Schedule[float], name: str) -> None:
    """Raise GroundingError unless a weight is a number from 0 on, or a schedule."""
    if not callable(weight):
        check_weight(weight, name)


def weight_at(weight: float | Schedule[float], epoch: int, name: str) -> float:
    """Return a weight in an epoch. GroundingError says that a schedule gives no weight."""
    if not callable(weight):
        return weight
    found = weight(epoch)
    check_weight(found, name)
    return found


def at(given: T | Schedule[T], epoch: int) -> T:
    """Return the value of a schedule in an epoch. What is no schedule has the same value always."""
    return given(epoch) if callable(given) else given


def ramp(start: float, stop: float, epochs: int) -> Schedule[float]:
    """Return a weight that goes from `start` to `stop` in some epochs, and stays there.

    >>> [ramp(0, 1, 4)(epoch) for epoch in range(6)]
    [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
    """
    if epochs < 1:
        raise GroundingError(f"a ramp takes at least 1 epoch, got {epochs}")
    return partial(_on_ramp, start, stop, epochs)


def _on_ramp(start: float, stop: float, epochs: int, epoch: int) -> float:
    return start + (stop - start) * min(1.0, epoch / epochs)


def piecewise_constant(values: Mapping[int, T]) -> Schedule[T]:
    """Return a schedule of values, each by the epoch from which it holds. One must be epoch 0.

    >>> weight = piecewise_constant({0: 0.0, 5: 0.1})
    >>> weight(4), weight(5)
    (0.0, 0.1)
    """
    if 0 not in values:
        raise GroundingError(
            f"piecewise_constant: expected a value for epoch 0, got epochs {list(values)}"
        )
    return partial(_latest, dict(values))


def _latest(values: Mapping[int, T], epoch: int) -> T:
    return values[max(start for start in values if start <= epoch)]


def warm_up(
    first: str | Relaxation, then: str | Relaxation, *, epochs: int
) -> Schedule[str | Relaxation]:
    """Return a schedule: one relaxation for some epochs, and another one after them.

    >>> [warm_up("r-product", "s-godel", epochs=2)(epoch).name for epoch in range(3)]
    ['r-product', 'r-product', 's-godel']
    """
    return piecewise_constant({0: find_logic(first), epochs: find_logic(then)})
