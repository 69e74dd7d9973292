"""NumPy arrays as a carrier: elementwise, in double precision."""

from __future__ import annotations

from typing import final

import numpy as np
import numpy.typing as npt

from residuum.relaxations.carriers import Exact

Array = npt.NDArray[np.float64]


@final
class Arrays:
    """Arrays of float64, with which scalars broadcast.

    Compute under `np.errstate(all="ignore")`, as `interpret` does: NumPy warns of infinities, which
    are intended here, and of elements that `choose` does not select.
    """

    def constant(self, value: Exact) -> float:
        return float(value)

    def minimum(self, x: Array, y: Array) -> Array:
        return np.minimum(x, y)

    def maximum(self, x: Array, y: Array) -> Array:
        return np.maximum(x, y)

    def excess(self, x: Array, y: Array) -> Array:
        x, y = np.broadcast_arrays(x, y)
        return np.subtract(x, y, out=np.zeros(x.shape), where=x > y)

    def ratio(self, x: Array, y: Array, at_zero: Exact) -> Array:
        x, y = np.broadcast_arrays(x, y)
        result: Array = np.divide(x, y, out=np.full(x.shape, float(at_zero)), where=y != 0)
        return result

    def choose(self, x: Array, y: Array, then: Array, otherwise: Array) -> Array:
        return np.where(np.less_equal(x, y), then, otherwise)

    def power(self, x: Array, exponent: Exact) -> Array:
        return np.power(x, float(exponent))

    def log(self, x: Array) -> Array:
        return np.log(x)

    def log1p(self, x: Array) -> Array:
        return np.log1p(x)

    def exp(self, x: Array) -> Array:
        return np.exp(x)

    def expm1(self, x: Array) -> Array:
        return np.expm1(x)


ARRAYS = Arrays()
