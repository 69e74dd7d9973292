"""The violations of a rule: its worst groundings, spelt out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from residuum.grounding import Plan
from residuum.grounding.plans import Quantify
from residuum.logic import Constant, Forall, Formula, Quantifier, Variable, compute, substitute
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.layouts import Groundings, groundings_of
from residuum.losses.questions.pieces import pieces_of
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.steps import Evaluation, evaluation_of


@dataclass(frozen=True)
class Violation:
    """One grounding of a rule: the example it belongs to, what it says, and its degree."""

    example: tuple[int, ...]
    grounding: Formula
    degree: float

    def __str__(self) -> str:
        return f"{self.grounding}: degree {self.degree:.2g}"


def violations(definition: Definition, call: Call, top: int) -> list[Violation]:
    """Return the groundings with the lowest degrees in the batch, worst first."""
    found: list[Place] = []
    with torch.no_grad():
        for part, first in pieces_of(definition, call):
            places = lowest(definition.plan, evaluation_of(definition, part), part, top)
            found += [place._replace(example=first + place.example) for place in places]
            found = sorted(found)[:top]
    return name_violations(definition.plan, call, found)


class Place(NamedTuple):
    """A grounding of an example by its numbers, and its degree."""

    degree: float
    example: int
    axes: tuple[int, ...]


def lowest(plan: Plan, evaluation: Evaluation, call: Call, top: int) -> list[Place]:
    """Return where groundings that count have the lowest degrees, below 1."""
    groundings, window = groundings_of(plan), call.window
    shape = groundings.shape(call.bound.layout, window)
    degrees = torch.as_tensor(evaluation.degree(groundings.body).true)
    counted = groundings.counted(call.bound, call.batch, call.masks, call.device, window)
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
