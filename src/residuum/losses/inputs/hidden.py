"""Hidden predicates: those that no network computes. Exact questions sum them out.

A hidden output gets a tensor in which all its values are equally likely. `routes/exact.py` takes
into account that each value weighs 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.grounding.plans import Slot
from residuum.losses.degrees.tensors import is_traced
from residuum.losses.inputs.checking import refuse_unknown
from residuum.losses.inputs.evidence import is_observed_in_full, shown_lengths


def with_hidden(
    slots: Sequence[Slot],
    given: Any,
    labels: Mapping[str, Tensor],
    lengths: Any,
    *,
    is_exact: bool,
) -> dict[str, Tensor]:
    """Return the tensors of a call with those of hidden slots added.

    `labels` are those of observed slots. Without exact questions a hidden slot must be observed in
    full. GroundingError says what is wrong.
    """
    hidden = [slot for slot in slots if slot.predicate.is_hidden]
    refuse_unknown(given, [slot.name for slot in slots])
    tensors = dict(given)
    for slot in hidden:
        if slot.name in tensors:
            raise GroundingError(
                f"`{slot.name}` is hidden: expected no tensor for it, got one; leave it out, or "
                "declare the predicate without `hidden`"
            )
        if not is_exact and not has_predictions([slot], labels, lengths):
            raise GroundingError(
                f"`{slot.name}` is hidden: only the penalty under `exact` and exact questions sum "
                "it out; ask one of them, or pass all its values as observed=, such as those that "
                "`decode` returns"
            )
    if not is_exact:
        return tensors
    sizes = shown_lengths(slots, tensors, labels)
    like = next(iter(tensors.values()), torch.zeros(()))
    for slot in hidden:
        shape = [_size(slot, domain.name, size, sizes)
                 for domain, size in zip(slot.domains, slot.sizes, strict=True)]  # fmt: skip
        tensors[slot.name] = torch.zeros(shape, dtype=like.dtype, device=like.device)
    return tensors


def has_predictions(
    slots: Sequence[Slot], labels: Mapping[str, Tensor] | None, lengths: Any
) -> bool:
    """Return whether all hidden slots are observed in full, since nothing predicts them.

    In a trace nobody can look at labels, which then count as full.
    """
    known, hidden = labels or {}, [slot for slot in slots if slot.predicate.is_hidden]
    return all(
        slot.name in known
        and (is_traced(known[slot.name]) or is_observed_in_full(slot, known[slot.name], lengths))
        for slot in hidden
    )


def _size(slot: Slot, domain: str, size: int | None, sizes: Mapping[str, int]) -> int:
    if size is not None:
        return size
    if domain not in sizes:
        raise GroundingError(
            f"`{slot.name}` is hidden: expected a tensor or labels that show the length of "
            f"sequence `{domain}`, got none; pass those of a predicate over it"
        )
    return sizes[domain]
