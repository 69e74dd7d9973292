"""Rules about members of open domains, as the same rules about a few members that have numbers.

Members of open domains come with the data. For a rehearsal some are made up or taken from tables
(`worlds.py`), and their numbers become the labels of the domain. Relations in guards become
functions with the values 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from residuum.grounding.grounding_counts import count_groundings
from residuum.logic import (
    And,
    Application,
    Atom,
    Binding,
    Comparison,
    Constant,
    Forall,
    Formula,
    Node,
    Quantifier,
    Term,
    Variable,
    distinct_nodes,
    fold_scoped,
    free_variables,
)
from residuum.logic.nodes import replace_children
from residuum.logic.terms import Label
from residuum.losses import compile as compile_rule
from residuum.syntax import Domain, Function, Knowledge, Predicate
from residuum.syntax.knowledge import FrozenMapping, Quantity

TRUTH: Final = "truth_in_guards"
"""The domain of the values of relations in guards."""

ROW: Final = "Row_that_is_counted"
"""The predicate of a rule whose groundings are the rows of another one."""

Table = Mapping[tuple[Label, ...], Label]


class World(NamedTuple):
    """The members of each open domain, by number; numbers of names; functions and relations."""

    members: Mapping[str, Sequence[int]]
    names: Mapping[str, int]
    functions: Mapping[str, Table]
    relations: Mapping[str, Table]


class Closed(NamedTuple):
    """Knowledge without open domains, whose rules cost the mean over their groundings.

    `scales` are the numbers of groundings of a row, by rule: a rule costs the mean over rows, and
    the groundings of a row add up.
    """

    knowledge: Knowledge
    scales: Mapping[str, float]


def relating_rules(knowledge: Knowledge) -> list[str]:
    """Return the names of the rules that relate several members of open domains."""
    if not any(domain.is_open for domain in knowledge.domains.values()):
        return []
    rules = compile_rule(knowledge, check=True).rules
    return [name for name, rule in rules.items() if rule.plan.relation is not None]


def relations_in_guards(knowledge: Knowledge) -> list[Predicate]:
    """Return the predicates that guards read."""
    names = [
        node.predicate
        for rule in knowledge.rules.values()
        for quantifier in distinct_nodes(rule.formula)
        if isinstance(quantifier, Quantifier) and quantifier.guard is not None
        for node in distinct_nodes(quantifier.guard)
        if isinstance(node, Atom)
    ]
    return [knowledge.predicates[name] for name in dict.fromkeys(names)]


def open_functions(knowledge: Knowledge) -> list[Function]:
    """Return the functions from or to open domains, whose values come with the data."""
    return [
        one
        for one in knowledge.functions.values()
        if one.table is None
        and any(knowledge.domains[name].is_open for name in (*one.domains, one.result))
    ]


def members_in_rules(knowledge: Knowledge) -> dict[str, list[Label]]:
    """Return the members of open domains that rules name, by domain."""
    found: dict[str, list[Label]] = {}
    for rule in knowledge.rules.values():
        for term, domain in _members(rule.formula, knowledge):
            if isinstance(term, Constant) and term.value not in found.setdefault(domain, []):
                found[domain].append(term.value)
    return found


def _members(formula: Formula, knowledge: Knowledge) -> Iterator[tuple[Term, str]]:
    """Yield the terms of a rule that stand for members of open domains, with these domains."""
    variables = _open_variables(formula, knowledge)
    for node in distinct_nodes(formula):
        if isinstance(node, Atom | Application | Comparison):
            pairs = zip(node.children, _domains_of(node, variables, knowledge), strict=False)
            for term, name in pairs:
                if name is not None and knowledge.domains[name].is_open:
                    assert isinstance(term, Term)
                    yield term, name


def _open_variables(formula: Formula, knowledge: Knowledge) -> dict[str, str]:
    return {
        one.variable: one.domain
        for node in distinct_nodes(formula)
        if isinstance(node, Quantifier)
        for one in node.bindings
        if knowledge.domains[one.domain].is_open
    }


def _domains_of(
    node: Atom | Application | Comparison, variables: Mapping[str, str], knowledge: Knowledge
) -> Sequence[str | None]:
    """Return the domains of arguments; a side of a comparison has that of the other side."""
    if isinstance(node, Comparison):
        sides = (node.right, node.left)
        return [variables.get(one.name) if isinstance(one, Variable) else None for one in sides]
    if isinstance(node, Atom):
        return knowledge.predicates[node.predicate].domains
    if node.function in knowledge.quantities:
        return knowledge.quantities[node.function].domains or ()
    return knowledge.functions[node.function].domains


def close(knowledge: Knowledge, world: World) -> Closed:
    """Return the rules about the members of a world.

    Arguments over open domains come first in each predicate, as in the tables of `rs.compile`.
    """
    domains: dict[str, Domain] = {TRUTH: Domain(TRUTH, range(2))}
    for name, domain in knowledge.domains.items():
        is_open = domain.is_open
        domains[name] = Domain(name, tuple(world.members[name])) if is_open else domain
    functions = dict(knowledge.functions)
    for name, table in world.functions.items():
        functions[name] = replace(functions[name], table=FrozenMapping(table))
    for name, table in world.relations.items():
        own = knowledge.predicates[name].domains
        functions[_as_function(name)] = Function(
            _as_function(name), own, TRUTH, FrozenMapping(table)
        )
    closed = replace(
        knowledge,
        domains=FrozenMapping(domains),
        functions=FrozenMapping(functions),
        predicates=FrozenMapping(
            {name: _closed_predicate(one, knowledge) for name, one in knowledge.predicates.items()}
        ),
        quantities=FrozenMapping(
            {name: _closed_quantity(one, knowledge) for name, one in knowledge.quantities.items()}
        ),
        facts=FrozenMapping({}),
        rules=FrozenMapping({
            name: replace(
                rule,
                formula=_closed_formula(rule.formula, knowledge, world),
                over=rule.over or ("mean" if _open_bindings(rule.formula, knowledge) else None),
            )
            for name, rule in knowledge.rules.items()
        }),
    )  # fmt: skip
    return Closed(closed, _scales(knowledge, closed))


def _as_function(relation: str) -> str:
    return f"{relation}_holds"


def open_first(domains: Sequence[str], knowledge: Knowledge) -> list[int]:
    """Return the places of a predicate's arguments, those over open domains first."""
    return sorted(
        range(len(domains)), key=lambda place: not knowledge.domains[domains[place]].is_open
    )


