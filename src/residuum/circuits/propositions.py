"""Formulas over discrete variables, without quantifiers: what a circuit is compiled from.

A variable has a few values, such as the classes of a softmax. A literal says that a variable has
one of some values. Formulas are literals, conjunctions, disjunctions and counts; a negation is
pushed down to the literals at once. Sets of values, of variables and of counts are the bits of
integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Final, final

from residuum.errors import CircuitError

MOST_PARTS: Final = 4_000_000
"""The most formulas and operands that are made for one rule: about a gigabyte of memory."""


class Shape(IntEnum):
    """The shapes of formulas. A count says how many of its operands may be true."""

    CONSTANT = 0
    LITERAL = 1
    ALL = 2
    ANY = 3
    COUNT = 4


@final
class Propositions:
    """All formulas over some variables. A formula is known by its number.

    Equal formulas have the same number, whatever the order of their operands. `sizes[v]` is the
    number of values of variable v. `operands[f]` of a literal is the variable and the set of its
    values; of a count it is the set of allowed counts and then the operands. `variables[f]` is the
    set of variables that formula f mentions.
    """

    FALSE: Final = 0
    TRUE: Final = 1

    def __init__(self, sizes: Iterable[int]) -> None:
        self.sizes: Final = tuple(sizes)
        self.every: Final = tuple((1 << size) - 1 for size in self.sizes)
        self.shapes: Final[list[Shape]] = []
        self.operands: Final[list[tuple[int, ...]]] = []
        self.variables: Final[list[int]] = []
        self._numbers: dict[tuple[Shape, tuple[int, ...]], int] = {}
        self._negations: dict[int, int] = {}
        self._parts = 0
        self._add(Shape.CONSTANT, (0,), 0)
        self._add(Shape.CONSTANT, (1,), 0)

    def __len__(self) -> int:
        return len(self.shapes)

    def literal(self, variable: int, values: int) -> int:
        """Return the formula that a variable has one of a set of values."""
        if values == 0:
            return self.FALSE
        if values == self.every[variable]:
            return self.TRUE
        return self._add(Shape.LITERAL, (variable, values), 1 << variable)

    def all_of(self, formulas: Iterable[int]) -> int:
        """Return the conjunction of formulas."""
        return self._connected(Shape.ALL, formulas, self.TRUE, self.FALSE)

    def any_of(self, formulas: Iterable[int]) -> int:
        """Return the disjunction of formulas."""
        return self._connected(Shape.ANY, formulas, self.FALSE, self.TRUE)

    def count_of(self, allowed: int, formulas: Iterable[int]) -> int:
        """Return the formula that the number of true formulas is in a set of allowed numbers."""
        left = []
        for formula in formulas:
            if formula == self.TRUE:
                allowed >>= 1
            elif formula != self.FALSE:
                left.append(formula)
        every = (1 << len(left) + 1) - 1
        allowed &= every
        if allowed in (0, every):
            return self.TRUE if allowed else self.FALSE
        if allowed == every & ~1:
            return self.any_of(left)
        if allowed == 1 << len(left):
            return self.all_of(left)
        if allowed == 1:
            return self.all_of(map(self.negation, left))
        if allowed == every >> 1:
            return self.any_of(map(self.negation, left))
        return self._add(Shape.COUNT, (allowed, *sorted(left)), self._mentioned(left))

    def negation(self, formula: int) -> int:
        """Return the negation of a formula."""
        if formula not in self._negations:
            self._negations[formula] = self._negated(formula)
        return self._negations[formula]

    def _negated(self, formula: int) -> int:
        operands = self.operands[formula]
        match self.shapes[formula]:
            case Shape.CONSTANT:
                return self.FALSE if formula == self.TRUE else self.TRUE
            case Shape.LITERAL:
                variable, values = operands
                return self.literal(variable, self.every[variable] & ~values)
            case Shape.ALL:
                return self.any_of(map(self.negation, operands))
            case Shape.ANY:
                return self.all_of(map(self.negation, operands))
            case Shape.COUNT:
                allowed, *counted = operands
                return self.count_of(((1 << len(counted) + 1) - 1) & ~allowed, counted)

    def equivalence(self, left: int, right: int) -> int:
        """Return the formula that two formulas are both true or both false."""
        return self.count_of(0b101, [left, right])

    def translated(self, root: int, places: Sequence[int]) -> tuple[Propositions, int]:
        """Return a formula with other numbers of variables: variable v becomes `places[v]`."""
        sizes = [0] * len(self.sizes)
        for variable, place in enumerate(places):
            sizes[place] = self.sizes[variable]
        found = Propositions(sizes)
        numbers = {self.FALSE: self.FALSE, self.TRUE: self.TRUE}
        for formula in self.below(root):
            operands = self.operands[formula]
            match self.shapes[formula]:
                case Shape.LITERAL:
                    numbers[formula] = found.literal(places[operands[0]], operands[1])
                case Shape.ALL:
                    numbers[formula] = found.all_of(numbers[one] for one in operands)
                case Shape.ANY:
                    numbers[formula] = found.any_of(numbers[one] for one in operands)
                case Shape.COUNT:
                    counted = [numbers[one] for one in operands[1:]]
                    numbers[formula] = found.count_of(operands[0], counted)
        return found, numbers[root]

    def below(self, root: int) -> list[int]:
        """Return a formula and all formulas inside it, operands first."""
        seen, waiting = {root}, [root]
        while waiting:
            fresh = [one for one in self.parts(waiting.pop()) if one not in seen]
            seen.update(fresh)
            waiting += fresh
        return sorted(seen)  # a formula is added after its operands

    def parts(self, formula: int) -> tuple[int, ...]:
        """Return the formulas that a formula is made of; a literal is made of none."""
        match self.shapes[formula]:
            case Shape.ALL | Shape.ANY:
                return self.operands[formula]
            case Shape.COUNT:
                return self.operands[formula][1:]
        return ()

    def _connected(self, shape: Shape, formulas: Iterable[int], unit: int, zero: int) -> int:
        """Return a conjunction or disjunction: flat, without constants, one literal a variable."""
        is_all = shape is Shape.ALL
        literals: dict[int, int] = {}
        found: set[int] = set()
        waiting = list(formulas)
        while waiting:
            formula = waiting.pop()
            if formula == zero:
                return zero
            kind = self.shapes[formula]
            if kind is Shape.LITERAL:
                variable, values = self.operands[formula]
                known = literals.get(variable, values)
                literals[variable] = known & values if is_all else known | values
            elif kind is shape:
                waiting += self.operands[formula]
            elif formula != unit:
                found.add(formula)
        for variable, values in literals.items():
            literal = self.literal(variable, values)
            if literal == zero:
                return zero
            if literal != unit:
                found.add(literal)
        if len(found) < 2:
            return next(iter(found), unit)
        return self._add(shape, tuple(sorted(found)), self._mentioned(found))

    def _mentioned(self, formulas: Iterable[int]) -> int:
        mentioned = 0
        for formula in formulas:
            mentioned |= self.variables[formula]
        return mentioned

    def _add(self, shape: Shape, operands: tuple[int, ...], variables: int) -> int:
        known = self._numbers.get((shape, operands))
        if known is not None:
            return known
        self._parts += 1 + len(operands)
        if self._parts > MOST_PARTS:
            raise CircuitError(
                f"expected a rule with at most {MOST_PARTS:,} parts once its variables are "
                "replaced by their values, and this rule has more; make its domains smaller, or "
                "choose a relaxation other than `exact`"
            )
        number = self._numbers[shape, operands] = len(self.shapes)
        self.shapes.append(shape)
        self.operands.append(operands)
        self.variables.append(variables)
        return number


def members(of: int) -> Iterator[int]:
    """Yield the members of a set, which are the bits of an integer, from the smallest on."""
    while of:
        lowest = of & -of
        yield lowest.bit_length() - 1
        of ^= lowest
