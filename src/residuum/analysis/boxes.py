"""The degree of a formula on many boxes at once: bounds of its mean over each.

On a box the guards of the tree of cases are decided or not. With one case left, its degree is a
polynomial up to a small error. With guards g₁, g₂, … undecided it is a sum of differences of cases,
f = Δ + Δ₁[g₁ > 0] + Δ₂[g₂ > 0] + Δ₁₂[g₁ > 0][g₂ > 0] + …: those with one guard are integrated over
a box cut by a plane, and those with more are bounded, for they are small where cases fit together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np

from residuum.analysis import expansions
from residuum.analysis.cuts import mean_where_positive
from residuum.analysis.expansions import (
    UPWARDS,
    Boxes,
    Expansion,
    Polynomial,
    from_exact,
    quotient_from_exact,
    shares,
    variation,
)
from residuum.analysis.models import Model, divide, mean
from residuum.analysis.pieces import Branch, Leaf, Node, Tree
from residuum.relaxations.arrays import Array

ORDERS = {1: 12, 2: 8, 3: 6, 4: 4, 5: 3, 6: 2, 7: 2, 8: 2}
"""The total degree of a case's polynomial, by the number of atoms."""

CUT_ORDERS = {1: (6, 5), 2: (6, 5), 3: (5, 4), 4: (4, 2), 5: (3, 1)}
"""The same where guards are undecided, and up to which degree differences are cut.

With more atoms than these a plane cuts a box in too many ways, and differences are only bounded.
"""

MOST_UNDECIDED = 3
"""A box on which more guards are undecided is only halved."""

ROUNDING = tuple(count * expansions.ROUNDING for count in (200, 600, 6_000, 100_000))
"""How far rounding can move a mean, as a share of the absolute coefficients of all cases, S.

By the number n of undecided guards. Differences of cases add 2ⁿ of them at most: 5ⁿ roundings of S
in all, and their coefficients have a sum of 3ⁿ S. For each pair of guards `_merge` may treble that
sum, which makes 1, 3, 27 and 729 S, and rounds 4 times for each of up to 2ⁿ⁻² differences: 24 · 729
roundings of S for n = 3. A mean adds up to 84 monomials, and up to 8 means are added up: 94 times
the sums.
"""


class Bounds(NamedTuple):
    """Bounds of the mean over each box, and how much each axis is to blame for their width."""

    low: Array
    high: Array
    blame: Array


class _Group(NamedTuple):
    """Boxes on which the same guards are positive (1), negative (−1) and undecided (0)."""

    start: Node
    which: Any
    signs: Mapping[str, int]
    undecided: Mapping[str, Expansion]


