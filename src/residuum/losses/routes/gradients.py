"""The autograd function for values whose gradients a route computes by hand.

A route computes the gradients of its penalties in the forward pass, or in the backward pass from
tensors that it saved. All routes share the autograd function of this file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd.function import _SingleLevelFunction

from residuum.errors import GroundingError
from residuum.losses.degrees.tensors import in_full

Again = Callable[[Sequence[Tensor]], Tensor]
"""Computes a value again from its inputs, by operations that can be differentiated twice."""


class Backward(Protocol):
    """Computes the gradients of the inputs in the backward pass."""

    @property
    def given(self) -> int:
        """The number of inputs, which are the first saved tensors."""
        ...

    @property
    def again(self) -> Again | None:
        """A function for second derivatives; None if they would need too much memory."""
        ...

    def __call__(self, upstream: Tensor, saved: Sequence[Tensor]) -> list[Tensor | None]:
        """Return the gradients of the inputs from the gradient of the value."""
        ...


class KnownGradients(NamedTuple):
    """Gradients of one value per example that are computed in the forward pass.

    They are saved after the inputs: for each group of inputs one tensor, inputs × examples × rest.
    """

    groups: Sequence[Sequence[int]]
    given: int
    again: Again | None

    def __call__(self, upstream: Tensor | None, saved: Sequence[Tensor]) -> list[Tensor | None]:
        found: list[Tensor | None] = [None] * self.given
        for group, known in zip(self.groups, saved[self.given :], strict=True):
            each = known if upstream is None else _times(known, upstream, len(group))
            for place, one in zip(group, each.unbind(0), strict=True):
                given = saved[place]
                is_like_it = one.shape == given.shape and one.dtype == given.dtype
                found[place] = one if is_like_it else one.reshape(given.shape).to(given.dtype)
        return found


def _times(known: Tensor, upstream: Tensor, inputs: int) -> Tensor:
    """Return gradients, inputs × examples × rest, times a number for each example."""
    examples = upstream.numel()
    if known.dim() < 2 or known.shape[1] != examples:  # the batch is not one-dimensional
        known = known.reshape(inputs, examples, known.numel() // (inputs * examples))
    return known * upstream.reshape(examples, *(1,) * (known.dim() - 2))


def with_gradients(
    value: Tensor,
    backward: Backward,
    saved: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    is_linear: bool = False,
) -> Tensor:
    """Return a value that has gradients for the inputs. `saved` are the tensors for `backward`.

    `is_linear` says that the value is piecewise linear in the inputs. Then PyTorch differentiates
    `backward` itself for second derivatives.
    """
    made = value, saved, is_linear  # in a tuple, so that autograd does not take it for an input
    found: Tensor = _WithGradients.apply(backward, made, *inputs)  # type: ignore[attr-defined]
    return found


class _WithGradients(_SingleLevelFunction):
    """A value whose gradients go back to the inputs in one step.

    Its base class skips the search for torch.func transforms, which never reach this function.
    """

    @staticmethod
    def forward(
        ctx: Any,
        backward: Backward,
        made: tuple[Tensor, Sequence[Tensor], bool],
        *_inputs: Tensor,
    ) -> Tensor:
        value, saved, is_linear = made
        ctx.found_by = backward
        ctx.is_linear = is_linear
        ctx.save_for_backward(*saved)
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        backward: Backward = ctx.found_by
        saved = ctx.saved_tensors
        if ctx.is_linear or not torch.is_grad_enabled():
            return None, None, *backward(upstream, saved)
        inputs = saved[: backward.given]
        if backward.again is not None:
            return None, None, *_differentiable(backward.again, upstream, inputs)
        found = backward(upstream, saved)
        return None, None, *(None if one is None else _last(one, inputs) for one in found)


def gradients_of(
    value: Tensor, leaves: Sequence[Tensor], upstream: Tensor | None
) -> list[Tensor]:
    """Return the gradients of leaves from the gradient of a value; None stands for 1.

    Gradients that a route knows are asked for directly: on a GPU the engine of PyTorch, with its
    threads, takes longer than a small rule.
    """
    node: Any = value.grad_fn
    if hasattr(node, "found_by"):  # it was made by `with_gradients`
        ends = [getattr(end, "variable", None) for end, _ in node.next_functions]
        if all(any(end is leaf for end in ends) for leaf in leaves):
            backward: Any = node.found_by
            with torch.no_grad():
                if upstream is None and not isinstance(backward, KnownGradients):
                    upstream = torch.ones_like(value)
                found = backward(upstream, node.saved_tensors)
            known = {id(end): one for end, one in zip(ends, found, strict=True)}
            each = [(leaf, known[id(leaf)]) for leaf in leaves]
            return [torch.zeros_like(leaf) if one is None else one for leaf, one in each]
    if not value.requires_grad:
        return [torch.zeros_like(leaf) for leaf in leaves]
    with torch.enable_grad():
        total = (value if upstream is None else value * upstream).sum()
    return list(torch.autograd.grad(total, leaves, materialize_grads=True))


def _differentiable(again: Again, upstream: Tensor, inputs: Sequence[Tensor]
                    ) -> list[Tensor | None]:  # fmt: skip
    """Return gradients that have gradients themselves, for second derivatives."""
    wanted = [given for given in inputs if given.requires_grad]
    with in_full(upstream.device):
        value = again(inputs).reshape(upstream.shape)
        if not value.requires_grad:  # as under `r-godel` if only antecedents need gradients
            return [None] * len(inputs)
        found = iter(
            torch.autograd.grad(value, wanted, upstream, create_graph=True, allow_unused=True)
        )
    return [next(found) if given.requires_grad else None for given in inputs]


def _last(gradient: Tensor, inputs: Sequence[Tensor]) -> Tensor:
    found: Tensor = LastGradients.apply(gradient, *inputs)  # type: ignore[no-untyped-call]
    return found


class LastGradients(torch.autograd.Function):
    """Gradients whose own gradients are refused with an error.

    They depend on the inputs, but their graph was not kept. Without the error, second derivatives
    would silently be 0.
    """

    @staticmethod
    def forward(_ctx: Any, gradient: Tensor, *_inputs: Tensor) -> Tensor:
        return gradient.clone()

    @staticmethod
    def backward(_ctx: Any, *_upstream: Tensor) -> Any:
        raise GroundingError(
            "second derivatives need the groundings of the rule to fit one block, and this batch "
            "has more; pass fewer examples, or compile the rule with a larger block= or "
            "memory_budget="
        )


def zeros_for_gradients(given: Tensor) -> Tensor:
    """Return zeros to which the gradients of a tensor are added, in single precision or better."""
    return torch.zeros_like(given, dtype=torch.promote_types(given.dtype, torch.float32))
