"""`residuum truth`: the degree of a formula under each relaxation."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import typer

from residuum.cli.inputs import (
    AsJson,
    FormulaText,
    RelaxationNames,
    read_formula,
    read_relaxations,
)
from residuum.cli.outputs import print_json, print_pairs
from residuum.errors import DegreeError, suggest
from residuum.logic import Atom, atoms_of
from residuum.relaxations import Relaxation
from residuum.relaxations import truth as degree_of_truth
from residuum.relaxations.numerals import read_number


def truth(
    formula: FormulaText,
    degrees: Annotated[
        list[str] | None,
        typer.Argument(metavar="ATOM=DEGREE", help="The degree of each atom, such as P=0.3."),
    ] = None,
    relaxation: RelaxationNames = None,
    as_json: AsJson = False,
) -> None:
    """Compute the degree of truth of a formula from the degrees of its atoms.

    \b
    residuum truth "P -> Q" P=0.8 Q=0.4
    residuum truth "P -> Q" P=0.8 Q=0.4 -r r-product -r "s-yager(2)"
    residuum truth "Digit(3) & ~Even(3)" "Digit(3)=0.9" "Even(3)=1/3"
    """
    read = read_formula(formula)
    known = [str(atom) for atom in atoms_of(read)]
    given: dict[str, Fraction] = {}
    for written in degrees or ():
        atom, value = _read_degree(written, known)
        if atom in given:
            raise DegreeError(f"`{atom}`: expected one degree, got two; remove one")
        given[atom] = value
    values = {
        chosen.name: float(degree_of_truth(read, _as_numbers(given, chosen), chosen))
        for chosen in read_relaxations(relaxation)
    }
    if as_json:
        text = str(read)
        print_json(
            [{"formula": text, "relaxation": name, "value": v} for name, v in values.items()]
        )
    else:
        print_pairs((name, f"{value:.12g}") for name, value in values.items())


def _as_numbers(
    given: dict[str, Fraction], relaxation: Relaxation
) -> dict[str | Atom, Fraction | float]:
    # Without a generator every value is one of the degrees or its complement. Exact fractions then
    # stay small, and rounding cannot cross a jump.
    convert = float if relaxation.has_generator else Fraction
    return {atom: convert(value) for atom, value in given.items()}


def _read_degree(written: str, known: list[str]) -> tuple[str, Fraction]:
    atom, equals, number = written.rpartition("=")
    if not equals:
        raise DegreeError(
            f"expected ATOM=DEGREE, such as P=0.3, got `{written}`; write the atom and its degree"
        )
    if atom not in known:
        listed = ", ".join(f"`{name}`" for name in known) or "none"
        raise DegreeError(
            f"expected an atom of the formula ({listed}), got `{atom}`.{suggest(atom, known)}"
        )
    value = read_number(number)
    if not isinstance(value, Fraction) or not 0 <= value <= 1:
        raise DegreeError(
            f"`{atom}`: expected a degree of truth in [0, 1], got `{number}`; change it"
        )
    return atom, value
