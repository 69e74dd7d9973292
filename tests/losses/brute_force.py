"""Rules by brute force: Python loops over groundings, Python floats, textbook connectives.

Nothing of the library's grounding or evaluation is used, only the nodes of a formula.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from mpmath import mpf

from relaxations.textbook import forms
from residuum import logic as lg

Binary = Callable[[float, float], float]


class CornerError(Exception):
    """A degree near 0 in a strict logic, where these floats have lost the digits of its logarithm.

    At 0 itself the library's finite cap stands for infinity.
    """


@dataclass(frozen=True)
class Textbook:
    """The truth functions of one logic; `limit` is g(0), None without a generator.

    With a `p`, `exists` is the p-mean of degrees.
    """

    conjunction: Binary
    disjunction: Binary
    implication: Binary
    penalty: Callable[[float], float]
    limit: float | None = None
    is_capped: bool = True
    name: str = ""
    p: float | None = None

    def strict(self) -> bool:
        return self.limit == math.inf

    def at_least(self, number: int, parts: Sequence[float]) -> float:
        """Return the degree to which so many are true: over subsets, by a sum, or by a counter."""
        if self.name == "product":
            return math.fsum(
                math.prod(x if won else 1 - x for x, won in zip(parts, outcome, strict=True))
                for outcome in itertools.product([False, True], repeat=len(parts))
                if sum(outcome) >= number
            )
        if self.name == "lukasiewicz":
            return max(0.0, min(1.0, math.fsum(parts) - number + 1)) if number else 1.0
        reached = [1.0] + [0.0] * number
        for x in sorted(parts, reverse=True):
            pairs = itertools.pairwise(reached)
            reached[1:] = [self.disjunction(now, self.conjunction(one, x)) for one, now in pairs]
        return reached[number]


def _nilpotent_and(x: float, y: float) -> float:
    return 0.0 if x + y <= 1 else min(x, y)


def _nilpotent_or(x: float, y: float) -> float:
    return 1.0 if x + y >= 1 else max(x, y)


def _drastic_and(x: float, y: float) -> float:
    return min(x, y) if max(x, y) == 1 else 0.0


def _drastic_or(x: float, y: float) -> float:
    return max(x, y) if min(x, y) == 0 else 1.0


def _falsity(x: float) -> float:
    return 1 - x


def _pair(
    conjunction: Binary, disjunction: Binary, below: Binary | None, *rest: Any
) -> dict[str, Textbook]:
    """Return the S- and, where there is one, the R-logic of a t-norm."""
    found = {"s-": Textbook(conjunction, disjunction, lambda x, y: disjunction(1 - x, y), *rest)}
    if below is not None:
        found["r-"] = Textbook(
            conjunction, disjunction, lambda x, y: 1.0 if x <= y else below(x, y), *rest
        )
    return found


def _family(name: str) -> dict[str, Textbook]:
    """Return the logics of a family at the parameter 2."""
    written = {text: _in_floats(form) for text, form in forms(name, mpf(2)).items()}
    return _pair(written["P & Q"], written["P | Q"], written["P -> Q"], *GENERATORS[name])


def _in_floats(form: Callable[[Any, Any], Any]) -> Binary:
    return lambda x, y: float(form(mpf(x), mpf(y)))


def _or_infinity(generator: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: math.inf if x == 0 else generator(x)


# Generators at the parameter 2, with slope −1 at 1 where that can be.
GENERATORS: dict[str, tuple[Callable[[float], float], float]] = {
    "product": (_or_infinity(lambda x: -math.log(x)), math.inf),
    "hamacher": (_or_infinity(lambda x: math.log((2 - x) / x) / 2), math.inf),
    "frank": (_or_infinity(lambda x: -math.log(2**x - 1) / (2 * math.log(2))), math.inf),
    "yager": (lambda x: (1 - x) ** 2, 1.0),
    "dombi": (_or_infinity(lambda x: ((1 - x) / x) ** 2), math.inf),
    "aczel-alsina": (_or_infinity(lambda x: math.log(x) ** 2), math.inf),
    "schweizer-sklar": (lambda x: (1 - x * x) / 2, 0.5),
    "sugeno-weber": (lambda x: 1.5 * math.log(3 / (1 + 2 * x)), 1.5 * math.log(3)),
}


def _catalogue() -> dict[str, Textbook]:
    tnorms = {
        "product": _pair(
            lambda x, y: x * y,
            lambda x, y: x + y - x * y,
            lambda x, y: y / x,
            *GENERATORS["product"],
            True,
            "product",
        ),
        "godel": _pair(min, max, lambda _, y: y, _falsity),
        "nilpotent-minimum": _pair(
            _nilpotent_and, _nilpotent_or, lambda x, y: max(1 - x, y), _falsity
        ),
        "drastic": _pair(_drastic_and, _drastic_or, None, _falsity),
    }
    found = {
        prefix + name: logic for name, pair in tnorms.items() for prefix, logic in pair.items()
    }
    for name in GENERATORS.keys() - {"product"}:
        found |= {f"{prefix}{name}(2)": logic for prefix, logic in _family(name).items()}
    for name, is_capped in (("lukasiewicz", True), ("lukasiewicz-maxsat", False)):
        found[name] = Textbook(
            lambda x, y: max(0.0, x + y - 1),
            lambda x, y: min(1.0, x + y),
            lambda x, y: min(1.0, 1 - x + y),
            _falsity,
            1.0,
            is_capped,
            "lukasiewicz",
        )
    return found


TEXTBOOK = _catalogue()

COMPARE = {
    "=": lambda x, y: x == y, "!=": lambda x, y: x != y, "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y,
}  # fmt: skip
COMPUTE = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
    "mod": lambda x, y: x % y, "div": lambda x, y: (x - x % y) / y,
}  # fmt: skip


@dataclass(frozen=True)
class World:
    """One example: the members of each domain, functions, and the degree of each atom.

    `atoms` maps a predicate to a function from the values of its arguments; `sequences` lists
    for each predicate which of its arguments are positions, and `length` is that of the sequence.
    """

    domains: Mapping[str, Sequence[Any]]
    functions: Mapping[str, Callable[..., Any]]
    atoms: Mapping[str, Callable[..., Any]]
    sequences: Mapping[str, tuple[int, ...]]
    length: int = 0

    def value(self, term: lg.Term, env: Mapping[str, Any]) -> Any:
        match term:
            case lg.Variable(name):
                return env.get(name, name)  # what nothing binds is a label
            case lg.Constant(value):
                return value
            case lg.Arithmetic(operator, left, right):
                return COMPUTE[operator](self.value(left, env), self.value(right, env))
        assert isinstance(term, lg.Application)
        return self.functions[term.function](*(self.value(a, env) for a in term.arguments))

    def holds(self, guard: Any, env: Mapping[str, Any]) -> bool:
        match guard:
            case None:
                return True
            case lg.Truth(value):
                return value
            case lg.Comparison(operator, left, right):
                return COMPARE[operator](self.value(left, env), self.value(right, env))
        parts = [self.holds(child, env) for child in guard.children]
        return connect_crisply(guard, parts)

    def groundings(self, node: Any, env: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the environments of a quantifier's groundings that count."""
        names = [binding.variable for binding in node.bindings]
        members = [self.domains[binding.domain] for binding in node.bindings]
        found = []
        for chosen in itertools.product(*members):
            inner = {**env, **dict(zip(names, chosen, strict=True))}
            if self.holds(node.guard, inner) and all(
                0 <= self.value(term, inner) < self.length
                for term in self.positions(node.body, set(names), set(), False)
            ):
                found.append(inner)
        return found

    def positions(self, node: Any, mine: set[str], below: set[str], is_inner: bool) -> list[Any]:
        """Return the positions in a body whose innermost variable is one of `mine`."""
        if isinstance(node, lg.Atom):
            terms = [node.arguments[k] for k in self.sequences.get(node.predicate, ())]
            return [
                term
                for term in terms
                if (names(term) & mine and not names(term) & below)
                or (not names(term) and not is_inner)
            ]
        if isinstance(node, lg.Forall | lg.Exists | lg.CountQuantifier):
            bound = {binding.variable for binding in node.bindings}
            return self.positions(node.body, mine - bound, below | bound, True)
        if isinstance(node, lg.Truth):
            return []
        return [t for part in node.children for t in self.positions(part, mine, below, is_inner)]

    def atom(self, node: Any, env: Mapping[str, Any]) -> Any:
        return self.atoms[node.predicate](*(self.value(term, env) for term in node.arguments))


