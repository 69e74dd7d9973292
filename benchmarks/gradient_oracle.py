"""An oracle in mpmath: penalties and gradients by textbook formulas, without code of the package.

A formula is a nested tuple such as `("->", ("&", "A", "B"), "C")`. T-norms and residua are those of
Klement, Mesiar and Pap (2000). A gradient is a finite difference with many digits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from mpmath import exp, inf, log, mp, mpf

FORMULAS: dict[str, Any] = {
    "A": "A",
    "~A": ("~", "A"),
    "A & B": ("&", "A", "B"),
    "A | B": ("|", "A", "B"),
    "~(A & B)": ("~", ("&", "A", "B")),
    "A -> B": ("->", "A", "B"),
    "A <-> B": ("<->", "A", "B"),
    "~(A -> B)": ("~", ("->", "A", "B")),
    "A & B -> C": ("->", ("&", "A", "B"), "C"),
    "A -> B | C": ("->", "A", ("|", "B", "C")),
    "(A -> B) -> C": ("->", ("->", "A", "B"), "C"),
    "(A -> B) | ~C": ("|", ("->", "A", "B"), ("~", "C")),
}
DIGITS = 220
MANY_DIGITS = 700
"""The digits for Aczél and Alsina, whose truths are as small as exp(−900)."""

LARGEST = mpf("1e30")
"""The largest gradient. A larger penalty grows only like the logarithm of its logarithm."""

EPSILON = 2.0**-23
RELATIVE = 1e-3
ROUNDINGS = 16
"""An error up to this number of roundings of 1, or of the largest gradient, is allowed."""

NEAR = 8
"""If gradients disagree, logits up to this number of roundings away are compared as well."""


class Logic(NamedTuple):
    """A t-norm, its residuum for x > y, its penalty, and the largest penalty of a conjunction."""

    conjoin: Callable[[mpf, mpf], mpf]
    residuum: Callable[[mpf, mpf], mpf]
    penalty: Callable[[mpf], mpf]
    limit: mpf
    kind: str


def logic(name: str) -> Logic:
    """Return the logic of a name such as `r-frank(2)`."""
    if name.startswith("lukasiewicz"):
        conjoin, residuum, penalty, limit = _sugeno_weber(mpf(0))
        return Logic(conjoin, residuum, penalty, limit, "r")
    kind, _, word = name.partition("-")
    family, _, written = word.partition("(")
    if not written:
        return Logic(*_PLAIN[family], kind)
    number = Fraction(written.rstrip(")"))
    return Logic(*_FAMILIES[family](mpf(number.numerator) / number.denominator), kind)


def _product() -> tuple[Any, ...]:
    return lambda x, y: x * y, lambda x, y: y / x, lambda x: -log(x), inf


def _godel() -> tuple[Any, ...]:
    return min, lambda _, y: y, lambda x: 1 - x, mpf(1)


def _hamacher(g: mpf) -> tuple[Any, ...]:
    return (
        lambda x, y: x * y / (g + (1 - g) * (x + y - x * y)),
        lambda x, y: y * (g + (1 - g) * x) / (y * (g + (1 - g) * x) + x - y),
        lambda x: log(1 + g * (1 - x) / x) / g if g else (1 - x) / x,
        inf,
    )


def _frank(s: mpf) -> tuple[Any, ...]:
    return (
        lambda x, y: log(1 + (s**x - 1) * (s**y - 1) / (s - 1)) / log(s),
        lambda x, y: log(1 + (s - 1) * (s**y - 1) / (s**x - 1)) / log(s),
        lambda x: (1 - 1 / s) / log(s) * log((s - 1) / (s**x - 1)),
        inf,
    )


def _power(h: Callable[[mpf], mpf], inverse: Callable[[mpf], mpf], p: mpf, limit: mpf) -> Any:
    return (
        lambda x, y: inverse(min((h(x) ** p + h(y) ** p) ** (1 / p), limit)),
        lambda x, y: inverse((h(y) ** p - h(x) ** p) ** (1 / p)),
        lambda x: h(x) ** p,
        limit,
    )


def _yager(p: mpf) -> Any:
    return _power(lambda x: 1 - x, lambda t: 1 - t, p, mpf(1))


def _dombi(p: mpf) -> Any:
    return _power(lambda x: (1 - x) / x, lambda t: 1 / (1 + t), p, inf)


def _aczel_alsina(p: mpf) -> Any:
    return _power(lambda x: -log(x), lambda t: exp(-t), p, inf)


def _schweizer_sklar(p: mpf) -> tuple[Any, ...]:
    return (
        lambda x, y: max(mpf(0), x**p + y**p - 1) ** (1 / p),
        lambda x, y: (1 - x**p + y**p) ** (1 / p),
        lambda x: (1 - x**p) / p,
        1 / p if p > 0 else inf,
    )


def _sugeno_weber(a: mpf) -> tuple[Any, ...]:
    def penalty(x: mpf) -> mpf:
        return (1 + a) / a * log((1 + a) / (1 + a * x)) if a else 1 - x

    return (
        lambda x, y: max(mpf(0), (x + y - 1 + a * x * y) / (1 + a)),
        lambda x, y: (1 - x + (1 + a) * y) / (1 + a * x),
        penalty,
        penalty(mpf(0)),
    )


_PLAIN = {"product": _product(), "godel": _godel()}
_FAMILIES: Mapping[str, Callable[[mpf], tuple[Any, ...]]] = {
    "hamacher": _hamacher,
    "frank": _frank,
    "yager": _yager,
    "dombi": _dombi,
    "aczel-alsina": _aczel_alsina,
    "schweizer-sklar": _schweizer_sklar,
    "sugeno-weber": _sugeno_weber,
}


def truth(on: Logic, formula: Any, degrees: Mapping[str, mpf]) -> mpf:
    """Return the degree of truth of a formula."""
    if isinstance(formula, str):
        return degrees[formula]
    kind, *parts = formula
    x, *rest = (truth(on, part, degrees) for part in parts)
    if kind == "~":
        return 1 - x
    (y,) = rest
    if kind == "&":
        return _conjoin(on, x, y)
    if kind == "|":
        return 1 - _conjoin(on, 1 - x, 1 - y)
    return _imply(on, x, y) if kind == "->" else _conjoin(on, _imply(on, x, y), _imply(on, y, x))


def _conjoin(on: Logic, x: mpf, y: mpf) -> mpf:
    return on.conjoin(x, y) if x and y else mpf(0)


def _imply(on: Logic, x: mpf, y: mpf) -> mpf:
    if on.kind == "s":
        return 1 - _conjoin(on, x, 1 - y)
    if x <= y:
        return mpf(1)
    return on.residuum(x, y) if y or on.limit != inf else mpf(0)


def penalty(on: Logic, formula: Any, degrees: Mapping[str, mpf]) -> mpf:
    """Return the penalty of a formula. Those of an outermost conjunction add up, to the limit."""
    kind, *parts = formula if isinstance(formula, tuple) else (formula,)
    if on.penalty is not _PLAIN["godel"][2]:
        if kind == "&":
            return min(on.limit, sum(penalty(on, part, degrees) for part in parts))
        if kind == "->" and on.kind == "r":
            antecedent, consequent = (penalty(on, part, degrees) for part in parts)
            return max(mpf(0), consequent - antecedent)
    x = truth(on, formula, degrees)
    return _finite(on.penalty(x)) if x > 0 or on.limit != inf else inf


def _finite(v: mpf) -> mpf:
    return v if v <= LARGEST else LARGEST * (1 + log(1 + log(v / LARGEST)))


class Exact(NamedTuple):
    """A penalty, the truth, and for each atom the least and the largest one-sided derivative."""

    penalty: mpf
    truth: mpf
    gradients: list[tuple[mpf, mpf]]


def exact(name: str, formula: str, logits: Sequence[float]) -> Exact:
    """Return penalty, truth and gradients at logits of A, B and C."""
    with mp.workdps(MANY_DIGITS if "aczel" in name else DIGITS):
        on, shape = logic(name), FORMULAS[formula]
        point = [mpf(one) for one in logits]
        step = mpf(10) ** -50

        def at(place: int, moved: mpf) -> mpf:
            values = [one + moved * (number == place) for number, one in enumerate(point)]
            return penalty(on, shape, _degrees(values))

        here = at(0, mpf(0))
        found = []
        for place in range(len(point)):
            if here == inf:  # impossible: the penalty is constant around here
                found.append((mpf(0), mpf(0)))
                continue
            sides = (at(place, step) - here) / step, (here - at(place, -step)) / step
            cut = [min(max(one, -LARGEST), LARGEST) for one in sides]
            found.append((min(cut), max(cut)))
        return Exact(here, truth(on, shape, _degrees(point)), found)


def _degrees(logits: Sequence[mpf]) -> dict[str, mpf]:
    return {atom: 1 / (1 + exp(-one)) for atom, one in zip("ABC", logits, strict=False)}


def _off_by(found: Sequence[float], ranges: Sequence[tuple[mpf, mpf]], steepness: float) -> float:
    """Return the distance of gradients from ranges, in units of the allowed error."""
    largest = max(steepness, *(abs(end) for span in ranges for end in span))
    return max(
        float(
            max(low - one, one - high, mpf(0))
            / (RELATIVE * max(abs(low), abs(high)) + ROUNDINGS * EPSILON * largest)
        )
        for one, (low, high) in zip(found, ranges, strict=True)
    )


def disagreement(name: str, formula: str, logits: Sequence[float], found: Sequence[float]) -> float:
    """Return the error of gradients in units of the allowed error: up to 1 is agreement.

    If gradients disagree, they are compared at logits a few roundings away as well: near a kink, or
    where a logic is steep, any gradient between those is right.
    """
    steepness = _steepness(name)
    worst = _off_by(found, exact(name, formula, logits).gradients, steepness)
    if worst <= 1:
        return worst
    # Points in between as well: a gradient may grow towards a kink and be 0 beyond it.
    moves = [0, *(sign * NEAR / 2**halvings for sign in (1, -1) for halvings in range(4))]
    moved = [[z + move * EPSILON * max(abs(z), 1) for move in moves] for z in logits]
    near = [exact(name, formula, row) for row in itertools.product(*moved)]
    ranges = [
        (min(one.gradients[k][0] for one in near), max(one.gradients[k][1] for one in near))
        for k in range(len(logits))
    ]
    return _off_by(found, ranges, steepness)


def _steepness(name: str) -> float:
    """Return the derivative of the penalty at truth 0, which multiplies the rounding of a truth.

    It is 1 + λ for Sugeno and Weber, who have the only bounded penalties here with a derivative far
    above 1.
    """
    if "sugeno-weber" not in name:
        return 1.0
    return max(1.0, 1.0 + float(name[name.index("(") + 1 : -1]))