@final
class Evaluator:
    """A tree of cases, to be evaluated on boxes."""

    def __init__(self, tree: Tree, axes: int) -> None:
        self._tree = tree
        self.axes = axes
        self._guards: dict[str, Polynomial] = {}
        self._quotients: dict[Leaf, tuple[Polynomial, Polynomial]] = {}
        self.nodes: list[Node] = [tree.root]
        self._numbers: dict[Node, int] = {tree.root: 0}
        self.largest = 1
        self._weight = Polynomial(tree.weight, Fraction(1))

    def evaluate(self, boxes: Boxes, starts: Any) -> tuple[Bounds, Any]:
        """Return bounds on boxes that lie in the cases of these nodes, and nodes farther down.

        The degree lies between 0 and 1, and so its mean with the weight is at most that of 1.
        """
        most = self._weight.expand(boxes).mean()
        bounds = Bounds(np.zeros(boxes.number), most, np.zeros((self.axes, boxes.number)))
        nodes = starts.copy()
        for group in self._groups(boxes, starts):
            here = boxes.of(group.which)
            if len(group.undecided) > MOST_UNDECIDED:
                found = self._unknown(group, here)
            else:
                guards, table = self._table(group)
                found = self._bounds(guards, table, group, here)
                if not guards:
                    group = group._replace(start=table[()])
            bounds.low[group.which] = found.low
            bounds.high[group.which] = np.fmin(found.high, most[group.which])
            bounds.blame[:, group.which] = found.blame
            nodes[group.which] = self._number(group.start)
        return bounds, nodes

    def _number(self, node: Node) -> int:
        if node not in self._numbers:
            self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return self._numbers[node]

    def _groups(self, boxes: Boxes, starts: Any) -> Iterator[_Group]:
        """Sort boxes by the guards that are decided on them."""
        pending = [
            _Group(self.nodes[number], np.flatnonzero(starts == number), {}, {})
            for number in np.unique(starts)
        ]
        while pending:
            group = pending.pop()
            branch = self._open_branch(group)
            if branch is None or len(group.undecided) > MOST_UNDECIDED:
                yield group._replace(start=self._descended(group))
                continue
            guard = self._guard(branch).expand(boxes.of(group.which))
            first, bulk = guard.coefficients[0], guard.bulk()
            decided = np.where(np.abs(first) > bulk, np.sign(first), 0)
            for sign in (-1, 0, 1):
                inside = decided == sign
                if inside.any():
                    undecided = {name: one.of(inside) for name, one in group.undecided.items()}
                    if sign == 0:
                        undecided[branch.name] = guard.of(inside)
                    signs = {**group.signs, branch.name: sign}
                    pending.append(_Group(group.start, group.which[inside], signs, undecided))

    def _open_branch(self, group: _Group) -> Branch | None:
        """Return a branch that the group reaches and whose guard it has not tried."""
        pending = [group.start]
        while pending:
            node = pending.pop()
            if isinstance(node, Leaf):
                continue
            sign = group.signs.get(node.name)
            if sign is None:
                return node
            pending.extend(self._tree.child(node, side) for side in _sides(sign))
        return None

    def _descended(self, group: _Group) -> Node:
        node = group.start
        while isinstance(node, Branch) and group.signs.get(node.name):
            node = self._tree.child(node, group.signs[node.name] > 0)
        return node

    def _table(self, group: _Group) -> tuple[list[str], dict[tuple[bool, ...], Leaf]]:
        """Return the undecided guards that matter, and the case for each of their signs."""
        names = list(group.undecided)
        table = {}
        for sides in itertools.product((False, True), repeat=len(names)):
            signs = {
                **group.signs,
                **dict(zip(names, (1 if s else -1 for s in sides), strict=True)),
            }
            leaf = self._descended(group._replace(signs=signs))
            assert isinstance(leaf, Leaf)
            table[sides] = leaf
        for name in list(names):
            place = names.index(name)
            flipped = {(*k[:place], not k[place], *k[place + 1 :]): v for k, v in table.items()}
            if flipped == table:
                names.pop(place)
                table = {(*k[:place], *k[place + 1 :]): v for k, v in table.items()}
        return names, table

    def _guard(self, branch: Branch) -> Polynomial:
        if branch.name not in self._guards:
            self._guards[branch.name] = self._noted(from_exact(branch.guard))
        return self._guards[branch.name]

    def _quotient(self, leaf: Leaf) -> tuple[Polynomial, Polynomial]:
        if leaf not in self._quotients:
            pair = quotient_from_exact(leaf.numerator, leaf.denominator)
            self._quotients[leaf] = self._noted(pair[0]), self._noted(pair[1])
        return self._quotients[leaf]

    def _noted(self, polynomial: Polynomial) -> Polynomial:
        self.largest = max(self.largest, polynomial.coefficients.size)
        return polynomial

    def _unknown(self, group: _Group, boxes: Boxes) -> Bounds:
        blame = np.zeros((self.axes, boxes.number))
        for guard in group.undecided.values():
            blame = blame + guard.variation()
        return Bounds(np.zeros(boxes.number), np.full(boxes.number, np.inf), blame)

    def _bounds(
        self,
        guards: list[str],
        table: Mapping[tuple[bool, ...], Leaf],
        group: _Group,
        boxes: Boxes,
    ) -> Bounds:
        axes = self.axes
        order, cut_order = (ORDERS[axes], None)
        if guards:
            order, cut_order = CUT_ORDERS.get(axes, (order, None))
        divisors: dict[Leaf, Expansion] = {}
        poles = np.zeros((axes, boxes.number))
        known = np.ones(boxes.number, dtype=bool)
        for leaf in dict.fromkeys(table.values()):
            divisors[leaf] = below = self._quotient(leaf)[1].expand(boxes)
            clear = below.least() > 0
            known &= clear
            if not clear.all():
                poles += np.where(clear, 0.0, below.variation())
        # Where a case may have a pole, nothing comes of the others.
        bounds = Bounds(
            np.zeros(boxes.number),
            np.full(boxes.number, np.inf),
            self._vague_blame(guards, group, poles),
        )
        if known.any():
            here = boxes.of(known)
            models = {
                leaf: divide(self._quotient(leaf)[0].expand(here), below.of(known), order)
                for leaf, below in divisors.items()
            }
            undecided = {name: group.undecided[name].of(known) for name in guards}
            found = self._bounds_of_known(guards, table, undecided, models, cut_order)
            bounds.low[known] = found.low
            bounds.high[known] = found.high
            vague = bounds.blame[:, known]
            bounds.blame[:, known] = np.where(np.isfinite(found.blame), found.blame, vague)
        return bounds

    def _bounds_of_known(
        self,
        guards: Sequence[str],
        table: Mapping[tuple[bool, ...], Leaf],
        undecided: Mapping[str, Expansion],
        models: Mapping[Leaf, Model],
        cut_order: int | None,
    ) -> Bounds:
        """Return bounds where every case has a model; the blame is infinite where no cut has."""
        cases = list(models.values())
        axes, order, number = self.axes, cases[0].order, len(cases[0].error)
        centre, width = np.zeros(number), np.zeros(number)
        blame = np.zeros((axes, number))
        deltas = {
            chosen: _difference(table, models, chosen)
            for chosen in itertools.product((False, True), repeat=len(guards))
        }
        self._merge(deltas, guards, undecided)
        for chosen, delta in deltas.items():
            if sum(chosen) == 0:
                centre = centre + mean(delta, axes, order)
            elif sum(chosen) == 1 and cut_order is not None:
                guard = undecided[guards[chosen.index(True)]]
                part = mean_where_positive(delta, order, cut_order, guard)
                centre, width, blame = centre + part.mean, width + part.error, blame + part.blame
            else:  # between 0 and Δ everywhere
                half = np.abs(delta).sum(axis=0) / 2
                centre, width = centre + mean(delta, axes, order) / 2, width + half
                blame = blame + half * variation(delta, axes, order)
        worst = np.minimum(
            np.maximum.reduce([model.error for model in cases]),
            sum((model.mean_error for model in cases), np.zeros(number)),
        )
        size = sum(model.size for model in cases)
        width = (width + worst + ROUNDING[len(guards)] * size) * UPWARDS
        ranges = [model.range() for model in cases]
        low = np.maximum(np.minimum.reduce([low for low, _ in ranges]), centre - width)
        high = np.minimum(np.maximum.reduce([high for _, high in ranges]), centre + width)
        for model in cases:
            tail = variation(model.coefficients, axes, order, order - 1)
            blame = blame + model.mean_error * tail
        return Bounds(np.fmax(low, 0.0), high, np.where(np.isfinite(width), blame, np.inf))

    def _merge(
        self,
        deltas: dict[tuple[bool, ...], Array],
        guards: Sequence[str],
        undecided: Mapping[str, Expansion],
    ) -> None:
        """Fold differences for several guards into those for fewer, where signs exclude each other.

        If gᵢ > 0 only where gⱼ > 0, then [gᵢ > 0][gⱼ > 0] is [gᵢ > 0], and so on.
        """
        for i, j in itertools.combinations(range(len(guards)), 2):
            a, b = (undecided[guards[one]] for one in (i, j))
            known = self._tree.exclude(guards[i], guards[j])
            left = np.ones(len(a.error), dtype=bool)
            for signs in _EQUIVALENT:
                excluded = left & ((signs in known) | never_both(a, b, signs))
                left &= ~excluded
                if not excluded.any():
                    continue
                for chosen in [one for one in deltas if one[i] and one[j]]:
                    moved = np.where(excluded, deltas[chosen], 0.0)
                    deltas[chosen] = deltas[chosen] - moved
                    for target, factor in _EQUIVALENT[signs]:
                        place = tuple(
                            target[0] if k == i else target[1] if k == j else one
                            for k, one in enumerate(chosen)
                        )
                        deltas[place] = deltas[place] + factor * moved

    def _vague_blame(self, guards: Sequence[str], group: _Group, poles: Array) -> Array:
        """Blame what keeps a box undecided, and less so where a case may have its poles.

        A guard often keeps them out, once it is decided.
        """
        total = shares(poles)
        for name in guards:
            total = total + 2 / len(guards) * group.undecided[name].variation()
        return total


