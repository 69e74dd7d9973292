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

    def covered(call: Call) -> Tensor:
        return _covered(definition.plan, crisp_truth_of(definition, call), call)

    holds, counted = ask(definition, call, covered, torch.add).unbind(-1)
    return (holds / counted.clamp(min=1)).reshape(call.batch)


def _covered(plan: Plan, crisp: Crisp, call: Call) -> Tensor:
    """Return how many groundings have a true antecedent, and how many count: (batch, 2)."""
    groundings = groundings_of(plan)
    counted = groundings.counted(call.bound, call.batch, call.masks, call.device, call.window)
    step = plan.steps[groundings.body]
    holds = counted
    if isinstance(step, Connect) and step.kind is Implies:
        holds = counted & crisp.truth(step.operands[0])
    rows = (len(counted), math.prod(counted.shape[1:]))
    sums = [one.expand(counted.shape).reshape(rows).sum(-1) for one in (holds, counted)]
    return torch.stack(sums, -1)
