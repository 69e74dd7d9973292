"""Traps that a rule, its evidence or its predictions lead into, by name and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from residuum.advice.fitting import groundings_by_rule
from residuum.advice.measuring import Measured, compiled_rule, given_to
from residuum.advice.samples import Sample
from residuum.relaxations import relaxation
from residuum.syntax import Knowledge

NOTABLE: Final = 0.1
"""A trap is named if this share of the violated groundings, or more, is in it."""

MANY: Final = 100
"""So many groundings of one example, or more, are many for a sum."""

Kind = Literal[
    "observed consequent", "satisfied by half", "trivial solution", "many groundings", "capped"
]

_WARNED: Final[tuple[tuple[str, Kind], ...]] = (
    ("r-product", "observed consequent"),
    ("lukasiewicz", "capped"),
)
"""Under which relaxation `explain()` warns of which trap."""


@dataclass(frozen=True)
class Trap:
    """A trap: its name, the rule it is about, and what to do."""

    kind: Kind
    rule: str
    text: str


def traps_of_rules(asked: Knowledge, fitted: Knowledge, sample: Sample) -> list[Trap]:
    """Return the traps that evidence and the numbers of groundings show.

    Groundings are counted in the knowledge that was asked about; `fitted` is what fits a budget.
    """
    found = []
    for name in fitted.rules:
        for logic, kind in _WARNED:
            compiled = compiled_rule(fitted, name, logic)
            tensors, lengths, observed = given_to(compiled, sample)
            found += [
                Trap(kind, name, warning.removeprefix("warning: "))
                for warning in compiled.warnings(tensors, lengths, observed)
                if (kind == "capped") == ("the most that" in warning)
            ]
    for name, count in groundings_by_rule(asked, sample).items():
        if count >= MANY and asked.rules[name].over in (None, "conjunction"):
            found.append(Trap("many groundings", name, _many(count, sample)))
    return found


def _many(count: int, sample: Sample) -> str:
    vary = ", and their number depends on the length" if sample.lengths is not None else ""
    return (
        f"{count:,} groundings of an example add up{vary}: a weight that suits one group of "
        f"examples is far too large for another; try weights down to 1 / {count:,}, or "
        'over="mean"'
    )


def traps_of_measurements(measured: Sequence[Measured]) -> Iterator[Trap]:
    """Yield the traps that predictions are in, the worst first: one of each kind and rule."""
    worst: dict[tuple[Kind, str], tuple[float, Trap]] = {}
    for one in measured:
        for share, trap in (_half(one), _trivial(one)):
            key = trap.kind, trap.rule
            if share >= NOTABLE and (key not in worst or share > worst[key][0]):
                worst[key] = share, trap
    return (trap for _, trap in sorted(worst.values(), key=lambda pair: -pair[0]))


def _half(one: Measured) -> tuple[float, Trap]:
    logic = relaxation(one.relaxation)
    is_blind = logic.kind == "R" and logic.tnorm.structure == "strict"
    share = (one.stuck or 0.0) if is_blind else 0.0
    text = (
        f"under {one.relaxation} {share:.0%} of the violated groundings teach nothing "
        f"({one.sample}): where a consequent is as true as its antecedent nothing is left to pay, "
        "as for A & B -> C at 0.6, 0.6 and 0.4, which the predictions break; take s-product or "
        "exact, and watch `satisfied`"
    )
    return share, Trap("satisfied by half", one.rule, text)


def _trivial(one: Measured) -> tuple[float, Trap]:
    share = one.evaded or 0.0
    if share <= (one.mended or 0.0):
        share = 0.0
    text = (
        f"under {one.relaxation} the rule alone makes {share:.0%} of the violated groundings true "
        f"by a false antecedent ({one.sample}): a network may forget what the rule speaks of; hold "
        'antecedents by labels or detach="antecedent", and watch `coverage`'
    )
    return share, Trap("trivial solution", one.rule, text)


def as_lines(traps: Sequence[Trap]) -> list[str]:
    """Return a line for each kind of trap: its rules, and the text of the first of them."""
    kinds: dict[Kind, list[Trap]] = {}
    for one in traps:
        kinds.setdefault(one.kind, []).append(one)
    return [
        f"{kind} ({', '.join(dict.fromkeys(one.rule for one in found))}): {found[0].rule}: "
        f"{found[0].text}"
        for kind, found in kinds.items()
    ]
