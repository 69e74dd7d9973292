"""The groundings of a rule one by one: the formula that each is, and the degrees of its parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.grounding import Plan
from residuum.grounding.plans import Connect, Known
from residuum.logic import FALSE, TRUE, Atom, CountOf, Formula, Implies
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.layouts import groundings_of
from residuum.losses.questions.crisp_truth import Crisp, crisp_truth_of
from residuum.losses.routes import thresholds
from residuum.losses.routes.blocks import flattened
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.steps import Evaluation, evaluation_of


class SingleGroundings(NamedTuple):
    """All groundings of a batch, as tensors (examples, groundings).

    `formula` is what each grounding says. Its atoms `P0`, `P1`, … stand for the atoms of the rule
    and for the quantifiers inside it; `parts` has their degrees by name. `counted` tells which
    groundings count, `holds` for which the predictions obey the rule, and `covered` for which its
    antecedent holds. A rule that is no implication is covered everywhere.
    """

    formula: Formula
    parts: Mapping[str, Tensor]
    counted: Tensor
    holds: Tensor
    covered: Tensor


def each(definition: Definition, call: Call) -> SingleGroundings:
    """Return every grounding of a call by itself."""
    assert call.case is not None
    count, most = call.case.groundings, thresholds.LARGEST_BLOCK
    if count > most:
        raise GroundingError(
            f"expected at most {most:,} groundings to look at one by one, got {count:,} "
            "groundings; pass fewer examples, or make the domains smaller"
        )
    flat = flattened(call, definition.plan)
    evaluation = evaluation_of(definition, flat)
    return _single_groundings(definition.plan, evaluation, crisp_truth_of(definition, flat), flat)


def _single_groundings(
    plan: Plan, evaluation: Evaluation, crisp: Crisp, call: Call
) -> SingleGroundings:
    """Return the groundings of a call whose batch has one dimension."""
    groundings = groundings_of(plan)
    counted = groundings.counted(call.bound, call.batch, call.masks, call.device)
    examples, *axes = counted.shape

    def flat(value: Tensor) -> Tensor:
        return value.expand(counted.shape).reshape(examples, math.prod(axes))

    names: dict[int, str] = {}
    formula = spelt(plan, groundings.body, names)
    step = plan.steps[groundings.body]
    covered = torch.tensor(True, device=call.device)
    if isinstance(step, Connect) and step.kind is Implies:
        covered = crisp.truth(step.operands[0])
    return SingleGroundings(
        formula,
        {
            name: flat(torch.as_tensor(evaluation.degree(number).true))
            for number, name in names.items()
        },
        flat(counted),
        flat(crisp.truth(groundings.body)),
        flat(covered),
    )


def spelt(plan: Plan, number: int, names: dict[int, str]) -> Formula:
    """Return a step as a formula; atoms and quantifiers get names, which are added to `names`."""
    match plan.steps[number]:
        case Known(value):
            return TRUE if value else FALSE
        case Connect(kind, operands, count):
            parts = [spelt(plan, operand, names) for operand in operands]
            return kind(*parts) if count is None else CountOf(count, parts)
    return Atom(names.setdefault(number, f"P{len(names)}"))
