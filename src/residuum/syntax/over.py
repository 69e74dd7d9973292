"""Aggregators over groundings by name, as `over=` and rule files write them: `worst(10%)`.

What each of them computes is in `losses/aggregation/aggregators.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from residuum.errors import ResiduumError, shown, suggest


class Range(NamedTuple):
    """The numbers that the parameter of an aggregator may be, and the unit after them."""

    smallest: float
    largest: float
    unit: str = ""


AGGREGATORS: Final[dict[str, Range | None]] = {
    "conjunction": None,
    "mean": None,
    "p-mean": Range(1, 1000),
    "log-mean-exp": Range(1e-6, 1e6),
    "worst": Range(1e-6, 100, "%"),
}
"""The names of all aggregators, and the ranges of their parameters."""

_EXAMPLES: Final = '"conjunction", "mean", "p-mean(2)", "log-mean-exp(1)" or "worst(10%)"'
_WRITTEN: Final = re.compile(
    r"\s*([^\W\d][\w-]*)\s*(?:\(\s*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*(%?)\s*\)\s*)?"
)


@final
@dataclass(frozen=True)
class Over:
    """An aggregator over groundings: its name and its parameter."""

    name: str
    parameter: float | None = None

    def __str__(self) -> str:
        known = AGGREGATORS[self.name]
        return self.name if known is None else f"{self.name}({self.parameter:.12g}{known.unit})"


CONJUNCTION: Final = Over("conjunction")
"""The conjunction of the logic."""


def read_over(written: object) -> Over:
    """Return the aggregator that a text names. ResiduumError says what was expected.

    >>> print(read_over("worst( 10 % )"))
    worst(10%)
    """
    found = _WRITTEN.fullmatch(written) if isinstance(written, str) else None
    if found is None:
        raise ResiduumError(f"over: expected {_EXAMPLES}, got {shown(written)}")
    name, number, unit = found.groups()
    if name not in AGGREGATORS:
        advice = suggest(name, AGGREGATORS)
        raise ResiduumError(f"over: expected {_EXAMPLES}, got `{name}`.{advice}")
    known = AGGREGATORS[name]
    if known is None:
        if number is not None:
            raise ResiduumError(f"over: `{name}` takes no number, got {number}; write `{name}`")
        return Over(name)
    low, high = f"{known.smallest:g}{known.unit}", f"{known.largest:g}{known.unit}"
    expected = f"over: `{name}` takes a number from {low} to {high} in brackets"
    if number is None:
        raise ResiduumError(f"{expected}, got none")
    if unit != known.unit:
        advice = ""
        if known.unit:  # 0.1 stands for 10%, 10 for 10%
            share = float(number) * (100 if float(number) < 1 else 1)
            advice = f"; write `{name}({share:g}%)`"
        raise ResiduumError(f"{expected}, got {number}{unit}{advice}")
    if not known.smallest <= float(number) <= known.largest:
        raise ResiduumError(f"{expected}, got {number}{unit}")
    return Over(name, float(number))
