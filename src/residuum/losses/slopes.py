"""Values whose slopes are found without PyTorch's record of what was computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import _SingleLevelFunction

from residuum.losses.tensors import in_full


class Slopes(Protocol):
    """How slopes go back to so many inputs as are `given`: those are saved before all else."""

    @property
    def given(self) -> int:
        """The number of inputs."""
        ...

    def __call__(self, upstream: Tensor, saved: Sequence[Tensor]) -> list[Tensor | None]:
        """Return the slopes of the inputs from those of the value."""
        ...

    def value_again(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return the value once more, by operations that can be differentiated twice."""
        ...


def with_slopes(
    value: Tensor, slopes: Slopes, saved: Sequence[Tensor], inputs: Sequence[Tensor]
) -> Tensor:
    """Return a value as a function of the inputs; `saved` is handed to its slopes, inputs first."""
    made = value, saved  # by itself the value would count as an input
    found: Tensor = _WithSlopes.apply(slopes, made, *inputs)  # type: ignore[attr-defined]
    return found


class _WithSlopes(_SingleLevelFunction):
    """A value whose slopes go back to the inputs in one step.

    Transforms of torch.func, which a Function of PyTorch looks for at every call, never come here.
    """

    @staticmethod
    def forward(
        ctx: Any, slopes: Slopes, made: tuple[Tensor, Sequence[Tensor]], *_inputs: Tensor
    ) -> Tensor:
        value, saved = made
        ctx.slopes = slopes
        ctx.save_for_backward(*saved)
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        slopes: Slopes = ctx.slopes
        saved = ctx.saved_tensors
        if torch.is_grad_enabled():
            each = _with_slopes_themselves(slopes, upstream, saved[: slopes.given])
        else:
            each = slopes(upstream, saved)
        return None, None, *each


def _with_slopes_themselves(
    slopes: Slopes, upstream: Tensor, inputs: Sequence[Tensor]
) -> list[Tensor | None]:
    """Return slopes that have slopes, for a second derivative."""
    wanted = [given for given in inputs if given.requires_grad]
    with in_full(upstream.device):
        value = slopes.value_again(inputs).reshape(upstream.shape)
        if not value.requires_grad:  # as under `r-godel` where antecedents alone have slopes
            return [None] * len(inputs)
        found = iter(
            torch.autograd.grad(value, wanted, upstream, create_graph=True, allow_unused=True)
        )
    return [next(found) if given.requires_grad else None for given in inputs]
