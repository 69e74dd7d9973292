"""Facts about members of open domains: which members, and their labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.losses.relations.pairs import Pairs
from residuum.losses.relations.sources import Sources
from residuum.syntax import Predicate


def read_facts(
    name: str, given: Any, predicate: Predicate, sources: Sources
) -> tuple[tuple[Tensor, ...], Any]:
    """Return what the network of some facts is called with, and their labels.

    Facts about several members are given by their numbers, as integers of shape (2, facts) or as
    rs.Pairs, or by the features of each argument. Pairs without labels are all true.
    """
    if isinstance(given, Pairs):
        given = given, torch.ones(len(given), dtype=torch.long)
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise GroundingError(f"facts `{name}`: expected a pair (inputs, labels)")
    inputs, labels = given
    domains = sources.open_domains(predicate)
    if isinstance(inputs, Pairs):
        return _chosen(name, inputs.index, domains, sources), labels
    if len(domains) == 1:
        if sources.are_members(domains[0]) and _is_integral(inputs) and inputs.dim() == 1:
            return _chosen(name, inputs[None], domains, sources), labels
        return (inputs,), labels
    if len(domains) < 2:
        return (inputs,), labels
    if _is_integral(inputs):
        return _chosen(name, inputs, domains, sources), labels
    if isinstance(inputs, tuple | list) and len(inputs) == len(domains):
        return tuple(inputs), labels
    found = f"shape {tuple(inputs.shape)}" if isinstance(inputs, Tensor) else type(inputs).__name__
    raise GroundingError(
        f"facts `{name}`: `{predicate.name}` is about {len(domains)} members; expected their "
        f"numbers as integers of shape ({len(domains)}, facts), or a tuple of {len(domains)} "
        f"tensors of features, got {found}"
    )


def _chosen(
    name: str, numbers: Tensor, domains: Sequence[str], sources: Sources
) -> tuple[Tensor, ...]:
    """Return the features of members that are given by their numbers."""
    if numbers.dim() != 2 or len(numbers) != len(domains):
        hint = "; pass the transpose" if tuple(numbers.shape[1:]) == (len(domains),) else ""
        raise GroundingError(
            f"facts `{name}`: expected numbers of members of shape ({len(domains)}, facts), got "
            f"{tuple(numbers.shape)}{hint}"
        )
    found = []
    for domain, row in zip(domains, numbers, strict=True):
        features = sources.features(domain)
        wrong = row[(row < 0) | (row >= len(features))]
        if len(wrong):
            raise GroundingError(
                f"facts `{name}`: expected numbers of members of `{domain}` from 0 to "
                f"{len(features) - 1}, got {int(wrong[0])}"
            )
        found.append(features[row.long().to(features.device)])
    return tuple(found)


def _is_integral(given: Any) -> bool:
    if not isinstance(given, Tensor) or given.dtype == torch.bool:
        return False
    return not (given.is_floating_point() or given.is_complex())


def without_last(outputs: Tensor, labels: Any) -> Tensor:
    """Return outputs without a last dimension of length 1 that labels do not have."""
    shape = getattr(labels, "shape", None)
    is_column = isinstance(outputs, Tensor) and outputs.shape[-1:] == (1,)
    return outputs.squeeze(-1) if is_column and shape == outputs.shape[:-1] else outputs
