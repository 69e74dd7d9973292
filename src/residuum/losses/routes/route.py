"""The interface of a route, a way to evaluate a rule, and the surroundings that it depends on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from torch import Tensor

from residuum.losses.inputs.calls import Call, Case

Evaluate = Callable[[Call], Tensor | None]
"""Returns the penalties of a call: one per example, or rules × batch for several rules.

Returns None to hand the call over to the next route, because of its values.
"""


class Route(Protocol):
    """A way to evaluate a rule."""

    @property
    def name(self) -> str:
        """The name of the route in `explain`."""
        ...

    @property
    def hands_over_because(self) -> str:
        """The reason that `explain` gives if a call is handed over."""
        ...

    def prepare(self, case: Case, around: Surroundings) -> Evaluate | str:
        """Return a function that evaluates calls of a case, or the reason why there is none."""
        ...


class Surroundings(NamedTuple):
    """The state of PyTorch that a route depends on.

    `is_transformed` says that torch.compile or torch.func is active. `why_not_ordinary` is the
    reason why Python cannot look at values, or why gradients are not taken by a backward pass.
    `why_not_multiplied` is the reason why a matrix product would be inexact. None stands for no
    obstacle.
    """

    is_transformed: bool
    why_not_ordinary: str | None
    why_not_multiplied: str | None


ORDINARY = Surroundings(False, None, None)
