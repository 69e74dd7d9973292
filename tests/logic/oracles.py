"""Meanings written a second time, plainly and recursively, to compare with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from zlib import crc32

from residuum.logic import (
    And,
    Application,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Count,
    CountOf,
    CountQuantifier,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Node,
    Not,
    Or,
    Term,
    Truth,
    Variable,
)
from strategies import DOMAINS

Environment = Mapping[str, int]
Valuation = Callable[[str, tuple[int, ...]], bool]


def members(domain: str) -> list[int]:
    listed = DOMAINS[domain]
    return list(range(listed)) if isinstance(listed, int) else list(listed)


def value_of(term: Term, environment: Environment) -> int:
    match term:
        case Variable():
            return environment[term.name]
        case Constant():
            return term.value
        case Arithmetic():
            left, right = value_of(term.left, environment), value_of(term.right, environment)
            if term.operator in ("mod", "div"):
                # The remainder has the sign of the divisor.
                remainders = range(right) if right > 0 else range(right + 1, 1)
                remainder = next(r for r in remainders if (left - r) % right == 0)
                return remainder if term.operator == "mod" else int((left - remainder) / right)
            return {"+": left + right, "-": left - right, "*": left * right}[term.operator]
        case Application(function, arguments):
            values = [value_of(argument, environment) for argument in arguments]
            return values[0] + values[0] if function == "double" else sorted(values)[0]
    raise AssertionError(term)


def meaning(formula: Formula, valuation: Valuation, environment: Environment | None = None) -> bool:
    """Return the truth of a formula by nested loops over `DOMAINS`."""
    here = environment or {}

    def of(part: Formula) -> bool:
        return meaning(part, valuation, here)

    match formula:
        case Truth():
            return formula.value
        case Atom():
            return valuation(formula.predicate, tuple(value_of(t, here) for t in formula.arguments))
        case Comparison():
            left, right = value_of(formula.left, here), value_of(formula.right, here)
            below, equal = left < right, left == right
            return {
                "=": equal, "!=": not equal, "<": below, "<=": below or equal,
                ">": not (below or equal), ">=": not below,
            }[formula.operator]  # fmt: skip
        case Not():
            return not of(formula.operand)
        case And():
            return sum(map(of, formula.operands)) == len(formula.operands)
        case Or():
            return sum(map(of, formula.operands)) > 0
        case Implies():
            return of(formula.antecedent) <= of(formula.consequent)
        case Iff():
            return of(formula.left) is of(formula.right)
        case CountOf():
            return _is_so_many(formula.count, sum(map(of, formula.operands)))
        case Forall() | Exists() | CountQuantifier():
            found = []
            for values in itertools.product(*(members(b.domain) for b in formula.bindings)):
                names = (b.variable for b in formula.bindings)
                inner = {**here, **dict(zip(names, values, strict=True))}
                if formula.guard is None or meaning(formula.guard, valuation, inner):
                    found.append(meaning(formula.body, valuation, inner))
            if isinstance(formula, CountQuantifier):
                return _is_so_many(formula.count, found.count(True))
            return False not in found if isinstance(formula, Forall) else True in found
    raise AssertionError(formula)


def _is_so_many(count: Count, found: int) -> bool:
    wanted = {"at least": (1, 0), "at most": (-1, 0), "exactly": (0,)}[count.relation]
    return (found > count.number) - (found < count.number) in wanted


def scattered(seed: int) -> Valuation:
    """Return an arbitrary but fixed valuation of ground atoms."""
    return lambda predicate, arguments: bool(crc32(repr((seed, predicate, arguments)).encode()) & 1)


def assignments(names: str) -> Iterator[dict[str, bool]]:
    """Yield every row of the truth table of some propositions."""
    for row in itertools.product([False, True], repeat=len(names)):
        yield dict(zip(names, row, strict=True))


def proposition_values(row: Mapping[str, bool]) -> Valuation:
    return lambda predicate, _: row[predicate]


def truth_table(formula: Formula) -> list[bool]:
    """Return the truth of a formula in P, Q, R and S in each row."""
    return [meaning(formula, proposition_values(row)) for row in assignments("PQRS")]


def distinct_nodes(root: Node) -> set[Node]:
    found, waiting = {root}, [root]
    while waiting:
        for child in waiting.pop().children:
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found
