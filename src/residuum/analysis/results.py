"""A consistency as a result: its value, and how well it is known."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import partial
from typing import Literal

from residuum.analysis.closed_forms.numbers import ClosedForm
from residuum.errors import EvaluationError

ResultKind = Literal["exact", "certified", "estimate"]


@dataclass(frozen=True)
class Consistency:
    """The mean degree of a formula over uniformly drawn degrees of its atoms.

    `kind` says how well it is known:

    - "exact": `exact` is the value. `low` and `high` are equal to it, or the floats on either side
      of an irrational value.
    - "certified": the value provably lies between `low` and `high`.
    - "estimate": it lies between them with a confidence of 99.9%.

    `note` says why better methods did not apply.

    >>> import residuum as rs
    >>> found = rs.consistency("P -> (Q -> P)", "s-godel")
    >>> found.kind, found.exact, found.decimal(4)
    ('exact', Fraction(19, 24), '0.7917')
    """

    value: float
    kind: ResultKind
    exact: Fraction | ClosedForm | None
    low: float
    high: float
    method: str
    seconds: float
    recognised: str | None = None
    note: str = ""

    def __str__(self) -> str:
        if self.exact is not None:
            return f"{in_full(self.exact)} (exact)"
        return f"{self.value:.6g} ({self.kind}, between {self.low:.6g} and {self.high:.6g})"

    def decimal(self, digits: int) -> str:
        """Return the value with at most this many significant digits, correctly rounded.

        A rational value may have fewer digits. A value that is not exact is written with the digits
        on which its bounds agree, so that every value between them is rounded to the same decimal.
        If the bounds agree on no digit, the shortest decimal between them is returned.

        >>> Consistency(0.5, "certified", None, 0.4999, 0.5003, "boxes", 0.1).decimal(50)
        '0.500'
        """
        if digits < 1:
            raise EvaluationError(f"expected one digit or more, got {digits}; ask for more digits")
        if isinstance(self.exact, ClosedForm):
            return _written(_padded(self.exact.settled(partial(_rounded, digits=digits)), digits))
        if self.exact is not None:
            return _written(_rounded(self.exact, digits).normalize(_context(digits)))
        low, value, high = map(Fraction, (self.low, self.value, self.high))
        lengths = range(1, digits + 1)
        agreed = [n for n in lengths if _rounded(low, n) == _rounded(high, n)]
        between = [n for n in lengths if low <= Fraction(_rounded(value, n)) <= high]
        length = max(agreed, default=min(between, default=digits))
        return _written(_padded(_rounded(value, length), length))


def exact_bounds(value: Fraction | ClosedForm) -> tuple[float, float]:
    """Return `low` and `high` of an exact value."""
    return value.float_bounds if isinstance(value, ClosedForm) else (float(value), float(value))


def in_full(value: Fraction | ClosedForm) -> str:
    """Return an exact value as text. Unlike `str` it writes integers of over 4,300 digits.

    >>> in_full(Fraction(19, 24)), in_full(Fraction(1))
    ('19/24', '1')
    """
    if isinstance(value, ClosedForm):
        return str(value)
    numerator = f"{Decimal(value.numerator):f}"
    return numerator if value.denominator == 1 else f"{numerator}/{Decimal(value.denominator):f}"


def _context(digits: int) -> Context:
    return Context(prec=digits, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX)


def _rounded(value: Fraction, digits: int) -> Decimal:
    """Return the nearest decimal with this many digits. The quotient is rounded once."""
    return _context(digits).divide(Decimal(value.numerator), Decimal(value.denominator))


def _padded(number: Decimal, digits: int) -> Decimal:
    """Return a number with all its significant digits, including zeros at the end."""
    last_place = Decimal(1).scaleb(number.adjusted() - digits + 1)
    return number.quantize(last_place, context=_context(digits)) if number else number


def _written(number: Decimal) -> str:
    return f"{number:e}" if number and number.adjusted() < -4 else f"{number:f}"
