"""Whether a formula is a tautology or satisfiable, and an assignment that shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from residuum.errors import UndecidedError
from residuum.logic import formulas as fm
from residuum.logic.counting import CountOf, CountQuantifier
from residuum.logic.expansion import compute
from residuum.logic.formulas import Atom, Formula
from residuum.logic.nodes import Case, Node, distinct_nodes, fold, replace_children
from residuum.logic.questions import atoms_of, quantifiers_of
from residuum.logic.terms import Application, Arithmetic

MOST_TABLED_ATOMS: Final = 12
"""The most atoms for which a truth table decides. Beyond that a SAT solver does."""

MOST_CONFLICTS: Final = 200_000
MOST_PROPAGATIONS: Final = 200_000_000
"""The work after which the SAT solver gives up: a few seconds.

It is counted in steps rather than seconds, so that every machine gives the same answer.
"""


@dataclass(frozen=True)
class Verdict:
    """The answer to a yes-or-no question: True, False, or None for unknown.

    `witness` is an assignment of every atom: a model of a satisfiable formula, or a counter-model
    of a formula that is no tautology. `reason` says why an answer is unknown.

    >>> import residuum as rs
    >>> verdict = rs.is_tautology("P -> Q")
    >>> verdict.answer
    False
    >>> {str(atom): value for atom, value in verdict.witness.items()}
    {'P': True, 'Q': False}
    """

    answer: bool | None
    witness: Mapping[Atom, bool] | None = None
    reason: str = ""

    def __bool__(self) -> bool:
        if self.answer is None:
            raise UndecidedError(
                f"expected a verdict of True or False, but it is unknown: {self.reason}; ask for "
                "`.answer`, which is None then"
            )
        return self.answer


def is_tautology(formula: Formula) -> Verdict:
    """Return whether every assignment makes a formula true, and a counter-model if not.

    >>> P, Q = fm.atoms("P Q")
    >>> bool(is_tautology((P & Q) >> P))
    True
    >>> dict(is_tautology(P >> Q).witness)
    {<Atom P>: True, <Atom Q>: False}
    """
    refuted = is_satisfiable(fm.Not(formula))
    answer = None if refuted.answer is None else not refuted.answer
    return Verdict(answer, refuted.witness, refuted.reason)


def is_satisfiable(formula: Formula) -> Verdict:
    """Return whether some assignment makes a formula true, and such an assignment.

    Atoms are independent propositions. Quantified parts and comparisons are not examined: an answer
    that depends on one of them is unknown.

    >>> import residuum as rs
    >>> rs.is_satisfiable("P & ~P").answer
    False
    """
    formula = compute(formula)
    opaque = _opaque_part(formula)
    abstraction, atoms = _abstract(formula)
    few = len(atoms) <= MOST_TABLED_ATOMS
    verdict = _by_truth_table(abstraction, atoms) if few else _by_solver(abstraction, atoms)
    if verdict.answer and opaque:
        return Verdict(None, reason=opaque)
    return verdict


def _opaque_part(formula: Formula) -> str:
    """Return why an assignment of the atoms may be no model, or nothing if it always is one."""
    if quantifiers_of(formula):
        return "it depends on a quantified part; write it out with `expand` over its domains"
    compared = next((n for n in distinct_nodes(formula) if isinstance(n, fm.Comparison)), None)
    if compared is not None:
        return f"it depends on the comparison {compared!r}, which is not looked into"
    predicates = Counter(atom.predicate for atom in atoms_of(formula))
    for atom in atoms_of(formula):
        computed = any(isinstance(term, Arithmetic | Application) for term in atom.arguments)
        if computed and predicates[atom.predicate] > 1:
            return f"{atom!r} may be the same as another atom once its terms are computed"
    return ""


def _abstract(formula: Formula) -> tuple[Formula, tuple[Atom, ...]]:
    """Return the formula with an atom for each part that is not examined, and all its atoms."""
    taken = {atom.predicate for atom in atoms_of(formula)}
    fresh: dict[Node, Atom] = {}

    def stand_in(node: Formula, _: Sequence[Node]) -> Node:
        if node not in fresh:
            number = len(fresh)
            while f"Opaque_{number}" in taken:
                number += 1
            taken.add(f"Opaque_{number}")
            fresh[node] = Atom(f"Opaque_{number}")
        return fresh[node]

    abstraction = fold(
        formula,
        dict.fromkeys((fm.Forall, fm.Exists, CountQuantifier, fm.Comparison), stand_in),
        default=lambda node, parts: replace_children(node, tuple(parts)),
    )
    assert isinstance(abstraction, Formula)
    return abstraction, atoms_of(abstraction)


def _by_truth_table(formula: Formula, atoms: Sequence[Atom]) -> Verdict:
    """Decide by the truth table. An integer has one bit for each of its rows."""
    rows = 1 << len(atoms)
    every = (1 << rows) - 1
    # Atom i is true in the rows k in which bit i of k is 0: 0101…, 00110011…, and so on.
    truths = {atom: every // ((1 << (1 << i)) + 1) for i, atom in enumerate(atoms)}

    def conjoin(_: Node, parts: Sequence[int]) -> int:
        result = every
        for part in parts:
            result &= part
        return result

    def disjoin(_: Node, parts: Sequence[int]) -> int:
        result = 0
        for part in parts:
            result |= part
        return result

    cases: Mapping[Any, Case[int]] = {
        fm.Truth: lambda node, _: every if node.value else 0,
        Atom: lambda node, _: truths[node],
        fm.Not: lambda _, parts: every ^ parts[0],
        fm.And: conjoin,
        fm.Or: disjoin,
        fm.Implies: lambda _, parts: (every ^ parts[0]) | parts[1],
        fm.Iff: lambda _, parts: every ^ parts[0] ^ parts[1],
        CountOf: lambda node, parts: _rows_counted(node, parts, every),
    }
    satisfying = fold(formula, cases, default=lambda *_: 0)
    if not satisfying:
        return Verdict(False)
    row = (satisfying & -satisfying).bit_length() - 1
    return Verdict(True, {atom: not row >> i & 1 for i, atom in enumerate(atoms)})


def _rows_counted(node: CountOf, parts: Sequence[int], every: int) -> int:
    """Return the rows of the truth table in which a count holds."""
    most = min(node.count.number + 1, len(parts))
    rows = [every] + [0] * most  # in which rows 0, 1, … of the operands or more are true
    for part in parts:
        for number in range(most, 0, -1):
            rows[number] |= rows[number - 1] & part
    enough = [*rows, 0, 0]
    few, many = (enough[min(n, most + 1)] for n in (node.count.number, node.count.number + 1))
    by_relation = {"at least": few, "at most": every ^ many, "exactly": few & (every ^ many)}
    return by_relation[node.count.relation]


def _by_solver(formula: Formula, atoms: Sequence[Atom]) -> Verdict:
    from pysat.solvers import Solver  # imported here, because few formulas need it

    with Solver(name="glucose4") as solver:
        variables = {atom: number for number, atom in enumerate(atoms, start=1)}
        clauses = _Clauses(solver, first_free=len(atoms) + 1)
        solver.add_clause([fold(formula, clauses.cases(variables), default=lambda *_: 0)])
        solver.conf_budget(MOST_CONFLICTS)
        solver.prop_budget(MOST_PROPAGATIONS)
        answer = solver.solve_limited()
        if answer is None:
            return Verdict(None, reason=f"given up after {MOST_CONFLICTS:,} conflicts")
        if not answer:
            return Verdict(False)
        true = {literal for literal in solver.get_model() if literal > 0}
    return Verdict(True, {atom: number in true for atom, number in variables.items()})


def encode(
    solver: Any, formulas: Iterable[Formula], variables: Mapping[Atom, int], first_free: int
) -> list[int]:
    """Add clauses to a solver, and return a literal for each formula that is true if it holds.

    The literal is false if the formula is. Variables from `first_free` on are taken. The formulas
    have no quantifiers.
    """
    cases = _Clauses(solver, first_free).cases(variables)
    return [fold(formula, cases, default=lambda *_: 0) for formula in formulas]


class _Clauses:
    """Clauses for a solver by Tseitin's transformation: each connective becomes a variable."""

    def __init__(self, solver: Any, first_free: int) -> None:
        self._add = solver.add_clause
        self._next = first_free

    def cases(self, variables: Mapping[Atom, int]) -> Mapping[Any, Case[int]]:
        return {
            fm.Truth: lambda node, _: -self._all([]) if not node.value else self._all([]),
            Atom: lambda node, _: variables[node],
            fm.Not: lambda _, parts: -parts[0],
            fm.And: lambda _, parts: self._all(parts),
            fm.Or: lambda _, parts: -self._all([-part for part in parts]),
            fm.Implies: lambda _, parts: -self._all([parts[0], -parts[1]]),
            fm.Iff: lambda _, parts: self._equal(*parts),
            CountOf: lambda node, parts: self._counted(node, parts),
        }

    def _new(self) -> int:
        self._next += 1
        return self._next - 1

    def _all(self, literals: Sequence[int]) -> int:
        """Return a variable that is true exactly if all the literals are."""
        defined = self._new()
        for literal in literals:
            self._add([-defined, literal])
        self._add([defined, *(-literal for literal in literals)])
        return defined

    def _equal(self, left: int, right: int) -> int:
        defined = self._new()
        self._add([-defined, -left, right])
        self._add([-defined, left, -right])
        self._add([defined, left, right])
        self._add([defined, -left, -right])
        return defined

    def _counted(self, node: CountOf, literals: Sequence[int]) -> int:
        number, at_least = node.count.number, self._at_least
        if node.count.relation == "at least":
            return at_least(number, literals)
        if node.count.relation == "at most":
            return -at_least(number + 1, literals)
        return self._all([at_least(number, literals), -at_least(number + 1, literals)])

    def _at_least(self, number: int, literals: Sequence[int]) -> int:
        """Return a variable that is true exactly if so many of the literals are, or more."""
        from pysat.card import CardEnc, EncType

        if not 0 < number <= len(literals):
            return self._all([]) if number == 0 else -self._all([])
        defined = self._new()
        # If the variable is true, so many are true, and if it is false, there are fewer.
        for encode, bound, unless in (
            (CardEnc.atleast, number, -defined),
            (CardEnc.atmost, number - 1, defined),
        ):
            encoded = encode(
                list(literals), bound, top_id=self._next - 1, encoding=EncType.cardnetwrk
            )
            for clause in encoded.clauses:
                self._add([unless, *clause])
            self._next = max(self._next, encoded.nv + 1)
        return defined
