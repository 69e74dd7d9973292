# mypy: disable-error-code="no-untyped-call, no-any-return"
"""Rules inside `torch.compile`: a whole rule is one operator, which takes its usual route.

A trace cannot look at values, so that it would have to compute whatever is accurate anywhere, even
where it is not needed. The routes look at values first and know their gradients, and are faster
than the same rule traced and fused. So a trace has one operator for a rule, and fuses what comes
before and after it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from residuum.losses.inputs.calls import Call


class Evaluator(Protocol):
    """Finds the penalties of a rule, or of several: rules × batch."""

    def at_once(self, inputs: Sequence[Tensor], lengths: Tensor | None) -> Tensor:
        """Return the penalties of tensors that are checked, none of them broadcast."""
        ...


_EVALUATORS: Final[WeakValueDictionary[int, Evaluator]] = WeakValueDictionary()
_NUMBERS: Final = itertools.count()


def enrol(evaluator: Evaluator) -> int:
    """Return a number by which operators find an evaluator while it is in use."""
    number = next(_NUMBERS)
    _EVALUATORS[number] = evaluator
    return number


def penalties(call: Call, depths: Sequence[int], number: int, rules: int | None) -> Tensor:
    """Return the penalties of a call as one operator of a trace.

    `depths` says of each tensor how many dimensions are not of the batch. `rules` is None for a
    single rule, whose penalties have the shape of the batch.
    """
    inputs = [
        given.expand((*call.batch, *given.shape[given.dim() - depth :]))
        for given, depth in zip(call.inputs, depths, strict=True)
    ]
    wants = [torch.is_grad_enabled() and given.requires_grad for given in inputs]
    if not any(wants):
        given = inputs, call.lengths, wants, len(call.batch), number, rules
        return torch.ops.residuum.penalties(*given)[0]
    function = _OfOneRule if rules is None else _OfSeveralRules
    about = number, rules, len(call.batch), wants
    found: Tensor = function.apply(about, call.lengths, *inputs)
    return found


class _OfOneRule(torch.autograd.Function):
    """The penalties of a rule, whose gradients are found with them.

    An example's penalty depends on that example alone, so that the gradients of their sum are
    those of each.
    """

    @staticmethod
    def forward(
        ctx: Any, about: tuple[Any, ...], lengths: Tensor | None, *inputs: Tensor
    ) -> Tensor:
        number, rules, batch, wants = about
        value, *known = torch.ops.residuum.penalties(inputs, lengths, wants, batch, number, rules)
        ctx.wants = wants
        ctx.save_for_backward(*known)
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        found = iter([_spread(upstream, one) * one for one in ctx.saved_tensors])
        return None, None, *(next(found) if wanted else None for wanted in ctx.wants)


class _OfSeveralRules(torch.autograd.Function):
    """The penalties of several rules, which are evaluated once more for their gradients."""

    @staticmethod
    def forward(
        ctx: Any, about: tuple[Any, ...], lengths: Tensor | None, *inputs: Tensor
    ) -> Tensor:
        number, rules, batch, wants = about
        nothing = [False] * len(wants)
        [value] = torch.ops.residuum.penalties(inputs, lengths, nothing, batch, number, rules)
        ctx.number, ctx.wants, ctx.has_lengths = number, wants, lengths is not None
        ctx.save_for_backward(*inputs, *([] if lengths is None else [lengths]))
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        saved = list(ctx.saved_tensors)
        lengths = saved.pop() if ctx.has_lengths else None
        given = upstream, saved, lengths, ctx.wants, ctx.number
        found = iter(torch.ops.residuum.gradients(*given))
        return None, None, *(next(found) if wanted else None for wanted in ctx.wants)


def _spread(upstream: Tensor, like: Tensor) -> Tensor:
    """Return one number per example, for all entries of an example."""
    return upstream.reshape(upstream.shape + (1,) * (like.dim() - upstream.dim()))


# The operators, of which a trace knows no more than the shapes of what they return


def _penalties(
    inputs: Sequence[Tensor],
    lengths: Tensor | None,
    wants: Sequence[bool],
    _batch: int,
    number: int,
    _rules: int | None,
) -> list[Tensor]:
    """Return penalties, and the gradients of their sum that are wanted."""
    if not any(wants):
        with torch.no_grad():
            return [_EVALUATORS[number].at_once(inputs, lengths)]
    with _recorded():
        value, leaves = _evaluated(inputs, lengths, wants, number)
        found = torch.autograd.grad(value.sum(), leaves, materialize_grads=True)
    return [value.detach(), *map(_apart, found)]


def _gradients(
    upstream: Tensor,
    inputs: Sequence[Tensor],
    lengths: Tensor | None,
    wants: Sequence[bool],
    number: int,
) -> list[Tensor]:
    """Return the gradients that are wanted, from those of the penalties."""
    with _recorded():
        value, leaves = _evaluated(inputs, lengths, wants, number)
        found = torch.autograd.grad((value * upstream).sum(), leaves, materialize_grads=True)
    return list(map(_apart, found))


def _evaluated(
    inputs: Sequence[Tensor], lengths: Tensor | None, wants: Sequence[bool], number: int
) -> tuple[Tensor, list[Tensor]]:
    """Return penalties, and the tensors whose gradients are wanted."""
    given = [one.detach().requires_grad_(wanted) for one, wanted in zip(inputs, wants, strict=True)]
    return _EVALUATORS[number].at_once(given, lengths), list(itertools.compress(given, wants))


@contextmanager
def _recorded() -> Iterator[None]:
    """Have gradients recorded inside of an operator, which PyTorch runs below autograd."""
    keys = torch._C.DispatchKey
    with (
        torch._C._SetExcludeDispatchKeyGuard(keys.AutogradFunctionality, False),
        torch._C._SetExcludeDispatchKeyGuard(keys.ADInplaceOrView, False),
        torch.enable_grad(),
    ):
        yield


def _apart(gradient: Tensor) -> Tensor:
    """Return a gradient with memory of its own: those of alike inputs are parts of one tensor."""
    return gradient.clone(memory_format=torch.contiguous_format)


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


# Not by `torch.library.custom_op`: what it checks at each call takes as long as a small rule.
_LIBRARY: Final = torch.library.Library("residuum", "DEF")
for _operator, _fake, _schema in (
    (_penalties, _like_penalties, "Tensor[] i, Tensor? l, bool[] w, int b, int n, int? r"),
    (_gradients, _like_gradients, "Tensor u, Tensor[] i, Tensor? l, bool[] w, int n"),
):
    _name = _LIBRARY.define(f"{_operator.__name__[1:]}({_schema}) -> Tensor[]")
    _LIBRARY.impl(_name, torch.compiler.disable(_operator), "CompositeExplicitAutograd")
    torch.library.register_fake(f"residuum::{_name}", _fake, lib=_LIBRARY)
