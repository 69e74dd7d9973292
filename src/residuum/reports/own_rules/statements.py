"""What rules say: each in mathematical notation, with its domains and number of groundings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from residuum.errors import ResiduumError, listed
from residuum.grounding import Plan, plan_rule, signature_of_knowledge
from residuum.grounding.grounding_counts import count_groundings
from residuum.grounding.plans import Quantify
from residuum.logic import render
from residuum.syntax import Domain, Knowledge

LENGTH: Final = 10
"""The length of sequences for which groundings are counted if no sample has a length."""

LONGEST_FORMULA: Final = 2_000
"""The most characters of a rule that are shown."""


@dataclass(frozen=True)
class Statement:
    """A rule as it is shown. `groundings` is None if they cannot be counted, and `why` says why.

    `over` is the aggregator that the file names. `domains` says by name how many members the
    domains of the rule have.
    `length` is that of the longest sequence for which they are counted; None if there are none.
    """

    name: str
    formula: str
    weight: float
    over: str | None
    domains: Mapping[str, str]
    groundings: int | None
    length: int | None
    why: str = ""


def statements_of(knowledge: Knowledge, lengths: Mapping[str, int]) -> list[Statement]:
    """Return the rules of a file. `lengths` are those of sequences in a sample, by domain."""
    signature = signature_of_knowledge(knowledge, {})
    found = []
    for name, rule in knowledge.rules.items():
        text = render(rule.formula, "unicode")
        if len(text) > LONGEST_FORMULA:
            text = f"{text[:LONGEST_FORMULA]} … ({len(text):,} characters)"
        domains: dict[str, str] = {}
        groundings, length, why = None, None, ""
        try:
            plan = plan_rule(rule.formula, signature)
            domains = {one.name: size_in_words(one) for one in _domains_of(plan)}
            of_sequences = {one: lengths.get(one, LENGTH) for one in plan.sequence_domains}
            length = max(of_sequences.values(), default=None)
            groundings = count_groundings(plan, of_sequences)
        except ResiduumError as error:  # a function that Python must give, or too large a table
            why = str(error)
        found.append(
            Statement(name, text, rule.weight, rule.over, domains, groundings, length, why)
        )
    return found


def _domains_of(plan: Plan) -> Iterable[Domain]:
    steps = (step for step in plan.steps if isinstance(step, Quantify))
    of_axes = [axis.domain for step in steps for axis in step.axes]
    of_slots = [domain for slot in plan.given for domain in slot.domains]
    return dict.fromkeys([*of_axes, *of_slots])


def size_in_words(domain: Domain) -> str:
    """Return how many members a domain has, or where they come from.

    >>> size_in_words(Domain("digit", range(10)))
    '10 members'
    """
    if domain.is_sequence:
        return "the positions of a sequence"
    if domain.labels is None:
        return "the examples of the batch"
    return f"{len(domain.labels):,} member{'' if len(domain.labels) == 1 else 's'}"


def members_in_words(domain: Domain) -> str:
    """Return how many members a domain has, and the first few.

    >>> members_in_words(Domain("digit", range(10)))
    '10 members: 0, 1, 2, 3, 4, 5, …'
    """
    size = size_in_words(domain)
    return f"{size}: {listed(domain.labels)}" if domain.labels else size
