"""Observed relations and labels of a rule that relates members of open domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.grounding import Plan
from residuum.grounding.plans import Slot
from residuum.losses.relations.grounded import Outputs
from residuum.losses.relations.pairs import Pairs
from residuum.losses.relations.world import Chosen, broadcast, unknown_size
from residuum.syntax import Predicate


def relations_in(plan: Plan) -> tuple[Predicate, ...]:
    """Return the observed relations that guards read."""
    return () if plan.relation is None else plan.relation.observed


def observable(plan: Plan) -> list[str]:
    """Return the names of the predicates that may be observed: those of atoms and of guards."""
    names = [slot.predicate.name for slot in plan.outputs]
    names += [one.name for one in relations_in(plan)]
    return list(dict.fromkeys(names))


def check_relations(plan: Plan, observed: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Raise GroundingError unless the pairs of all relations in guards are given, and fit."""
    for predicate in relations_in(plan):
        name = predicate.name
        pairs = observed.get(name)
        if not isinstance(pairs, Pairs):
            given = "none" if pairs is None else type(pairs).__name__
            raise GroundingError(
                f"a guard reads `{name}`: expected the pairs between which it holds, as "
                f"observed={{{name!r}: rs.Pairs(index)}}, got {given}"
            )
        pairs.check(name, sizes_of(predicate.domains, sizes))


def sizes_of(domains: Sequence[str], sizes: Mapping[str, int]) -> list[int]:
    """Return the numbers of members of domains. GroundingError says which are not given."""
    for domain in domains:
        if domain not in sizes:
            raise unknown_size(domain)
    return [sizes[domain] for domain in domains]


def labels_on(
    plan: Plan, observed: Mapping[str, Any], sizes: Mapping[str, int]
) -> dict[str, Outputs]:
    """Return a function for each observed predicate that gives the labels of its slots."""
    slots = {slot.predicate.name: slot for slot in plan.outputs}
    found: dict[str, Outputs] = {}
    for name, slot in slots.items():
        if name not in observed:
            continue
        own = sizes_of(slot.open_domains, sizes)
        labels = observed[name]
        if isinstance(labels, Pairs):
            found[name] = _from_pairs(slot, labels, own)
        else:
            found[name] = _from_table(slot, labels, own)
    return found


def _from_pairs(slot: Slot, pairs: Pairs, sizes: Sequence[int]) -> Outputs:
    if len(slot.predicate.domains) != len(sizes):
        raise GroundingError(
            f"observed `{slot.predicate.name}`: expected labels as a tensor, got pairs, which are "
            "for predicates whose arguments are all members of open domains"
        )
    pairs.check(slot.predicate.name, sizes)

    def labels(_: Slot, chosen: Sequence[Chosen]) -> Tensor:
        columns = broadcast(*(one.numbers for one in chosen))
        return pairs.holds(columns, sizes).long()

    return labels


def _from_table(slot: Slot, given: Any, sizes: Sequence[int]) -> Outputs:
    try:
        table: Tensor = torch.as_tensor(given)
    except (RuntimeError, TypeError, ValueError):
        raise GroundingError(
            f"observed `{slot.predicate.name}`: expected labels as a tensor of integers, or "
            f"rs.Pairs, got {given!r:.80}"
        ) from None
    if tuple(table.shape[: len(sizes)]) != tuple(sizes):
        raise GroundingError(
            f"observed `{slot.predicate.name}`: expected labels of shape "
            f"({', '.join(map(str, [*sizes, '…'] if slot.domains else sizes))}), a dimension for "
            f"each member, got {tuple(table.shape)}; if these are pairs of members, pass "
            "rs.Pairs(index)"
        )

    def labels(_: Slot, chosen: Sequence[Chosen]) -> Tensor:
        return table[tuple(one.numbers.to(table.device) for one in chosen)]

    return labels
