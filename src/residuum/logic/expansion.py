"""Finite quantifiers written out: `forall` as a conjunction, `exists` as a disjunction.

A counting quantifier becomes a count of formulas, `at least 2 of (…)`.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from residuum.errors import EvaluationError, FormulaTooLargeError, shown, suggest
from residuum.limits import MOST_GROUNDINGS, MOST_PARTS
from residuum.logic import formulas as fm
from residuum.logic import terms as tm
from residuum.logic.boolean import CONNECTIVES
from residuum.logic.counting import CountOf, CountQuantifier
from residuum.logic.formulas import Formula
from residuum.logic.nodes import Case, Node, ScopedCase, fold, fold_scoped, replace_children
from residuum.logic.questions import free_variables_by_node
from residuum.logic.terms import Label, as_label, at_most

Domains = Mapping[str, int | Iterable[Label]]
Functions = Mapping[str, Callable[..., Label] | Mapping[Any, Label]]

COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
COMPUTE: Final[Mapping[str, Callable[[int, int], int]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "mod": operator.mod,
    "div": operator.floordiv,
}  # fmt: skip


def expand(formula: Formula, domains: Domains, functions: Functions | None = None) -> Formula:
    """Return the formula with its quantifiers written out and its terms computed.

    `domains` maps the name of a domain to its members, or to a size n for the members 0 to n − 1.
    `functions` maps the name of a function to a callable or to a table. Over an empty domain
    `forall` is `true` and `exists` is `false`.

    >>> from residuum.logic.formulas import Forall
    >>> x = tm.Variable("x")
    >>> rule = Forall([("x", "D")], fm.Atom("P", x) >> fm.Atom("P", tm.Arithmetic("+", x, 1)))
    >>> str(expand(rule, {"D": 2}))
    '(P(0) -> P(1)) & (P(1) -> P(2))'
    """
    if not isinstance(domains, Mapping):
        raise EvaluationError(
            f"domains: expected a mapping such as {{'d': 10}}, got {shown(domains)}; give the size "
            "or the members of each domain by its name"
        )
    grounding = _Grounding(
        {name: _members(name, given) for name, given in domains.items()},
        functions or {},
        free_variables_by_node(formula),
    )
    result = fold_scoped(
        formula,
        {
            **grounding.term_cases(),
            fm.Forall: lambda _, parts, __: fm.And(*parts),
            fm.Exists: lambda _, parts, __: fm.Or(*parts),
            CountQuantifier: lambda node, parts, _: CountOf(node.count, parts),
        },
        default=lambda node, parts, _: replace_children(node, tuple(parts)),
        scope=(),
        descend=grounding.descend,
    )
    grounding.refuse_unequal_kinds()
    assert isinstance(result, Formula)
    return result


def compute(formula: Formula, functions: Functions | None = None) -> Formula:
    """Return the formula with each term that has no variables replaced by its value.

    Terms with functions that are not given are left as they are.
    """
    result = fold(
        formula,
        {
            tm.Arithmetic: lambda node, parts: _arithmetic(node.operator, *parts),
            tm.Application: lambda node, parts: _apply(node.function, parts, functions or {}),
        },
        default=lambda node, parts: replace_children(node, tuple(parts)),
    )
    assert isinstance(result, Formula)
    return result


Environment = tuple[tuple[str, Label], ...]
"""The values of the bound variables that a part of a formula depends on.

