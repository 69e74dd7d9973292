"""Bounds of the mean degree over each of many boxes.

Where one case is left on a box, its Taylor polynomial is integrated. Otherwise the degree is a sum
of differences of cases, each of which counts where some guards are positive. A difference with one
guard is integrated over a box that a plane cuts; one with several guards is only bounded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np

from residuum.analysis.bounds.cuts import Guard, guard_of, mean_where_positive
from residuum.analysis.bounds.expansions import (
    ROUNDING,
    UPWARDS,
    Boxes,
    Expansion,
    FloatPolynomial,
    shares,
    variation,
)
from residuum.analysis.bounds.grouping import Cases, CaseTable, Sides
from residuum.analysis.bounds.taylor import Taylor, divide, mean
from residuum.analysis.cases.signs import SignPair
from residuum.analysis.cases.tree import Leaf, Tree
from residuum.relaxations.arrays import Array

ORDERS = {1: 5, 2: 5, 3: 5, 4: 3, 5: 3, 6: 2, 7: 2, 8: 2}
"""The total degree of a case's Taylor polynomial, by the number of atoms."""

MOST_UNDECIDED = 3
"""The most guards of unknown sign. With more, the cases on a box are only compared."""

MOST_CUT = 5
"""The most atoms for which planes cut boxes. With more, there are too many ways to do so."""

AT_ONCE = 1024
"""The boxes that are cut together. Their arrays fit into the cache of a processor."""

EASED = 4.0
"""About the factor by which halving along an axis reduces the error that it causes."""

SUM_ROUNDING = tuple(count * ROUNDING for count in (200, 600, 6_000, 100_000))
"""How far rounding can move a mean, as a share of the absolute coefficients of all its cases.

By the number of undecided guards; the README of this folder counts the roundings.
"""


class BoundedBoxes(NamedTuple):
    """Boxes with bounds of the integral over each, two axes to halve next, nodes of the tree."""

    boxes: Boxes
    low: Array
    high: Array
    axes: Any
    nodes: Any

    def of(self, which: Any) -> BoundedBoxes:
        """Return the cells with these indices."""
        return BoundedBoxes(self.boxes.of(which), *(rows[..., which] for rows in self[1:]))

    def joined(self, others: Sequence[BoundedBoxes]) -> BoundedBoxes:
        """Return these cells and others."""
        rest = zip(self[1:], *(other[1:] for other in others), strict=True)
        return BoundedBoxes(
            self.boxes.joined([other.boxes for other in others]),
            *(np.concatenate(rows, axis=-1) for rows in rest),
        )


class _Part(NamedTuple):
    """Boxes that have the same undecided guards and the same cases."""

    which: Any
    guards: Sequence[str]
    undecided: Sequence[Expansion]
    table: CaseTable

    def where(self, marked: Any) -> _Part:
        inside = np.flatnonzero(marked[self.which])
        undecided = [guard.of(inside) for guard in self.undecided]
        return self._replace(which=self.which[inside], undecided=undecided)