_EQUIVALENT: Mapping[tuple[int, int], Sequence[tuple[tuple[bool, bool], int]]] = {
    (1, 1): (),
    (1, -1): [((True, False), 1)],
    (-1, 1): [((False, True), 1)],
    (-1, -1): [((True, False), 1), ((False, True), 1), ((False, False), -1)],
}
"""What [g > 0][h > 0] is a sum of, where g and h never have these signs at once."""


def never_both(left: Expansion, right: Expansion, signs: tuple[int, int]) -> Any:
    """Return on which boxes two guards cannot have these signs.

    That is so where one plus a positive multiple of the other, each times its sign, is negative.
    With the best multiple, what holds on a box is found on its halves too.
    """
    shape = tuple(max(pair) for pair in zip(left.degrees, right.degrees, strict=True))
    first, second = signs[0] * _padded(left, shape), signs[1] * _padded(right, shape)
    multiple = _lowering(first[1:], second)
    # Each coefficient is rounded twice.
    sizes = np.abs(first).sum(axis=0) + multiple * np.abs(second).sum(axis=0)
    error = left.error + multiple * right.error + 4 * expansions.ROUNDING * sizes
    added = Expansion(shape, first + multiple * second, error * UPWARDS)
    return added.coefficients[0] + added.bulk() * UPWARDS < 0


