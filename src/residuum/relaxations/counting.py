"""Counting under a relaxation: the degree to which at least, at most or exactly k are true.

Each t-norm has one truth function, `at_least`, in `tnorms`. The other counts follow from it: `at
most k` is the negation of `at least k + 1`, and `exactly k` is the conjunction of `at least k` and
`at most k`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from residuum.errors import FormulaTooLargeError
from residuum.limits import MOST_COUNTED
from residuum.logic.counting import Count
from residuum.relaxations.carriers import Exact, LazyCarrier
from residuum.relaxations.degrees import SIDES, Degree
from residuum.relaxations.rows import Parts, Row

if TYPE_CHECKING:
    from residuum.relaxations.tnorms import TNorm

FALSE_SIDES: Final[dict[str, Exact]] = {
    "true": 0, "false": 1, "log_true": -math.inf, "log_false": 0,
}  # fmt: skip
"""The sides of the degree 0, by name."""


def counted(tnorm: TNorm, count: Count, x: Degree, row: Row) -> Degree:
    """Return the degree to which a count holds in a row."""

    def at_least(number: int) -> Degree:
        return tnorm.at_least(x, number, row) if number <= len(row) else row.constant(False)

    parts = []
    if count.relation != "at most" and count.number > 0:
        parts.append(at_least(count.number))
    if count.relation != "at least" and count.number < len(row):
        parts.append(at_least(count.number + 1).negated)
    if len(parts) == 2:
        return tnorm.conjoin(*parts)
    return parts[0] if parts else row.constant(True)


def refuse_long(number: int, row: Row) -> None:
    """Raise FormulaTooLargeError for a count of too many steps."""
    if number * len(row) > MOST_COUNTED:
        raise FormulaTooLargeError(
            f"expected a count of at most {MOST_COUNTED:,} steps, got {number:,} of {len(row):,}; "
            "ask for a smaller number, count over a smaller domain, or use `lukasiewicz`, which "
            "counts by a sum"
        )


def by_counter(tnorm: TNorm, x: Degree, number: int, row: Row) -> Degree:
    """Return s(n, k) by s(i, j) = s(i − 1, j) ∨ (s(i − 1, j − 1) ∧ x(i)), with s(i, 0) = 1.

    In words: j of the first i are true, if j of the first i − 1 are, or if j − 1 of them are and
    the next one is. The result depends on the order unless ∧ and ∨ are minimum and maximum, so the
    degrees are sorted: sorted degrees do not decrease if one of them grows, which keeps the result
    monotone. They descend, because then a true one counts as exactly one: `at least k + 1 of (true,
    …)` is `at least k of (…)`. Ascending, it would be ∨-ed with `at least k + 1 of (…)`.
    """
    refuse_long(number, row)
    if number > 1:
        x = row.descending(x)
    reached = x  # s(i − 1, j − 1) ∧ x(i), here for j = 1
    for _ in range(number - 1):
        enough = _running_disjunction(tnorm, reached, row)  # s(i, j)
        reached = tnorm.conjoin(_before(enough, row), x)
    return row.conjoin(reached.negated, tnorm).negated


def _running_disjunction(tnorm: TNorm, x: Degree, row: Row) -> Degree:
    names = SIDES if isinstance(x.on, LazyCarrier) else ("true", "false")

    def combine(earlier: Parts, later: Parts) -> Parts:
        one, other = (
            Degree(row.on, **dict(zip(names, parts, strict=True))).negated
            for parts in (earlier, later)
        )
        found = tnorm.conjoin(one, other).negated
        return tuple(getattr(found, name) for name in names)

    sides = row.running(tuple(getattr(x, name) for name in names), combine)
    return Degree(x.on, **dict(zip(names, sides, strict=True)))


def _before(x: Degree, row: Row) -> Degree:
    sides = {name: row.before(getattr(x, name), FALSE_SIDES[name]) for name in x.known_sides}
    return Degree(x.on, **sides)
