"""Sums, maxima and conjunctions over all groundings of a quantifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from residuum.relaxations.carriers import Exact, Number

if TYPE_CHECKING:
    from residuum.relaxations.degrees import Degree


class Along(Protocol):
    """The groundings of a quantifier, over which numbers are added up or compared.

    `elsewhere` is the number for groundings that a guard or the end of a sequence excludes.
    """

    def total(self, numbers: Number, elsewhere: float) -> Number:
        """Return the sum over all groundings, which is 0 if there are none."""
        ...

    def largest(self, numbers: Number, elsewhere: float) -> Number:
        """Return the largest number, which is `elsewhere` if there are no groundings."""
        ...

    def log_total(self, logarithms: Number) -> Number:
        """Return the logarithm of the sum of numbers given by their logarithms."""
        ...

    def log_norm(self, logarithms: Number, exponent: Exact) -> Number:
        """Return log (Σ xᵖ)^(1/p) from the logarithms of x. Without groundings the sum is 0."""
        ...

    def in_pairs(self, x: Degree, conjoin: Callable[[Degree, Degree], Degree]) -> Degree:
        """Return the conjunction, two groundings at a time. It is true without groundings."""
        ...
