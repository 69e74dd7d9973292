"""The violations of a rule: groundings that the predictions break, written out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from residuum.errors import GroundingError
from residuum.grounding import Plan
from residuum.grounding.plans import Quantify
from residuum.logic import Constant, Forall, Formula, Quantifier, Variable, compute, substitute
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.evidence import are_all_observed
from residuum.losses.inputs.layouts import Groundings, groundings_of
from residuum.losses.questions.crisp_truth import crisp_truth_of
from residuum.losses.questions.pieces import pieces_of
from residuum.losses.relations.grounded import Grounded
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.steps import evaluation_of


@dataclass(frozen=True)
class Violation:
    """A grounding that the predictions break: its example, what it says, and its degree of truth.

    `example` is the index of the example in the batch, one number for each batch dimension. A rule
    about several members of open domains names them in the grounding, and has no index.

    >>> import torch
    >>> import residuum as rs
    >>> rule = rs.compile("Rain -> Wet", "r-product", inputs="probs")
    >>> [found] = rule.violations(Rain=torch.tensor([0.9]), Wet=torch.tensor([0.3]))
    >>> found.example, round(found.degree, 2)
    ((0,), 0.33)
    """

    example: tuple[int, ...]
    grounding: Formula
    degree: float

    def __str__(self) -> str:
        where = ""
        if self.example:
            index = self.example[0] if len(self.example) == 1 else self.example
            where = f"example {index}: "
        return f"{where}{self.grounding}, degree {self.degree:.2g}"


def violations(definition: Definition, call: Call, top: int) -> list[Violation]:
    """Return groundings that the predictions break, those with the lowest degrees first."""
    found: list[Place] = []
    with torch.no_grad():
        for part, first in pieces_of(definition, call):
            found += (
                one._replace(example=first + one.example) for one in _lowest(definition, part, top)
            )
            found = sorted(found)[:top]
    return _named(definition.plan, call, found)


def refuse_contradiction(definition: Definition, call: Call) -> None:
    """Raise GroundingError if the outputs, all of them observed, break the rule."""
    slots = definition.plan.slots if call.rows is None else definition.plan.outputs
    if not are_all_observed(slots, call.labels or {}, call.lengths):
        return
    found = violations(definition, call, 1)
    if found:
        raise GroundingError(
            f"observed: expected labels that obey the rule, got {found[0]}; correct the "
            "labels, or compile the rule without check="
        )


class Place(NamedTuple):
    """A grounding of an example: its degree, and its index in the batch and along each axis."""

    degree: float
    example: int
    axes: tuple[int, ...]


def _lowest(definition: Definition, call: Call, top: int) -> list[Place]:
    """Return the broken groundings of a call with the lowest degrees, in the order of the batch."""
    groundings, window = groundings_of(definition.plan), call.window
    shape = groundings.shape(call.bound.layout, window)
    counted = groundings.counted(call.bound, call.batch, call.masks, call.device, window)
    broken = counted & ~crisp_truth_of(definition, call).truth(groundings.body)
    places = broken.flatten().nonzero().squeeze(1)
    if not len(places):
        return []
    degree = evaluation_of(definition, call).degree(groundings.body).true
    degrees = torch.as_tensor(degree, device=call.device).expand(counted.shape).flatten()[places]
    values, order = degrees.sort(stable=True)
    found = []
    for value, place in zip(values[:top].tolist(), places[order[:top]].tolist(), strict=True):
        example, *axes = _unravelled(place, (-1, *shape))
        if window is not None:
            axes[window.dimension] += window.start
        found.append(Place(value, example, tuple(axes)))
    return found


def _unravelled(place: int, shape: Sequence[int]) -> list[int]:
    """Return the index along each dimension of a place in a flattened tensor.

    The length of the first dimension is not needed.
    """
    found = []
    for length in reversed(shape[1:]):
        place, index = divmod(place, length)
        found.append(index)
    return [place, *reversed(found)]


def _named(plan: Plan, call: Call, places: Iterable[Place]) -> list[Violation]:
    """Return groundings as formulas, each with the example it belongs to."""
    groundings = groundings_of(plan)
    found = []
    for place in places:
        grounding = _spell(plan, groundings, call, list(place.axes))
        example = tuple(_unravelled(place.example, call.batch)) if call.batch else ()
        if call.rows is not None:
            grounding, example = _with_members(grounding, call.rows, place.example), ()
        found.append(Violation(example, grounding, place.degree))
    return found


def _with_members(grounding: Formula, rows: Grounded, row: int) -> Formula:
    """Return a grounding in which the variables of a row are its members."""
    while isinstance(grounding, Forall) and all(
        binding.variable in rows.columns for binding in grounding.bindings
    ):
        grounding = grounding.body
    return substitute(grounding, rows.members(row))


def _spell(plan: Plan, groundings: Groundings, call: Call, at: list[int]) -> Formula:
    """Return one grounding as a formula in which terms such as `2 + 3` are computed."""
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
