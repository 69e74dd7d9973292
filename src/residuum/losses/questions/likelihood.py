"""The probability of labels given that a rule holds."""

from __future__ import annotations

import torch
from torch import Tensor

from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.evidence import IGNORED, Observed, labels_of
from residuum.losses.inputs.padding import inside
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.exact import log_probability


def log_likelihood(definition: Definition, alone: Call, labelled: Call, labels: Observed) -> Tensor:
    """Return log P(labels | rule) of each example.

    By Bayes' rule it is log P(labels) + log P(rule | labels) − log P(rule). `alone` is a call
    without the labels, `labelled` one with them as evidence. If the labels say everything and obey
    the rule, the second term is 0.
    """
    found = log_probability(definition, labelled) - log_probability(definition, alone)
    known = labels_of(definition.plan.slots, labels)
    sources = definition.sources(alone.inputs)
    for slot, source, given in zip(definition.plan.slots, sources, alone.inputs, strict=True):
        if slot.name not in known:
            continue
        of = known[slot.name].to(given.device)
        true = source.side("log_true")
        if slot.is_exclusive:
            shape = torch.broadcast_shapes(of.shape, true.shape[:-1])  # type: ignore[no-untyped-call]
            index = of.clamp(min=0).expand(shape).unsqueeze(-1)
            each = true.expand(*shape, true.shape[-1]).gather(-1, index).squeeze(-1)
        else:
            each = torch.where(of == 1, true, source.side("log_false"))
        counts = of != IGNORED
        if alone.lengths is not None:
            is_inside = inside(slot, given, alone.lengths)
            counts = counts & (is_inside.any(-1) if slot.is_exclusive else is_inside)
        each = torch.where(counts, each, 0.0)
        found = found + each.reshape(*alone.batch, -1).sum(-1) if each.dim() else found + each
    return found
