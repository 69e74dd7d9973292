"""The unit square cut into columns, in each of which the same cases lie above one another.

Below, x and y are the degrees of the first and the second atom. Guards are polynomials in both.
Between neighbouring *critical points* of x, where no leading coefficient, discriminant or
resultant of guards vanishes, their roots y neither meet nor leave or enter the unit interval, so
that one sample of x shows the order of all of them, and one sample of y between two roots the
case that holds there (cylindrical decomposition, in two dimensions).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, final

from residuum.analysis.cases.tree import Leaf, Tree
from residuum.analysis.closed_forms.univariate import (
    Quotient,
    Root,
    as_flint,
    roots_within,
    samples_between,
)
from residuum.analysis.methods import NotThisWay

MOST_GUARDS = 25
"""The most guards that cut the square."""

MOST_SAMPLES = 3_000
"""The most points at which the case is looked up."""


class Strip(NamedTuple):
    """A case, and the curves y(x) between which it applies."""

    leaf: Leaf
    lower: Quotient
    upper: Quotient


class Column(NamedTuple):
    """Strips above one another, over an interval of x."""

    low: Fraction
    high: Fraction
    strips: Sequence[Strip]


def columns_of(tree: Tree) -> list[Column]:
    """Return the columns of a tree of two atoms, bounded by rational x and rational functions."""
    square = _Square(tree)
    while True:
        points = square.critical_points()
        stacks = [square.stack(x) for x in samples_between(points)]
        if not square.met:
            break
        square.take_guards()
    found: list[Column] = []
    low = Fraction(0)
    for point, (stack, following) in zip(points, itertools.pairwise(stacks), strict=True):
        if stack != following:
            if point.low != point.high:
                raise NotThisWay("its cases change at an irrational degree")
            found.append(Column(low, point.low, square.strips(stack)))
            low = point.low
    return [*found, Column(low, Fraction(1), square.strips(stacks[-1]))]


Stack = tuple[tuple[Leaf, str], ...]
"""Cases from bottom to top, each with the name of the guard that is 0 at its upper end."""


@final
class _Square:
    """A tree of two atoms, the guards that cut the square, and new guards that were `met`."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._critical: dict[tuple[str, str], list[tuple[str, Any]]] = {}
        self._samples = 0
        self.guards: dict[str, Any] = {}
        self.met: dict[str, Any] = {}

    def take_guards(self) -> None:
        """Add the guards that were met to those that cut the square."""
        self.guards |= self.met
        self.met = {}
        if len(self.guards) > MOST_GUARDS:
            raise NotThisWay(f"its cases depend on more than {MOST_GUARDS} guards")

    def critical_points(self) -> list[Root]:
        """Return the values of x at which the roots y of the guards may change their order."""
        for one, other in itertools.combinations_with_replacement(self.guards, 2):
            if (one, other) not in self._critical:
                self._critical[one, other] = [
                    (str(factor), factor)
                    for polynomial in _critical(self.guards[one], self.guards[other])
                    for factor, _ in polynomial.factor()[1]
                ]
        return roots_within(
            {name: one for found in self._critical.values() for name, one in found}.values()
        )

    def stack(self, x: Fraction) -> Stack:
        """Return the cases above a sample of x, and note the guards that are met on the way."""
        import flint

        at = as_flint(x)
        curves = {
            name: flint.fmpq_poly([row(at) for row in rows_of(guard)])
            for name, guard in self.guards.items()
        }
        samples = samples_between(roots_within(curves.values()))
        self._samples += len(samples)
        if self._samples > MOST_SAMPLES:
            raise NotThisWay("its cases are too many to put in order")
        cases = [(y, self._case(at, as_flint(y))) for y in samples]
        if self.met:  # all stacks are built again with these guards
            return ()
        found: list[tuple[Leaf, str]] = []
        for (below, leaf), (above, following) in itertools.pairwise(cases):
            if leaf is not following:
                between = (
                    name
                    for name, curve in curves.items()
                    if (curve(as_flint(below)) > 0) != (curve(as_flint(above)) > 0)
                )
                found.append((leaf, next(between)))
        return (*found, (cases[-1][1], "1"))

    def _case(self, x: Any, y: Any) -> Leaf:
        node = self._tree.root
        while not isinstance(node, Leaf):
            if node.name not in self.guards:
                self.met[node.name] = node.guard
            node = self._tree.child(node, bool(node.guard(x, y) > 0))
        return node

    def strips(self, stack: Stack) -> list[Strip]:
        """Return the strips of a stack with the curves between them."""
        uppers = [self._curve(name) for _, name in stack]
        lowers = [Quotient([0]), *uppers]
        return [
            Strip(leaf, lower, upper)
            for (leaf, _), lower, upper in zip(stack, lowers, uppers, strict=False)
        ]

    def _curve(self, name: str) -> Quotient:
        if name == "1":
            return Quotient([1])
        rows = rows_of(self.guards[name])
        if len(rows) > 2:
            raise NotThisWay(f"the cases between which {name} decides meet in no rational curve")
        return -(Quotient(rows[0]) / Quotient(rows[1]))


def rows_of(polynomial: Any) -> list[Any]:
    """Return the coefficients of a polynomial in y. Each of them is a polynomial in x."""
    import flint

    degree_x, degree_y = (max(0, int(degree)) for degree in polynomial.degrees())
    rows = [[flint.fmpq(0)] * (degree_x + 1) for _ in range(degree_y + 1)]
    for (power_x, power_y), coefficient in polynomial.terms():
        rows[int(power_y)][int(power_x)] = coefficient
    return [flint.fmpq_poly(row) for row in rows]


def _critical(one: Any, other: Any) -> list[Any]:
    """Return polynomials in x that vanish where two guards meet.

    For one guard: where its root y reaches 0 or 1, leaves for infinity, or meets another root.
    """
    if one is not other:
        is_flat = not (one.degrees()[1] and other.degrees()[1])
        return [] if is_flat else [rows_of(one.resultant(other, "x1"))[0]]
    rows = rows_of(one)
    if len(rows) == 1:
        return rows
    turning = [rows_of(one.discriminant("x1"))[0]] if len(rows) > 2 else []
    return [rows[0], sum(rows[1:], rows[0]), rows[-1], *turning]
