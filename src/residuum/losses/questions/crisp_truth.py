"""The Boolean truth of a rule for predictions: its plan, evaluated on true and false."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import final

import torch
from torch import Tensor

from residuum.grounding import Plan
from residuum.grounding.plans import Connect, Known, Quantify, Read, Slot
from residuum.logic import And, Count, Forall, Iff, Implies, Not
from residuum.losses.degrees.comparing import holds
from residuum.losses.degrees.logits import Form
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.reading import length_in, narrowed, read
from residuum.losses.questions.pieces import ask
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.steps import per_example


def satisfied(definition: Definition, call: Call) -> Tensor:
    """Return whether the predictions of each example obey the rule."""
    root = len(definition.plan.steps) - 1

    def holds(call: Call) -> Tensor:
        truth = crisp_truth_of(definition, call).truth(root)
        return per_example(truth, call, definition.plan.rank)

    return ask(definition, call, holds, torch.logical_and).reshape(call.batch)


def crisp_truth_of(definition: Definition, call: Call) -> Crisp:
    """Return an evaluation of a rule on the predictions of a call."""
    given = zip(call.inputs, definition.plan.slots, definition.forms, strict=True)
    predicted = [_predict(*one) for one in given]
    return Crisp(definition.plan, call._replace(inputs=predicted))


def _predict(given: Tensor, slot: Slot, form: Form) -> Tensor:
    """Return what is predicted to be true.

    A softmax predicts its likeliest class, the first of equals; a sigmoid predicts true above ½. A
    comparison of quantities is true or false.
    """
    if slot.compared is not None:
        return holds(given, slot.compared.comparison.operator)
    if slot.is_exclusive and given.shape[-1]:
        top = given.argmax(-1, keepdim=True)
        return torch.zeros_like(given, dtype=torch.bool).scatter(-1, top, True)
    half = {"log_probs": -0.6931471805599453, "probs": 0.5}.get(form, 0.0)
    return given > half


@final
class Crisp:
    """One evaluation of a plan on Booleans: the inputs of the call are predictions.

    With `upper` it tells which degrees are exactly 1 and which exactly 0 in a strict R-logic. Then
    the inputs, the lower bounds, are true where a degree is 1, and `upper` is false where it is 0.
    """

    def __init__(self, plan: Plan, call: Call, upper: Sequence[Tensor] | None = None) -> None:
        self._plan = plan
        self._call = call
        self._upper = upper
        self._window = call.window
        self._known: dict[tuple[int, bool], Tensor] = {}

    def truth(self, number: int, *, is_upper: bool = False) -> Tensor:
        """Return the truth of a step over its axes: its lower bound, or its upper bound."""
        key = number, is_upper and self._upper is not None
        if key not in self._known:
            self._known[key] = self._compute(*key)
        return self._known[key]

    def mask(self, number: int) -> Tensor | None:
        """Return which groundings of a quantifier count; None if all do."""
        mask = self._call.masks.get(number, self._call.bound.masks.get(number))
        return None if mask is None else narrowed(mask, self._window, self._plan.rank)

    def spread(self, x: Tensor, number: int) -> Tensor:
        """Return x expanded to its full length along the axes of a quantifier."""
        step = self._plan.steps[number]
        assert isinstance(step, Quantify)
        shape = [*(1,) * (self._plan.rank - x.dim()), *x.shape]
        lengths = self._call.bound.layout.selections[number].lengths
        for axis, length in zip(step.axes, lengths, strict=True):
            assert axis.dimension is not None
            shape[axis.dimension - self._plan.rank] = length_in(
                self._window, axis.dimension, length
            )
        return x.expand(shape)

    def _compute(self, number: int, is_upper: bool) -> Tensor:
        match self._plan.steps[number]:
            case Known(value):
                return torch.tensor(value, device=self._call.device)
            case Read(slot):
                bound = self._call.bound
                access, index = bound.layout.accesses[number], bound.indices.get(number)
                inputs = self._call.inputs if self._upper is None or not is_upper else self._upper
                return read(inputs[slot], access, index, self._plan.rank, self._window)
            case Quantify(axes=axes, operand=operand, count=Count() as count):
                dimensions = [axis.dimension - self._plan.rank for axis in axes]  # type: ignore[operator]
                mask = self.mask(number)
                numbers = []
                for body in self._both(operand):
                    whole = self.spread(body, number)
                    counted = whole if mask is None else whole & mask
                    numbers.append(counted.sum(dimensions, keepdim=True))
                return _holds(count, *numbers, is_upper=is_upper)
            case Quantify(kind, axes, operand=operand):
                is_forall = kind is Forall
                dimensions = [axis.dimension - self._plan.rank for axis in axes]  # type: ignore[operator]
                body = self.spread(self.truth(operand, is_upper=is_upper), number)
                mask = self.mask(number)
                if mask is not None:
                    body = body | ~mask if is_forall else body & mask
                for dimension in dimensions:
                    reduced = torch.all if is_forall else torch.any
                    body = reduced(body, dimension, keepdim=True)
                return body
            case Connect(operands=operands, count=Count() as count):
                bounds = zip(*(self._both(operand) for operand in operands), strict=True)
                numbers = [reduce(torch.add, [x.to(torch.int64) for x in one]) for one in bounds]
                return _holds(count, *numbers, is_upper=is_upper)
            case Connect(kind, operands):
                if kind is Not:  # which swaps the bounds
                    return ~self.truth(operands[0], is_upper=not is_upper)
                parts = [self.truth(operand, is_upper=is_upper) for operand in operands]
                if kind in (Implies, Iff):
                    # Only a degree of exactly 0 implies 0.
                    denied = [~self.truth(operand, is_upper=True) for operand in operands]
                    if kind is Implies:
                        return denied[0] | parts[1]
                    return (parts[0] & parts[1]) | (denied[0] & denied[1])
                return reduce(torch.logical_and if kind is And else torch.logical_or, parts)

    def _both(self, number: int) -> tuple[Tensor, Tensor]:
        """Return both bounds of a step. They are equal without `upper`."""
        return self.truth(number), self.truth(number, is_upper=True)


def _holds(count: Count, fewest: Tensor, most: Tensor, *, is_upper: bool) -> Tensor:
    """Return whether a count holds where so many are true: surely, or perhaps for `is_upper`."""
    reached, exceeded = (most, fewest) if is_upper else (fewest, most)
    if count.relation == "at least":
        return reached >= count.number
    are_few = exceeded <= count.number
    return are_few if count.relation == "at most" else are_few & (reached >= count.number)
