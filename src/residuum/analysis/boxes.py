"""The degree of a formula on many boxes at once: bounds of its mean over each.

On a box, or a slab, the guards of the tree of cases are decided or not. With one case left, its
degree is a polynomial up to a small error. Otherwise it is a sum of differences of cases: those
with one guard are integrated over a box cut by a plane, and those with more are bounded, for they
are small where cases fit together. Where many guards meet, as at a = b = c = d, all cases are
nearly the same, and it is enough to say how far apart they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np

from residuum.analysis import expansions
from residuum.analysis.cuts import mean_where_positive
from residuum.analysis.differences import Chosen, differences, fold_slivers, merge
from residuum.analysis.expansions import UPWARDS, Polynomial, shares, variation
from residuum.analysis.groups import MOST_COMPARED, MOST_UNDECIDED, Cases, Domain, Group
from residuum.analysis.models import Model, compared, divide, mean
from residuum.analysis.pieces import Leaf, Tree
from residuum.analysis.truncated import Function, Truncated
from residuum.relaxations.arrays import Array

ORDERS = {1: 12, 2: 8, 3: 6, 4: 4, 5: 3, 6: 2, 7: 2, 8: 2}
"""The total degree of a case's polynomial, by the number of atoms."""

CUT_ORDERS = {1: (6, 5), 2: (6, 5), 3: (5, 4), 4: (4, 2), 5: (3, 1)}
"""The same where guards are undecided, and up to which degree differences are cut.

With more atoms than these a plane cuts a box in too many ways, and differences are only bounded.
"""

SLAB_ORDERS = (6, 4)
"""The same on slabs: most guards run along their ends there, and are hardly cut."""

COMPARED_ORDER = 2
"""The same where cases are only compared."""

SMALL = 2.0**-18
"""Cases are compared where the integral of 1 is less than this; on more they differ by too much."""

ROUNDING = tuple(count * expansions.ROUNDING for count in (200, 600, 6_000, 100_000))
"""How far rounding can move a mean, as a share of the absolute coefficients of all cases, S.

By the number n of undecided guards. Differences of cases take up to n steps: 5ⁿ roundings of S
in all, and their coefficients have a sum of 3ⁿ S. Folding slivers adds none to that sum, and rounds
n 2ⁿ⁻¹ times. For each pair of guards `merge` may treble the sum, which makes 1, 3, 27 and 729 S,
and rounds 4 times for each of up to 2ⁿ⁻² differences: (12 + 24) · 729 roundings of S for n = 3, to
be generous. A mean adds up to 84 monomials, and up to 8 means are added up: 94 times the sums.
"""


class Bounds(NamedTuple):
    """Bounds of the mean over each box, and how much each axis is to blame for their width.

    `cuts` has a row for each of the first guards that are undecided and matter: twice its number,
    plus 1 where poles lie among the cases in which it is negative, and only there; −1 where there
    is none.
    """

    low: Array
    high: Array
    blame: Array
    cuts: Any


class _Part(NamedTuple):
    """Boxes with the same guards and cases; without a table these are only compared."""

    group: Group
    guards: list[str]
    table: Mapping[Chosen, Leaf] | None
    leaves: Collection[Leaf]