@final
class Evaluator:
    """A tree of cases, ready to be bounded on boxes."""

    def __init__(self, tree: Tree, axes: int) -> None:
        self.axes, self._order = axes, ORDERS[axes]
        self.cases = Cases(tree)
        self._weight = FloatPolynomial(tree.weight, Fraction(1))

    def evaluate(self, boxes: Boxes, starts: Any) -> BoundedBoxes:
        """Return boxes with their bounds. Each lies in the cases below its node of the tree.

        The degree lies between 0 and 1, so that its mean is at most the chart's largest weight.
        """
        nodes, blame = starts.copy(), np.zeros((self.axes, boxes.number))
        parts = []
        for group in self.cases.groups(boxes, starts):
            nodes[group.which] = self.cases.number(group.start)
            if group.is_too_open:
                for guard in group.undecided.values():
                    blame[:, group.which] += guard.variation()
                continue
            guards, table = self.cases.table(group)
            undecided = [group.undecided[name] for name in guards]
            parts.append(_Part(group.which, guards, undecided, table))
            if not guards:
                nodes[group.which] = self.cases.number(table[()])
        low, high = np.zeros(boxes.number), np.full(boxes.number, np.inf)
        with np.errstate(all="ignore"):  # a number that is not finite says nothing
            self._bound(boxes, parts, low, high, blame)
        most, volumes = self._weight.expand(boxes).most(), boxes.volumes
        first = np.argmax(blame, axis=0)
        blame[first, np.arange(len(first))] /= EASED
        axes = np.stack([first, np.argmax(blame, axis=0)]).astype(np.int8)
        return BoundedBoxes(boxes, low * volumes, np.fmin(high, most) * volumes, axes, nodes)

    def _bound(
        self, boxes: Boxes, parts: Sequence[_Part], low: Array, high: Array, blame: Array
    ) -> None:
        """Fill in the bounds of parts. Each case is expanded on all of its boxes together."""
        clear, poles = np.ones(boxes.number, dtype=bool), np.zeros_like(blame)
        divisors: dict[Leaf, _Scattered] = {}
        for leaf, which in _boxes_by_leaf(parts).items():
            below = self.cases.quotient(leaf)[1].expand(boxes.of(which))
            divisors[leaf] = _Scattered(boxes.number, which, below)
            has_pole = ~(below.least() > 0)
            clear[which] &= ~has_pole
            if has_pole.any():
                poles[:, which] += np.where(has_pole, below.variation(), 0.0)
        for part in parts:
            # Where no mean is found, guards count twice: they often keep the poles out.
            blame[:, part.which] = shares(poles[:, part.which])
            for guard in part.undecided:
                blame[:, part.which] += 2 / len(part.guards) * guard.variation()
        parts = [part.where(clear) for part in parts if clear[part.which].any()]
        sums = _Sums(self.axes, boxes.number)
        models: dict[Leaf, _Scattered] = {}
        for leaf, which in _boxes_by_leaf(parts).items():
            above = self.cases.quotient(leaf)[0].expand(boxes.of(which))
            quotient = divide(above, divisors[leaf].of(which), self._order)
            models[leaf] = _Scattered(boxes.number, which, quotient)
        for part in parts:
            here = {leaf: models[leaf].of(part.which) for leaf in part.table.values()}
            if len(part.guards) > MOST_UNDECIDED:
                sums.compare(part.which, list(here.values()), blame[:, part.which])
                continue
            guards = [guard_of(one, self._order) for one in part.undecided]
            deltas = _differences(part.table, here)
            _merge(deltas, guards, self.cases.excluded(part.guards))
            sums.add(part.which, deltas, guards, list(here.values()))
        sums.fill(low, high, blame)


@final
class _Scattered:
    """A function that is known on some boxes, by the index of the box."""

    def __init__(self, number: int, which: Any, values: Any) -> None:
        self._places = np.full(number, -1)
        self._places[which] = np.arange(len(which))
        self._values = values

    def of(self, which: Any) -> Any:
        return self._values.of(self._places[which])


def _boxes_by_leaf(parts: Sequence[_Part]) -> dict[Leaf, Any]:
    found: dict[Leaf, list[Any]] = {}
    for part in parts:
        for leaf in dict.fromkeys(part.table.values()):
            found.setdefault(leaf, []).append(part.which)
    return {leaf: np.concatenate(which) for leaf, which in found.items()}


def _differences(table: CaseTable, models: Mapping[Leaf, Taylor]) -> dict[Sides, Array]:
    """Return Δ by the guards that it counts for: f = Σ Δ · [those guards are positive]."""
    deltas = {sides: models[leaf].coefficients for sides, leaf in table.items()}
    for place in range(len(next(iter(table)))):
        for chosen in [one for one in deltas if one[place]]:
            without = (*chosen[:place], False, *chosen[place + 1 :])
            deltas[chosen] = deltas[chosen] - deltas[without]
    return deltas


_EQUIVALENT: Mapping[SignPair, Sequence[tuple[tuple[bool, bool], int]]] = {
    (1, 1): (),
    (1, -1): [((True, False), 1)],
    (-1, 1): [((False, True), 1)],
    (-1, -1): [((True, False), 1), ((False, True), 1), ((False, False), -1)],
}
"""A sum that equals [g > 0][h > 0] if g and h never have these signs at once."""


def _merge(
    deltas: dict[Sides, Array],
    guards: Sequence[Guard],
    excluded: Mapping[tuple[int, int], Collection[SignPair]],
) -> None:
    """Replace differences for two guards by those for one, where signs exclude each other.

    Pairs of signs are `excluded` everywhere, or else are found not to occur on a box.
    """
    for (i, j), known in excluded.items():
        left = np.ones(len(guards[i].missing), dtype=bool)
        for signs in sorted(_EQUIVALENT, key=lambda pair: pair not in known):
            never = left & (signs in known or never_both(guards[i], guards[j], signs))
            left &= ~never
            if not never.any():
                continue
            for chosen in [one for one in deltas if one[i] and one[j]]:
                moved = np.where(never, deltas[chosen], 0.0)
                deltas[chosen] = deltas[chosen] - moved
                for (first, second), factor in _EQUIVALENT[signs]:
                    target = list(chosen)
                    target[i], target[j] = first, second
                    deltas[tuple(target)] = deltas[tuple(target)] + factor * moved


