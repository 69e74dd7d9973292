"""Rules of a knowledge → formulas without quantifiers, for one example.

An open domain has one member, and functions into open domains give different members. All
sequences have the same length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from residuum.errors import FormulaTooLargeError, GroundingError, listed
from residuum.grounding import Signature, lay_out, plan_rule
from residuum.logic import (
    And,
    Atom,
    Comparison,
    Constant,
    Formula,
    Node,
    Quantifier,
    Term,
    Variable,
    distinct_nodes,
)
from residuum.logic.expansion import expand, product_of
from residuum.logic.nodes import fold, intern, replace_children
from residuum.logic.questions import free_variables
from residuum.syntax import Domain


class Grounder:
    """Grounds the rules of a signature; a budget of groundings is shared by all of them."""

    def __init__(self, signature: Signature, most: int) -> None:
        self._signature = signature
        self._most = most
        self._left = most

    def has_sequences(self, formula: Formula) -> bool:
        """Return whether a rule reads sequences; GroundingError says why it cannot be grounded."""
        if self._is_ground(formula):
            return False
        plan = plan_rule(formula, self._signature)
        return plan.relation is None and bool(plan.sequence_domains)

    def ground(self, formula: Formula, length: int) -> Formula:
        """Return a rule without quantifiers for sequences of a length.

        A ResiduumError says why there is none: a position that is missing in so short a sequence,
        a function that is not given, too many groundings.
        """
        if any(isinstance(node, Comparison) for node in _outside_guards(formula)):
            raise GroundingError("it compares quantities, which no solver knows")
        self._spend(formula, length)
        if self._is_ground(formula):  # files of clauses have very many such rules
            return formula
        plan = plan_rule(formula, self._signature)
        if plan.relation is not None:
            raise GroundingError("it relates members of open domains, which come with the data")
        if free_variables(formula):
            raise GroundingError(
                f"expected a rule without free variables, got {listed(free_variables(formula))} "
                "free; bind them, or write labels as constants"
            )
        # The layout refuses what a call of the compiled rule refuses.
        lay_out(plan, dict.fromkeys(plan.sequence_domains, length))
        members = {
            name: self._members(self._signature.domains[name], length)
            for name in domains_of_variables(formula)
        }
        inside = _inside_sequences(formula, self._signature, length)
        return expand(inside, members, self._signature.functions)

    def _is_ground(self, formula: Formula) -> bool:
        """Return whether a rule has only connectives, and atoms of labels."""
        return all(
            self._has_labels(part) if isinstance(part, Atom) else not isinstance(part, Quantifier)
            for part in distinct_nodes(formula)
        )

    def _has_labels(self, atom: Atom) -> bool:
        if atom.predicate not in self._signature.predicates:
            return False
        domains = self._signature.domains_of(atom.predicate)
        return len(domains) == len(atom.arguments) and all(
            isinstance(argument, Constant) and domain.place(argument.value) is not None
            for argument, domain in zip(atom.arguments, domains, strict=True)
        )

    def _members(self, domain: Domain, length: int) -> Sequence[int | str]:
        if domain.is_open:
            return [f"one {domain.name}"]
        return range(length) if domain.labels is None else domain.labels

    def _spend(self, formula: Formula, length: int) -> None:
        most = self._most

        def count(node: Node, parts: Sequence[int]) -> int:
            below = min(sum(parts), most + 1)
            if not isinstance(node, Quantifier):
                return max(1, below)
            domains = [self._signature.domain(name, variable) for variable, name in node.bindings]
            sizes = [len(self._members(domain, length)) for domain in domains]
            return product_of([below, *sizes], most)

        wanted = fold(formula, {Atom: lambda *_: 1}, default=count)
        if wanted > self._left:
            raise FormulaTooLargeError(
                f"expected at most {most:,} atoms in the groundings of all rules together, got "
                "more; give smaller domains"
            )
        self._left -= wanted


def _outside_guards(formula: Formula) -> Iterator[Node]:
    """Yield the formulas in a rule, without terms and guards."""
    seen: set[Node] = set()
    stack: list[Node] = [formula]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield node
            below = [node.body] if isinstance(node, Quantifier) else node.children
            stack.extend(part for part in below if isinstance(part, Formula))


def domains_of_variables(formula: Formula) -> set[str]:
    """Return the names of the domains that the variables of a rule range over."""
    quantifiers = (node for node in distinct_nodes(formula) if isinstance(node, Quantifier))
    return {domain for quantifier in quantifiers for _, domain in quantifier.bindings}


def _inside_sequences(formula: Formula, signature: Signature, length: int) -> Formula:
    """Return a rule whose guards keep every position inside its sequence.

    A position outside drops the grounding from the quantifier of its innermost variable; one
    without variables belongs to the innermost quantifier.
    """

    def visit(node: Node, parts: Sequence[tuple[Node, frozenset[Term]]]) -> _Bounded:
        positions = frozenset[Term]().union(*(below for _, below in parts))
        if isinstance(node, Atom):
            domains = signature.domains_of(node.predicate)
            pairs = zip(node.arguments, domains, strict=True)
            return node, frozenset(term for term, domain in pairs if domain.is_sequence)
        rebuilt = replace_children(node, tuple(part for part, _ in parts))
        if not isinstance(rebuilt, Quantifier):
            return rebuilt, positions
        domains_of = {name: signature.domains[domain] for name, domain in rebuilt.bindings}
        bound = {name for name, domain in domains_of.items() if not domain.is_open}
        if not bound:  # an open variable is the example: it drops nothing
            return rebuilt, positions
        mine = {term for term in positions if _belongs_to(term, bound)}
        leaving = [term for term in mine if not _is_position(term, domains_of)]
        return _with_guard(rebuilt, leaving, length), positions - mine

    return fold(formula, {}, default=visit)[0]  # type: ignore[return-value]


_Bounded = tuple[Node, frozenset[Term]]
"""A node, and the positions in it that no quantifier below keeps inside."""


def _belongs_to(position: Term, bound: AbstractSet[str]) -> bool:
    variables = free_variables(position)
    return not variables or not variables.isdisjoint(bound)


def _is_position(term: Term, domains: dict[str, Domain]) -> bool:
    return isinstance(term, Variable) and domains[term.name].is_sequence


def _with_guard(quantifier: Quantifier, positions: Iterable[Term], length: int) -> Quantifier:
    bounds = [
        comparison
        for term in sorted(positions, key=str)
        for comparison in (Comparison(">=", term, 0), Comparison("<", term, length))
    ]
    if not bounds:
        return quantifier
    guard = And(*([] if quantifier.guard is None else [quantifier.guard]), *bounds)
    fields = {field: getattr(quantifier, field) for field in quantifier.__match_args__}
    return intern(type(quantifier), *(fields | {"guard": guard}).values())
