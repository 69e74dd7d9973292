"""Text → number, exactly: decimals, fractions and infinities."""

from __future__ import annotations

import re
from fractions import Fraction

from residuum.relaxations.carriers import Exact

_NUMERAL = re.compile(
    r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?|[+-]?\d{1,40}/\d{1,40}",
    re.ASCII,
)
_LARGEST = 10**300


def read_number(written: str) -> Exact | None:
    """Return the exact value of a number, or None for other text and numbers beyond floats.

    >>> read_number("0.1"), read_number("1/3"), read_number("-inf"), read_number("one")
    (Fraction(1, 10), Fraction(1, 3), -inf, None)
    """
    if written in ("inf", "+inf", "-inf"):
        return float(written)
    if not _NUMERAL.fullmatch(written) or re.search(r"/0+$", written):
        return None
    value = Fraction(written)
    return value if value == 0 or Fraction(1, _LARGEST) <= abs(value) <= _LARGEST else None
