"""Counting: `at least 2 of (P, Q, R)`, and quantifiers such as `exactly 2 x in D: P(x)`.

A count is kept as one node. Written out with `&` and `|` it would have the same Boolean truth, but
under a relaxation another degree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, cast, final

from residuum.errors import InvalidNameError
from residuum.limits import LARGEST_INTEGER
from residuum.logic.formulas import Binding, Formula, Quantifier, Truth, check_formulas
from residuum.logic.nodes import intern

Relation = Literal["at least", "at most", "exactly"]
RELATIONS: Final[tuple[Relation, ...]] = ("at least", "at most", "exactly")


@final
@dataclass(frozen=True)
class Count:
    """How many must be true: a relation and a number, such as `at least 2`."""

    relation: Relation
    number: int

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise InvalidNameError(
                f"expected a relation among {', '.join(RELATIONS)}, got {self.relation!r}"
            )
        is_whole = isinstance(self.number, int) and not isinstance(self.number, bool)
        if not is_whole or not 0 <= self.number <= LARGEST_INTEGER:
            raise InvalidNameError(
                f"{self.relation}: expected a number from 0 to {LARGEST_INTEGER:,}, got "
                f"{self.number!r}; write a whole number"
            )

    def holds(self, found: int) -> bool:
        """Return whether so many true ones satisfy the count."""
        if self.relation == "at least":
            return found >= self.number
        return found <= self.number if self.relation == "at most" else found == self.number

    def __str__(self) -> str:
        return f"{self.relation} {self.number}"


@final
class CountOf(Formula):
    """How many of its operands are true. Without operands it is `true` or `false`."""

    __slots__ = ("count", "operands")
    __match_args__ = ("count", "operands")
    count: Count
    operands: tuple[Formula, ...]

    def __new__(cls, count: Count, operands: Iterable[Formula]) -> Formula:  # type: ignore[misc]
        parts = check_formulas(tuple(operands))
        return intern(cls, count, parts) if parts else Truth(count.holds(0))


@final
class CountQuantifier(Quantifier):
    """How many groundings are true. Over an empty domain there are none."""

    __slots__ = ("count",)
    __match_args__ = ("count", "bindings", "guard", "body")
    count: Count

    def __new__(
        cls,
        count: Count,
        bindings: Iterable[tuple[str, str]],
        body: Formula,
        guard: Formula | None = None,
    ) -> CountQuantifier:
        return intern(cls, count, *cls.checked(bindings, body, guard))

    def with_parts(
        self, bindings: Iterable[tuple[str, str]], body: Formula, guard: Formula | None
    ) -> CountQuantifier:
        """Return a quantifier with the same count."""
        return CountQuantifier(self.count, bindings, body, guard)


Counted = Iterable[Formula] | Iterable[tuple[str, str]]
"""What is counted: formulas, or the variables of a quantifier as (variable, domain) pairs."""


def at_least(
    number: int, of: Counted, body: Formula | None = None, guard: Formula | None = None
) -> Formula:
    """Return the formula that a number of formulas, or of groundings, or more are true.

    >>> from residuum.logic.formulas import Atom, atoms
    >>> from residuum.logic.terms import Variable
    >>> str(at_least(2, atoms("P Q R")))
    'at least 2 of (P, Q, R)'
    >>> str(at_least(2, [("x", "D")], Atom("P", Variable("x"))))
    'at least 2 x in D: P(x)'
    """
    return _counted(Count("at least", number), of, body, guard)


def at_most(
    number: int, of: Counted, body: Formula | None = None, guard: Formula | None = None
) -> Formula:
    """Return the formula that a number of formulas, or of groundings, or fewer are true.

    Formulas, or pairs and a body, are given as to `at_least`.

    >>> import residuum as rs
    >>> print(rs.at_most(1, rs.atoms("P Q R")))
    at most 1 of (P, Q, R)
    """
    return _counted(Count("at most", number), of, body, guard)


def exactly(
    number: int, of: Counted, body: Formula | None = None, guard: Formula | None = None
) -> Formula:
    """Return the formula that exactly a number of formulas, or of groundings, are true.

    Formulas, or pairs and a body, are given as to `at_least`.

    >>> import residuum as rs
    >>> x = rs.Variable("x")
    >>> print(rs.exactly(2, [("x", "D")], rs.Atom("Has", x)))
    exactly 2 x in D: Has(x)
    """
    return _counted(Count("exactly", number), of, body, guard)


def _counted(count: Count, of: Counted, body: Formula | None, guard: Formula | None) -> Formula:
    if not isinstance(of, Iterable) or isinstance(of, str):
        raise InvalidNameError(
            f"{count}: expected a list of formulas, or of (variable, domain) pairs, got {of!r}; "
            "write [P, Q], or [('x', 'D')] and a body"
        )
    if body is not None:
        return CountQuantifier(count, cast("Iterable[Binding]", of), body, guard)
    if guard is not None:
        raise InvalidNameError(
            f"{count}: expected a body beside the guard, got none; formulas in a list have no guard"
        )
    return CountOf(count, cast("Iterable[Formula]", of))
