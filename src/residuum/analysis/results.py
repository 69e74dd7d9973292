"""What an integral over the unit cube turned out to be, and how we know."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Kind = Literal["exact", "certified", "estimate"]


@dataclass(frozen=True)
class Consistency:
    """The mean degree of a formula over uniformly drawn degrees of its atoms.

    `kind` says how well it is known. "exact": `exact` is the value, and `low` = `high`.
    "certified": the value provably lies between `low` and `high`. "estimate": it does so with
    a confidence of 99.9%. `note` says why something better was not possible.
    """

    value: float
    kind: Kind
    exact: Fraction | None
    low: float
    high: float
    method: str
    seconds: float
    recognised: str | None = None
    note: str = ""

    def __str__(self) -> str:
        if self.exact is not None:
            return f"{self.exact} (exact)"
        return f"{self.value:.6g} ({self.kind}, between {self.low:.6g} and {self.high:.6g})"
