"""The plain references: what a competent user writes in five lines, with autograd."""

from __future__ import annotations

import functools

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from loss_contest.workloads import CHUNKS, Clauses, Inputs, Penalties, SumRule, Workload


def sum_rule(relaxation: str, inputs: Inputs) -> Tensor:
    left, right, total = (inputs[name] for name in ("Left", "Right", "Sum"))
    classes = torch.arange(left.shape[-1], device=left.device)
    place = (classes[:, None] + classes) % left.shape[-1]
    if relaxation == "r-product":
        p, q, s = (x.log_softmax(-1) for x in (left, right, total))
        return torch.relu(p[:, :, None] + q[:, None] - s[:, place]).sum((1, 2))
    p, q, s = (x.softmax(-1) for x in (left, right, total))
    p, q, s = p[:, :, None], q[:, None], s[:, place]
    if relaxation == "s-product":
        return -torch.log1p(-p * q * (1 - s)).sum((1, 2))
    if relaxation == "lukasiewicz-maxsat":
        return torch.relu(p + q - 1 - s).sum((1, 2))
    return torch.minimum(torch.minimum(p, q), 1 - s).amax((1, 2))


def transitions(relaxation: str, inputs: Inputs) -> Tensor:
    p = inputs["Tag"].softmax(-1)
    begin, inside = p[:, :-1, :CHUNKS, None], p[:, :-1, CHUNKS : 2 * CHUNKS, None]
    following = p[:, 1:, None, CHUNKS : 2 * CHUNKS]
    differ = ~torch.eye(CHUNKS, dtype=torch.bool, device=p.device)

    def rule(first: Tensor) -> Tensor:
        if relaxation == "r-product":
            return (torch.relu(first.log() - torch.log1p(-following)) * differ).sum((1, 2, 3))
        if relaxation == "s-product":
            return -(torch.log1p(-first * following) * differ).sum((1, 2, 3))
        if relaxation == "lukasiewicz-maxsat":
            return (torch.relu(first + following - 1) * differ).sum((1, 2, 3))
        return (torch.minimum(first, following) * differ).amax((1, 2, 3))

    return rule(begin) + rule(inside)


def clauses(workload: Clauses, relaxation: str) -> Penalties:
    """Return the penalties of clauses from the literals that violate them; 1 fills short ones."""
    places = torch.full((workload.count, 5), -1)
    for number, literals in enumerate(workload.literals()):
        for place, (feature, affirmed) in enumerate(literals):
            is_head = place == len(literals) - 1
            places[number, place] = 2 * feature + (affirmed == is_head)
    heads = torch.tensor([[len(literals) - 1] for literals in workload.literals()])
    on = functools.cache(lambda device: (places.to(device), heads.to(device)))

    def penalties(inputs: Inputs) -> Tensor:
        z = inputs["Has"]
        both = torch.stack([z, -z], -1).flatten(1)
        at, head = on(z.device)
        if relaxation == "r-product":
            is_head = torch.arange(5, device=z.device) == head
            # The head counts with its own side: minus the logarithm of its truth.
            signs = torch.where(at < 0, 0.0, torch.where(is_head, -1.0, 1.0))
            own = torch.where(is_head, at ^ 1, at).clamp(min=0)
            return torch.relu((logsigmoid(both)[:, own] * signs).sum(-1)).sum(-1)
        x = torch.cat([both.sigmoid(), torch.ones_like(z[:, :1])], 1)[:, at]
        if relaxation == "s-product":
            return -torch.log1p(-x.prod(-1)).sum(-1)
        if relaxation == "lukasiewicz-maxsat":
            return torch.relu(x.sum(-1) - 4).sum(-1)
        broken = x.amin(-1)
        return broken.amax(-1) if workload.form == "one formula" else broken.sum(-1)

    return penalties


def reference(workload: Workload, relaxation: str) -> Penalties:
    """Return the function of the inputs that gives one penalty per example."""
    if isinstance(workload, SumRule):
        return lambda inputs: sum_rule(relaxation, inputs)
    if isinstance(workload, Clauses):
        return clauses(workload, relaxation)
    return lambda inputs: transitions(relaxation, inputs)
