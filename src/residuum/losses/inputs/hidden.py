"""Hidden predicates: those that no network computes. Exact questions sum them out.

A hidden output gets a tensor in which all its values are equally likely. `routes/exact.py` takes
into account that each value weighs 1.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.grounding.plans import Slot


def with_hidden(
    slots: Sequence[Slot], given: Any, observed: Container[str], *, is_exact: bool
) -> dict[str, Tensor]:
    """Return the tensors of a call with those of hidden slots added.

    Without exact questions a hidden slot must be observed. GroundingError says so.
    """
    hidden = [slot for slot in slots if slot.predicate.is_hidden]
    tensors = dict(given) if isinstance(given, Mapping) else given
    for slot in hidden:
        if slot.name in tensors:
            raise GroundingError(
                f"`{slot.name}` is hidden: expected no tensor for it, got one; leave it out, or "
                "declare the predicate without `hidden`"
            )
        if not is_exact and slot.name not in observed:
            raise GroundingError(
                f"`{slot.name}` is hidden, and a relaxation cannot sum it out; compile the rule "
                "under `exact`, or pass its values as observed="
            )
    if not is_exact:
        return tensors
    sizes = _sequence_sizes(slots, tensors)
    like = next((one for one in tensors.values() if isinstance(one, Tensor)), torch.zeros(()))
    for slot in hidden:
        shape = [_size(slot, domain.name, size, sizes)
                 for domain, size in zip(slot.domains, slot.sizes, strict=True)]  # fmt: skip
        tensors[slot.name] = torch.zeros(shape, dtype=like.dtype, device=like.device)
    return tensors


def _sequence_sizes(slots: Sequence[Slot], tensors: Mapping[str, Tensor]) -> dict[str, int]:
    found: dict[str, int] = {}
    for slot in slots:
        one = tensors.get(slot.name)
        if isinstance(one, Tensor) and one.dim() >= len(slot.domains):
            own = one.shape[one.dim() - len(slot.domains) :]
            found |= {d.name: n for d, n in zip(slot.domains, own, strict=True) if d.is_sequence}
    return found


def _size(slot: Slot, domain: str, size: int | None, sizes: Mapping[str, int]) -> int:
    if size is not None:
        return size
    if domain not in sizes:
        raise GroundingError(
            f"`{slot.name}` is hidden: expected a tensor that shows the length of sequence "
            f"`{domain}`, got none; pass the tensor of a predicate over it"
        )
    return sizes[domain]
