"""Which formulas of the paper's table a formula resembles: by the shapes of their parts.

Two parts have the same shape if they differ only in the names of atoms and in the order of the
operands of ∧, ∨ and ↔. The resemblance of two formulas is the number of shapes that they share, by
the number that either has.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, Final

from residuum.analysis import catalogue
from residuum.logic import And, Atom, Formula, Iff, Or, Truth, atoms_of, fold, size
from residuum.logic.nodes import Node

LEAST: Final = 0.4
"""The least resemblance that is worth showing."""

MOST: Final = 4
"""The most formulas that are listed."""

LARGEST: Final = 60
"""The most nodes of a formula that is compared; those of the table have fewer."""


def resembling(formula: Formula) -> list[dict[str, Any]]:
    """Return the rows of the table that a formula resembles, the most alike first."""
    if size(formula) > LARGEST:
        return []
    own, canonical = _shapes(formula), _renamed(formula)
    found = []
    for row, shapes in _table():
        alike = (own & shapes).total() / (own | shapes).total()
        if alike >= LEAST:
            is_same = _renamed(row.formula) == canonical
            found.append((is_same, alike, row))
    found.sort(key=lambda one: (not one[0], -one[1]))
    return [
        {"name": row.name, "section": row.section, "ascii": str(row.formula),
         "unicode": f"{row.formula:unicode}", "alike": alike, "same": same}
        for same, alike, row in found[:MOST]
    ]  # fmt: skip


@cache
def _table() -> tuple[tuple[Any, Counter[Any]], ...]:
    return tuple((row, _shapes(row.formula)) for row in catalogue())


def _shapes(formula: Formula) -> Counter[Any]:
    """Return the shapes of all parts that are not atoms, and how often each occurs."""
    shapes: Counter[Any] = Counter()

    def visit(node: Node, below: Any) -> Any:
        if isinstance(node, Atom):
            return "·"
        if isinstance(node, Truth):
            return str(node)
        parts = tuple(sorted(below, key=repr) if isinstance(node, And | Or | Iff) else below)
        return type(node).__name__, parts

    root = fold(formula, {}, default=visit)
    waiting = [root]
    while waiting:
        shape = waiting.pop()
        if isinstance(shape, tuple):
            shapes[shape] += 1
            waiting += shape[1]
    return shapes or Counter([root])


def _renamed(formula: Formula) -> str:
    """Return the formula with its atoms numbered in the order in which they occur."""
    numbers = {atom: f"P{number}" for number, atom in enumerate(atoms_of(formula))}

    def visit(node: Node, below: Any) -> str:
        if isinstance(node, Atom):
            return numbers[node]
        return f"{type(node).__name__}({', '.join(below)})" if below else str(node)

    return str(fold(formula, {}, default=visit))
