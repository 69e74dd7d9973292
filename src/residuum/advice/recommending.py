"""From a rehearsal to a recommendation, with its reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from residuum.advice.rehearsing import Rehearsed
from residuum.advice.traps import Trap

TIE: Final = 3.0
"""Points that differ by no more than this count as equal: another seed changes them as much."""

GAIN: Final = 0.5
"""A rule that adds fewer points than this mends nothing."""

PREFERENCE: Final = (
    "s-product", "exact", "r-product", "lukasiewicz-maxsat", "r-godel", "lukasiewicz", "s-godel",
)  # fmt: skip
"""Which relaxation is taken among equals; others come after these."""


@dataclass(frozen=True)
class Advice:
    """The relaxation to begin with, or None if nothing mends; the form of rules, and the reasons.

    `forms` has the rules that are better written in another way, by name, as text. `over` is the
    aggregator over groundings that is better than the conjunction of the logic, or None.
    """

    relaxation: str | None
    reasons: tuple[str, ...]
    forms: dict[str, str]
    traps: tuple[Trap, ...] = ()
    over: str | None = None


def recommend(
    rehearsed: Sequence[Rehearsed],
    rewritten: Sequence[Rehearsed] = (),
    forms: dict[str, str] | None = None,
    *,
    aggregated: Mapping[str, Rehearsed] | None = None,
    instead_of: str = "the conjunction of groundings",
    traps: Sequence[Trap] = (),
    remarks: Sequence[str] = (),
) -> Advice:
    """Recommend the relaxation under which networks learnt best in the rehearsal.

    Among relaxations within `TIE` points of the best, the first of `PREFERENCE` is taken.
    `rewritten` are the results with the rules in the other `forms`, which are recommended if they
    are better by more than `TIE`. `aggregated` has the results with other aggregators over
    groundings, in the order in which they are preferred; the best is recommended if it is better
    by more than `TIE` than what they are tried `instead_of`, under the same relaxation.
    """
    points = {one.relaxation: one for one in rehearsed}
    without = points.pop(None, None)
    if not points:
        return Advice(None, ("Nothing was rehearsed to the end", *remarks), {}, tuple(traps))
    best = _best(list(points.values()))
    other = _best(list(rewritten)) if rewritten else None
    is_rewritten = other is not None and other.points > best.points + TIE
    chosen = other if is_rewritten and other is not None else best
    if without is not None and chosen.points < without.points + GAIN:
        nothing = (
            f"No relaxation adds to the {without.points:.0f} points that networks reach without "
            f"the rules; if you use them all the same, begin with {best.relaxation}"
        )
        return Advice(None, (nothing, *remarks), {}, tuple(traps))
    reasons = [_why(chosen, without, list(points.values()), is_rewritten=is_rewritten)]
    if other is not None and not is_rewritten and other.points < best.points - TIE:
        reasons.append(f"Written with `exists` the rules reach {other.points:.0f} points at best")
    over = None
    if aggregated:
        most = max(one.points for one in aggregated.values())
        name, tried = next(it for it in aggregated.items() if it[1].points >= most - TIE)
        conjoined = points.get(tried.relaxation, best)
        reasons.append(_about_aggregator(name, tried, conjoined, instead_of))
        if tried.relaxation == chosen.relaxation and tried.points > conjoined.points + TIE:
            over = name
    return Advice(
        chosen.relaxation,
        (*reasons, *remarks),
        dict(forms or {}) if is_rewritten else {},
        tuple(traps),
        over,
    )


def _about_aggregator(over: str, tried: Rehearsed, conjoined: Rehearsed, instead_of: str) -> str:
    difference = tried.points - conjoined.points
    worth = "as good" if abs(difference) <= TIE else "better" if difference > 0 else "worse"
    return (
        f'over="{over}" instead of {instead_of} is {worth} under '
        f"{tried.relaxation}: {tried.points:.0f} points for {conjoined.points:.0f}, with the "
        f"weight {tried.weight:g}, which does not depend on the number of groundings"
    )


def _best(rehearsed: Sequence[Rehearsed]) -> Rehearsed:
    most = max(one.points for one in rehearsed)
    equals = [one for one in rehearsed if one.points >= most - TIE]
    return min(equals, key=_place)


def _place(one: Rehearsed) -> tuple[int, float]:
    is_known = one.relaxation in PREFERENCE
    place = PREFERENCE.index(str(one.relaxation)) if is_known else len(PREFERENCE)
    return place, -one.points


def _why(
    chosen: Rehearsed, without: Rehearsed | None, others: Sequence[Rehearsed], *, is_rewritten: bool
) -> str:
    base = "" if without is None else f", and {without.points:.0f} without the rules"
    form = " with the rules rewritten" if is_rewritten else ""
    equals = [
        str(one.relaxation)
        for one in others
        if one.relaxation != chosen.relaxation and abs(one.points - chosen.points) <= TIE
    ]
    ties = f"; as good there: {', '.join(equals)}" if equals else ""
    return (
        f"In the rehearsal networks reach {chosen.points:.0f} points under {chosen.relaxation}"
        f"{form}{base}, with the weight {chosen.weight:g}{ties}"
    )
