"""A t-norm from a generator of one's own."""

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

    `generator` takes a Degree (`x.true`, `x.false`, `x.log_true`, and the arithmetic in `x.on`)
    to its penalty; `inverse` takes a carrier and a penalty to a Degree. `at_zero` is inf for a
    strict t-norm. Checked when it is made: a function that is no generator is refused.
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
    """Raise unless g(1) = 0, g(0) is as stated, g decreases, and the inverse undoes it."""
    points = [i / 64 for i in range(65)]
    try:
        images = [float(tnorm.generator(Degree(FLOATS, true=x))) for x in points]
        backs = [float(tnorm.inverse(FLOATS, image).true) for image in images]
        with np.errstate(all="ignore"):
            grid = tnorm.generator(Degree(ARRAYS, true=np.array(points)))
        agree = np.allclose(np.broadcast_to(grid, len(points)), images, equal_nan=True)
    except Exception as error:
        raise InvalidGeneratorError(
            "the generator must take a Degree to a number and the inverse a carrier and a number "
            "to a Degree, on floats and on arrays (use x.true, x.false, x.on.log and so on, not "
            f"the math module): {type(error).__name__}: {error}"
        ) from error
    if not agree:
        raise InvalidGeneratorError("the generator differs between floats and arrays")
    if images[-1] != 0:
        raise InvalidGeneratorError(
            f"a generator has g(1) = 0, this one g(1) = {images[-1]:g}; "
            "written with x.false (1 − x) it can be exact"
        )
    if backs[-1] != 1:
        raise InvalidGeneratorError(f"the inverse takes 0 to exactly 1, this one to {backs[-1]!r}")
    if images[0] != float(tnorm.at_zero):
        raise InvalidGeneratorError(
            f"g(0) is {images[0]:g}, but at_zero={float(tnorm.at_zero):g} was given"
        )
    for (x, high), (y, low) in itertools.pairwise(zip(points, images, strict=True)):
        if not high > low:
            raise InvalidGeneratorError(
                f"a generator decreases strictly: g({x:g}) = {high:g}, but g({y:g}) = {low:g}"
            )
    for x, image, back in zip(points, images, backs, strict=True):
        if not math.isclose(back, x, rel_tol=1e-9, abs_tol=1e-9):
            raise InvalidGeneratorError(
                f"the inverse does not undo the generator: g({x:g}) = {image:g}, "
                f"whose inverse is {back:g}"
            )
