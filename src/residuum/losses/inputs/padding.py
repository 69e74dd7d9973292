"""Padded sequences: their lengths, and masks of their padding.

Routes that evaluate step by step use these masks. The route for clauses makes its own mask from
the lengths (`routes/clauses.py`), and `exact` takes examples of one length at a time.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.grounding import Plan
from residuum.grounding.plans import Slot
from residuum.losses.degrees.logits import Form
from residuum.losses.inputs.layouts import Bound


def sequence_sizes(plan: Plan, tensors: Sequence[Tensor]) -> dict[str, int]:
    """Return the padded length of each sequence domain, which all tensors must share."""
    found: dict[str, int] = {}
    for slot, tensor in zip(plan.given, tensors, strict=True):
        for place, domain in enumerate(slot.domains):
            if domain.labels is not None:
                continue
            # An integer, not a symbol: each trace of torch.compile is for one length.
            size = operator.index(tensor.shape[tensor.dim() - len(slot.domains) + place])
            if found.setdefault(domain.name, size) != size:
                kind = "sequence" if domain.is_sequence else "open domain"
                raise GroundingError(
                    f"{kind} `{domain.name}`: expected one length in all tensors, got "
                    f"{found[domain.name]} in one tensor and {size} in `{slot.name}`; pad both to "
                    "the same length"
                )
    return found


def without_padding(
    plan: Plan, tensors: Sequence[Tensor], forms: Sequence[Form], lengths: Tensor
) -> list[Tensor]:
    """Return the tensors with 0 in the padding of sequences, so that no NaN reaches a gradient.

    In a softmax over positions the padding gets probability 0 instead.
    """
    cleared = []
    for slot, given, form in zip(plan.slots, tensors, forms, strict=True):
        is_over_positions = slot.is_exclusive and slot.domains[-1].is_sequence
        nothing = -torch.inf if is_over_positions and form != "probs" else 0.0
        cleared.append(torch.where(inside(slot, given, lengths), given, nothing))
    return cleared


def inside(slot: Slot, given: Tensor, lengths: Tensor) -> Tensor:
    """Return a mask of the entries before the ends of sequences; it broadcasts to the tensor."""
    found = torch.ones((), dtype=torch.bool, device=given.device)
    for place, domain in enumerate(slot.domains):
        if domain.is_sequence:
            shape = [1] * len(slot.domains)
            shape[place] = -1
            size = given.shape[given.dim() - len(slot.domains) + place]
            positions = torch.arange(size, device=given.device).reshape(shape)
            found = found & (positions < lengths.reshape(*lengths.shape, *(1,) * len(shape)))
    return found


def masks_for(plan: Plan, bound: Bound, lengths: Tensor) -> dict[int, Tensor]:
    """Return, for each quantifier over positions, which groundings lie inside each sequence."""
    limits = lengths.reshape((*lengths.shape, *(1,) * plan.rank))  # lengths may have no dimension
    masks: dict[int, Tensor] = {}
    for number, selection in bound.layout.selections.items():
        for positions in selection.positions:
            counted = positions < limits
            so_far = masks.get(number, bound.masks.get(number))
            masks[number] = counted if so_far is None else counted & so_far
    return masks
