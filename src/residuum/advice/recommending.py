"""From measurements to a recommendation, with its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from residuum.advice.measuring import Measured

TIE: Final = 0.02
"""Shares of mended groundings that differ by less than this count as equal."""


@dataclass(frozen=True)
class Advice:
    """The relaxation to begin with, or None if nothing tells them apart, and the reasons."""

    relaxation: str | None
    reasons: tuple[str, ...]


def recommend(measured: Sequence[Measured], studies: Sequence[str]) -> Advice:
    """Recommend the relaxation whose gradient mends the most violated groundings.

    A grounding is mended if it becomes true and its antecedent is still predicted. Among equals
    the relaxation with fewer stuck groundings is recommended, then the more self-consistent one,
    then the cheaper one. `studies` are sentences that are added to the reasons.
    """
    names = list(dict.fromkeys(one.relaxation for one in measured))
    telling = [one for one in measured if one.mended is not None]
    if not telling:
        nothing = "No grounding is violated here, so that no gradient tells the relaxations apart"
        return Advice(None, (nothing, *studies))
    means = {name: _means([one for one in telling if one.relaxation == name]) for name in names}
    most = max(mean.mended for mean in means.values())
    equals = [name for name in names if means[name].mended > most - TIE]
    best = min(equals, key=lambda name: means[name].order)
    reasons = [_why(best, means[best])]
    reasons += [_why_not(name, means[name]) for name in names if name != best]
    limits = (
        "Measured on the rules alone: labels hold antecedents in place, and weights and rates "
        "matter as much; try the best two"
    )
    return Advice(best, (*reasons, *studies, limits))


@dataclass(frozen=True)
class _Means:
    """The measurements of one relaxation, averaged over rules and samples."""

    mended: float
    evaded: float
    stuck: float
    raising: float | None
    self_consistency: float
    cost: float

    @property
    def order(self) -> tuple[float, float, float]:
        return self.stuck, -self.self_consistency, self.cost


def _means(found: Sequence[Measured]) -> _Means:
    raising = [one.raising for one in found if one.raising is not None]
    return _Means(
        mended=_mean([one.mended or 0.0 for one in found]),
        evaded=_mean([one.evaded or 0.0 for one in found]),
        stuck=_mean([one.stuck or 0.0 for one in found]),
        raising=_mean(raising) if raising else None,
        self_consistency=_mean(
            [1.0 if (c := one.self_consistency) is None else c for one in found]
        ),
        cost=_mean([one.cost for one in found]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _why(name: str, mean: _Means) -> str:
    pull = "" if mean.raising is None else f", and {mean.raising:.0%} of its pull is on consequents"
    return (
        f"{name} mends {mean.mended:.0%} of the violated groundings and leaves {mean.stuck:.0%} "
        f"without a gradient{pull}"
    )


def _why_not(name: str, mean: _Means) -> str:
    why = f"{name} mends {mean.mended:.0%}"
    if mean.stuck > 0.5:
        why += f"; {mean.stuck:.0%} have no gradient"
    if mean.evaded > mean.mended:
        why += f"; making antecedents false is its easy way out ({mean.evaded:.0%})"
    if mean.self_consistency < 1:
        why += f"; a grounding is equivalent to itself only to {mean.self_consistency:.2f}"
    return why
