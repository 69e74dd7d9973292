"""A SAT solver that knows all rules, and asks which of them can hold together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from residuum.errors import ResiduumError
from residuum.grounding import Signature
from residuum.logic import Atom, Formula, Term, atoms_of
from residuum.logic.satisfiability import encode

STEPS_OF_CONFLICT: Final = 60
"""How many steps a conflict counts as: the solver learns from it, which takes longer."""


class GivenUpError(ResiduumError):
    """The work that all questions may cost together is spent."""


class Budget:
    """The steps of the solver that are left. They are counted, so that results are repeatable."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self.left = steps

    def check(self) -> None:
        """Raise GivenUpError if no steps are left."""
        if self.left <= 0:
            raise GivenUpError(f"the solver gave up after {self._steps:,} steps")


class RuleSolver:
    """The ground rules for sequences of one length.

    A softmax takes exactly one value: that holds in every question.
    """

    def __init__(
        self, rules: Mapping[str, Formula], signature: Signature, length: int, budget: Budget
    ) -> None:
        from pysat.solvers import Solver  # imported here, because it takes long

        self._budget = budget
        self._solver = Solver(name="glucose4")
        atoms = dict.fromkeys(atom for rule in rules.values() for atom in atoms_of(rule))
        variables = {atom: number for number, atom in enumerate(atoms, start=1)}
        free = add_softmaxes(self._solver, variables, signature, length, len(variables) + 1)
        literals = encode(self._solver, rules.values(), variables, free)
        self._literals = dict(zip(rules, literals, strict=True))
        self.names = frozenset(rules)

    def conflict(self, rules: AbstractSet[str], broken: str | None = None) -> set[str] | None:
        """Return some of the rules that cannot hold together, or None if all of them can.

        With `broken` the question is whether they can hold while that rule does not. Rules that
        are not known here need longer sequences, and are left out.
        """
        # In the order of the file, not of a set, so that answers are repeatable.
        asked = {name: literal for name, literal in self._literals.items() if name in rules}
        literals = [*asked.values()]
        if broken is not None:
            literals.append(-self._literals[broken])
        self._budget.check()
        before = self._steps()
        self._solver.prop_budget(self._budget.left)
        self._solver.conf_budget(1 + self._budget.left // STEPS_OF_CONFLICT)
        can_hold = solve_limited(self._solver, literals)
        self._budget.left -= self._steps() - before
        if can_hold is None:
            self._budget.left = 0
            self._budget.check()
        if can_hold:
            return None
        core = set(self._solver.get_core() or ())
        return {name for name, literal in asked.items() if literal in core}

    def close(self) -> None:
        """Free the memory of the solver."""
        self._solver.delete()

    def _steps(self) -> int:
        stats = self._solver.accum_stats()
        conflicts = STEPS_OF_CONFLICT * int(stats["conflicts"])
        return int(stats["propagations"]) + int(stats["decisions"]) + conflicts


def solve_limited(solver: Any, literals: Sequence[int]) -> bool | None:
    """Return whether all literals can be true, or None if the solver gave up. Heeds Ctrl-C."""
    try:
        found: bool | None = solver.solve_limited(assumptions=literals)
    except Exception as error:  # the class that is raised has no public name
        if "keyboard interrupt" in str(error):
            raise KeyboardInterrupt from None
        raise
    return found


def add_softmaxes(
    solver: Any, variables: Mapping[Atom, int], signature: Signature, length: int, free: int
) -> int:
    """Add clauses by which each softmax takes one value; return the next variable that is free."""
    for group, is_complete in _softmaxes(variables, signature, length):
        free = take_one(solver, [variables[atom] for atom in group], is_complete, free)
    return free


def _softmaxes(
    atoms: Iterable[Atom], signature: Signature, length: int
) -> Iterator[tuple[list[Atom], bool]]:
    """Yield the atoms of each softmax, and whether they are all its classes."""
    groups: dict[tuple[str, int, tuple[Term, ...]], list[Atom]] = {}
    for atom in atoms:
        domains = signature.domains_of(atom.predicate)
        listed = [place for place, domain in enumerate(domains) if not domain.is_open]
        if not listed or signature.predicates[atom.predicate].is_independent:
            continue
        last = listed[-1]
        others = atom.arguments[:last] + atom.arguments[last + 1 :]
        groups.setdefault((atom.predicate, last, others), []).append(atom)
    for (predicate, last, _), group in groups.items():
        labels = signature.domains_of(predicate)[last].labels
        yield group, len(group) == (length if labels is None else len(labels))


def take_one(solver: Any, variables: list[int], is_complete: bool, free: int) -> int:
    """Add clauses by which one variable is true, or none if classes are missing among them.

    Returns the first variable that is free afterwards.
    """
    from pysat.card import CardEnc, EncType

    if is_complete:
        solver.add_clause(variables)
    encoded = CardEnc.atmost(variables, bound=1, top_id=free - 1, encoding=EncType.seqcounter)
    for clause in encoded.clauses:
        solver.add_clause(clause)
    return max(free, int(encoded.nv) + 1)