def _closed_predicate(predicate: Predicate, knowledge: Knowledge) -> Predicate:
    """Return a predicate whose outputs exclude each other only if its other arguments do."""
    places = open_first(predicate.domains, knowledge)
    domains = tuple(predicate.domains[place] for place in places)
    are_all_open = all(knowledge.domains[name].is_open for name in domains)
    return replace(
        predicate, domains=domains, is_independent=predicate.is_independent or are_all_open
    )


def _closed_quantity(quantity: Quantity, knowledge: Knowledge) -> Quantity:
    if quantity.domains is None:
        return quantity
    places = open_first(quantity.domains, knowledge)
    return replace(quantity, domains=tuple(quantity.domains[place] for place in places))


# Formulas


def _closed_formula(formula: Formula, knowledge: Knowledge, world: World) -> Formula:
    """Return a formula with numbers for names, and functions for relations in guards."""
    variables = _open_variables(formula, knowledge)

    def below(node: Any, is_guard: Any) -> Sequence[tuple[Node, bool]]:
        if isinstance(node, Quantifier) and node.guard is not None:
            return [(node.guard, True), (node.body, False)]
        return [(child, is_guard) for child in node.children]

    def numbered(term: Any, domain: str | None) -> Any:
        is_member = domain is not None and knowledge.domains[domain].is_open
        if is_member and isinstance(term, Constant) and isinstance(term.value, str):
            return Constant(world.names[term.value])
        return term

    def closed(node: Any, parts: Sequence[Any], is_guard: Any) -> Any:
        if not isinstance(node, Atom | Application | Comparison):
            return replace_children(node, tuple(parts))
        domains = _domains_of(node, variables, knowledge)
        terms = [numbered(one, name) for one, name in zip(parts, domains, strict=True)]
        if isinstance(node, Atom) and is_guard:
            return Comparison("=", Application(_as_function(node.predicate), *terms), Constant(1))
        if isinstance(node, Atom) or getattr(node, "function", None) in knowledge.quantities:
            terms = [terms[place] for place in open_first([*map(str, domains)], knowledge)]
        return replace_children(node, tuple(terms))

    found = fold_scoped(formula, {}, scope=False, descend=below, default=closed)
    assert isinstance(found, Formula)
    return found


# Rows


def _scales(knowledge: Knowledge, closed: Knowledge) -> dict[str, float]:
    """Return how many groundings a row of each rule has, on average."""
    plans = {name: rule.plan for name, rule in compile_rule(closed).rules.items()}
    found = {}
    for name, rule in knowledge.rules.items():
        opened = _open_bindings(rule.formula, knowledge)
        if opened and rule.over is None:
            row = _row(closed.rules[name].formula, opened)
            predicates = {ROW: Predicate(ROW)}
            plan = compile_rule(row, knowledge=replace(
                closed, predicates=FrozenMapping(predicates))).plan  # fmt: skip
            rows = count_groundings(plan, {})
            found[name] = count_groundings(plans[name], {}) / rows if rows else 1.0
    return found


def _open_bindings(formula: Formula, knowledge: Knowledge) -> list[Binding]:
    """Return the variables of the outermost `forall`s over open domains."""
    return [
        one
        for part in _outermost(formula)
        for one in part.bindings
        if knowledge.domains[one.domain].is_open
    ]


def _outermost(formula: Formula) -> Iterator[Forall]:
    while isinstance(formula, Forall):
        yield formula
        formula = formula.body


def _row(formula: Formula, opened: Sequence[Binding]) -> Formula:
    """Return a rule that has one grounding for each row of another one."""
    names = {one.variable for one in opened}
    guards = [part.guard for part in _outermost(formula) if part.guard is not None]
    parts = [
        part
        for guard in guards
        for part in (guard.operands if isinstance(guard, And) else (guard,))
        if free_variables(part) <= names
    ]
    return Forall(opened, Atom(ROW), And(*parts) if parts else None)
