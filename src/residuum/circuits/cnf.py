"""Formula → clauses: a formula over discrete variables as a SAT solver takes it.

A variable with two values is one Boolean, which is true for value 1. Any other variable has one
Boolean for each of its values, of which exactly one is true. Each connective becomes a Boolean that
is true exactly if the connective is (Tseitin's transformation); a count becomes a decision diagram.
A Boolean is known by its number, from 1 on, and the negative number is its negation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from residuum.circuits.propositions import Propositions, Shape, members
from residuum.errors import CircuitError

MOST_CLAUSES: Final = 5_000_000
"""The most clauses that are made for one rule: about a gigabyte of memory."""


@final
class Clauses:
    """A formula as clauses: `clauses` are true in exactly those states that obey the formula.

    `indicators[v][k]` is the literal that says that variable v has value k. The literal `true` is
    always true. `count` is the number of Booleans.
    """

    def __init__(self, propositions: Propositions, root: int) -> None:
        self.clauses: Final[list[list[int]]] = []
        self.count = 1
        self.true: Final = self.count
        self._add(self.true)
        self.indicators: Final = [self._variable(size) for size in propositions.sizes]
        self._of: Final = propositions
        self._literals = {propositions.FALSE: -self.true, propositions.TRUE: self.true}
        is_all = propositions.shapes[root] is Shape.ALL
        for part in propositions.operands[root] if is_all else (root,):
            self._demand(part)
        self._literals.clear()  # only needed while the clauses are made

    def _variable(self, size: int) -> list[int]:
        """Return the literals of the values of a new variable."""
        if size == 2:
            one = self._new()
            return [-one, one]
        values = [self._new() for _ in range(size)]
        self._add(*values)
        before = -self.true  # whether one of the values so far is true
        for value in values:
            self._add(-before, -value)
            before = self._any([before, value])
        return values

    def _demand(self, formula: int) -> None:
        """Add the clauses that make a formula true."""
        of = self._of
        match of.shapes[formula]:
            case Shape.LITERAL:
                self._add(*self._alternatives(formula))
            case Shape.ANY:
                parts = of.operands[formula]
                self._add(*(literal for part in parts for literal in self._alternatives(part)))
            case _:
                self._add(self._literal(formula))

    def _alternatives(self, formula: int) -> list[int]:
        """Return literals of which at least one is true exactly if the formula is."""
        if self._of.shapes[formula] is not Shape.LITERAL:
            return [self._literal(formula)]
        variable, values = self._of.operands[formula]
        indicators = self.indicators[variable]
        missing = [-indicators[value] for value in members(self._of.every[variable] & ~values)]
        return missing if len(missing) == 1 else [indicators[value] for value in members(values)]

    def _literal(self, root: int) -> int:
        """Return a literal that is true exactly if a formula is."""
        of, known = self._of, self._literals
        waiting = [root]
        while waiting:
            formula = waiting[-1]
            unknown = [part for part in of.parts(formula) if part not in known]
            if unknown:
                waiting += unknown
                continue
            waiting.pop()
            if formula in known:
                continue
            parts = [known[part] for part in of.parts(formula)]
            match of.shapes[formula]:
                case Shape.LITERAL:
                    known[formula] = self._any(self._alternatives(formula))
                case Shape.ALL:
                    known[formula] = -self._any([-part for part in parts])
                case Shape.ANY:
                    known[formula] = self._any(parts)
                case Shape.COUNT:
                    known[formula] = self._counted(of.operands[formula][0], parts)
        return known[root]

    def _any(self, literals: Sequence[int]) -> int:
        """Return a literal that is true exactly if at least one of some literals is."""
        if len(literals) == 1:
            return literals[0]
        found = self._new()
        for literal in literals:
            self._add(found, -literal)
        self._add(-found, *literals)
        return found

    def _counted(self, allowed: int, literals: Sequence[int]) -> int:
        """Return a literal that is true exactly if the number of true literals is allowed.

        After some literals, what matters is only which numbers are allowed for the others.
        """
        rows = [{allowed}]
        for left in range(len(literals), 0, -1):
            fewer = (1 << left) - 1
            rows.append({mask for one in rows[-1] for mask in (one & fewer, one >> 1)})
        found = {0: -self.true, 1: self.true}
        for place, literal in reversed(list(enumerate(literals))):
            fewer = (1 << len(literals) - place) - 1
            found = {
                one: self._choice(literal, found[one >> 1], found[one & fewer])
                for one in sorted(rows[place])
            }
        return found[allowed]

    def _choice(self, which: int, then: int, otherwise: int) -> int:
        """Return a literal that equals `then` if `which` is true, and else `otherwise`."""
        if then == otherwise:
            return then
        found = self._new()
        for one in (found, -found):
            is_found = 1 if one == found else -1
            self._add(-one, -which, is_found * then)
            self._add(-one, which, is_found * otherwise)
            self._add(-one, is_found * then, is_found * otherwise)  # lets a solver see more at once
        return found

    def _new(self) -> int:
        self.count += 1
        return self.count

    def _add(self, *literals: int) -> None:
        if self.true in literals and len(literals) > 1:
            return
        if len(self.clauses) >= MOST_CLAUSES:
            raise CircuitError(
                f"expected a rule with at most {MOST_CLAUSES:,} clauses, and this rule has more; "
                "make its domains smaller, or split it into several rules"
            )
        left = [one for one in literals if one != -self.true]
        self.clauses.append(left or [-self.true])  # solvers differ on a clause without literals
