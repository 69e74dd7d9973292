"""What a route is, a way to evaluate a rule, and what it is chosen by beside shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd import forward_ad

from residuum.losses.degrees.tensors import is_traced
from residuum.losses.inputs.calls import Call, Case

Evaluate = Callable[[Call], Tensor | None]
"""Returns the penalties of a call: one per example, or rules × batch of several rules.

None hands the call over to the next route, because of its values.
"""


class Route(Protocol):
    """A way to evaluate a rule."""

    @property
    def name(self) -> str:
        """What `explain` calls it."""
        ...

    @property
    def hands_over_because(self) -> str:
        """What `explain` says where a call is handed over."""
        ...

    def prepare(self, case: Case, around: Surroundings) -> Evaluate | str:
        """Return how calls of a case are evaluated, or why they cannot be, in words."""
        ...


class Surroundings(NamedTuple):
    """What a route is chosen by beside shapes.

    `is_transformed` says that torch.compile or torch.func is at work. `why_not_ordinary` says why
    values cannot be looked at, or gradients are not taken backwards, and `why_not_multiplied` why
    matrices would not be multiplied exactly; None if nothing is in the way.
    """

    is_transformed: bool
    why_not_ordinary: str | None
    why_not_multiplied: str | None


ORDINARY = Surroundings(False, None, None)


def is_transformed() -> bool:
    """Return whether torch.compile or torch.func is at work."""
    return torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()


def surroundings_of(inputs: Sequence[Tensor]) -> Surroundings:
    """Return the surroundings of a call with some tensors."""
    if is_transformed():
        why = "torch.compile and torch.func cannot look at values"
        return Surroundings(True, why, why)
    why_not = None
    if not inputs:
        why_not = "no tensors are given"
    elif is_traced(inputs[0]):
        why_not = "a CUDA graph is captured, which cannot look at values"
    elif forward_ad._current_level >= 0 and any(map(_is_dual, inputs)):
        why_not = "derivatives are taken forwards"
    multiplied = why_not or _why_not_multiplied(inputs[0])
    if multiplied is None:
        return ORDINARY
    return Surroundings(False, why_not, multiplied)


def _is_dual(given: Tensor) -> bool:
    return forward_ad.unpack_dual(given).tangent is not None  # type: ignore[no-untyped-call]


def _why_not_multiplied(given: Tensor) -> str | None:
    if given.is_cuda and torch.are_deterministic_algorithms_enabled():
        return "deterministic algorithms are asked for"
    try:
        is_exact = torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # a precision was set for one backend alone
        is_exact = False
    return None if is_exact else "float32 matrices are multiplied with less than full precision"