A part that does not depend on an inner variable has one environment for all values of that
variable, so that it is folded once.
"""


class _Grounding:
    """The state of one expansion: the members of domains, and how much was written out so far."""

    def __init__(
        self,
        members: Mapping[str, Sequence[Label]],
        functions: Functions,
        free: Mapping[Node, frozenset[str]],
    ) -> None:
        self._members = members
        self._functions = functions
        self._free = free
        self._count = 0
        self._parts = 0
        # The types of the values that the sides of each equation in a guard have had.
        self._kinds: dict[tuple[Formula, fm.Comparison], tuple[set[type], set[type]]] = {}

    def descend(self, node: Node, environment: Environment) -> list[tuple[Node, Environment]]:
        if isinstance(node, fm.Quantifier):
            parts = list(self._groundings(node, environment))
        else:
            parts = [(child, self._relevant(child, environment)) for child in node.children]
        self._parts += len(parts) + len(environment)
        if self._parts > MOST_PARTS:
            raise FormulaTooLargeError(
                f"expected an expansion of at most {MOST_PARTS:,} terms, atoms and connectives, "
                "got more; give smaller domains, or `rs.compile` the rule, which does not expand it"
            )
        return parts

    def refuse_unequal_kinds(self) -> None:
        """Raise if a guard compared only text with numbers: they are never equal."""
        for (_, comparison), (left, right) in self._kinds.items():
            if left.isdisjoint(right):
                raise EvaluationError(text_with_numbers(comparison))

    def term_cases(self) -> dict[Any, ScopedCase[Any]]:
        return {
            tm.Variable: _value_of,
            tm.Constant: lambda node, _, __: node,
            tm.Arithmetic: lambda node, parts, _: _arithmetic(node.operator, *parts),
            tm.Application: lambda node, parts, _: _apply(node.function, parts, self._functions),
        }

    def _relevant(self, node: Node, environment: Environment) -> Environment:
        free = self._free[node]
        kept = [pair for pair in environment if pair[0] in free]
        # Environments are many. Sharing one saves memory, and time to compare it.
        return environment if len(kept) == len(environment) else tuple(kept)

    def _groundings(
        self, node: fm.Quantifier, environment: Environment
    ) -> Iterator[tuple[Node, Environment]]:
        names = [binding.variable for binding in node.bindings]
        ranges = [_range_of(binding, self._members) for binding in node.bindings]
        outer = tuple(pair for pair in environment if pair[0] not in names)
        self._count += product_of(map(len, ranges), MOST_GROUNDINGS)
        if self._count > MOST_GROUNDINGS:
            raise FormulaTooLargeError(
                f"expected an expansion of at most {MOST_GROUNDINGS:,} groundings, got more; give "
                "smaller domains, or `rs.compile` the rule, which does not expand it"
            )
        if not all(ranges):
            return
        for members in itertools.product(*ranges):
            inner = outer + tuple(zip(names, members, strict=True))
            if node.guard is None or self._holds(node, node.guard, inner):
                yield node.body, self._relevant(node.body, inner)

    def _holds(self, quantifier: fm.Quantifier, guard: Formula, environment: Environment) -> bool:
        def compare(node: fm.Comparison, parts: Sequence[Any], _: Environment) -> bool:
            left, right = _values(node, *parts)
            if node.operator in ("=", "!="):
                kinds = self._kinds.setdefault((quantifier, node), (set(), set()))
                kinds[0].add(type(left))
                kinds[1].add(type(right))
            return COMPARE[node.operator](left, right)

        cases: dict[Any, ScopedCase[Any]] = {
            kind: _ignoring_scope(case) for kind, case in CONNECTIVES.items()
        }
        cases |= {**self.term_cases(), fm.Comparison: compare, fm.Atom: _unknown}
        return bool(
            fold_scoped(
                guard,
                cases,
                scope=self._relevant(guard, environment),
                descend=self.descend,
            )
        )


def _ignoring_scope(case: Case[bool]) -> ScopedCase[Any]:
    return lambda node, parts, _: case(node, parts)


def _unknown(node: fm.Atom, _: Sequence[Any], __: Environment) -> bool:
    raise EvaluationError(
        f"the guard reads `{node}`, a relation whose pairs come with the data; to evaluate it, "
        "write an implication"
    )


def _value_of(node: tm.Variable, _: Sequence[Node], environment: Environment) -> Node:
    return tm.Constant(environment[0][1]) if environment else node


def _members(name: str, given: int | Iterable[Label]) -> Sequence[Label]:
    size = as_label(given)
    if isinstance(size, int) and not isinstance(size, bool):
        if not 0 <= size <= MOST_GROUNDINGS:
            raise FormulaTooLargeError(
                f"domain `{name}`: expected a size from 0 to {MOST_GROUNDINGS:,}, got "
                f"{shown(size)}; give another one"
            )
        return range(size)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise EvaluationError(
            f"domain `{name}`: expected its size or its members, got {shown(given)}; give an "
            "integer or a list of labels"
        )
    members = at_most(MOST_GROUNDINGS, given)
    if members is None:
        raise FormulaTooLargeError(
            f"domain `{name}`: expected at most {MOST_GROUNDINGS:,} members, got more; give fewer"
        )
    return members if isinstance(members, range) else tuple(map(as_label, members))


def product_of(sizes: Iterable[int], most: int) -> int:
    """Return the product of sizes, or any number above `most` if the product is larger."""
    product = 1
    for size in sizes:
        # A later factor may be 0. Numbers of a million digits are avoided on the way.
        product = min(product, most + 1) * size
    return product


def _range_of(binding: fm.Binding, members: Mapping[str, Sequence[Label]]) -> Sequence[Label]:
    if binding.domain not in members:
        raise EvaluationError(
            f"the members of domain `{binding.domain}` are not given; "
            f"pass domains={{{binding.domain!r}: ...}}.{suggest(binding.domain, members)}"
        )
    return members[binding.domain]


def _arithmetic(symbol: tm.ArithmeticOperator, left: Node, right: Node) -> Node:
    assert isinstance(left, tm.Term)
    assert isinstance(right, tm.Term)
    if symbol in tm.DIVISIONS and isinstance(right, tm.Constant) and right.value == 0:
        raise EvaluationError(
            f"`{left} {symbol} 0`: the right-hand side of `{symbol}` is zero; use another number, "
            "or a guard"
        )
    is_known = isinstance(left, tm.Constant) and isinstance(right, tm.Constant)
    if not is_known or symbol == "/":
        return tm.Arithmetic(symbol, left, right)
    assert isinstance(left, tm.Constant)
    assert isinstance(right, tm.Constant)
    if isinstance(left.value, str) or isinstance(right.value, str):
        label = left if isinstance(left.value, str) else right
        raise EvaluationError(f"`{left} {symbol} {right}`: {label} is a label, not an integer")
    return tm.Constant(COMPUTE[symbol](left.value, right.value))


def _apply(function: str, parts: Sequence[Node], functions: Functions) -> Node:
    values = [part.value for part in parts if isinstance(part, tm.Constant)]
    if function in functions and len(values) == len(parts):
        given = functions[function]
        if isinstance(given, Mapping):
            key = values[0] if len(values) == 1 else tuple(values)
            if key not in given:
                raise EvaluationError(
                    f"function `{function}` has no value for {key!r}; add it to the table"
                )
            return tm.Constant(given[key])
        return tm.Constant(given(*values))
    return tm.Application(function, *parts)  # type: ignore[arg-type]


def _values(node: fm.Comparison, left: Node, right: Node) -> tuple[Label, Label]:
    if not isinstance(left, tm.Constant) or not isinstance(right, tm.Constant):
        unknown = right if isinstance(left, tm.Constant) else left
        raise EvaluationError(
            f"the guard `{node}` needs a value for `{unknown}`; bind it by a quantifier, or give "
            "the function"
        )
    if node.operator not in ("=", "!=") and type(left.value) is not type(right.value):
        raise EvaluationError(
            f"the guard `{node}` cannot put {left} and {right} in order; compare numbers with "
            "numbers, or use = and !="
        )
    return left.value, right.value


def text_with_numbers(guard: fm.Comparison) -> str:
    """Return the message for a guard that compares text with numbers."""
    return (
        f"the guard `{guard}` compares text with numbers, which are never equal; write both as "
        'text ("1") or both as numbers (1)'
    )