def names(term: Any) -> set[str]:
    if isinstance(term, lg.Variable):
        return {term.name}
    return set().union(*(names(child) for child in term.children))


def connect_crisply(node: Any, parts: Sequence[bool]) -> bool:
    match node:
        case lg.Not():
            return not parts[0]
        case lg.And():
            return all(parts)
        case lg.Or():
            return any(parts)
        case lg.Implies():
            return not parts[0] or parts[1]
        case lg.CountOf():
            return is_so_many(node.count, sum(parts))
    assert isinstance(node, lg.Iff)
    return parts[0] == parts[1]


def is_so_many(count: Any, found: int) -> bool:
    if count.relation == "exactly":
        return found == count.number
    return found >= count.number if count.relation == "at least" else found <= count.number


def crisp(node: Any, world: World, env: Mapping[str, Any] | None = None) -> bool:
    """Return the Boolean truth of a rule whose atoms are Boolean."""
    env = env or {}
    match node:
        case lg.Truth(value):
            return value
        case lg.Atom():
            return world.atom(node, env)
        case lg.Forall():
            return all(crisp(node.body, world, inner) for inner in world.groundings(node, env))
        case lg.Exists():
            return any(crisp(node.body, world, inner) for inner in world.groundings(node, env))
        case lg.CountQuantifier():
            inner = world.groundings(node, env)
            return is_so_many(node.count, sum(crisp(node.body, world, one) for one in inner))
    return connect_crisply(node, [crisp(child, world, env) for child in node.children])


