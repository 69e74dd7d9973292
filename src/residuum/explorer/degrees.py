"""The degree of a formula and its gradient under each relaxation, at the degrees of the sliders."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from residuum.analysis.gradients import gradient_at
from residuum.errors import ResiduumError, UnknownRelaxationError
from residuum.explorer.formulas import nodes_of, why_no_degrees
from residuum.explorer.given import (
    as_json_number,
    check_number,
    read_list,
    read_names,
    read_text,
)
from residuum.explorer.limits import LONGEST_FORMULA, MOST_ATOMS, MOST_NODES
from residuum.logic import Atom, Formula, atoms_of, size
from residuum.relaxations import Relaxation, relaxation, truth
from residuum.syntax import parse


def measure_degrees(given: dict[str, Any]) -> dict[str, Any]:
    """Return degree and gradient under each relaxation, and the degree of every node under one."""
    formula, degrees = read_point(given)
    rows = [_row(formula, degrees, name) for name in read_names(given)]
    nodes: list[float] = []
    if size(formula) <= MOST_NODES:
        chosen = relaxation(read_text(given, "shown", 100))
        occurring = [node for node, _ in nodes_of(formula)]
        known = {node: degree_at(node, degrees, chosen) for node in set(occurring)}
        nodes = [known[node] for node in occurring]
    return {"rows": rows, "nodes": nodes}


def read_point(given: dict[str, Any]) -> tuple[Formula, dict[Atom, float]]:
    """Return the formula of a request, and the degrees of its atoms."""
    formula = parse(read_text(given, "text", LONGEST_FORMULA))
    refused = why_no_degrees(formula)
    if refused:
        raise ResiduumError(refused)
    atoms = atoms_of(formula)
    degrees = [check_number(one, "degree", 0, 1) for one in read_list(given, "degrees", MOST_ATOMS)]
    if len(degrees) != len(atoms):
        raise ResiduumError(
            f"degrees: expected one for each of {len(atoms)} atoms, got {len(degrees)}; send one "
            "for each"
        )
    return formula, dict(zip(atoms, degrees, strict=True))


def _row(formula: Formula, degrees: Mapping[Atom, float], name: str) -> dict[str, Any]:
    try:
        chosen = relaxation(name)
    except UnknownRelaxationError as error:
        return {"relaxation": name, "problem": str(error)}
    gradient: Any = ()
    if degrees:
        sample = np.array([*degrees.values()]).reshape(-1, 1)
        gradient = gradient_at(formula, [*degrees], chosen, sample)[:, 0]
    return {
        "relaxation": name,
        "degree": degree_at(formula, degrees, chosen),
        "gradient": [as_json_number(one) for one in gradient],
    }


def degree_at(node: Formula, degrees: Mapping[Atom, float], chosen: Relaxation) -> float:
    """Return the degree of a formula from those of its atoms, and perhaps of others."""
    # Without a generator every value is one of the degrees or its complement. With fractions
    # rounding cannot cross a jump, such as that of the nilpotent minimum at P = 1 - Q.
    exact = not chosen.has_generator
    known: dict[Atom, Fraction | float] = {
        atom: Fraction(repr(degrees[atom])) if exact else degrees[atom] for atom in atoms_of(node)
    }
    return float(truth(node, known, chosen))
