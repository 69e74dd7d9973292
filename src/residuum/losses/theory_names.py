"""The names that a theory knows: of modules, tensors and labels. Others are refused in words."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from residuum.errors import GroundingError, suggest
from residuum.grounding import Plan
from residuum.grounding.plans import Quantify, Slot
from residuum.logic import Application, Formula, Term, Variable, distinct_nodes
from residuum.syntax import Knowledge


def check_names(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise GroundingError if the knowledge has no such name."""
    for name in given:
        if name not in known:
            raise GroundingError(
                f"the knowledge has no {what} `{name}`.{suggest(name, known)} "
                f"It has: {', '.join(known) or 'none'}"
            )


def members_in(knowledge: Knowledge) -> list[str]:
    """Return the names of open domains, whose members a module may give."""
    return [
        name
        for name, domain in knowledge.domains.items()
        if domain.is_open and name not in knowledge.predicates and name not in knowledge.quantities
    ]


def check_modules(knowledge: Knowledge, modules: Mapping[str, Any], options: Iterable[str]) -> None:
    """Raise GroundingError unless each module belongs to a predicate, quantity or open domain."""
    bindable = {**knowledge.predicates, **knowledge.quantities}
    for name in options:
        if name in bindable:
            raise GroundingError(
                f"predicate `{name}` has the name of an option of a theory, so that no module can "
                "be given for it; rename the predicate in the knowledge"
            )
    check_names("predicate", modules, [*bindable, *members_in(knowledge)])
    for name, module in modules.items():
        if name in knowledge.predicates and knowledge.predicates[name].is_hidden:
            raise GroundingError(
                f"`{name}` is hidden: expected no module for it, got one; leave it out, or "
                "declare the predicate without `hidden`"
            )
        if not isinstance(module, nn.Module):
            raise GroundingError(
                f"`{name}`: expected a torch.nn.Module, got {type(module).__name__}"
            )
        if hasattr(nn.ModuleDict, name) or name == "training":
            raise GroundingError(
                f"PyTorch has another use for the name `{name}`, so that no module can have "
                "it; give the predicate another"
            )
        if name in knowledge.predicates:
            domains = knowledge.predicates[name].domains
            count = sum(knowledge.domains[domain].is_open for domain in domains)
            if count > 1:
                _check_arguments(name, module, count)


def _check_arguments(predicate: str, module: nn.Module, count: int) -> None:
    """Raise GroundingError if a network cannot be called with a tensor for each of its members."""
    try:
        signature = inspect.signature(module.forward)
    except (TypeError, ValueError):  # nothing is known of it
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        raise GroundingError(
            f"the network of `{predicate}` is called with {count} tensors, one for each member, "
            f"and its forward{signature} does not take them; a network of one tensor is wrapped: "
            f"{predicate}=rs.concatenated(network)"
        ) from None


def given(name: str, slot: Slot, tensors: Mapping[str, Tensor]) -> Tensor:
    """Return a tensor of a call. GroundingError says which slot needs it."""
    if name not in tensors:
        raise GroundingError(
            f"`{slot.name}` needs the tensor `{name}`.{suggest(name, tensors)} "
            f"Given are: {', '.join(tensors) or 'none'}"
        )
    return tensors[name]


def tensors_of(slot: Slot) -> list[str]:
    """Return the names of the tensors that the network of a slot is applied to."""
    return [_name(term, slot) for term in slot.members] or [slot.name]


def _name(term: Term, slot: Slot) -> str:
    if isinstance(term, Application):
        is_plain = len(term.arguments) == 1 and isinstance(term.arguments[0], Variable)
        return term.function if is_plain else str(term)
    assert isinstance(term, Variable)
    return slot.open_domains[slot.members.index(term)]


def tensors_of_relation(plan: Plan) -> list[str]:
    """Return the names of the tensors that a rule about members of open domains may read."""
    assert plan.relation is not None
    found = domains_of(plan)
    for slot in plan.given:
        found += slot.open_domains or [slot.name]
        found += functions_in(slot.members)
        if slot.predicate.name in {one.predicate.name for one in plan.quantities}:
            found.append(slot.predicate.name)
    found += [name for one in plan.relation.observed for name in one.domains]
    found += functions_in(_guards(plan))
    return list(dict.fromkeys(found))


def domains_of(plan: Plan) -> list[str]:
    """Return the names of the open domains that the variables of a rule range over."""
    axes = [] if plan.relation is None else [*plan.relation.variables]
    axes += [axis for step in plan.steps if isinstance(step, Quantify) for axis in step.axes]
    return [axis.domain.name for axis in axes if axis.domain.is_open]


def with_related(knowledge: Knowledge, names: Iterable[str]) -> Knowledge:
    """Return a knowledge in which all rules about these domains relate their members."""
    domains = dict(knowledge.domains)
    domains |= {name: replace(domains[name], is_related=True) for name in names}
    return replace(knowledge, domains=domains)


def functions_in(nodes: Iterable[Term | Formula]) -> list[str]:
    """Return the names of the functions in terms and formulas."""
    parts = (part for node in nodes for part in distinct_nodes(node))
    return [part.function for part in parts if isinstance(part, Application)]


def _guards(plan: Plan) -> Iterator[Formula]:
    if plan.relation is not None and plan.relation.guard is not None:
        yield plan.relation.guard
    for step in plan.steps:
        if isinstance(step, Quantify) and step.members is not None:
            yield step.members.guard


def names_of_labels(slots: Iterable[Slot]) -> list[str]:
    """Return the names by which labels can be given: those of slots and of their predicates."""
    return list(dict.fromkeys(name for slot in slots for name in (slot.name, slot.predicate.name)))


def slot_of(name: str, slots: Iterable[Slot]) -> str:
    """Return the name of the slot that labels belong to, given its name or its predicate's."""
    uses = [slot.name for slot in slots if name == slot.predicate.name]
    if name in uses or not uses:
        return name
    if len(uses) > 1:
        raise GroundingError(
            f"observed `{name}`: expected the use that is observed, one of {', '.join(uses)}, got "
            "the predicate alone; write labels under the names of uses"
        )
    return uses[0]
