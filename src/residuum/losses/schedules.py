"""Schedules: weights and relaxations as functions of the epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from residuum.errors import GroundingError
from residuum.losses.degrees.parameters import find_logic
from residuum.relaxations import Relaxation

T = TypeVar("T")
Schedule = Callable[[int], T]


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
