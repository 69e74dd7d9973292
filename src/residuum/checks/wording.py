"""What `check` finds, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from residuum.checks.findings import Contradiction, Entailed, RuleCheck

MOST_NAMED: Final = 12
"""The most rules that one line names."""


def tell_contradiction(found: Contradiction) -> str:
    """Return which rules contradict each other, without a full stop."""
    if found.lengths and not found.at_every_length:
        who = f"no prediction for sequences of length {names_in_words(found.lengths)}"
    else:
        who = "no prediction"
    if len(found.rules) == 1:
        return f"{who} obeys the rule {names_in_words(found.rules)}"
    fewer = "" if found.is_minimal else " (perhaps fewer of them suffice)"
    return f"{who} obeys the rules {names_in_words(found.rules)} together{fewer}"


def tell_entailed(found: Entailed) -> str:
    """Return from which rules a rule follows, without a full stop."""
    if not found.by:
        return f"rule {found.rule} holds for every prediction"
    fewer = "" if found.is_minimal else " (perhaps fewer of them suffice)"
    return f"rule {found.rule} follows from {names_in_words(found.by)}{fewer}"


def tell_unchecked(checked: RuleCheck) -> Iterator[str]:
    """Yield which rules were not checked, once for each reason, without a full stop."""
    by_reason: dict[str, list[str]] = {}
    for rule, reason in checked.unchecked.items():
        by_reason.setdefault(reason, []).append(rule)
    for reason, rules in by_reason.items():
        yield f"not checked: {names_in_words(rules)}: {reason}"


def names_in_words(names: Sequence[object]) -> str:
    """Return names as a list in words; of very many only the first.

    >>> names_in_words(["a", "b", "c"])
    'a, b and c'
    """
    shown = [str(name) for name in names[:MOST_NAMED]]
    if len(names) > MOST_NAMED:
        return f"{', '.join(shown)}, … ({len(names):,} in all)"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def scope_of(checked: RuleCheck) -> str:
    """Return for which members and lengths rules were checked; empty if for all."""
    parts = []
    if checked.open_domains:
        parts.append(f"one member of {names_in_words(checked.open_domains)}")
    if checked.lengths:
        first, *_, last = checked.lengths
        parts.append(f"sequences of length {first} to {last}")
    return " and ".join(parts)