@final
class Evaluator:
    """A tree of cases, to be evaluated on boxes."""

    def __init__(self, tree: Tree, axes: int) -> None:
        self.axes = axes
        self.cases = Cases(tree)
        self._weight = Polynomial(tree.weight, Fraction(1))

    def evaluate(self, boxes: Domain, starts: Any) -> tuple[Bounds, Any]:
        """Return bounds on boxes that lie in the cases of these nodes, and nodes farther down.

        The degree lies between 0 and 1, and so its mean with the weight is at most that of 1.
        """
        number = boxes.number
        most = boxes.integrand(self._weight).mean()
        bounds = Bounds(
            np.zeros(number),
            np.full(number, np.inf),
            np.zeros((self.axes, number)),
            np.full((MOST_UNDECIDED + 1, number), -1),
        )
        nodes = starts.copy()
        parts = []
        allowed = np.where(most * boxes.volumes < SMALL, MOST_COMPARED, MOST_UNDECIDED)
        for group in self.cases.groups(boxes, starts, allowed):
            nodes[group.which] = self.cases.number(group.start)
            if len(group.undecided) <= MOST_UNDECIDED:
                guards, table = self.cases.table(group)
                parts.append(_Part(group, guards, table, dict.fromkeys(table.values())))
                if not guards:
                    nodes[group.which] = self.cases.number(table[()])
                continue
            first = list(group.undecided.items())[: MOST_UNDECIDED + 1]
            for place, (name, guard) in enumerate(first):
                bounds.blame[:, group.which] += guard.variation()
                bounds.cuts[place, group.which] = 2 * self.cases.guard_number(name)
            if not group.is_too_open:
                parts.append(_Part(group, [], None, self.cases.reached(group)))
        self._bound(boxes, parts, bounds)
        return bounds._replace(high=np.fmin(bounds.high, most)), nodes

    def _bound(self, boxes: Domain, parts: Sequence[_Part], bounds: Bounds) -> None:
        """Fill in the bounds of parts; each case is expanded on all of them together."""
        known, poles = np.ones(boxes.number, dtype=bool), np.zeros_like(bounds.blame)
        divisors: dict[Leaf, _Scattered] = {}
        clear: dict[Leaf, Any] = {}
        for leaf, members in _by_leaf(parts).items():
            which = np.concatenate([part.group.which for part in members])
            below = boxes.of(which).expand(self.cases.quotient(leaf)[1])
            divisors[leaf] = _Scattered(boxes.number, which, below)
            clear[leaf] = np.ones(boxes.number, dtype=bool)
            clear[leaf][which] = here = below.least() > 0
            known &= clear[leaf]
            if not here.all():
                poles[:, which] += np.where(here, 0.0, below.variation())
        # Where a case may have a pole, nothing comes of the others.
        models: dict[tuple[Leaf, int], _Scattered] = {}
        for order in {self._orders(part)[0] for part in parts}:
            alike = [part for part in parts if self._orders(part)[0] == order]
            for leaf, members in _by_leaf(alike).items():
                which = np.concatenate([part.group.which for part in members])
                which = which[known[which]]
                if not len(which):
                    continue
                above = boxes.of(which).integrand(self.cases.quotient(leaf)[0])
                quotient = divide(above, divisors[leaf].of(which), order)
                models[leaf, order] = _Scattered(boxes.number, which, quotient)
        for part in parts:
            self._fill(part, known, poles, clear, models, bounds)

    def _orders(self, part: _Part) -> tuple[int, int | None]:
        order = ORDERS[self.axes]
        if part.table is None:
            return COMPARED_ORDER, None
        if not part.guards:
            return order, None
        if isinstance(part.group.undecided[part.guards[0]], Truncated):
            return SLAB_ORDERS
        return CUT_ORDERS.get(self.axes, (order, None))

    def _fill(
        self,
        part: _Part,
        known: Any,
        poles: Array,
        clear: Mapping[Leaf, Any],
        models: Mapping[tuple[Leaf, int], _Scattered],
        bounds: Bounds,
    ) -> None:
        """Fill in the bounds of one part."""
        order, cut_order = self._orders(part)
        every = part.group.which
        if part.table is None:
            which = every[known[every]]
            if len(which):
                cases = [models[leaf, order].of(which) for leaf in part.leaves]
                bounds.low[which], bounds.high[which] = compared(cases, self.axes)
            return
        bounds.blame[:, every] = _vague_blame(part, poles[:, every])
        for place, name in enumerate(part.guards):
            on_sides = [np.zeros(len(every), dtype=bool) for _ in range(2)]
            for sides, leaf in part.table.items():
                on_sides[sides[place]] |= ~clear[leaf][every]
            number = 2 * self.cases.guard_number(name)
            bounds.cuts[place, every] = number + (on_sides[0] & ~on_sides[1])
        inside = np.flatnonzero(known[every])
        if len(inside):
            which = every[inside]
            undecided = [part.group.undecided[name].of(inside) for name in part.guards]
            here = {leaf: models[leaf, order].of(which) for leaf in part.leaves}
            low, high, blame = self._bounds_of_known(
                part.guards, part.table, undecided, here, cut_order
            )
            bounds.low[which], bounds.high[which] = low, high
            bounds.blame[:, which] = np.where(np.isfinite(blame), blame, bounds.blame[:, which])

    def _bounds_of_known(
        self,
        guards: list[str],
        table: Mapping[Chosen, Leaf],
        undecided: Sequence[Function],
        models: Mapping[Leaf, Model],
        cut_order: int | None,
    ) -> tuple[Array, Array, Array]:
        """Return bounds where every case has a model; the blame is infinite where no cut has."""
        cases = list(models.values())
        axes, order, number = self.axes, cases[0].order, len(cases[0].error)
        centre, width = np.zeros(number), np.zeros(number)
        blame = np.zeros((axes, number))
        deltas = differences(table, models, len(undecided))
        width = width + fold_slivers(deltas, undecided)
        merge(deltas, undecided, self.cases.excluded(guards))
        for chosen, delta in deltas.items():
            if sum(chosen) == 0:
                centre = centre + mean(delta, axes, order)
            elif sum(chosen) == 1 and cut_order is not None:
                guard = undecided[chosen.index(True)]
                here = np.flatnonzero(delta.any(axis=0))  # nothing is left where slivers were
                if not len(here):
                    continue
                cut = mean_where_positive(delta[:, here], order, cut_order, guard.of(here))
                centre[here] += cut.mean
                width[here] += cut.error
                blame[:, here] += cut.blame
            else:  # between 0 and Δ everywhere
                half = np.abs(delta).sum(axis=0) / 2
                centre, width = centre + mean(delta, axes, order) / 2, width + half
                blame = blame + half * variation(delta, axes, order)
        worst = np.minimum(
            np.maximum.reduce([model.error for model in cases]),
            sum((model.mean_error for model in cases), np.zeros(number)),
        )
        size = sum(model.size for model in cases)
        width = (width + worst + ROUNDING[len(undecided)] * size) * UPWARDS
        low, high = compared(cases, axes)
        low, high = np.maximum(low, centre - width), np.minimum(high, centre + width)
        for model in cases:
            tail = variation(model.coefficients, axes, order, order - 1)
            blame = blame + model.mean_error * tail
        return np.fmax(low, 0.0), high, np.where(np.isfinite(width), blame, np.inf)


class _Scattered:
    """A function or model that is known on some boxes."""

    def __init__(self, number: int, which: Any, values: Any) -> None:
        self._places = np.full(number, -1)
        self._places[which] = np.arange(len(which))
        self._values = values

    def of(self, which: Any) -> Any:
        return self._values.of(self._places[which])


def _by_leaf(parts: Sequence[_Part]) -> dict[Leaf, list[_Part]]:
    found: dict[Leaf, list[_Part]] = {}
    for part in parts:
        for leaf in part.leaves:
            found.setdefault(leaf, []).append(part)
    return found


def _vague_blame(part: _Part, poles: Array) -> Array:
    """Blame what keeps a box undecided, and less so where a case may have its poles.

    A guard often keeps them out, once it is decided.
    """
    total = shares(poles)
    for name in part.guards:
        total = total + 2 / len(part.guards) * part.group.undecided[name].variation()
    return total
