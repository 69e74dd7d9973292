"""Substitution of terms for variables and of formulas for atoms, without capture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from residuum.errors import InvalidNameError
from residuum.logic.formulas import Atom, Binding, Formula, Quantifier
from residuum.logic.nodes import Node, fold_scoped, replace_children
from residuum.logic.questions import atoms_of, free_variables, free_variables_by_node
from residuum.logic.terms import Term, Variable


def substitute(
    formula: Formula,
    replacements: Mapping[Variable, Term]
    | Mapping[Atom, Formula]
    | Mapping[Variable | Atom, Term | Formula],
) -> Formula:
    """Return the formula with free variables and atoms replaced, all at the same time.

    A variable bound by a quantifier is not replaced there, nor is an atom that mentions it. A
    bound variable that would capture a variable of a replacement is renamed.

    >>> from residuum.logic.formulas import Forall
    >>> x, y = Variable("x"), Variable("y")
    >>> str(substitute(Forall([("y", "D")], Atom("Near", x, y)), {x: y}))
    'forall y_1 in D: Near(y, y_1)'
    """
    for key, value in replacements.items():
        expected = Formula if isinstance(key, Atom) else Term
        if not isinstance(key, Atom | Variable) or not isinstance(value, expected):
            raise InvalidNameError(
                "expected variables mapped to terms and atoms mapped to formulas, "
                f"got {key!r}: {value!r}; make terms with Variable or Constant, formulas with parse"
            )
    free = free_variables_by_node(formula)
    present = set(atoms_of(formula)) | {Variable(name) for name in free[formula]}
    # Equal scopes are the same object, so that shared parts are visited once.
    scopes: dict[frozenset[tuple[Node, Node]], _Scope] = {}
    inner_scopes: dict[tuple[_Scope, Quantifier], _Scope] = {}

    def descend(node: Node, scope: _Scope) -> Sequence[tuple[Node, _Scope]]:
        inner = scope
        if isinstance(node, Quantifier):
            inner = scope.inside(node, free[node])
            inner = scopes.setdefault(frozenset(inner.replacements.items()), inner)
            inner_scopes[scope, node] = inner
        return [(child, inner) for child in node.children]

    def visit(node: Node, children: Sequence[Node], scope: _Scope) -> Node:
        if isinstance(node, Variable | Atom) and node in scope.replacements:
            return scope.replacements[node]
        if isinstance(node, Quantifier):
            return _rebind(node, children, inner_scopes[scope, node])
        return replace_children(node, tuple(children))

    outermost = _Scope({key: value for key, value in replacements.items() if key in present})
    result = fold_scoped(formula, {}, default=visit, scope=outermost, descend=descend)
    assert isinstance(result, Formula)
    return result


@dataclass(frozen=True, eq=False)
class _Scope:
    """The replacements that apply to a part of the formula. Scopes are compared by identity."""

    replacements: Mapping[Variable | Atom, Node]

    @cached_property
    def _free_in_keys(self) -> Mapping[Node, frozenset[str]]:
        return {key: free_variables(key) for key in self.replacements}

    @cached_property
    def _free_in_values(self) -> Mapping[Node, frozenset[str]]:
        return {key: free_variables(value) for key, value in self.replacements.items()}

    def inside(self, quantifier: Quantifier, free: frozenset[str]) -> _Scope:
        bound = {binding.variable for binding in quantifier.bindings}
        kept = {
            key: value
            for key, value in self.replacements.items()
            if not self._free_in_keys[key] & bound and (isinstance(key, Atom) or key.name in free)
        }
        arriving = frozenset[str]().union(*(self._free_in_values[key] for key in kept))
        taken = set(free | arriving | bound)
        for name in sorted(bound & arriving):
            fresh = _fresh_name(name, taken)
            taken.add(fresh)
            kept[Variable(name)] = Variable(fresh)
        return self if kept == self.replacements else _Scope(kept)


def _fresh_name(name: str, taken: set[str]) -> str:
    number = 1
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def _rebind(quantifier: Quantifier, children: Sequence[Node], inner: _Scope) -> Node:
    def renamed(variable: str) -> str:
        replacement = inner.replacements.get(Variable(variable))
        return replacement.name if isinstance(replacement, Variable) else variable

    bindings = tuple(Binding(renamed(b.variable), b.domain) for b in quantifier.bindings)
    *guards, body = cast("Sequence[Formula]", children)
    return quantifier.with_parts(bindings, body, guards[0] if guards else None)
