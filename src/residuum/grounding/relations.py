"""Rules that relate members of open domains: their rows, their guards, and what atoms read.

A rule with one variable over an open domain, in an outermost `forall`, is about the examples of a
batch if no atom is about that member and another one, as `Friends(x, x)` is. Any other rule about
an open domain is a relation. The variables of its outermost `forall`s over open domains are its
rows: each choice of members for them is one example. Its other variables over open domains are
axes, as long as their domains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from residuum.errors import GroundingError
from residuum.grounding.plans import Axis
from residuum.grounding.signatures import Signature
from residuum.logic import (
    And,
    Application,
    Atom,
    Comparison,
    Constant,
    Forall,
    Formula,
    Quantifier,
    Term,
    Variable,
    distinct_nodes,
    free_variables,
    substitute,
)
from residuum.syntax import Predicate, Quantity


def reads_related(formula: Formula, signature: Signature) -> bool:
    """Return whether a variable of a rule ranges over an open domain whose members are related."""
    if not _has_open(signature):
        return False
    return any(
        signature.domains[name].is_related
        for node in distinct_nodes(formula)
        if isinstance(node, Quantifier)
        for _, name in node.bindings
        if _is_open(name, signature)
    )


def relates_members(formula: Formula, signature: Signature) -> bool:
    """Return whether a rule relates members of open domains, beyond one example of a batch."""
    if not _has_open(signature):
        return False
    opened = [
        (node, binding)
        for node in distinct_nodes(formula)
        if isinstance(node, Quantifier)
        for binding in node.bindings
        if _is_open(binding.domain, signature)
    ]
    if _names_members(formula, signature):
        return True
    if not opened:
        return False
    outermost = list(_outermost(formula))
    single = {binding for _, binding in opened}
    if len(single) > 1 or any(node not in outermost for node, _ in opened):
        return True
    variable = next(iter(single)).variable
    return _is_guarded(formula, variable) or _reads_pairs(formula, signature)


def _is_guarded(formula: Formula, variable: str) -> bool:
    """Return whether a guard is about a variable, or about a relation."""
    guards = [
        node.guard
        for node in distinct_nodes(formula)
        if isinstance(node, Quantifier) and node.guard is not None
    ]
    return any(
        variable in free_variables(guard) or any(isinstance(n, Atom) for n in distinct_nodes(guard))
        for guard in guards
    )


def _names_members(formula: Formula, signature: Signature) -> bool:
    """Return whether an atom names a member, as in `Smokes("ann")` or `Smokes(boss("ann"))`."""
    return any(
        _names_member(argument, name, signature)
        for arguments in _open_arguments(formula, signature)
        for argument, name in arguments
    )


def _names_member(term: Term, domain: str, signature: Signature) -> bool:
    if isinstance(term, Application) and len(term.arguments) == 1:
        of = signature.function_domains.get(term.function, ())
        return len(of) == 1 and _names_member(term.arguments[0], of[0], signature)
    return isinstance(term, Constant) and _is_open(domain, signature)


def _reads_pairs(formula: Formula, signature: Signature) -> bool:
    """Return whether an atom is about several members, which may be one, as in `Friends(x, x)`.

    An atom of functions alone, such as `Larger(left(p), right(p))`, is about the example `p`.
    """
    return any(
        len(arguments) > 1 and any(isinstance(argument, Variable) for argument, _ in arguments)
        for arguments in _open_arguments(formula, signature)
    )


def _open_arguments(formula: Formula, signature: Signature) -> Iterator[list[tuple[Term, str]]]:
    """Yield for each atom and use of a quantity its arguments over open domains, with these."""
    known: dict[str, Predicate | Quantity] = {**signature.predicates, **signature.quantities}
    for node in distinct_nodes(formula):
        if isinstance(node, Atom):
            name = node.predicate
        elif isinstance(node, Application):
            name = node.function
        else:
            continue
        if name in known:
            pairs = zip(node.arguments, known[name].domains or (), strict=False)
            yield [(argument, of) for argument, of in pairs if _is_open(of, signature)]


def _has_open(signature: Signature) -> bool:
    return any(domain.is_open for domain in signature.domains.values())


def _is_open(name: str, signature: Signature) -> bool:
    return name in signature.domains and signature.domains[name].is_open


def _outermost(formula: Formula) -> Iterator[Forall]:
    while isinstance(formula, Forall):
        yield formula
        formula = formula.body


class SplitGuard(NamedTuple):
    """A guard in two parts: about members of open domains, and about everything else."""

    members: Formula | None
    others: Formula | None


def split_guard(guard: Formula, axes: Sequence[Axis]) -> SplitGuard:
    """Return the two parts of a guard, whose conjunction it is."""
    known = {axis.variable: axis.domain for axis in axes}
    members: list[Formula] = []
    others: list[Formula] = []
    for part in guard.operands if isinstance(guard, And) else (guard,):
        names = free_variables(part) & set(known)
        about = [name for name in names if known[name].is_open]
        has_atoms = any(isinstance(node, Atom) for node in distinct_nodes(part))
        if not about and not has_atoms:
            others.append(part)
            continue
        foreign = sorted(name for name in names if not known[name].is_open)
        if foreign and about:
            raise GroundingError(
                f"the guard `{part}` is about members of an open domain and about `{foreign[0]}`, "
                f"which ranges over {known[foreign[0]]}; expected each part of a guard, between "
                "`&`, to be about one kind of them"
            )
        for name in sorted(free_variables(part) - set(known)):
            raise GroundingError(
                f"the guard `{part}`: `{name}` is bound by no quantifier; bind it, or if it is the "
                f'name of a member, write "{name}"'
            )
        _refuse_foreign_members(part, known)
        members.append(part)
    return SplitGuard(And(*members) if members else None, And(*others) if others else None)


def _refuse_foreign_members(part: Formula, known: Mapping[str, object]) -> None:
    """Raise GroundingError for a comparison of members of different open domains."""
    for node in distinct_nodes(part):
        if isinstance(node, Comparison):
            sides = (node.left, node.right)
            found = {known[s.name] for s in sides if isinstance(s, Variable) and s.name in known}
            if len(found) > 1:
                raise GroundingError(
                    f"the guard `{node}` compares members of different domains, "
                    f"{' and '.join(sorted(map(str, found)))}; compare members of one domain"
                )


class Reading(NamedTuple):
    """How an atom reads members of open domains.

    `members` are its arguments over open domains. Variables that are axes are `_1`, `_2`, … there,
    in the order of `axes`, so that atoms that read the same have the same name.
    """

    members: tuple[Term, ...]
    axes: tuple[Axis, ...]


def reading_of(members: Sequence[Term], axes: Sequence[Axis]) -> Reading:
    """Return how an atom with these arguments over open domains reads them."""
    known = {axis.variable: axis for axis in axes}
    inner = [
        name
        for member in members
        for name in variables_in_order(member)
        if known[name].dimension is not None
    ]
    taken = {axis.variable for axis in axes if axis.dimension is None}
    ordered = tuple(dict.fromkeys(inner))
    renamed = {}
    for number, name in enumerate(ordered, 1):
        new = f"_{number}"
        while new in taken:
            new = f"_{new}"
        renamed[Variable(name)] = Variable(new)
    atom = substitute(Atom("P", *members), renamed)
    assert isinstance(atom, Atom)
    return Reading(atom.arguments, tuple(known[name] for name in ordered))


def variables_in_order(term: Term) -> list[str]:
    """Return the names of the variables of a term, in the order of its text."""
    if isinstance(term, Variable):
        return [term.name]
    return [name for child in term.children for name in variables_in_order(child)]  # type: ignore[arg-type]


def refuse_rebound(axes: Sequence[Axis]) -> None:
    """Raise GroundingError if two of the outermost variables over open domains have one name."""
    names = [axis.variable for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise GroundingError(
                f"`{name}` is bound by two of the outermost `forall`s; rename one of them"
            )
