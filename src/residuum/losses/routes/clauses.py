"""The route for rules made of clauses, which evaluates all groundings by one matrix product.

The penalty of a clause is a function of a sum over its literals. All sums are a matrix of 0, 1 and
−1 times the sides that literals read; its transpose takes the gradients back. The routes for tables
and minima share the rest of this file: from logits to sides, and from penalties of groundings to a
loss with its gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, Protocol, final

import torch
from torch import Tensor

from residuum.losses.degrees.fused_logits import (
    Outputs,
    Sides,
    by_slots,
    rows_to_differentiate,
    sides_of,
    split_rows,
)
from residuum.losses.degrees.stacking import Stack
from residuum.losses.degrees.tensors import TENSORS, below_autograd, in_full
from residuum.losses.inputs.calls import Call, Case
from residuum.losses.routes.clause_sums import back_to_columns, evaluate
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.gradients import Again, Backward, KnownGradients, with_gradients
from residuum.losses.routes.listing import Clauses
from residuum.losses.routes.route import Evaluate, Surroundings
from residuum.relaxations.degrees import log1mexp

NEEDS_CARE: Final = "some logits are masked, infinite, no numbers or too far apart"


class Part(NamedTuple):
    """The examples to evaluate: their number, and a mask of their positions (None for all).

    `looks` says that Python may look at values. `is_large` says that there are more groundings than
    fit one block.
    """

    examples: int
    inside: Tensor | None
    wants_gradients: bool
    looks: bool = True
    is_large: bool = False


class Outcome(NamedTuple):
    """The penalties computed from rows of sides, and two functions for their gradients.

    `back(upstream, *kept)` returns the gradients of the rows; upstream None stands for 1.
    `again(rows)` computes the value again by operations that can be differentiated twice.
    """

    value: Tensor
    kept: Sequence[Tensor]
    back: Callable[..., Tensor]
    again: Callable[[Tensor], Tensor]


class Kernel(Protocol):
    """Computes the penalties of clauses: rules × examples, or examples for a single rule."""

    def __call__(self, clauses: Clauses, sides: Sides, part: Part) -> Outcome | None:
        """Return the outcome; None if these values need another route."""
        ...


@final
class ClausesRoute:
    """Evaluates clauses by one matrix product each way."""

    name: Final = "clauses"
    hands_over_because: Final = NEEDS_CARE

    def __init__(self, definition: Definition) -> None:
        self._definition = definition

    def prepare(self, case: Case, around: Surroundings) -> Evaluate | str:
        """Return a function that evaluates calls of a case, or the reason why there is none."""
        clauses = usable_clauses(self._definition, case, around)
        if isinstance(clauses, str):
            return clauses
        if not clauses.width:
            return "a matrix of the clauses would be too large"
        if clauses.cross is not None:
            return "a cross of their table is smaller than a matrix of the clauses"
        if case.groundings > self._definition.block(case.device):
            return f"{case.groundings:,} groundings do not fit one block"
        return ByHand(sums, clauses, case, self._definition.is_several)


def usable_clauses(definition: Definition, case: Case, around: Surroundings) -> Clauses | str:
    """Return the groundings of a case as clauses, or the reason why they cannot be evaluated so."""
    if around.why_not_multiplied is not None:
        return around.why_not_multiplied
    if not case.examples:
        return "the batch is empty"
    if case.is_broadcast:
        return "some tensors are broadcast over the batch"
    if case.is_observed:
        return "some outputs are observed or compared, and gradients by hand are for networks only"
    return definition.clauses(case.sizes, case.device)


@dataclass(eq=False)
class ByHand:
    """Evaluates calls of a case by a kernel, with gradients by hand.

    All calls of a case have the same shapes, so that they share their stacks.
    """

    kernel: Kernel
    clauses: Clauses
    case: Case
    is_several: bool
    is_large: bool = False
    _stacks: Sequence[Stack] | None = None

    def __call__(self, call: Call) -> Tensor | None:
        """Return penalties of shape batch or rules × batch; None if values need another route."""
        clauses, inputs = self.clauses, call.inputs
        shape = (len(clauses.segments), *call.batch) if self.is_several else call.batch
        wants_gradients = torch.is_grad_enabled() and any(given.requires_grad for given in inputs)
        with below_autograd():
            found = self._found(call, wants_gradients=wants_gradients)
            if found is None:
                return None
            sides, outcome = found
            value = outcome.value
            if value.shape != shape:  # a copy, which callers may change in place
                value = value.reshape(shape).clone()
            if not wants_gradients:
                return value
            known = None
            if len(clauses.segments) == 1 and not clauses.inside:  # one penalty per example
                known = sides.gradients(outcome.back(None, *outcome.kept))
        stacks = sides.stacks
        # Not `outcome` itself: a reference to its value would keep the graph alive.
        again = partial(_value_again, stacks, clauses.cost == "complement", outcome.again)
        saved = list(inputs)
        backward: Backward
        if known is not None:
            saved += known
            backward = KnownGradients([stack.slots for stack in stacks], len(inputs), again)
        else:
            saved += outcome.kept
            starts = [len(saved)]
            for outputs in sides.outputs:
                saved += outputs.saved
                starts.append(len(saved))
            kinds = [type(outputs) for outputs in sides.outputs]
            backward = _LaterGradients(stacks, len(inputs), again, kinds, starts, outcome.back)
        return with_gradients(value, backward, saved, inputs)

    def into(self, call: Call, room: Sequence[Tensor]) -> Tensor | None:
        """Return the penalties of one rule, and write their gradients to `room` if there is any.

        `room` is what `room_for` returns, cut to the examples of the call.
        """
        with below_autograd():
            found = self._found(call, wants_gradients=bool(room))
            if found is None:
                return None
            sides, outcome = found
            if room:
                # The mask of positions is applied to the upstream gradient, so it cannot be None.
                upstream = torch.ones_like(outcome.value) if self.clauses.inside else None
                sides.gradients(outcome.back(upstream, *outcome.kept), room)
            return outcome.value.reshape(call.batch)

    def room_for(self, inputs: Sequence[Tensor]) -> tuple[list[Tensor], list[Sequence[int]]]:
        """Return empty tensors for the gradients of inputs, and which inputs share each of them."""
        groups: list[Sequence[int]] = [group.slots for group in self.clauses.groups]
        likes = [inputs[slots[0]] for slots in groups]
        dtypes = [torch.promote_types(like.dtype, torch.float32) for like in likes]
        room = [
            like.new_empty((len(slots), *like.shape), dtype=dtype)
            for slots, like, dtype in zip(groups, likes, dtypes, strict=True)
        ]
        return room, groups

    def _found(self, call: Call, *, wants_gradients: bool) -> tuple[Sides, Outcome] | None:
        clauses, examples, stacks = self.clauses, self.case.examples, self._stacks
        if stacks is None:
            stacks = self._stacks = clauses.stacks(examples, call.inputs)
        sides = sides_of(stacks, call.inputs, divides=clauses.cost == "complement", looks=True)
        if sides is None:
            return None
        inside = _inside(clauses, call.lengths)
        part = Part(examples, inside, wants_gradients, is_large=self.is_large)
        outcome = self.kernel(clauses, sides, part)
        return None if outcome is None else (sides, outcome)


def _value_again(
    stacks: Sequence[Stack],
    as_logarithms: bool,
    again: Callable[[Tensor], Tensor],
    inputs: Sequence[Tensor],
) -> Tensor:
    return again(rows_to_differentiate(stacks, as_logarithms, inputs))


class _LaterGradients(NamedTuple):
    """Gradients that must wait for the backward pass: of several rules, or over positions.

    Saved are the inputs, then the tensors for `back` up to the first of `starts`, then those of
    each stack.
    """

    stacks: Sequence[Stack]
    given: int
    again: Again
    kinds: Sequence[type[Outputs]]
    starts: Sequence[int]
    back: Callable[..., Tensor]

    def __call__(self, upstream: Tensor, saved: Sequence[Tensor]) -> list[Tensor | None]:
        with in_full(upstream.device), below_autograd():
            rows = split_rows(self.back(upstream, *saved[self.given : self.starts[0]]), self.stacks)
            each = [
                stack.unstack(kind.back(own, stack.add_up, *saved[start:stop]))
                for kind, stack, own, start, stop in zip(
                    self.kinds, self.stacks, rows, self.starts[:-1], self.starts[1:], strict=True
                )
            ]
        return by_slots(self.stacks, each, saved[: self.given])


class Recordable(NamedTuple):
    """Penalties and gradients of the inputs. Both are valid only if `is_safe`."""

    value: Tensor
    gradients: Sequence[Tensor]
    is_safe: Tensor


def recordable_penalties(
    kernel: Kernel,
    clauses: Clauses,
    inputs: Sequence[Tensor],
    lengths: Tensor | None,
    shape: tuple[int, ...],
    examples: int,
    upstream: Tensor | None,
    *,
    wants_gradients: bool,
) -> Recordable:
    """Return penalties and gradients without looking at values, so that they can be recorded.

    The gradients are multiplied by `upstream`; a single rule may leave it out.
    """
    stacks = clauses.stacks(examples, inputs)
    with below_autograd():
        sides = sides_of(stacks, inputs, divides=clauses.cost == "complement", looks=False)
        assert sides is not None
        assert isinstance(sides.is_safe, Tensor)
        inside = _inside(clauses, lengths)
        outcome = kernel(clauses, sides, Part(examples, inside, wants_gradients, looks=False))
        assert outcome is not None  # only a cross can fail, and there is none
        gradients: list[Tensor] = []
        if wants_gradients:
            if upstream is None and clauses.inside:  # the mask of positions is applied to it
                upstream = torch.ones_like(outcome.value)
            each = sides.gradients(outcome.back(upstream, *outcome.kept))
            found = zip(inputs, by_slots(stacks, each, inputs), strict=True)
            gradients = [torch.zeros_like(one) if own is None else own for one, own in found]
        return Recordable(outcome.value.reshape(shape), gradients, sides.is_safe)


def _inside(clauses: Clauses, lengths: Tensor | None) -> Tensor | None:
    """Return a mask of the positions of each example that count; None if all count."""
    if lengths is None:
        return None
    return torch.stack([at < lengths.reshape(-1, 1) for at in clauses.inside]).all(0)


# The kernel of this route: sums over literals


def sums(clauses: Clauses, sides: Sides, part: Part) -> Outcome:
    """Return the total penalty of the groundings of each rule."""
    value, kept = evaluate(clauses, sides, wants_gradients=part.wants_gradients)
    over = _Positions(part.examples, part.inside) if clauses.inside else None
    return Outcome(
        value if over is None else over.add_up(value),
        kept,
        partial(_gradients_of_rows, clauses, over),
        partial(_sums_again, clauses, over),
    )


class _Positions(NamedTuple):
    """Sums over the positions of sequences. `inside` is a mask of the positions that count."""

    examples: int
    inside: Tensor | None

    def add_up(self, penalty: Tensor) -> Tensor:
        """Return the sums over positions: (…, examples) from (…, examples × positions)."""
        apart = penalty.reshape(*penalty.shape[:-1], self.examples, -1)
        return (apart if self.inside is None else apart.where(self.inside, 0.0)).sum(-1)

    def spread(self, gradient: Tensor, size: int) -> Tensor:
        """Return the gradients of all positions, rules × size, from those of the sums."""
        apart = gradient.unsqueeze(-1).expand(-1, -1, size // self.examples)
        counted = apart if self.inside is None else apart.where(self.inside, 0.0)
        return counted.reshape(-1, size)  # `flatten` does not work on batched gradients


def _gradients_of_rows(
    clauses: Clauses, over: _Positions | None, upstream: Tensor | None, *kept: Tensor
) -> Tensor:
    """Return the gradients of the columns, as a tensor that may be overwritten."""
    if clauses.cost == "complement":  # gradients of logarithms so far
        *gradients, truths = kept
        return _gradients_of_sums(clauses, over, upstream, gradients).div_(truths)
    return _gradients_of_sums(clauses, over, upstream, kept)


def _gradients_of_sums(
    clauses: Clauses, over: _Positions | None, upstream: Tensor | None, each: Sequence[Tensor]
) -> Tensor:
    """Return the gradients of the summands of clauses: columns, or their logarithms."""
    if upstream is None:
        return back_to_columns(clauses, each[0]) if clauses.are_rows_rules else each[0]
    size = each[0].shape[1]
    upstream = upstream.reshape(len(clauses.segments), -1)
    if over is not None:
        upstream = over.spread(upstream, size)
    if clauses.are_rows_rules:
        return back_to_columns(clauses, each[0] * upstream)
    total = each[0] * upstream[0]
    for gradient, one in zip(each[1:], upstream[1:], strict=True):
        total.addcmul_(gradient, one)
    return total


def _sums_again(clauses: Clauses, over: _Positions | None, rows: Tensor) -> Tensor:
    """Return the penalties of rules by operations that can be differentiated twice."""
    total = costs_again(clauses, clauses.matrix.to(rows.dtype) @ rows)
    return total if over is None else over.add_up(total)


def costs_again(clauses: Clauses, slack: Tensor) -> Tensor:
    """Return the penalties of rules from the sums over the literals of their clauses."""
    is_excess = clauses.cost == "excess"
    costs = torch.relu(slack) if is_excess else -log1mexp(TENSORS, slack)
    return torch.stack([one.sum(0) for one in costs.split(clauses.segments)])
