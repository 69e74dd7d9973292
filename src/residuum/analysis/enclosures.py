"""Certified bounds for rational logics such as R-Product, by boxes and second derivatives.

A number is bounded on a whole box, at its centre, and in its first and second derivatives along
each axis. Where no truth function changes its branch inside a box, the integral over it is its
volume times f(centre) + Σ wᵢ²/24 · ∂ᵢ²f for second derivatives within their bounds; elsewhere it is
bounded by the range. Boxes that are not yet narrow enough are halved along each axis.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from residuum.analysis.giving_up import NotThisWay, Restricted, RestrictedNumber
from residuum.analysis.intervals import UNBOUNDED, Interval, exactly
from residuum.logic import Atom, Formula
from residuum.relaxations import Degree, Relaxation, interpret
from residuum.relaxations.arrays import Array
from residuum.relaxations.carriers import Exact

MOST_ATOMS = 3
MOST_BOXES = 2_000_000


def enclose(
    formula: Formula,
    atoms: Sequence[Atom],
    relaxation: Relaxation,
    *,
    width: float,
    seconds: float,
) -> tuple[float, float]:
    """Return bounds of the mean degree, narrowed until they are `width` apart or time is up."""
    if len(atoms) > MOST_ATOMS:
        raise NotThisWay(f"bounding the cube of more than {MOST_ATOMS} atoms takes too long")
    deadline = time.perf_counter() + seconds
    centres, sides = np.full((len(atoms), 1), 0.5), np.ones(1)
    low, high = _integrals(formula, atoms, relaxation, centres, sides)
    while True:
        bounds = _rounded_sum(low), -_rounded_sum(-high)
        enough = bounds[1] - bounds[0] <= width or len(low) > MOST_BOXES
        if enough or time.perf_counter() > deadline:
            return max(0.0, bounds[0]), min(1.0, bounds[1])
        halved = _widest(high - low)
        fresh, fresh_sides = _halved(centres[:, halved], sides[halved])
        fresh_low, fresh_high = _integrals(formula, atoms, relaxation, fresh, fresh_sides)
        kept = ~halved
        centres = np.concatenate([centres[:, kept], fresh], axis=1)
        sides = np.concatenate([sides[kept], fresh_sides])
        low = np.concatenate([low[kept], fresh_low])
        high = np.concatenate([high[kept], fresh_high])


def _widest(widths: Array) -> Any:
    """Mark the fewest boxes that make up three quarters of the whole uncertainty."""
    order = np.argsort(-widths)
    enough = np.searchsorted(np.cumsum(widths[order]), 0.75 * widths.sum()) + 1
    marked = np.zeros(len(widths), dtype=bool)
    marked[order[:enough]] = True
    return marked


def _rounded_sum(values: object) -> float:
    return math.nextafter(math.fsum(values), -math.inf)  # type: ignore[arg-type]


def _halved(centres: Array, sides: Array) -> tuple[Array, Array]:
    """Return the halves along each axis; exact, for the sides are powers of 2."""
    signs = itertools.product((-1, 1), repeat=len(centres))
    halves = [centres + np.array(sign)[:, None] * (sides / 4) for sign in signs]
    return np.concatenate(halves, axis=1), np.tile(sides / 2, len(halves))


def _integrals(
    formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation, centres: Array, side: Array
) -> tuple[Array, Array]:
    """Return bounds of the integral over each box."""
    on = _Bounds(len(atoms), side)
    known = {
        atom: Degree(on, true=_variable(axis, centres, side)) for axis, atom in enumerate(atoms)
    }
    degree: _Bounded = interpret(formula, known, relaxation, on).true
    with np.errstate(all="ignore"):
        curved = degree.centre
        for second in degree.seconds:
            curved = curved + second * _share(side)
        inside = degree.within(side).meet(Interval(0.0, 1.0))
        bounds = curved.meet(inside) * exactly(side ** len(atoms))
    shape = centres.shape[1]
    return np.broadcast_to(bounds.low, shape), np.broadcast_to(bounds.high, shape)


def _share(side: Array) -> Interval:
    """Return side² / 24, whose division rounds."""
    share = side**2 / 24
    return Interval(np.nextafter(share, 0), np.nextafter(share, 1))


def _variable(axis: int, centres: Array, side: Array) -> _Bounded:
    centre = centres[axis]
    firsts = [exactly(float(axis == other)) for other in range(len(centres))]
    return _Bounded(
        Interval(centre - side / 2, centre + side / 2),
        exactly(centre),
        firsts,
        [exactly(0.0)] * len(centres),
    )


@final
class _Bounded(RestrictedNumber):
    """Bounds of a function on boxes: its range, its centre, its derivatives along the axes."""

    __slots__ = ("centre", "firsts", "range", "seconds")

    def __init__(
        self, range_: Interval, centre: Interval, firsts: list[Interval], seconds: list[Interval]
    ) -> None:
        self.range = range_
        self.centre = centre
        self.firsts = firsts
        self.seconds = seconds

    def within(self, side: Array) -> Interval:
        """Return the range, narrowed by the mean value theorem."""
        spread = self.centre
        for first in self.firsts:
            spread = spread + first * Interval(-side / 2, side / 2)
        return self.range.meet(spread)

    def _like(self, other: Any) -> _Bounded:
        return other if isinstance(other, _Bounded) else _constant(other, len(self.firsts))

    def __add__(self, other: Any) -> _Bounded:
        other = self._like(other)
        return _Bounded(
            self.range + other.range,
            self.centre + other.centre,
            [a + b for a, b in zip(self.firsts, other.firsts, strict=True)],
            [a + b for a, b in zip(self.seconds, other.seconds, strict=True)],
        )

    def __neg__(self) -> _Bounded:
        return _Bounded(
            -self.range, -self.centre, [-f for f in self.firsts], [-s for s in self.seconds]
        )

    def __sub__(self, other: Any) -> _Bounded:
        return self + -self._like(other)

    def __rsub__(self, other: Any) -> _Bounded:
        return self._like(other) + -self

    def __mul__(self, other: Any) -> _Bounded:
        other = self._like(other)
        two = exactly(2.0)
        pairs = list(zip(self.firsts, other.firsts, strict=True))
        return _Bounded(
            self.range * other.range,
            self.centre * other.centre,
            [f * other.range + self.range * g for f, g in pairs],
            [
                s * other.range + two * f * g + self.range * t
                for s, t, (f, g) in zip(self.seconds, other.seconds, pairs, strict=True)
            ],
        )

    __radd__, __rmul__ = __add__, __mul__

    def reciprocal(self) -> _Bounded:
        r, two = self.range.reciprocal(), exactly(2.0)
        square = r * r
        return _Bounded(
            r,
            self.centre.reciprocal(),
            [-(f * square) for f in self.firsts],
            [
                two * f * f * square * r - s * square
                for f, s in zip(self.firsts, self.seconds, strict=True)
            ],
        )


def _constant(value: Exact, axes: int) -> _Bounded:
    number = exactly(float(value))
    if float(value) != value:
        raise NotThisWay("a parameter of it is no binary fraction")
    return _Bounded(number, number, [exactly(0.0)] * axes, [exactly(0.0)] * axes)


@final
class _Bounds(Restricted):
    what = "rational"

    def __init__(self, axes: int, side: Array) -> None:
        self._axes = axes
        self._side = side

    def constant(self, value: Exact) -> _Bounded:
        return _constant(value, self._axes)

    def ratio(self, x: _Bounded, y: _Bounded, at_zero: Exact) -> _Bounded:
        quotient = x * y.reciprocal()
        # Where y may be 0, perhaps on the whole box, the value may be `at_zero` instead.
        may_vanish = y.range.low <= 0
        special = exactly(float(at_zero))
        return _Bounded(
            quotient.range.hull(special).where(may_vanish, quotient.range),
            UNBOUNDED.where(may_vanish, quotient.centre),
            [UNBOUNDED.where(may_vanish, first) for first in quotient.firsts],
            [UNBOUNDED.where(may_vanish, second) for second in quotient.seconds],
        )

    def minimum(self, x: _Bounded, y: _Bounded) -> _Bounded:
        picked = self.choose(x, y, x, y)
        a, b = x.within(self._side), y.within(self._side)
        least = Interval(np.minimum(a.low, b.low), np.minimum(a.high, b.high))
        return _Bounded(picked.range.meet(least), picked.centre, picked.firsts, picked.seconds)

    def maximum(self, x: _Bounded, y: _Bounded) -> _Bounded:
        return -self.minimum(-x, -y)

    def excess(self, x: _Bounded, y: _Bounded) -> _Bounded:
        return self.maximum(self.constant(0), x - y)

    def choose(self, x: _Bounded, y: _Bounded, then: _Bounded, otherwise: _Bounded) -> _Bounded:
        gap = (x - y).within(self._side)
        yes, no = gap.high <= 0, gap.low >= 0

        def pick(a: Interval, b: Interval, unsure: Interval) -> Interval:
            return a.where(yes, b.where(no, unsure))

        return _Bounded(
            pick(then.range, otherwise.range, then.range.hull(otherwise.range)),
            pick(then.centre, otherwise.centre, UNBOUNDED),
            [pick(a, b, UNBOUNDED) for a, b in zip(then.firsts, otherwise.firsts, strict=True)],
            [pick(a, b, UNBOUNDED) for a, b in zip(then.seconds, otherwise.seconds, strict=True)],
        )
