# mypy: disable-error-code="no-untyped-call, no-any-return"
"""Rules inside `torch.compile`: a whole rule is one operator, which takes its usual route.

A trace cannot look at values, so that it would have to compute every case, needed or not. The
routes look at values first, know their gradients, and are faster than the same rule traced and
fused. So a trace has one operator for a rule, and fuses the operations before and after it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol
from weakref import WeakValueDictionary

import torch
from torch import Tensor
from torch._compile import _disable_dynamo

from residuum.losses.inputs.calls import Call
from residuum.losses.routes.gradients import gradients_of


class Evaluator(Protocol):
    """Computes the penalties of one rule, or rules × batch for several."""

    def penalties_of(self, inputs: Sequence[Tensor], lengths: Tensor | None) -> Tensor:
        """Return the penalties of checked tensors, all with the full batch shape."""
        ...


_EVALUATORS: Final[WeakValueDictionary[int, Evaluator]] = WeakValueDictionary()
_NUMBERS: Final = itertools.count()


def register(evaluator: Evaluator) -> int:
    """Register an evaluator and return the number by which operators find it while it exists."""
    number = next(_NUMBERS)
    _EVALUATORS[number] = evaluator
    return number


def penalties(call: Call, depths: Sequence[int], number: int, rules: int | None) -> Tensor:
    """Return the penalties of a call as one operator of a trace.

    `depths` is the number of dimensions of each tensor after the batch. `rules` is the number of
    rules, or None for a single rule, whose penalties have the shape of the batch.
    """
    inputs = [
        given.expand((*call.batch, *given.shape[given.dim() - depth :]))
        for given, depth in zip(call.inputs, depths, strict=True)
    ]
    wants = [torch.is_grad_enabled() and given.requires_grad for given in inputs]
    given = inputs, call.lengths, wants, len(call.batch), number, rules
    return torch.ops.residuum.penalties(*given)[0]


# The operators. A trace knows only the shapes of their results.


def _penalties(
    inputs: Sequence[Tensor],
    lengths: Tensor | None,
    wants: Sequence[bool],
    _batch: int,
    number: int,
    rules: int | None,
) -> list[Tensor]:
    """Return the penalties, and for a single rule the gradients of the inputs that want them.

    The penalty of an example depends only on that example. So the gradient of the sum of all
    penalties has the gradient of each. Several rules are evaluated again in the backward pass.
    """
    if rules is not None or not any(wants):
        with torch.no_grad():
            return [_EVALUATORS[number].penalties_of(inputs, lengths)]
    with _recorded():
        value, leaves = _evaluated(inputs, lengths, wants, number)
        found = gradients_of(value, leaves, None)
    return [value.detach(), *map(_copied, found)]


def _save(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    given, lengths, ctx.wants, _, ctx.number, ctx.rules = inputs
    ctx.inputs = 0
    if ctx.rules is None:
        ctx.save_for_backward(*output[1:])
    else:
        ctx.inputs = len(given)
        ctx.save_for_backward(*given, *([] if lengths is None else [lengths]))


def _backward(ctx: Any, upstream: Sequence[Tensor]) -> tuple[Any, ...]:
    saved = list(ctx.saved_tensors)
    if ctx.rules is None:
        found = iter([_spread(upstream[0], one) * one for one in saved])
    else:
        given, lengths = saved[: ctx.inputs], next(iter(saved[ctx.inputs :]), None)
        about = upstream[0], given, lengths, ctx.wants, ctx.number
        found = iter(torch.ops.residuum.gradients(*about))
    return [next(found) if wanted else None for wanted in ctx.wants], None, None, None, None, None


def _spread(upstream: Tensor, like: Tensor) -> Tensor:
    """Return one number per example, in a shape that broadcasts over the entries of an example."""
    return upstream.reshape(upstream.shape + (1,) * (like.dim() - upstream.dim()))


def _gradients(
    upstream: Tensor,
    inputs: Sequence[Tensor],
    lengths: Tensor | None,
    wants: Sequence[bool],
    number: int,
) -> list[Tensor]:
    """Return the gradients of the inputs that want them, from the gradients of the penalties."""
    with _recorded():
        value, leaves = _evaluated(inputs, lengths, wants, number)
        found = gradients_of(value, leaves, upstream)
    return list(map(_copied, found))


def _evaluated(
    inputs: Sequence[Tensor], lengths: Tensor | None, wants: Sequence[bool], number: int
) -> tuple[Tensor, list[Tensor]]:
    """Return the penalties, and the tensors that want gradients."""
    given = [one.detach().requires_grad_(wanted) for one, wanted in zip(inputs, wants, strict=True)]
    return _EVALUATORS[number].penalties_of(given, lengths), list(itertools.compress(given, wants))


@contextmanager
def _recorded() -> Iterator[None]:
    """Turn autograd on inside an operator, which PyTorch runs below autograd."""
    keys = torch._C.DispatchKey
    with (
        torch._C._SetExcludeDispatchKeyGuard(keys.AutogradFunctionality, False),
        torch._C._SetExcludeDispatchKeyGuard(keys.ADInplaceOrView, False),
        torch.enable_grad(),
    ):
        yield


def _copied(gradient: Tensor) -> Tensor:
    """Return a gradient, or a copy of one that is a part of another tensor."""
    if gradient._is_view() or not gradient.is_contiguous():
        return gradient.clone(memory_format=torch.contiguous_format)
    return gradient


def _like_penalties(
    inputs: Sequence[Tensor],
    _lengths: Tensor | None,
    wants: Sequence[bool],
    batch: int,
    _number: int,
    rules: int | None,
) -> list[Tensor]:
    dtype = torch.float32
    for given in inputs:
        dtype = torch.promote_types(dtype, given.dtype)
    shape = inputs[0].shape[:batch]
    value = inputs[0].new_empty(shape if rules is None else (rules, *shape), dtype=dtype)
    if rules is not None:
        return [value]
    return [value, *map(_like, itertools.compress(inputs, wants))]


def _like_gradients(
    _upstream: Tensor,
    inputs: Sequence[Tensor],
    _lengths: Tensor | None,
    wants: Sequence[bool],
    _number: int,
) -> list[Tensor]:
    return list(map(_like, itertools.compress(inputs, wants)))


def _like(given: Tensor) -> Tensor:
    return torch.empty_like(given, memory_format=torch.contiguous_format)


# Not by `torch.library.custom_op`: its checks at each call take as long as a small rule.
_LIBRARY: Final = torch.library.Library("residuum", "DEF")
for _operator, _fake, _schema in (
    (_penalties, _like_penalties, "Tensor[] i, Tensor? l, bool[] w, int b, int n, int? r"),
    (_gradients, _like_gradients, "Tensor u, Tensor[] i, Tensor? l, bool[] w, int n"),
):
    _name = _LIBRARY.define(f"{_operator.__name__[1:]}({_schema}) -> Tensor[]")
    _LIBRARY.impl(_name, _disable_dynamo(_operator), "CompositeExplicitAutograd")
    torch.library.register_fake(f"residuum::{_name}", _fake, lib=_LIBRARY)
torch.library.register_autograd("residuum::penalties", _backward, setup_context=_save, lib=_LIBRARY)
