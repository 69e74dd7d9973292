"""Tables: what predicates say of all members of open domains, given as tensors.

`rs.compile` reads relations from tables: a tensor for each predicate, with a dimension for each
argument over an open domain, in front of those of its other arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.grounding import Plan
from residuum.grounding.plans import Slot
from residuum.logic import Application
from residuum.losses.inputs.checking import floating_point, refuse_unknown
from residuum.losses.inputs.evidence import refuse_unknown_labels
from residuum.losses.relations.grounded import Grounded, grounded
from residuum.losses.relations.observed import (
    check_relations,
    labels_on,
    observable,
    relations_in,
)
from residuum.losses.relations.rows import numbered
from residuum.losses.relations.sources import are_numbers, check_range
from residuum.losses.relations.world import Chosen, World


def from_tables(plan: Plan, given: Any, observed: Mapping[str, Any] | None) -> Grounded:
    """Return the inputs of a rule on all its rows, read from tables."""
    assert plan.relation is not None
    slots = {slot.predicate.name: slot for slot in plan.given}
    refuse_unknown(given, list(slots))
    refuse_unknown_labels({} if observed is None else observed, observable(plan))
    known = {} if observed is None else observed
    tables = {name: _table(slots[name], given[name]) for name in given}
    sizes = _sizes(slots, tables, known)
    for name, slot in slots.items():
        if name not in tables and name not in known and not slot.predicate.is_hidden:
            raise GroundingError(f"no tensor is given for `{name}`; expected: {', '.join(slots)}")
    _refuse_unknown_sizes(plan, sizes)
    check_relations(plan, known, sizes)
    device = next((one.device for one in tables.values()), torch.device("cpu"))
    world = World(
        sizes,
        device,
        functions=_functions(plan, device, sizes),
        relations={one.name: known[one.name] for one in relations_in(plan)},
        arguments={one.name: one.domains for one in relations_in(plan)},
    )

    def outputs(slot: Slot, chosen: Sequence[Chosen]) -> Tensor:
        name = slot.predicate.name
        if name not in tables:
            raise GroundingError(
                f"observed `{name}`: expected a tensor for the outputs that are not observed, got "
                f"none; pass `{name}` too, or label all outputs"
            )
        return tables[name][tuple(one.numbers for one in chosen)]

    columns = numbered(plan.relation, world).all()
    return grounded(plan, columns, world, outputs, labels_on(plan, known, sizes))


def _table(slot: Slot, given: Any) -> Tensor:
    """Return the table of a predicate. GroundingError says that its shape does not fit."""
    table = floating_point(given, f"`{slot.predicate.name}`")
    others = [domain for domain in slot.domains if not domain.is_open]
    expected = [*slot.open_domains, *(len(domain.labels or ()) for domain in others)]
    shape = tuple(table.shape)
    fits = len(shape) == len(expected) and all(
        isinstance(size, str) or size == found for size, found in zip(expected, shape, strict=True)
    )
    if not fits:
        raise GroundingError(
            f"`{slot.predicate.name}`: expected a tensor with a dimension for each argument, "
            f"({', '.join(map(str, expected))}), got shape {shape}"
        )
    return table


def slots_of_members(plans: Iterable[Plan]) -> dict[str, Slot]:
    """Return by name the slots of several rules whose tensors have a dimension for members.

    Those of rules about one member are among them if another rule relates members of the domain.
    """
    every = list(plans)
    related = [slot for plan in every if plan.relation is not None for slot in plan.given]
    domains = {name for slot in related for name in slot.open_domains}
    found = {slot.predicate.name: slot for slot in related}
    for slot in (slot for plan in every if plan.relation is None for slot in plan.given):
        if slot.name == slot.predicate.name and domains & set(slot.open_domains):
            found.setdefault(slot.name, slot)
    return found


def check_sizes(
    slots: Mapping[str, Slot], given: Mapping[str, Any], observed: Mapping[str, Any]
) -> None:
    """Raise GroundingError if tensors of several rules show different numbers of members.

    A tensor of other dimensions is the batch of a rule about one member, or refused elsewhere.
    """

    def fitting(all_given: Mapping[str, Any], name: str, is_label: bool) -> bool:
        one, slot = all_given.get(name), slots[name]
        others = [domain for domain in slot.domains if not domain.is_open]
        count = len(slot.open_domains) + len(others) - (is_label and slot.is_exclusive)
        return isinstance(one, Tensor) and not one.is_nested and one.dim() == count

    tables = {name: given[name] for name in slots if fitting(given, name, False)}
    _sizes(slots, tables, {n: observed[n] for n in slots if fitting(observed, n, True)})


def _sizes(
    slots: Mapping[str, Slot], tables: Mapping[str, Tensor], known: Mapping[str, Any]
) -> dict[str, int]:
    """Return the number of members of each open domain, which all tensors must share."""
    found: dict[str, int] = {}
    for name, slot in slots.items():
        shown = tables.get(name)
        if shown is None and isinstance(known.get(name), Tensor):
            shown = known[name]
        if shown is None:
            continue
        for domain, size in zip(slot.open_domains, shown.shape, strict=False):
            if found.setdefault(domain, size) != size:
                raise GroundingError(
                    f"domain `{domain}` has {found[domain]} members in one tensor and {size} in "
                    f"`{name}`, of shape {tuple(shown.shape)}; expected one number of members"
                )
    return found


def _refuse_unknown_sizes(plan: Plan, sizes: Mapping[str, int]) -> None:
    assert plan.relation is not None
    needed = [axis.domain.name for axis in plan.relation.variables]
    needed += [name for slot in plan.given for name in slot.open_domains]
    needed += [name for one in plan.relation.observed for name in one.domains]
    needed += plan.sequence_domains
    for domain in needed:
        if domain not in sizes:
            raise GroundingError(
                f"no tensor shows the number of members of `{domain}`; pass one for a predicate "
                "that has it among its domains"
            )


def _functions(plan: Plan, device: torch.device, sizes: Mapping[str, int]) -> dict[str, Tensor]:
    """Return the functions between open domains: the number of the value for each member."""
    found = {}
    for name, values in plan.functions:
        if isinstance(values, Tensor | list | tuple):
            numbers = torch.as_tensor(values, device=device)
            if not are_numbers(numbers):
                raise GroundingError(
                    f"function `{name}`: expected integers, the number of the value for each "
                    f"member, got {numbers.dtype} of shape {tuple(numbers.shape)}"
                )
            found[name] = numbers.long()
    assert plan.relation is not None
    domains = {axis.variable: axis.domain.name for axis in plan.relation.variables}
    for slot in plan.given:
        for term, domain in zip(slot.members, slot.open_domains, strict=True):
            if isinstance(term, Application) and term.function in found:
                numbers = found[term.function]
                check_range(term.function, numbers, domain, sizes)
                for argument in term.arguments:
                    if str(argument) not in domains:  # nothing says of which domain it is
                        continue
                    count = sizes[domains[str(argument)]]
                    if len(numbers) != count:
                        raise GroundingError(
                            f"function `{term.function}`: expected a value for each of the "
                            f"{count} members, got {len(numbers)}"
                        )
    return found
