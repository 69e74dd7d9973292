"""Top-down compilation: a formula becomes a circuit by looking at one variable after the other.

For each value of a variable, what is left of the formula is simpler, and is compiled in the same
way. Values that leave the same formula share it, and so do all places where the same formula is
left. So sums of terms become dynamic programs by themselves. A conjunction whose parts share no
variable is a product of circuits.

A count whose halves share no variable is halved instead: for each number of formulas that are true
in one half, some number may be true in the other. That takes as many nodes in far fewer layers.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Final, NamedTuple, final

from residuum.circuits.circuit import Builder, Circuit
from residuum.circuits.propositions import Propositions, Shape, members

VARIABLES_PER_STEP: Final = 4096
"""Sets of variables are integers with a bit for each; a step on larger ones counts several times.

So the work that a rule may take is worth as many seconds if it has tens of thousands of outputs.
"""


class OutOfWorkError(Exception):
    """The compilation took more steps than it was allowed."""


class _Product(NamedTuple):
    """A conjunction of formulas that share no variable."""

    formulas: tuple[int, ...]

    @property
    def below(self) -> tuple[int, ...]:
        return self.formulas


class _Cases(NamedTuple):
    """For each set of values of a variable, the formula that is left."""

    variable: int
    left: tuple[tuple[int, int], ...]

    @property
    def below(self) -> tuple[int, ...]:
        return tuple(formula for _, formula in self.left)


class _Halves(NamedTuple):
    """For each number of true formulas in one half of a count, what both halves must obey."""

    pairs: tuple[tuple[int, int], ...]

    @property
    def below(self) -> tuple[int, ...]:
        return tuple(formula for pair in self.pairs for formula in pair)


_Step = _Product | _Cases | _Halves


def compile_top_down(propositions: Propositions, root: int, build: Builder, work: int) -> Circuit:
    """Return a circuit of a formula. Raises OutOfWorkError after so many steps of work.

    Variables with smaller numbers are looked at first, after those that one literal decides.
    """
    return _Compilation(propositions, build, work).run(root)


@final
class _Compilation:
    def __init__(self, propositions: Propositions, build: Builder, work: int) -> None:
        self._of: Final = propositions
        self._build: Final = build
        self._work = work
        self._weight: Final = 1 + len(propositions.sizes) // VARIABLES_PER_STEP
        self._nodes: dict[int, int] = {
            propositions.FALSE: build.FALSE,
            propositions.TRUE: build.TRUE,
        }

    def run(self, root: int) -> Circuit:
        """Compile a formula. The stack is a list: a rule may have thousands of variables."""
        steps: dict[int, _Step] = {}
        stack = [root]
        while stack:
            formula = stack[-1]
            if formula in self._nodes:
                stack.pop()
                continue
            if formula not in steps:
                steps[formula] = self._step(formula)
                stack += (one for one in steps[formula].below if one not in self._nodes)
            else:
                self._nodes[formula] = self._node(steps.pop(formula))
        return self._build.finish(self._nodes[root])

    def _node(self, step: _Step) -> int:
        build = self._build
        if isinstance(step, _Product):
            return build.product(self._nodes[one] for one in step.formulas)
        if isinstance(step, _Halves):
            return build.sum(build.product(self._nodes[one] for one in pair) for pair in step.pairs)
        cases = []
        for values, formula in step.left:
            leaves = build.sum(build.leaf(step.variable, value) for value in members(values))
            cases.append(build.product([leaves, self._nodes[formula]]))
        return build.sum(cases)

    def _step(self, formula: int) -> _Step:
        of = self._of
        if of.shapes[formula] is Shape.COUNT:
            halves = self._halves(formula)
            if halves is not None:
                return halves
        if of.shapes[formula] is Shape.ALL:
            operands = of.operands[formula]
            if all(of.shapes[one] is Shape.LITERAL for one in operands):
                self._spend(len(operands))
                order = sorted(operands, key=lambda one: of.operands[one])
                half = len(order) // 2  # so that the halves of counts share them
                return _Product((of.all_of(order[:half]), of.all_of(order[half:])))
            parts = self._components(operands)
            if len(parts) > 1:
                return _Product(tuple(parts))
        variable = self._next_variable(formula)
        left = self._left_by(formula, variable, {})
        cases = [(values, one) for one, values in left.items() if one != of.FALSE]
        return _Cases(variable, tuple(cases))

    def _halves(self, formula: int) -> _Halves | None:
        """Return a count as counts over its halves; None if the halves share a variable."""
        of = self._of
        allowed, *counted = of.operands[formula]
        half = len(counted) // 2
        first, second = counted[:half], counted[half:]
        if self._mentioned(first) & self._mentioned(second):
            return None
        pairs = []
        for number in range(min(half + 1, allowed.bit_length())):
            self._spend(len(counted))
            rest = of.count_of(allowed >> number, second)
            if rest != of.FALSE:
                pairs.append((of.count_of(1 << number, first), rest))
        return _Halves(tuple(pairs))

    def _mentioned(self, formulas: list[int]) -> int:
        return reduce(or_, (self._of.variables[one] for one in formulas))

    def _next_variable(self, formula: int) -> int:
        """Return the variable to which literals of a conjunction leave the fewest values.

        Without such a literal it is the variable with the smallest number.
        """
        of = self._of
        if of.shapes[formula] is Shape.ALL:
            literals = [of.operands[o] for o in of.operands[formula]
                        if of.shapes[o] is Shape.LITERAL]  # fmt: skip
            if literals:
                return min(literals, key=lambda one: (one[1].bit_count(), one[0]))[0]
        return next(members(of.variables[formula]))

    def _components(self, formulas: tuple[int, ...]) -> list[int]:
        """Return conjunctions that share no variable and together are that of all formulas."""
        found: list[tuple[int, list[int]]] = []
        for formula in formulas:
            variables, group, apart = self._of.variables[formula], [formula], []
            for other in found:
                if other[0] & variables:
                    variables |= other[0]
                    group += other[1]
                else:
                    apart.append(other)
            found = [*apart, (variables, group)]
            self._spend(1 + len(found))
        return [self._of.all_of(group) for _, group in found]

    def _left_by(self, formula: int, variable: int, known: dict[int, dict[int, int]]
                 ) -> dict[int, int]:  # fmt: skip
        """Return what is left of a formula, and for which set of values of a variable."""
        if formula in known:
            return known[formula]
        of = self._of
        if of.shapes[formula] is Shape.LITERAL:
            values = of.operands[formula][1]
            found = {of.TRUE: values, of.FALSE: of.every[variable] & ~values}
        elif of.shapes[formula] is Shape.COUNT:
            found = self._left_of_count(formula, variable, known)
        else:
            found = self._left_of_connective(formula, variable, known)
        known[formula] = found
        return found

    def _left_of_connective(self, formula: int, variable: int, known: dict[int, dict[int, int]]
                            ) -> dict[int, int]:  # fmt: skip
        of = self._of
        is_all = of.shapes[formula] is Shape.ALL
        unit, zero = (of.TRUE, of.FALSE) if is_all else (of.FALSE, of.TRUE)
        same, touched = self._divided(of.operands[formula], variable)
        decided = 0
        by_value: dict[int, list[int]] = {}
        for one in touched:
            for left, values in self._left_by(one, variable, known).items():
                if left == zero:
                    decided |= values
                elif left != unit:
                    for value in members(values & ~decided):
                        by_value.setdefault(value, []).append(left)
        groups: dict[tuple[int, ...], int] = {}
        for value in members(of.every[variable] & ~decided):
            group = tuple(by_value.get(value, ()))
            groups[group] = groups.get(group, 0) | 1 << value
        found = {zero: decided} if decided else {}
        join = of.all_of if is_all else of.any_of
        for group, values in groups.items():
            self._spend(len(group) + len(same))
            left = join([*same, *group])
            found[left] = found.get(left, 0) | values
        return found

    def _left_of_count(self, formula: int, variable: int, known: dict[int, dict[int, int]]
                       ) -> dict[int, int]:  # fmt: skip
        of = self._of
        allowed, *counted = of.operands[formula]
        same, touched = self._divided(counted, variable)
        groups: dict[tuple[int, ...], int] = {(): of.every[variable]}
        for one in touched:
            left_by = self._left_by(one, variable, known)
            groups = {
                (*group, left): values & others
                for group, values in groups.items()
                for left, others in left_by.items()
                if values & others
            }
        found: dict[int, int] = {}
        for group, values in groups.items():
            self._spend(len(counted))
            left = of.count_of(allowed, [*same, *group])
            found[left] = found.get(left, 0) | values
        return found

    def _divided(self, formulas: list[int] | tuple[int, ...], variable: int
                 ) -> tuple[list[int], list[int]]:  # fmt: skip
        """Return the formulas without a variable, and those with it."""
        self._spend(len(formulas))
        same: list[int] = []
        touched: list[int] = []
        for one in formulas:
            (touched if self._of.variables[one] >> variable & 1 else same).append(one)
        return same, touched

    def _spend(self, work: int) -> None:
        self._work -= work * self._weight
        if self._work < 0:
            raise OutOfWorkError
