"""Coverage: the share of groundings whose antecedent holds for the predictions."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from residuum.grounding import Plan
from residuum.grounding.plans import Connect
from residuum.logic import Implies
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.layouts import groundings_of
from residuum.losses.questions.crisp_truth import Crisp, crisp_truth_of
from residuum.losses.questions.pieces import ask
from residuum.losses.routes.definition import Definition


def coverage(definition: Definition, call: Call) -> Tensor:
    """Return the share of groundings of each example whose antecedent holds."""

    covered, _, counted = counts_of_groundings(definition, call).unbind(-1)
    return (covered / counted.clamp(min=1)).reshape(call.batch)


def counts_of_groundings(definition: Definition, call: Call) -> Tensor:
    """Return how many groundings are covered, how many hold, and how many there are.

    The shape is examples × 3. A grounding is covered if its antecedent holds.
    """

    def counts(call: Call) -> Tensor:
        return _counts(definition.plan, crisp_truth_of(definition, call), call)

    return ask(definition, call, counts, torch.add)


def _counts(plan: Plan, crisp: Crisp, call: Call) -> Tensor:
    groundings = groundings_of(plan)
    counted = groundings.counted(call.bound, call.batch, call.masks, call.device, call.window)
    step = plan.steps[groundings.body]
    covered = counted
    if isinstance(step, Connect) and step.kind is Implies:
        covered = counted & crisp.truth(step.operands[0])
    holding = counted & crisp.truth(groundings.body)
    rows = (len(counted), math.prod(counted.shape[1:]))
    sums = [one.expand(counted.shape).reshape(rows).sum(-1) for one in (covered, holding, counted)]
    return torch.stack(sums, -1)
