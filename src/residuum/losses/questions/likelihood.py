"""The probability of labels given that a rule holds."""

from __future__ import annotations

import torch
from torch import Tensor

from residuum.grounding.plans import Slot
from residuum.losses.degrees.logits import Source
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.evidence import IGNORED
from residuum.losses.inputs.padding import inside
from residuum.losses.questions.distribution import given_in
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.exact import log_probability


def log_likelihood(definition: Definition, alone: Call, labelled: Call) -> Tensor:
    """Return log P(labels | rule) of each example.

    By Bayes' rule it is log P(labels) + log P(rule | labels) − log P(rule). `alone` is a call
    without the labels, `labelled` one with them as evidence. If the labels say everything and obey
    the rule, the second term is 0. Raises GroundingError if no prediction obeys the rule.
    """
    for _ in given_in(definition, alone):
        pass
    found = log_probability(definition, labelled) - log_probability(definition, alone)
    sources = definition.sources(alone.inputs)
    for slot, source, given in zip(definition.plan.slots, sources, alone.inputs, strict=True):
        labels = (labelled.labels or {}).get(slot.name)
        if labels is not None and not slot.predicate.is_hidden:  # hidden values weigh 1
            counts = _counting(slot, given, labels, alone.lengths)
            each = torch.where(counts, _stated(slot, source, labels.to(given.device)), 0.0)
            own = len(slot.domains) - slot.is_exclusive
            each = each.expand((*labelled.batch, *each.shape[each.dim() - own :]))
            found = found + (each.flatten(len(labelled.batch)).sum(-1) if own else each)
    return found


def _stated(slot: Slot, source: Source, labels: Tensor) -> Tensor:
    """Return the log-probability of each label."""
    true = source.side("log_true")
    if not slot.is_exclusive:
        return torch.where(labels == 1, true, source.side("log_false"))
    shape = torch.broadcast_shapes(labels.shape, true.shape[:-1])  # type: ignore[no-untyped-call]
    index = labels.clamp(min=0).expand(shape).unsqueeze(-1)
    return true.expand(*shape, true.shape[-1]).gather(-1, index).squeeze(-1)


def _counting(slot: Slot, given: Tensor, labels: Tensor, lengths: Tensor | None) -> Tensor:
    """Return which outputs have a label, outside the padding of sequences."""
    counts = labels.to(given.device) != IGNORED
    if lengths is None:
        return counts
    is_inside = inside(slot, given, lengths)
    return counts & (is_inside.any(-1) if slot.is_exclusive else is_inside)