def _lowering(first: Array, second: Array) -> Array:
    """Return the m ≥ 0 that makes the upper bound m b₀ + Σ |aₖ + m bₖ| least; any other will do.

    It is convex in m, and its slope rises by 2 |bₖ| where m passes −aₖ / bₖ.
    """
    steps = np.abs(second[1:])
    places = np.where(steps > 0, -first / np.where(steps > 0, second[1:], 1.0), np.inf)
    order = np.argsort(places, axis=0)
    slopes = 2 * np.cumsum(np.take_along_axis(steps, order, axis=0), axis=0)
    lowest = np.argmax(slopes >= steps.sum(axis=0) - second[0], axis=0)
    best = np.take_along_axis(places, np.take_along_axis(order, lowest[None], axis=0), axis=0)[0]
    return np.where(np.isfinite(best), np.maximum(best, 0.0), 1.0)


def _padded(guard: Expansion, shape: tuple[int, ...]) -> Array:
    """Return the coefficients of a guard as those of a polynomial of higher degrees."""
    padded = np.zeros((*(degree + 1 for degree in shape), len(guard.error)))
    corner = tuple(slice(degree + 1) for degree in guard.degrees)
    size = (*(degree + 1 for degree in guard.degrees), -1)
    padded[corner] = guard.coefficients.reshape(size)
    return padded.reshape(-1, len(guard.error))


def _sides(sign: int) -> tuple[bool, ...]:
    return {1: (True,), -1: (False,), 0: (False, True)}[sign]


def _difference(
    table: Mapping[tuple[bool, ...], Leaf],
    models: Mapping[Leaf, Model],
    chosen: tuple[bool, ...],
) -> Array:
    """Return the alternating sum of the cases in which only chosen guards are positive."""
    total: Array = np.zeros(())
    for sides in itertools.product(*((False, True) if one else (False,) for one in chosen)):
        sign = -1 if (sum(chosen) - sum(sides)) % 2 else 1
        total = total + sign * models[table[sides]].coefficients
    return total
