"""Sums of products of rows, as in the coefficients of a product of polynomials."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from residuum.relaxations.arrays import Array


class Products(NamedTuple):
    """Rows of two arrays to be multiplied, and `targets`, to which the products are added.

    The targets with most products come first, and so do the first products of each: every round
    of adding is then one of adjacent rows, which is several times as fast as `reduceat`.
    """

    left: Any
    right: Any
    targets: Any
    rounds: tuple[slice, ...]

    def sums(self, left: Array, right: Array) -> Array:
        """Return the sum of products for each target, added up one after the other."""
        products = left[self.left]
        products *= right[self.right]
        total: Array = products[self.rounds[0]]
        for one in self.rounds[1:]:
            total[: one.stop - one.start] += products[one]
        return total


def gathered(triples: Iterable[tuple[int, int, int]]) -> Products:
    """Return products, each given by its target and the rows of both factors."""
    by_target = [list(some) for _, some in groupby(sorted(triples), key=lambda one: one[0])]
    by_target.sort(key=len, reverse=True)
    rows: list[tuple[int, int, int]] = []
    rounds = []
    for turn in range(len(by_target[0])):
        start = len(rows)
        rows.extend(some[turn] for some in by_target if len(some) > turn)
        rounds.append(slice(start, len(rows)))
    targets, left, right = np.array(rows).T
    return Products(left, right, targets[rounds[0]], tuple(rounds))