def degree(node: Any, world: World, logic: Textbook, env: Mapping[str, Any] | None = None) -> float:
    """Return the degree of truth of a rule."""
    found = _degree(node, world, logic, env or {})
    if found < 1e-6 and logic.strict():
        raise CornerError
    return found


def _degree(node: Any, world: World, logic: Textbook, env: Mapping[str, Any]) -> float:
    match node:
        case lg.Truth(value):
            return float(value)
        case lg.Atom():
            return world.atom(node, env)
        case lg.Forall() | lg.Exists() | lg.CountQuantifier():
            parts = [
                degree(node.body, world, logic, inner) for inner in world.groundings(node, env)
            ]
            if isinstance(node, lg.Forall):
                return reduce(logic.conjunction, parts, 1.0)
            if isinstance(node, lg.CountQuantifier):
                return counted(node.count, parts, logic)
            if logic.p is not None:
                return power_mean(parts, logic.p)
            return reduce(logic.disjunction, parts, 0.0)
    parts = [degree(child, world, logic, env) for child in node.children]
    match node:
        case lg.Not():
            return 1 - parts[0]
        case lg.And():
            return reduce(logic.conjunction, parts)
        case lg.Or():
            return reduce(logic.disjunction, parts)
        case lg.Implies():
            return logic.implication(*parts)
        case lg.CountOf():
            return counted(node.count, parts, logic)
    assert isinstance(node, lg.Iff)
    left, right = parts
    return logic.conjunction(logic.implication(left, right), logic.implication(right, left))


def power_mean(numbers: Sequence[float], p: float) -> float:
    """Return the p-mean of numbers; 0 of none."""
    total = math.fsum(x**p for x in numbers)
    return float((total / len(numbers)) ** (1 / p)) if numbers else 0.0


def counted(count: Any, parts: Sequence[float], logic: Textbook) -> float:
    """Return the degree of a count."""
    number = count.number
    if count.relation == "at least":
        return logic.at_least(number, parts)
    few = 1 - logic.at_least(number + 1, parts)
    if count.relation == "at most":
        return few
    return logic.conjunction(logic.at_least(number, parts), few)


def penalty(node: Any, world: World, logic: Textbook) -> float:
    """Return what a rule costs: its outermost conjunctions add up, or the worst counts."""
    parts = _outermost(node, world, logic, {})
    if logic.limit is None:
        return max(parts, default=0.0)
    total = math.fsum(parts)
    return min(total, logic.limit) if logic.is_capped else total


def _outermost(node: Any, world: World, logic: Textbook, env: Mapping[str, Any]) -> list[float]:
    if isinstance(node, lg.And):
        return [p for child in node.children for p in _outermost(child, world, logic, env)]
    if isinstance(node, lg.Forall):
        inner = world.groundings(node, env)
        return [p for one in inner for p in _outermost(node.body, world, logic, one)]
    return [logic.penalty(degree(node, world, logic, env))]
