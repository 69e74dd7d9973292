"""A t-norm from a generator that the user defines."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from residuum.errors import InvalidGeneratorError
from residuum.relaxations.arrays import ARRAYS
from residuum.relaxations.carriers import FLOATS, Carrier, Exact, Number
from residuum.relaxations.degrees import Degree
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.tnorms import Archimedean


@final
@dataclass(frozen=True)
class Generated(Archimedean):
    """The t-norm of an additive generator, given with its inverse and its value at 0.

    `generator` maps a Degree to its penalty. It uses the sides `x.true`, `x.false` and `x.log_true`
    and the functions of the carrier `x.on`. `inverse` maps a carrier and a penalty to a Degree.
    `at_zero` is inf for a strict t-norm. A function that is no generator raises
    InvalidGeneratorError.

    >>> import residuum as rs
    >>> squared = rs.Generated(
    ...     generator=lambda x: x.false**2,
    ...     inverse=lambda on, penalty: rs.Degree(on, false=on.power(penalty, 1 / 2)),
    ...     at_zero=1,
    ... )
    >>> rs.register("squared", squared)
    >>> round(rs.truth("P & Q", {"P": 0.6, "Q": 0.7}, "s-squared"), 3)
    0.5
    """

    generator: Callable[[Degree], Number]
    inverse: Callable[[Carrier, Number], Degree]
    at_zero: Exact

    def __post_init__(self) -> None:
        _check(self)

    @property
    def limit(self) -> Exact:
        return self.at_zero

    @property
    def expressions(self) -> Expressions:
        return Expressions(
            conjunction="g_inverse(min(g(0), g(x) + g(y)))",
            disjunction="1 - g_inverse(min(g(0), g(1 - x) + g(1 - y)))",
            residuum="g_inverse(max(0, g(y) - g(x)))",
            penalty="g(x)",
        )

    @property
    def is_steep(self) -> Mapping[str, bool | None]:
        return {"and": None, "residuum": None}

    def penalty(self, x: Degree) -> Number:
        return self.generator(x)

    def degree(self, on: Carrier, penalty: Number) -> Degree:
        return self.inverse(on, penalty)


def _check(tnorm: Generated) -> None:
    """Raise unless g(1) = 0, g(0) is `at_zero`, g decreases, and `inverse` is its inverse."""
    points = [i / 64 for i in range(65)]
    try:
        images = [float(tnorm.generator(Degree(FLOATS, true=x))) for x in points]
        backs = [float(tnorm.inverse(FLOATS, image).true) for image in images]
        with np.errstate(all="ignore"):
            grid = tnorm.generator(Degree(ARRAYS, true=np.array(points)))
        agree = np.allclose(np.broadcast_to(grid, len(points)), images, equal_nan=True)
    except Exception as error:
        raise InvalidGeneratorError(
            "expected a generator that maps a Degree to a number, and an inverse that maps a "
            "carrier and a number to a Degree, on floats and on arrays, got "
            f"{type(error).__name__}: {error}; use x.true, x.false, x.on.log and so on, not the "
            "math module"
        ) from error
    if not agree:
        raise InvalidGeneratorError(
            "expected the same values of the generator on floats and on arrays, got different "
            "ones; use the functions of x.on"
        )
    if images[-1] != 0:
        raise InvalidGeneratorError(
            f"expected a generator with g(1) = 0, got g(1) = {images[-1]:g}; write it with "
            "x.false, which is exactly 0 there"
        )
    if backs[-1] != 1:
        raise InvalidGeneratorError(
            f"expected an inverse that maps 0 to exactly 1, got {backs[-1]!r}; return the side "
            "`false`"
        )
    if images[0] != float(tnorm.at_zero):
        raise InvalidGeneratorError(
            f"expected g(0) = at_zero = {float(tnorm.at_zero):g}, got g(0) = {images[0]:g}; "
            "correct one of them"
        )
    for (x, high), (y, low) in itertools.pairwise(zip(points, images, strict=True)):
        if not high > low:
            raise InvalidGeneratorError(
                f"expected a generator that decreases strictly, got g({x:g}) = {high:g} and "
                f"g({y:g}) = {low:g}; correct it"
            )
    for x, image, back in zip(points, images, backs, strict=True):
        if not math.isclose(back, x, rel_tol=1e-9, abs_tol=1e-9):
            raise InvalidGeneratorError(
                f"expected an inverse that undoes the generator, got g({x:g}) = {image:g} and the "
                f"inverse {back:g} of that; correct one of them"
            )
