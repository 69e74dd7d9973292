"""The interface of a route, a way to evaluate a rule, and the surroundings that it depends on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd import forward_ad

from residuum.losses.degrees.tensors import is_traced
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


def is_transformed() -> bool:
    """Return whether torch.compile or torch.func is active."""
    return torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()


def surroundings_of(inputs: Sequence[Tensor]) -> Surroundings:
    """Return the surroundings of a call with these inputs."""
    if is_transformed():
        why = "torch.compile and torch.func cannot look at values"
        return Surroundings(True, why, why)
    why_not = None
    if not inputs:
        why_not = "no tensors are given"
    elif is_traced(inputs[0]):
        why_not = "the capture of a CUDA graph cannot look at values"
    elif forward_ad._current_level >= 0 and any(map(_is_dual, inputs)):
        why_not = "derivatives are taken in forward mode"
    multiplied = why_not or _why_not_multiplied(inputs[0])
    if multiplied is None:
        return ORDINARY
    return Surroundings(False, why_not, multiplied)


def _is_dual(given: Tensor) -> bool:
    return forward_ad.unpack_dual(given).tangent is not None  # type: ignore[no-untyped-call]


def _why_not_multiplied(given: Tensor) -> str | None:
    if given.is_cuda and torch.are_deterministic_algorithms_enabled():
        return "torch.use_deterministic_algorithms is on"
    try:
        is_exact = torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # a precision was set for a single backend
        is_exact = False
    return None if is_exact else "float32 matrices are multiplied with less than full precision"
