"""Clauses over numbered or named variables → `Knowledge` with one predicate, `Label`.

Files of clauses (`dimacs.py`, `clause_lists.py`) declare nothing. Their variables become the
members of one domain, and each clause becomes a rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple
from typing import Literal as OneOf

from residuum.errors import InvalidNameError, clipped, shown, suggest
from residuum.limits import MOST_LABELS
from residuum.logic.formulas import TRUE, And, Atom, Formula, Implies, Not, Or
from residuum.logic.terms import Constant, Label, as_label, at_most
from residuum.syntax.knowledge import Domain, FrozenMapping, Knowledge, Predicate, Rule

PREDICATE: Final = "Label"
"""The name of the predicate, which has one independent output for each variable."""

DOMAIN: Final = "label"
"""The name of the domain of the variables."""

Labels = Iterable[Label] | Mapping[Label, Label]
"""Names for the variables: in their order, or by variable."""


class Literal(NamedTuple):
    """A variable or its negation."""

    variable: Label
    is_positive: bool


class Clause(NamedTuple):
    """A clause at a line: if all literals of the body hold, one of the head does.

    `number` counts the clauses that start at the same line.
    """

    line: int
    number: int
    head: tuple[Literal, ...]
    body: tuple[Literal, ...] = ()

    @property
    def name(self) -> str:
        """The name of its rule, which points to the line."""
        return f"line_{self.line}" + (f"_{self.number}" if self.number > 1 else "")


class ClauseFile(NamedTuple):
    """The clauses of a file, and all its variables in the order of the outputs of a network.

    Variables are declared by a header, numbered like `y_7`, or have names only. Where they are not
    declared, a network may have more outputs than those that the file mentions.
    """

    clauses: Sequence[Clause]
    variables: Sequence[Label]
    kind: OneOf["declared", "numbered", "named"]


def knowledge_of_clauses(file: ClauseFile, labels: Labels | None) -> Knowledge:
    """Return one rule for each clause, over one predicate with a label for each variable."""
    members, renamed = _labels(file, labels)
    rules = {}
    for clause in file.clauses:
        rules[clause.name] = Rule(clause.name, _formula(clause, renamed))
    return Knowledge(
        domains=FrozenMapping({DOMAIN: Domain(DOMAIN, members)}),
        predicates=FrozenMapping({PREDICATE: Predicate(PREDICATE, (DOMAIN,), is_independent=True)}),
        rules=FrozenMapping(rules),
    )


def _formula(clause: Clause, renamed: Mapping[Label, Label]) -> Formula:
    """Return a clause without repeated literals. It is `true` if no prediction can break it.

    Relaxed, `a | a` is not `a`, and `a | ~a` is not true; but a clause is a set of literals.
    """

    def spell(literal: Literal) -> Formula:
        variable = literal.variable
        atom = Atom(PREDICATE, Constant(renamed.get(variable, variable)))
        return atom if literal.is_positive else Not(atom)

    head, body = list(dict.fromkeys(clause.head)), list(dict.fromkeys(clause.body))
    against = [Literal(variable, not is_positive) for variable, is_positive in body]
    literals = {*head, *against}
    if any(Literal(variable, not is_positive) in literals for variable, is_positive in literals):
        return TRUE
    if not head or not body:
        return Or(*map(spell, head or against))
    return Implies(And(*map(spell, body)), Or(*map(spell, head)))


Renaming = tuple[tuple[Label, ...] | range, Mapping[Label, Label]]
"""The members of the domain, and the label of each variable that does not have its own name."""


def _labels(file: ClauseFile, labels: Labels | None) -> Renaming:
    own = file.variables if isinstance(file.variables, range) else tuple(file.variables)
    if labels is None:
        return own, {}
    if isinstance(labels, Mapping):
        renamed = _by_variable(own, labels)
        members = tuple(renamed.get(variable, variable) for variable in own)
    else:
        members = _listed(labels)
        renamed = _in_order(file, members)
    for label in members:
        Constant(label)  # refuses what cannot be a label
    twice, count = Counter(members).most_common(1)[0] if members else (0, 0)
    if count > 1:
        raise InvalidNameError(
            f"labels: expected a different label for each variable, got {shown(twice)} twice; "
            "rename one of them"
        )
    return members, renamed


def _listed(labels: Labels) -> tuple[Label, ...]:
    listed = None
    if isinstance(labels, Iterable) and not isinstance(labels, str | bytes):
        listed = at_most(MOST_LABELS, labels)
    if listed is None:
        raise InvalidNameError(
            f"labels: expected a list of at most {MOST_LABELS:,} labels, or a mapping of variables "
            f"to labels, got {shown(labels)}; give one label for each variable"
        )
    return tuple(map(as_label, listed))


def _by_variable(own: Sequence[Label], labels: Mapping[Label, Label]) -> dict[Label, Label]:
    renamed = {as_label(variable): as_label(label) for variable, label in labels.items()}
    known = own if isinstance(own, range) else set(own)
    for variable in renamed:
        if variable not in known:
            advice = suggest(str(variable), map(str, own))
            raise InvalidNameError(
                f"labels: expected variables of the file, got {shown(variable)}, which is none; "
                f"correct it, or leave it out.{advice}"
            )
    return renamed


def _in_order(file: ClauseFile, members: Sequence[Label]) -> dict[Label, Label]:
    """Return the label of each variable when labels are listed in the order of the outputs."""
    count = len(file.variables)
    if file.kind != "declared":
        known = set(members)
        unlisted = next((v for v in _mentioned(file) if v not in known), None)
        if unlisted is None:
            return {}  # the list has the names of the file
        if file.kind == "named":
            raise InvalidNameError(
                f"labels: expected every name of the file, but `{clipped(str(unlisted))}` is not "
                "listed; add it, or give a mapping of names to labels"
            )
    if len(members) < count or (len(members) > count and file.kind == "declared"):
        more = "" if file.kind == "declared" else " or more"
        raise InvalidNameError(
            f"labels: expected {count:,}{more} labels, one for each variable, got "
            f"{len(members):,}; list all of them in order"
        )
    return dict(zip(file.variables, members, strict=False))


def _mentioned(file: ClauseFile) -> Iterable[Label]:
    return (one.variable for clause in file.clauses for one in (*clause.head, *clause.body))