def never_both(left: Guard, right: Guard, signs: SignPair) -> Any:
    """Return on which boxes two guards never have these signs at once.

    There a sum of the guards, each times its sign and a weight, is negative.
    """
    first, second = signs[0] * left.coefficients, signs[1] * right.coefficients
    weight = np.abs(first[1:]).sum(axis=0) / np.abs(second[1:]).sum(axis=0)
    total, size = first + weight * second, np.abs(first) + weight * np.abs(second)
    # Each coefficient is rounded twice.
    error = left.missing + weight * right.missing + 4 * ROUNDING * size.sum(axis=0)
    return total[0] + (np.abs(total[1:]).sum(axis=0) + error) * UPWARDS < 0


@final
class _Sums:
    """The mean over each box as a sum of differences, and the sum of their errors."""

    def __init__(self, axes: int, number: int) -> None:
        self._axes, self._order = axes, ORDERS[axes]
        self._centre, self._width = np.zeros(number), np.full(number, np.inf)
        self._blame = np.zeros((axes, number))
        self._cuts: list[tuple[Any, Array, Guard]] = []

    def add(
        self,
        which: Any,
        deltas: Mapping[Sides, Array],
        guards: Sequence[Guard],
        cases: Sequence[Taylor],
    ) -> None:
        """Add boxes with the differences of their cases."""
        axes, order, number = self._axes, self._order, len(which)
        width = np.minimum(
            np.maximum.reduce([case.error for case in cases]),
            sum((case.mean_error for case in cases), np.zeros(number)),
        )
        centre, blame = np.zeros(number), np.zeros((axes, number))
        for chosen, delta in deltas.items():
            if sum(chosen) == 0:
                centre += mean(delta, axes, order)
            elif sum(chosen) == 1 and axes <= MOST_CUT:
                self._cuts.append((which, delta, guards[chosen.index(True)]))
            else:  # the summand lies between 0 and Δ everywhere
                half = np.abs(delta).sum(axis=0) / 2
                centre += mean(delta, axes, order) / 2
                width += half
                blame += half * variation(delta, axes, order)
        for case in cases:
            blame += case.mean_error * variation(case.coefficients, axes, order, order - 1)
        size = sum((np.abs(case.coefficients).sum(axis=0) for case in cases), np.zeros(number))
        self._centre[which] = centre
        self._width[which] = width + SUM_ROUNDING[len(guards)] * size
        self._blame[:, which] = blame

    def compare(self, which: Any, cases: Sequence[Taylor], blame: Array) -> None:
        """Add boxes with cases that are close together: each is near a polynomial halfway."""
        every = np.stack([case.coefficients for case in cases])
        halfway = (every.min(axis=0) + every.max(axis=0)) / 2
        apart = np.abs(every - halfway).sum(axis=1) + np.stack([case.error for case in cases])
        rounding = (len(halfway) + 4) * ROUNDING * np.abs(halfway).sum(axis=0)
        self._centre[which] = mean(halfway, self._axes, self._order)
        self._width[which] = apart.max(axis=0) + rounding
        self._blame[:, which] = blame

    def fill(self, low: Array, high: Array, blame: Array) -> None:
        """Write the bounds and the blame of the boxes that were added."""
        if self._cuts:
            self._cut()
        width = self._width * UPWARDS
        np.fmax(low, self._centre - width, out=low)
        np.fmin(high, self._centre + width, out=high)
        np.copyto(blame, self._blame, where=np.isfinite(width))

    def _cut(self) -> None:
        """Add the means over parts of boxes: few large arrays are faster than many small ones."""
        boxes, deltas, guards = zip(*self._cuts, strict=True)
        which, delta = np.concatenate(boxes), np.concatenate(deltas, axis=1)
        guard = Guard(*(np.concatenate(rows, axis=-1) for rows in zip(*guards, strict=True)))
        for start in range(0, len(which), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            part = mean_where_positive(delta[:, some], guard.of(some), self._axes, self._order)
            np.add.at(self._centre, which[some], part.mean)
            np.add.at(self._width, which[some], part.error)
            for total, blame in zip(self._blame, part.blame, strict=True):
                np.add.at(total, which[some], blame)
