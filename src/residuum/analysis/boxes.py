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

from residuum.analysis.differences import Chosen
from residuum.analysis.expansions import Polynomial, shares
from residuum.analysis.groups import MOST_COMPARED, MOST_UNDECIDED, Cases, Domain
from residuum.analysis.means import Means
from residuum.analysis.models import divide
from residuum.analysis.pieces import Leaf, Tree
from residuum.analysis.slabs import Slabs
from residuum.analysis.truncated import Function
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

    which: Any
    guards: Sequence[str]
    undecided: Sequence[Function]
    table: Mapping[Chosen, Leaf] | None
    leaves: Collection[Leaf]

    def joined(self, others: Sequence[_Part]) -> _Part:
        """Return these and other boxes with the same guards and cases."""
        parts = (self, *others)
        return self._replace(
            which=np.concatenate([part.which for part in parts]),
            undecided=[
                one.joined(rest) for one, *rest in zip(*(p.undecided for p in parts), strict=True)
            ],
        )


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
            np.full((MOST_UNDECIDED + 1, number), -1, dtype=np.int32),
        )
        nodes = starts.copy()
        parts: dict[Any, list[_Part]] = {}
        allowed = np.where(most * boxes.volumes < SMALL, MOST_COMPARED, MOST_UNDECIDED)
        for group in self.cases.groups(boxes, starts, allowed):
            nodes[group.which] = self.cases.number(group.start)
            found = None if group.is_too_open else self.cases.table(group)
            if found is not None:
                guards, table = found
                undecided = [group.undecided[name] for name in guards]
                leaves = dict.fromkeys(table.values())
                part = _Part(group.which, guards, undecided, table, leaves)
                parts.setdefault((*guards, *table.values()), []).append(part)
                if not guards:
                    nodes[group.which] = self.cases.number(table[()])
                continue
            first = list(group.undecided.items())[: MOST_UNDECIDED + 1]
            for place, (name, guard) in enumerate(first):
                bounds.blame[:, group.which] += guard.variation()
                bounds.cuts[place, group.which] = 2 * self.cases.guard_number(name)
            if not group.is_too_open:
                reached = self.cases.reached(group)
                part = _Part(group.which, [], [], None, reached)
                parts.setdefault(frozenset(reached), []).append(part)
        self._bound(boxes, [first.joined(rest) for first, *rest in parts.values()], bounds)
        return bounds._replace(high=np.fmin(bounds.high, most)), nodes

    def _bound(self, boxes: Domain, parts: Sequence[_Part], bounds: Bounds) -> None:
        """Fill in the bounds of parts; each case is expanded on all of them together."""
        known, poles = np.ones(boxes.number, dtype=bool), np.zeros_like(bounds.blame)
        divisors: dict[Leaf, _Scattered] = {}
        clear: dict[Leaf, Any] = {}
        for leaf, members in _by_leaf(parts).items():
            which = np.concatenate([part.which for part in members])
            below = boxes.of(which).expand(self.cases.quotient(leaf)[1])
            divisors[leaf] = _Scattered(boxes.number, which, below)
            clear[leaf] = np.ones(boxes.number, dtype=bool)
            clear[leaf][which] = here = below.least() > 0
            known &= clear[leaf]
            if not here.all():
                poles[:, which] += np.where(here, 0.0, below.variation())
        # Where a case may have a pole, nothing comes of the others.
        models: dict[tuple[Leaf, int], _Scattered] = {}
        for order in {self._orders(boxes, part)[0] for part in parts}:
            alike = [part for part in parts if self._orders(boxes, part)[0] == order]
            for leaf, members in _by_leaf(alike).items():
                which = np.concatenate([part.which for part in members])
                which = which[known[which]]
                if not len(which):
                    continue
                above = boxes.of(which).integrand(self.cases.quotient(leaf)[0])
                quotient = divide(above, divisors[leaf].of(which), order)
                models[leaf, order] = _Scattered(boxes.number, which, quotient)
        means = Means(self.axes, boxes.number)
        for part in parts:
            self._add(part, self._orders(boxes, part), known, models, means)
            if part.table is not None:
                bounds.blame[:, part.which] = _vague_blame(part, poles[:, part.which])
                self._note_cuts(part, part.table, clear, bounds.cuts)
        low, high, blame = means.bounds()
        np.fmax(bounds.low, low, out=bounds.low)
        np.fmin(bounds.high, high, out=bounds.high)
        np.copyto(bounds.blame, blame, where=np.isfinite(blame))

    def _orders(self, boxes: Domain, part: _Part) -> tuple[int, int | None]:
        if part.table is None:
            return COMPARED_ORDER, None
        plain = ORDERS[self.axes], None
        on_boxes = CUT_ORDERS.get(self.axes, plain) if part.guards else plain
        return SLAB_ORDERS if isinstance(boxes, Slabs) else on_boxes

    def _add(
        self,
        part: _Part,
        orders: tuple[int, int | None],
        known: Any,
        models: Mapping[tuple[Leaf, int], _Scattered],
        means: Means,
    ) -> None:
        """Add the boxes of a part on which all cases are known."""
        order, cut_order = orders
        inside = np.flatnonzero(known[part.which])
        if not len(inside):
            return
        which = part.which[inside]
        here = {leaf: models[leaf, order].of(which) for leaf in part.leaves}
        if part.table is None:
            means.compare(which, list(here.values()))
            return
        undecided = [guard.of(inside) for guard in part.undecided]
        excluded = self.cases.excluded(part.guards)
        means.add(which, part.table, undecided, excluded, here, cut_order)

    def _note_cuts(
        self, part: _Part, table: Mapping[Chosen, Leaf], clear: Mapping[Leaf, Any], cuts: Any
    ) -> None:
        """Note the guards of a part, and on which side of each of them poles are."""
        for place, name in enumerate(part.guards):
            on_sides = [np.zeros(len(part.which), dtype=bool) for _ in range(2)]
            for sides, leaf in table.items():
                on_sides[sides[place]] |= ~clear[leaf][part.which]
            number = 2 * self.cases.guard_number(name)
            cuts[place, part.which] = number + (on_sides[0] & ~on_sides[1])


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
    for guard in part.undecided:
        total = total + 2 / len(part.guards) * guard.variation()
    return total
