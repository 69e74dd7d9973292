"""What a carrier can do with the numbers of all groundings of a quantifier at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from residuum.relaxations.carriers import Exact, Number

if TYPE_CHECKING:
    from residuum.relaxations.degrees import Degree


class Along(Protocol):
    """The groundings of a quantifier, along which numbers are brought together.

    `elsewhere` stands for the groundings that a guard or the end of a sequence excludes.
    """

    def total(self, numbers: Number, elsewhere: float) -> Number:
        """Return the sum; 0 over no groundings."""
        ...

    def largest(self, numbers: Number, elsewhere: float) -> Number:
        """Return the largest; `elsewhere` over no groundings."""
        ...

    def log_total(self, logarithms: Number) -> Number:
        """Return the logarithm of the sum of numbers given by their logarithms."""
        ...

    def log_norm(self, logarithms: Number, exponent: Exact) -> Number:
        """Return log (Σ xᵖ)^(1/p) from logarithms of x; that of 0 over no groundings."""
        ...

    def in_pairs(self, x: Degree, conjoin: Callable[[Degree, Degree], Degree]) -> Degree:
        """Return the conjunction, two groundings at a time; true over no groundings."""
        ...
