"""`check`: whether the rules of a knowledge contradict each other, or follow from others.

Sets of rules are minimal: without any one of them, the others do not suffice. There may be other
sets that are smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from residuum.checks.findings import Contradiction, Entailed, RuleCheck
from residuum.checks.ground_rules import Grounder, domains_of_variables
from residuum.checks.rule_solver import Budget, GivenUpError, RuleSolver
from residuum.errors import GroundingError, ResiduumError
from residuum.grounding import Signature, signature_of_knowledge
from residuum.logic import Formula
from residuum.syntax import Knowledge
from residuum.syntax.knowledge import FrozenMapping

LENGTHS: Final = (1, 2, 3, 4)
"""The lengths of sequences that are checked."""

MOST_ATOMS: Final = 200_000
"""The most atoms in the groundings of all rules and lengths together: several seconds."""

MOST_STEPS: Final = 30_000_000
"""The most steps of the solver in all questions together: half a minute at most."""


def check(knowledge: Knowledge, *, functions: Mapping[str, Any] | None = None) -> RuleCheck:
    """Return which rules contradict each other, and which follow from others.

    Open domains have one member, and sequences have 1 to 4 positions. `functions` gives those that
    have no table, as for `compile`. What would take too long is not checked, and listed.

    >>> from residuum.syntax import loads
    >>> found = check(loads('''
    ...     predicate Rain predicate Wet predicate Cold
    ...     rule wet: Rain -> Wet
    ...     rule cold: Wet -> Cold
    ...     rule both: Rain -> Wet & Cold
    ... '''))
    >>> found.entailed[-1]
    Entailed(rule='both', by=('wet', 'cold'), is_minimal=True)
    """
    *_, found = check_steps(knowledge, functions)
    assert found is not None
    return found


def check_steps(
    knowledge: Knowledge, functions: Mapping[str, Any] | None = None
) -> Iterator[RuleCheck | None]:
    """Do the work of `check`, and yield after each rule, once more than there are rules.

    The last item is the result. The others are None: they let a caller show the progress.
    """
    if not isinstance(knowledge, Knowledge):
        raise ResiduumError(
            f"expected a Knowledge, as rs.load returns, got {type(knowledge).__name__}; load the "
            "file first"
        )
    signature = signature_of_knowledge(knowledge, functions or {})
    checking = _Checking(knowledge, signature)
    try:
        checking.find_contradictions()
        for rule in knowledge.rules:
            yield None
            checking.find_entailed(rule)
        yield checking.result()
    finally:
        checking.close()


class _Checking:
    """The ground rules, one solver for each length, and what is found so far."""

    def __init__(self, knowledge: Knowledge, signature: Signature) -> None:
        self._signature = signature
        self._formulas = {name: rule.formula for name, rule in knowledge.rules.items()}
        self._unchecked: dict[str, str] = {}
        self._contradictions: list[Contradiction] = []
        self._entailed: list[Entailed] = []
        self._budget = Budget(MOST_STEPS)
        grounded = self._ground()
        self._solvers = {
            length: RuleSolver(rules, signature, length, self._budget)
            for length, rules in grounded.items()
        }
        self._rules = tuple(name for name in self._formulas if name not in self._unchecked)

    def close(self) -> None:
        for solver in self._solvers.values():
            solver.close()

    def result(self) -> RuleCheck:
        named = {
            name for rule in self._rules for name in domains_of_variables(self._formulas[rule])
        }
        domains = self._signature.domains
        places = {rule: place for place, rule in enumerate(self._rules)}
        self._contradictions.sort(key=lambda one: places[one.rules[0]])
        return RuleCheck(
            tuple(self._contradictions),
            tuple(self._entailed),
            FrozenMapping(self._unchecked),
            tuple(length for length in self._solvers if length),
            tuple(name for name in domains if name in named and domains[name].is_open),
        )

    def _ground(self) -> dict[int, dict[str, Formula]]:
        """Return the ground rules by length, for the length 0 alone if none is about sequences."""
        grounder = Grounder(self._signature, MOST_ATOMS)
        by_rule: dict[str, dict[int, Formula]] = {}
        for name, formula in self._formulas.items():
            try:
                by_rule[name] = _by_length(grounder, formula)
            except ResiduumError as error:
                self._unchecked[name] = str(error)
        lengths = LENGTHS if any(0 not in found for found in by_rule.values()) else (0,)
        return {
            length: {
                name: found[0 if 0 in found else length]
                for name, found in by_rule.items()
                if 0 in found or length in found
            }
            for length in lengths
        }

    def find_contradictions(self) -> None:
        """Find rules that cannot hold together, until the others can, for each length."""
        try:
            for length, solver in self._solvers.items():
                rules = set(self._rules)
                for known in self._contradictions:
                    rules -= set(known.rules) if length in known.lengths else set()
                while (core := solver.conflict(rules)) is not None:
                    found = self._contradiction(core, length)
                    self._contradictions.append(found)
                    rules -= set(found.rules)
        except GivenUpError as error:
            named = {rule for one in self._contradictions for rule in one.rules}
            for rule in self._rules:
                if rule not in named:
                    self._unchecked[rule] = f"whether it contradicts other rules: {error}"

    def _contradiction(self, rules: AbstractSet[str], length: int) -> Contradiction:
        """Return a minimal part of rules that contradict each other at a length."""
        found, is_minimal = self._minimal(rules, [self._solvers[length]], None)
        readable = [n for n, solver in self._solvers.items() if solver.names.issuperset(found)]
        lengths = [n for n in readable if n == length or self._is_conflict(set(found), n)]
        return Contradiction(found, tuple(n for n in lengths if n), lengths == readable, is_minimal)

    def _is_conflict(self, rules: AbstractSet[str], length: int) -> bool:
        """Return whether rules are known to contradict each other at a length."""
        try:
            return self._solvers[length].conflict(rules) is not None
        except GivenUpError:
            return False

    def find_entailed(self, rule: str) -> None:
        """Find whether a rule follows from the others at all lengths, and from which.

        From rules that contradict each other everything follows. Then only rules that hold for
        every prediction are found.
        """
        if rule in self._unchecked:
            return
        readable = {n: solver for n, solver in self._solvers.items() if rule in solver.names}
        refuted = {n for one in self._contradictions for n in one.lengths or (0,)}
        solvers = [solver for n, solver in readable.items() if n not in refuted]
        try:
            self._budget.check()
            others = {name for name in self._rules if name != rule} if solvers else set()
            found = _conflict(solvers or [*readable.values()], others, rule)
            if found is not None:
                by, is_minimal = self._minimal(found, solvers or [*readable.values()], rule)
                self._entailed.append(Entailed(rule, by, is_minimal))
        except GivenUpError as error:
            self._unchecked[rule] = f"whether it follows from others: {error}"

    def _minimal(
        self, rules: AbstractSet[str], solvers: Sequence[RuleSolver], broken: str | None
    ) -> tuple[tuple[str, ...], bool]:
        """Return rules in conflict, all of which are needed, and whether that is known."""
        kept = set(rules)
        is_minimal = True
        try:
            for rule in reversed(self._rules):  # so that earlier rules are kept
                if rule in kept:
                    found = _conflict(solvers, kept - {rule}, broken)
                    kept = kept if found is None else found
        except GivenUpError:
            is_minimal = False
        return tuple(name for name in self._rules if name in kept), is_minimal


def _by_length(grounder: Grounder, formula: Formula) -> dict[int, Formula]:
    """Return a ground rule for each length that is long enough for its positions.

    A rule that is not about sequences has the length 0.
    """
    if not grounder.has_sequences(formula):
        return {0: grounder.ground(formula, 0)}
    found: dict[int, Formula] = {}
    for length in reversed(LENGTHS):
        try:
            found[length] = grounder.ground(formula, length)
        except GroundingError:
            if not found:  # not even the longest sequence is long enough
                raise
    return found


def _conflict(
    solvers: Sequence[RuleSolver], rules: AbstractSet[str], broken: str | None
) -> set[str] | None:
    """Return some of the rules that are in conflict for every solver, or None if there are none."""
    found: set[str] = set()
    for solver in solvers:
        core = solver.conflict(rules, broken)
        if core is None:
            return None
        found |= core
    return found
