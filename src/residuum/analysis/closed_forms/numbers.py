"""Exact numbers made of logarithms, π² and dilogarithms of rational numbers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, Final, Literal, TypeVar, final

from residuum.analysis.methods import NotThisWay
from residuum.errors import EvaluationError

Element = tuple[Literal["one", "log", "pi^2", "Li2"], tuple[Fraction, ...]]
"""1, the logarithm of a prime, a product of two such logarithms, π², or a dilogarithm Li₂."""

ONE: Final[Element] = ("one", ())
PI_SQUARED: Final[Element] = ("pi^2", ())
_ORDER: Final = ("one", "log", "pi^2", "Li2")

LARGEST: Final = 2**100
"""The largest integer that is factored."""

FEWEST_BITS: Final = 128
MOST_BITS: Final = 2**17
"""The bits with which a form is evaluated: doubled until its rounding is certain."""

T = TypeVar("T")


@final
class ClosedForm:
    """An immutable sum of elements with rational coefficients, in a normal form.

    Logarithms are those of primes, and dilogarithms Li₂(q) have 0 < q < 1/2.

    >>> print(log(Fraction(4, 3)) + 1 - log(2))
    1 + log(2) - log(3)
    """

    __slots__ = ("terms",)

    terms: Mapping[Element, Fraction]

    def __init__(self, terms: Iterable[tuple[Element, Fraction]] = ()) -> None:
        total: dict[Element, Fraction] = {}
        for element, coefficient in terms:
            total[element] = total.get(element, Fraction(0)) + coefficient
        self.terms = {
            element: total[element] for element in sorted(total, key=_place) if total[element]
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClosedForm) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(tuple(self.terms.items()))

    def __add__(self, other: ClosedForm | Fraction | int) -> ClosedForm:
        return ClosedForm(itertools.chain(self.terms.items(), _form(other).terms.items()))

    def __sub__(self, other: ClosedForm | Fraction | int) -> ClosedForm:
        return self + -_form(other)

    def __rsub__(self, other: Fraction | int) -> ClosedForm:
        return -self + other

    def __neg__(self) -> ClosedForm:
        return self * -1

    def __mul__(self, other: ClosedForm | Fraction | int) -> ClosedForm:
        """Return the product with a rational, or the product of two sums of logarithms."""
        return ClosedForm(
            (_product(left, right), a * b)
            for left, a in self.terms.items()
            for right, b in _form(other).terms.items()
        )

    __radd__, __rmul__ = __add__, __mul__

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __float__(self) -> float:
        return self.settled(float)

    def __repr__(self) -> str:
        return f"<ClosedForm {self}>"

    def __str__(self) -> str:
        terms = self.terms.items()
        apart = _sum((_monomial(element, value), value > 0) for element, value in terms)
        common = math.lcm(*(value.denominator for value in self.terms.values()))
        whole = _sum((_monomial(element, value * common), value > 0) for element, value in terms)
        together = f"({whole})/{common}"
        is_shorter = common > 1 and len(terms) > 1 and len(together) <= len(apart)
        return together if is_shorter else apart

    @property
    def float_bounds(self) -> tuple[float, float]:
        """The floats next to the value, below and above. The value must be irrational."""
        nearest = float(self)
        is_above = self.settled(lambda value: value > Fraction(nearest))
        beyond = math.nextafter(nearest, math.inf if is_above else -math.inf)
        return min(nearest, beyond), max(nearest, beyond)

    @property
    def rational(self) -> Fraction | None:
        """The value if it is rational, else None."""
        return self.terms.get(ONE, Fraction(0)) if self.terms.keys() <= {ONE} else None

    def as_json(self) -> dict[str, Any]:
        """Return an object for JSON: the element and the hexadecimal coefficient of each term."""
        return {
            "terms": [
                [kind, [str(value) for value in arguments], *map(hex, value.as_integer_ratio())]
                for (kind, arguments), value in self.terms.items()
            ]
        }

    @staticmethod
    def from_json(kept: Mapping[str, Any]) -> ClosedForm:
        """Return the form of an object from `as_json`. Raise a ValueError for any other object."""
        terms: list[tuple[Element, Fraction]] = []
        for term in kept["terms"]:
            match term:
                case [str(kind), [*arguments], str(above), str(below)] if int(below, 16) and all(
                    isinstance(text, str) for text in arguments
                ):
                    element = _element(kind, list(map(_read_fraction, arguments)))
                    terms.append((element, Fraction(int(above, 16), int(below, 16))))
                case _:
                    raise ValueError(f"expected a term of a closed form, got {term}")
        form = ClosedForm(terms)
        if form.rational is not None or form.as_json() != kept:
            raise ValueError(f"expected an irrational number in normal form, got {kept}")
        return form

    def bounds(self, bits: int) -> tuple[Fraction, Fraction]:
        """Return rationals on either side of the value, computed with this many bits."""
        import flint

        with flint.ctx.workprec(bits):
            total = flint.arb(0)
            for element, value in self.terms.items():
                total += _ball(element) * flint.fmpq(value.numerator, value.denominator)
            return _rational(total.lower()), _rational(total.upper())

    def settled(self, rounding: Callable[[Fraction], T]) -> T:
        """Return a monotone function of the value. Bits are added until both bounds agree on it."""
        bits = FEWEST_BITS
        while bits <= MOST_BITS:
            low, high = map(rounding, self.bounds(bits))
            if low == high:
                return low
            bits *= 2
        raise EvaluationError(
            f"expected a number whose rounding is certain with {MOST_BITS} bits, got {self}; ask "
            "for fewer digits"
        )


def constant(value: Fraction | int) -> ClosedForm:
    """Return a rational number as a closed form."""
    return ClosedForm([(ONE, Fraction(value))])


def log(value: Fraction | int) -> ClosedForm:
    """Return the logarithm of a positive rational, or of the absolute value of a negative one.

    >>> print(log(Fraction(1, 12)))
    -2*log(2) - log(3)
    """
    exact = abs(Fraction(value))
    powers = Counter(_factors(exact.numerator))
    powers.subtract(Counter(_factors(exact.denominator)))
    return ClosedForm((("log", (Fraction(p),)), Fraction(n)) for p, n in powers.items())


@cache
def dilogarithm(value: Fraction) -> ClosedForm:
    """Return Li₂ of a rational, beyond 1 its real part: the integral of −log|1 − t|/t from 0.

    >>> print(dilogarithm(Fraction(1, 2)))
    pi^2/12 - log(2)^2/2
    """
    half, pi_squared = Fraction(1, 2), ClosedForm([(PI_SQUARED, Fraction(1))])
    if value == 0:
        return ClosedForm()
    if value == 1:
        return pi_squared * Fraction(1, 6)
    if value == half:
        return pi_squared * Fraction(1, 12) - log(2) * log(2) * half
    if value < 0:  # Landen
        return -dilogarithm(value / (value - 1)) - log(1 - value) * log(1 - value) * half
    if value > 1:  # inversion
        squared = log(value) * log(value)
        return pi_squared * Fraction(1, 3) - squared * half - dilogarithm(1 / value)
    if value > half:  # reflection
        product = log(value) * log(1 - value)
        return pi_squared * Fraction(1, 6) - product - dilogarithm(1 - value)
    return ClosedForm([(("Li2", (value,)), Fraction(1))])


def _form(value: ClosedForm | Fraction | int) -> ClosedForm:
    return value if isinstance(value, ClosedForm) else constant(value)


def _read_fraction(text: str) -> Fraction:
    """Return the fraction in a text such as 1/3. Exponents, as in 1e9, are refused."""
    numerator, _, denominator = text.partition("/")
    if (below := int(denominator or "1")) == 0:
        raise ValueError("expected a fraction, got a denominator of 0")
    return Fraction(int(numerator), below)


def _element(kind: str, arguments: Sequence[Fraction]) -> Element:
    """Return an element in normal form, or raise a ValueError."""
    if any(not 0 < value.numerator <= LARGEST >= value.denominator for value in arguments):
        raise ValueError(f"expected positive numbers that are not too large, got {arguments}")
    match kind, arguments:
        case "one", []:
            form = constant(1)
        case "log", [_] | [_, _]:
            form = math.prod(map(log, arguments), start=constant(1))
        case "pi^2", []:
            form = ClosedForm([(PI_SQUARED, Fraction(1))])
        case "Li2", [argument]:
            form = dilogarithm(argument)
        case _:
            raise ValueError(f"expected an element of a closed form, got {kind} of {arguments}")
    match list(form.terms.items()):
        case [(element, Fraction(numerator=1, denominator=1))]:
            return element
        case _:
            raise ValueError(f"expected an element in normal form, got {kind} of {arguments}")


def _place(element: Element) -> tuple[int, int, tuple[Fraction, ...]]:
    kind, arguments = element
    return _ORDER.index(kind), len(arguments), arguments


def _product(left: Element, right: Element) -> Element:
    if ONE in (left, right):
        return left if right == ONE else right
    if (left[0], right[0]) == ("log", "log") and len(left[1] + right[1]) == 2:
        return "log", tuple(sorted(left[1] + right[1]))
    raise ArithmeticError(f"{left} * {right} is beyond these forms")


@cache
def _factors(number: int) -> dict[int, int]:
    import flint

    if number > LARGEST:
        raise NotThisWay("integers in it are too large to factor")
    return {int(prime): int(power) for prime, power in flint.fmpz(number).factor()}


def _ball(element: Element) -> Any:
    import flint

    kind, arguments = element
    balls = [flint.arb(flint.fmpq(value.numerator, value.denominator)) for value in arguments]
    match kind:
        case "log":
            return math.prod((ball.log() for ball in balls), start=flint.arb(1))
        case "pi^2":
            return flint.arb.pi() ** 2
        case "Li2":
            return balls[0].polylog(2)
        case _:
            return flint.arb(1)


def _rational(exact: Any) -> Fraction:
    mantissa, exponent = exact.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _monomial(element: Element, coefficient: Fraction) -> str:
    """Return the text of a term without its sign."""
    kind, arguments = element
    size = abs(coefficient)
    match kind:
        case "one":
            return str(size)
        case "log":
            names = [f"log({value})" for value in arguments]
            is_square = len(names) == 2 and names[0] == names[1]
            name = f"{names[0]}^2" if is_square else "*".join(names)
        case "pi^2":
            name = kind
        case "Li2":
            name = f"Li2({arguments[0]})"
    above = name if size.numerator == 1 else f"{size.numerator}*{name}"
    return above if size.denominator == 1 else f"{above}/{size.denominator}"


def _sum(terms: Iterable[tuple[str, bool]]) -> str:
    """Return the text of a sum, which begins with a positive term if there is one."""
    first, *others = sorted(terms, key=lambda term: not term[1]) or [("0", True)]
    start = first[0] if first[1] else f"-{first[0]}"
    return start + "".join(f" {'+' if positive else '-'} {text}" for text, positive in others)
