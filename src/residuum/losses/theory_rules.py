"""The rules of a theory under one relaxation: those about one example of a batch, and relations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from residuum.errors import GroundingError
from residuum.grounding.plans import Slot
from residuum.logic.terms import as_label
from residuum.losses.knowledge import CompiledKnowledge
from residuum.losses.rules import CompiledRule
from residuum.losses.theory_names import (
    check_names,
    domains_of,
    tensors_of,
    tensors_of_relation,
    with_related,
)
from residuum.syntax import Knowledge


class TheoryRules(NamedTuple):
    """All rules of a theory; the plain ones, about one example each; and those about members."""

    whole: CompiledKnowledge
    plain: CompiledKnowledge
    related: Mapping[str, CompiledRule]

    @property
    def predicates(self) -> list[str]:
        """The names of the predicates and quantities that rules read, without hidden ones."""
        slots = [slot for rule in self.whole.rules.values() for slot in rule.plan.given]
        return [slot.predicate.name for slot in slots if not slot.predicate.is_hidden]

    @property
    def plain_slots(self) -> list[Slot]:
        """The slots of plain rules, each once."""
        rules = self.plain.rules.values()
        return list({slot.name: slot for rule in rules for slot in rule.plan.given}.values())

    @property
    def tensors_of_relations(self) -> list[str]:
        """The names of the tensors that rules about members may read."""
        return [name for rule in self.related.values() for name in tensors_of_relation(rule.plan)]

    def need_nothing_but(self, members: Collection[str]) -> bool:
        """Return whether all rules read members of these domains, and nothing else."""
        needed = [name for slot in self.plain_slots for name in tensors_of(slot)]
        needed += self.tensors_of_relations
        reads_relations = any(
            rule.plan.relation is not None and rule.plan.relation.observed
            for rule in self.related.values()
        )
        return bool(needed) and not reads_relations and all(name in members for name in needed)


def compile_rules(
    knowledge: Knowledge,
    compiled: Callable[..., CompiledKnowledge],
    members: Collection[str],
    over: str | Mapping[str, str] | None,
) -> TheoryRules:
    """Return the rules of a theory. `members` are the domains whose members modules give.

    If a rule relates the members of a domain, all rules about this domain do: their examples are
    its members.
    """
    knowledge = with_related(knowledge, members)
    whole = compiled(knowledge, over=over)
    related = _relations_among(whole)
    if not related:
        return TheoryRules(whole, whole, {})
    domains = [name for rule in related.values() for name in domains_of(rule.plan)]
    knowledge = with_related(knowledge, domains)
    whole = compiled(knowledge, over=over)
    related = _relations_among(whole)
    others = {name: rule for name, rule in knowledge.rules.items() if name not in related}
    if isinstance(over, Mapping):
        over = {name: one for name, one in over.items() if name in others}
    return TheoryRules(whole, compiled(replace(knowledge, rules=others), over=over), related)


def _relations_among(rules: CompiledKnowledge) -> dict[str, CompiledRule]:
    return {name: rule for name, rule in rules.rules.items() if rule.plan.relation is not None}


def checked_groundings(
    given: int | Mapping[str, int] | None, related: Mapping[str, CompiledRule]
) -> dict[str, int]:
    """Return how many rows of each rule are drawn in a call. GroundingError if they cannot be."""
    wanted: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    if given is not None and not isinstance(given, Mapping):
        wanted = dict.fromkeys(related, given)
    check_names("rule about several members", wanted, related)
    return {name: _checked(number, related[name]) for name, number in wanted.items()}


def _checked(number: Any, rule: CompiledRule) -> int:
    count = as_label(number)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise GroundingError(
            f"groundings: expected how many are drawn in a call, 1 or more, got {number!r}"
        )
    if rule.reduction != "mean" or (rule.combines_rows and rule.over != "mean"):
        raise GroundingError(
            "groundings: expected the mean over rows, which the mean of a sample estimates without "
            f"bias, got reduction={rule.reduction!r} and over={rule.over!r}; leave groundings out"
        )
    return count
