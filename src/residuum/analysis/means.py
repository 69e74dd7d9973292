"""The mean degree on many boxes, as a sum of cases and of differences of cases.

Boxes come in parts on which the same guards are undecided. All their cuts are made together in the
end: few large arrays are faster than many small ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from residuum.analysis import expansions
from residuum.analysis.cuts import mean_where_positive
from residuum.analysis.differences import Chosen, differences, fold_slivers, merge
from residuum.analysis.expansions import UPWARDS, variation
from residuum.analysis.models import Model, compared, mean
from residuum.analysis.pieces import Leaf
from residuum.analysis.planes import Curve, curve
from residuum.analysis.signs import Pair
from residuum.analysis.truncated import Function, Sliver, Truncated
from residuum.relaxations.arrays import Array

AT_ONCE = 1024
"""Boxes that are cut together: what they need fits into a processor's cache."""

ROUNDING = tuple(count * expansions.ROUNDING for count in (200, 600, 6_000, 100_000))
"""How far rounding can move a mean, as a share of the absolute coefficients of all cases, S.

By the number n of undecided guards. Differences of cases take up to n steps: 5ⁿ roundings of S
in all, and their coefficients have a sum of 3ⁿ S. Folding slivers adds none to that sum, and rounds
n 2ⁿ⁻¹ times. For each pair of guards `merge` may treble the sum, which makes 1, 3, 27 and 729 S,
and rounds 4 times for each of up to 2ⁿ⁻² differences: (12 + 24) · 729 roundings of S for n = 3, to
be generous. A mean adds up to 84 monomials, and up to 8 means are added up: 94 times the sums.
"""


class _Cut(NamedTuple):
    """Boxes, and a difference of cases that counts where a guard is positive.

    Its mean may also be known, up to an error, as the guard is decided but in a sliver.
    """

    which: Any
    delta: Array
    guard: Curve
    mean: Array
    error: Array


@final
class Means:
    """Sums of cases on boxes, and of what bounds their error."""

    def __init__(self, axes: int, number: int) -> None:
        self._axes = axes
        # Nothing is known of a box until it is added.
        self._centre, self._width = np.zeros(number), np.full(number, np.inf)
        self._low, self._high = np.zeros(number), np.full(number, np.inf)
        self._blame = np.zeros((axes, number))
        self._cuts: dict[tuple[int, int], list[_Cut]] = {}

    def add(
        self,
        which: Any,
        table: Mapping[Chosen, Leaf],
        undecided: Sequence[Function],
        excluded: Mapping[tuple[int, int], Collection[Pair]],
        models: Mapping[Leaf, Model],
        cut_order: int | None,
    ) -> None:
        """Add boxes on which every case has a model."""
        cases = list(models.values())
        axes, order, number = self._axes, cases[0].order, len(which)
        deltas = differences(table, models, len(undecided))
        slivers = [g.sliver() if isinstance(g, Truncated) else None for g in undecided]
        errors = {
            leaf: np.minimum(model.mean_error, _share(leaf, table, slivers) * model.error)
            for leaf, model in models.items()
        }
        worst = np.minimum(
            np.maximum.reduce([model.error for model in cases]),
            sum(errors.values(), np.zeros(number)),
        )
        merge(deltas, undecided, excluded)
        width = worst + fold_slivers(deltas, slivers, axes, worst)
        centre, blame = np.zeros(number), np.zeros((axes, number))
        for chosen, delta in deltas.items():
            if sum(chosen) == 0:
                centre += mean(delta, axes, order)
            elif sum(chosen) == 1 and cut_order is not None:
                here = np.flatnonzero(delta.any(axis=0))  # nothing is left where slivers were
                if len(here):
                    place = chosen.index(True)
                    guard = curve(undecided[place].of(here), order)
                    known = _sided(delta, slivers[place], axes, order)
                    cut = _Cut(which[here], delta[:, here], guard, *known[:, here])
                    self._cuts.setdefault((order, cut_order), []).append(cut)
            else:  # between 0 and Δ everywhere
                half = np.abs(delta).sum(axis=0) / 2
                centre += mean(delta, axes, order) / 2
                width += half
                blame += half * variation(delta, axes, order)
        size = sum(model.size for model in cases)
        for leaf, error in errors.items():
            blame += error * variation(models[leaf].coefficients, axes, order, order - 1)
        self._low[which], self._high[which] = compared(cases, axes)
        self._centre[which] = centre
        self._width[which] = width + ROUNDING[len(undecided)] * size
        self._blame[:, which] = blame

    def compare(self, which: Any, cases: Sequence[Model]) -> None:
        """Add boxes of whose cases is only asked how far they are apart."""
        self._low[which], self._high[which] = compared(cases, self._axes)

    def bounds(self) -> tuple[Array, Array, Array]:
        """Return bounds of each mean, and blame; it is infinite where no sum was found."""
        for (order, cut_order), cuts in self._cuts.items():
            self._cut(order, cut_order, cuts)
        width = self._width * UPWARDS
        low = np.fmax(self._low, self._centre - width)
        high = np.fmin(self._high, self._centre + width)
        return low, high, np.where(np.isfinite(width), self._blame, np.inf)

    def _cut(self, order: int, cut_order: int, cuts: Sequence[_Cut]) -> None:
        which = np.concatenate([cut.which for cut in cuts])
        delta = np.concatenate([cut.delta for cut in cuts], axis=1)
        guard = Curve(
            np.concatenate([cut.guard.low for cut in cuts], axis=1),
            np.concatenate([cut.guard.missing for cut in cuts]),
        )
        means = np.concatenate([cut.mean for cut in cuts])
        errors = np.concatenate([cut.error for cut in cuts])
        for start in range(0, len(which), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            part = mean_where_positive(delta[:, some], order, cut_order, guard.of(some), self._axes)
            cut_is_better = part.error < errors[some]
            error = np.where(cut_is_better, part.error, errors[some])
            np.add.at(self._centre, which[some], np.where(cut_is_better, part.mean, means[some]))
            np.add.at(self._width, which[some], error)
            for total, blame in zip(self._blame, part.blame, strict=True):
                np.add.at(total, which[some], np.where(cut_is_better, blame, 0.0))


def _sided(delta: Array, sliver: Sliver | None, axes: int, order: int) -> Array:
    """Return the mean of Δ · [g > 0] as if the guard had one sign, and how far that may be off."""
    if sliver is None:
        return np.stack([np.zeros(delta.shape[1]), np.full(delta.shape[1], np.inf)])
    lost = np.where(sliver.sign == 0, np.inf, sliver.lost(delta, axes))
    return np.stack([np.where(sliver.sign > 0, mean(delta, axes, order), 0.0), lost])


def _share(
    leaf: Leaf, table: Mapping[Chosen, Leaf], slivers: Sequence[Sliver | None]
) -> Array | float:
    """Bound the share of each box where this is the case.

    On the far side of a guard that is decided but in a sliver, it is so in the sliver at most.
    """
    share: Array | float = 0.0
    for sides in (sides for sides, one in table.items() if one is leaf):
        here: Array | float = 1.0
        for side, sliver in zip(sides, slivers, strict=True):
            if sliver is not None:
                beyond = sliver.sign == (-1 if side else 1)
                here = np.where(beyond, np.minimum(here, sliver.thickness / 2), here)
        share = share + here
    return share
