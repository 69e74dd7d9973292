"""Looking into a compiled rule: its worst groundings, how much it says, its plan in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch
from torch import Tensor

from residuum.grounding import Layout, Plan
from residuum.grounding.plans import Connect, Quantify
from residuum.logic import (
    Constant,
    Forall,
    Formula,
    Iff,
    Implies,
    Quantifier,
    Variable,
    compute,
    substitute,
)
from residuum.losses.crisp import Crisp
from residuum.losses.reading import Window, length_in, narrowed
from residuum.losses.receiving import Bound, Call
from residuum.relaxations import Relaxation

if TYPE_CHECKING:
    from residuum.losses.evaluation import Evaluation

MOST_TRIED: Final = 1 << 20
"""Groundings that a look at every class of a softmax may take."""


@dataclass(frozen=True)
class Violation:
    """One grounding of a rule: the example it belongs to, what it says, and its degree."""

    example: tuple[int, ...]
    grounding: Formula
    degree: float

    def __str__(self) -> str:
        return f"{self.grounding}: degree {self.degree:.2g}"


class Groundings(NamedTuple):
    """The outermost `forall`s of a plan, and the step below them."""

    plan: Plan
    quantifiers: tuple[int, ...]
    body: int

    def largest(self, layout: Layout) -> int:
        """Return the most groundings that one step ranges over."""
        sizes = [1] * self.plan.rank
        for number, selection in layout.selections.items():
            step = self.plan.steps[number]
            assert isinstance(step, Quantify)
            for axis, length in zip(step.axes, selection.lengths, strict=True):
                assert axis.dimension is not None
                sizes[axis.dimension] = max(sizes[axis.dimension], length)
        return math.prod(sizes)

    def shape(self, layout: Layout, window: Window | None = None) -> list[int]:
        """Return the lengths of the outermost axes, or of what lies in a window, 1 elsewhere."""
        shape = [1] * self.plan.rank
        for number in self.quantifiers:
            step = self.plan.steps[number]
            assert isinstance(step, Quantify)
            for axis, length in zip(step.axes, layout.selections[number].lengths, strict=True):
                assert axis.dimension is not None
                shape[axis.dimension] = length_in(window, axis.dimension, length)
        return shape

    def counted(self, call: Call, window: Window | None = None) -> Tensor:
        """Return which groundings of each example count."""
        shape = (*call.batch, *self.shape(call.bound.layout, window))
        counted = torch.ones(shape, dtype=torch.bool, device=call.device)
        for number in self.quantifiers:
            mask = call.masks.get(number, call.bound.masks.get(number))
            if mask is not None:
                counted = counted & narrowed(mask, window, self.plan.rank)
        return counted

    def covered(self, crisp: Crisp, call: Call, window: Window | None) -> Tensor:
        """Return of how many groundings the antecedent holds, and how many count: (batch, 2)."""
        counted = self.counted(call, window)
        step = self.plan.steps[self.body]
        holds = counted
        if isinstance(step, Connect) and step.kind is Implies:
            holds = counted & crisp.truth(step.operands[0])
        rows = (len(counted), math.prod(counted.shape[1:]))
        sums = [one.expand(counted.shape).reshape(rows).sum(-1) for one in (holds, counted)]
        return torch.stack(sums, -1)


def groundings_of(plan: Plan) -> Groundings:
    """Return the outermost groundings of a plan."""
    number = len(plan.steps) - 1
    found = []
    step = plan.steps[number]
    while isinstance(step, Quantify) and step.kind is Forall:
        found.append(number)
        number = step.operand
        step = plan.steps[number]
    return Groundings(plan, tuple(found), number)


class Place(NamedTuple):
    """A grounding of an example by its numbers, and its degree."""

    degree: float
    example: int
    axes: tuple[int, ...]


def lowest(
    plan: Plan, evaluation: Evaluation, call: Call, window: Window | None, top: int
) -> list[Place]:
    """Return where groundings that count have the lowest degrees, below 1."""
    groundings = groundings_of(plan)
    shape = groundings.shape(call.bound.layout, window)
    degrees = torch.as_tensor(evaluation.degree(groundings.body).true)
    counted = groundings.counted(call, window)
    flat = torch.where(counted, degrees.expand(counted.shape), torch.inf).flatten()
    count = min(top, int((flat < 1).sum()))
    values, places = torch.topk(flat, count, largest=False)
    found = []
    for value, place in zip(values.tolist(), places.tolist(), strict=True):
        example, *axes = _unravelled(place, (-1, *shape))
        if window is not None:
            axes[window.dimension] += window.start
        found.append(Place(value, example, tuple(axes)))
    return found


def _unravelled(place: int, shape: Sequence[int]) -> list[int]:
    """Return the indices of a place; the first dimension may have any length."""
    found = []
    for length in reversed(shape[1:]):
        place, index = divmod(place, length)
        found.append(index)
    return [place, *reversed(found)]


def name_violations(plan: Plan, call: Call, places: Iterable[Place]) -> list[Violation]:
    """Return groundings spelt out, each with the example it belongs to."""
    groundings = groundings_of(plan)
    return [
        Violation(
            tuple(_unravelled(place.example, call.batch)) if call.batch else (),
            _spell(plan, groundings, call, list(place.axes)),
            place.degree,
        )
        for place in places
    ]


def _spell(plan: Plan, groundings: Groundings, call: Call, at: list[int]) -> Formula:
    """Return one grounding as a formula, its terms computed."""
    formula = plan.formula
    for number in groundings.quantifiers:
        step = plan.steps[number]
        assert isinstance(step, Quantify)
        values: dict[Any, Any] = {}
        for axis, first in zip(step.axes, call.bound.layout.selections[number].firsts, strict=True):
            assert axis.dimension is not None
            place = at[axis.dimension]
            labels = axis.domain.labels
            values[Variable(axis.variable)] = Constant(
                first + place if labels is None else labels[place]
            )
        while not isinstance(formula, Quantifier) or not _binds(formula, step):
            assert isinstance(formula, Quantifier)
            formula = formula.body
        formula = substitute(formula.body, values)
    while isinstance(formula, Forall) and not groundings.quantifiers:
        formula = formula.body
    return compute(formula, dict(plan.functions))  # type: ignore[arg-type]


def _binds(formula: Quantifier, step: Quantify) -> bool:
    names = {binding.variable for binding in formula.bindings}
    return {axis.variable for axis in step.axes} <= names


def describe(plan: Plan, bound: Bound | None, relaxation: Relaxation) -> str:
    """Return the plan in words; without a layout the rule is over sequences."""
    lines = [f"{plan.formula}", f"relaxation {relaxation}"]
    lines += [f"reads {slot}" for slot in plan.slots]
    groundings = groundings_of(plan)
    for step in plan.steps:
        if isinstance(step, Quantify):
            for axis in step.axes:
                size = "as long as the sequence"
                if axis.domain.labels is not None:
                    size = f"{len(axis.domain.labels)} long"
                lines.append(f"axis {axis.variable} over {axis.domain.name}, {size}")
    if bound is not None:
        count = groundings.largest(bound.layout)
        lines.append(
            f"{count:,} groundings per example, {4 * count:,} bytes each time one number is kept "
            "for all of them (single precision)"
        )
    implies = any(isinstance(s, Connect) and s.kind in (Implies, Iff) for s in plan.steps)
    lines.append(_where_slopes_vanish(relaxation, implies))
    if bound is not None:
        lines += _what_one_label_decides(plan, bound)
    return "\n".join(lines)


def _what_one_label_decides(plan: Plan, bound: Bound) -> list[str]:
    """Return a warning if a rule about one softmax holds for every class, or for none."""
    if len(plan.slots) != 1:
        return []
    (slot,) = plan.slots
    if not slot.is_exclusive or len(slot.domains) != 1:
        return []
    classes = len(slot.domains[0].labels or ())
    if classes < 2 or classes * groundings_of(plan).largest(bound.layout) > MOST_TRIED:
        return []
    predicted = torch.eye(classes, dtype=torch.bool)
    call = Call([predicted], (classes,), predicted.device, bound, {})
    holds = Crisp(plan, call).truth(len(plan.steps) - 1)
    if holds.any() and not holds.all():
        return []
    name = slot.predicate.name
    warning = (
        f"warning: `{name}` is one softmax, of which exactly one member is true, and whichever "
        f"that is, the rule is {'obeyed' if holds.all() else 'broken'}; if several may be true, "
        f"or none, pass outputs={{{name!r}: 'independent'}}"
    )
    return [warning]


def _where_slopes_vanish(relaxation: Relaxation, implies: bool) -> str:
    name, kind = type(relaxation.tnorm).__name__, relaxation.kind
    if name == "Product" and (kind == "S" or not implies):
        return "a violated rule always has a gradient"
    if name == "Product":
        return "no gradient where an implication holds: its consequent is as true as its antecedent"
    if name == "Lukasiewicz" and relaxation.is_capped:
        return "no gradient where groundings cost 1 or more together, or an inner conjunction is 0"
    if name == "Lukasiewicz":
        return "no gradient where an inner conjunction is 0 or an inner disjunction is 1"
    if name == "Minimum" and kind == "R":
        return "a gradient only for the worst grounding, and there only for the consequent"
    if name == "Minimum":
        return "a gradient only for the worst grounding, and there only for one atom"
    return "where its truth functions are flat there is no gradient"
