"""A formula that is typed: its notation, its tree, whether it is a tautology, what it resembles."""

from __future__ import annotations

from typing import Any

from residuum.analysis.consistency import refuse_what_has_no_cube
from residuum.errors import EvaluationError, FormulaSyntaxError
from residuum.explorer.given import read_text
from residuum.explorer.limits import LONGEST_FORMULA, MOST_ATOMS, MOST_NODES
from residuum.explorer.resembling import resembling
from residuum.logic import (
    And,
    Atom,
    Comparison,
    CountOf,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Truth,
    atoms_of,
    is_tautology,
    render,
    size,
)
from residuum.syntax import parse

SYMBOLS = {Not: "¬", And: "∧", Or: "∨", Implies: "→", Iff: "↔"}


def read_formula(given: dict[str, Any]) -> dict[str, Any]:
    """Return what the page shows of a formula, or where its text goes wrong."""
    text = read_text(given, "text", LONGEST_FORMULA)
    try:
        formula = parse(text)
    except FormulaSyntaxError as error:
        return {"problem": problem_of(error)}
    atoms = atoms_of(formula)
    verdict = is_tautology(formula)
    witness = verdict.witness
    return {
        **{style: render(formula, style) for style in ("ascii", "unicode", "latex")},
        "atoms": [str(atom) for atom in atoms],
        "tautology": verdict.answer,
        "countermodel": None if witness is None else [witness[atom] for atom in atoms],
        "reason": verdict.reason,
        "tree": tree_of(formula) if size(formula) <= MOST_NODES else None,
        "resembling": resembling(formula),
        "no_degrees": why_no_degrees(formula),
    }


def problem_of(error: FormulaSyntaxError) -> dict[str, Any]:
    """Return a mistake in a text as data; `shown` has the line with its caret."""
    return {
        "line": error.line,
        "column": error.column,
        "message": error.problem.message,
        "shown": str(error),
    }


def why_no_degrees(formula: Formula) -> str:
    """Return why a formula has no sliders, or nothing if it has."""
    try:
        refuse_what_has_no_cube(formula)
    except EvaluationError as error:
        return str(error)
    count = len(atoms_of(formula))
    if count > MOST_ATOMS:
        return f"expected at most {MOST_ATOMS} atoms to show degrees, got {count}; use fewer"
    return ""


def nodes_of(formula: Formula) -> list[tuple[Formula, int]]:
    """Return each occurrence of a node below which only formulas stand, and its parent's place.

    A node comes before what is below it.
    """
    found: list[tuple[Formula, int]] = []
    waiting = [(formula, -1)]
    while waiting:
        node, parent = waiting.pop()
        place = len(found)
        found.append((node, parent))
        if isinstance(node, Not | And | Or | Implies | Iff | CountOf):
            below = [child for child in node.children if isinstance(child, Formula)]
            waiting += [(child, place) for child in reversed(below)]
    return found


def tree_of(formula: Formula) -> list[dict[str, Any]]:
    """Return the tree as a list of nodes, each with a label and the place of its parent."""
    return [{"label": _label(node), "parent": parent} for node, parent in nodes_of(formula)]


def _label(node: Formula) -> str:
    if type(node) in SYMBOLS:
        return SYMBOLS[type(node)]
    if isinstance(node, CountOf):
        return f"{node.count.relation} {node.count.number}"
    if isinstance(node, Atom | Truth | Comparison):
        return render(node, "unicode")
    return "∀ …" if type(node).__name__ == "Forall" else "∃ …"
