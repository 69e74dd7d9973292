"""Budgets of work: operations on tensors, and the numbers that they make.

Work is counted, not timed, so that the same call gives the same advice on a slow machine and on a
fast one. A billion of it takes about half a second on one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

OPERATION: Final = 8_000
"""An operation costs as much as so many numbers that it makes."""


class Counting(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts operations, and the numbers that they make, also those of gradients."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations = 0
        self.numbers = 0

    @property
    def work(self) -> int:
        """What was counted, in numbers."""
        return OPERATION * self.operations + self.numbers

    def __torch_dispatch__(
        self,
        operation: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Carry out an operation, and count it."""
        found = operation(*args, **(kwargs or {}))
        self.operations += 1
        for one in found if isinstance(found, tuple | list) else (found,):
            self.numbers += one.numel() if isinstance(one, Tensor) else 0
        return found


class Budget:
    """Work that may be done, and a cap on the seconds of this thread, for very slow machines."""

    def __init__(self, work: float, seconds: float) -> None:
        self._left = work
        self._until = time.thread_time() + seconds

    def renewed(self, work: float) -> Budget:
        """Return a budget of other work that ends at the same second."""
        return Budget(work, self._until - time.thread_time())

    @property
    def is_late(self) -> bool:
        """Whether the seconds are over."""
        return time.thread_time() > self._until

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self._left <= 0 or self.is_late

    def take(self, work: float) -> bool:
        """Return whether so much work is left, and take it if it is."""
        if work > self._left or self.is_late:
            return False
        self._left -= work
        return True

    def spend(self, work: float) -> None:
        """Take work that was done, even if it is more than is left."""
        self._left -= work
