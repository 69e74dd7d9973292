"""The degree of truth of a formula under a relaxation: `truth`, on any kind of number."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from residuum.errors import DegreeError, EvaluationError
from residuum.logic import formulas as fm
from residuum.logic.boolean import values_by_atom
from residuum.logic.counting import CountOf
from residuum.logic.formulas import Atom, Formula
from residuum.logic.nodes import Case, fold
from residuum.relaxations.arrays import ARRAYS
from residuum.relaxations.carriers import FLOATS, FRACTIONS, Carrier
from residuum.relaxations.catalogue import relaxation as find_relaxation
from residuum.relaxations.degrees import Degree, truth_of
from residuum.relaxations.logics import Relaxation
from residuum.syntax import as_formula


def truth(
    formula: str | Formula,
    degrees: Mapping[str, Any] | Mapping[Atom, Any] | Mapping[str | Atom, Any],
    relaxation: str | Relaxation,
) -> Any:
    """Return the degree of truth of a formula from those of its atoms.

    Degrees are floats, `Fraction`s or NumPy arrays, which broadcast. The result is of the same
    kind: exact for fractions, if the logic is rational, and float64 for arrays.

    >>> truth("P -> Q", {"P": 0.8, "Q": 0.4}, "r-product")
    0.5
    >>> truth("P <-> Q", {"P": Fraction(4, 5), "Q": Fraction(2, 5)}, "lukasiewicz")
    Fraction(3, 5)
    """
    formula = as_formula(formula)
    if not isinstance(degrees, Mapping):
        raise DegreeError(
            f"degrees: expected a mapping such as {{'P': 0.5}}, got {degrees!r}; pass the "
            "relaxation after it"
        )
    try:
        values = values_by_atom(formula, degrees)
    except EvaluationError as error:
        raise DegreeError(str(error)) from None
    on, given = _on_one_carrier(values)
    known = {atom: Degree(on, true=number) for atom, number in given.items()}
    degree = interpret(formula, known, find_relaxation(relaxation), on).true
    # The result is a copy: a formula such as `P` would return the caller's own array.
    return np.array(degree)[()] if on is ARRAYS else degree


def interpret(
    formula: Formula, degrees: Mapping[Atom, Degree], relaxation: Relaxation, on: Carrier
) -> Degree:
    """Return the degree of a formula without quantifiers, on any carrier."""
    cases: dict[Any, Case[Any]] = {
        fm.Truth: lambda node, _: truth_of(on, node.value),
        Atom: lambda node, _: degrees[node],
        fm.Not: lambda _, parts: relaxation.negate(parts[0]),
        fm.And: lambda _, parts: relaxation.conjoin(parts),
        fm.Or: lambda _, parts: relaxation.disjoin(parts),
        fm.Implies: lambda _, parts: relaxation.imply(*parts),
        fm.Iff: lambda _, parts: relaxation.equate(*parts),
        CountOf: lambda node, parts: relaxation.count(node.count, parts),
    }
    with np.errstate(all="ignore"):  # infinite penalties are intended
        result = fold(formula, cases, default=lambda *_: None)  # terms have no degree
    assert isinstance(result, Degree)
    return result


def _on_one_carrier(values: Mapping[Atom, Any]) -> tuple[Carrier, Mapping[Atom, Any]]:
    given = list(values.values())
    for atom, value in values.items():
        _check(atom, value)
    if any(isinstance(value, np.ndarray) for value in given):
        return ARRAYS, _broadcast(values)
    convert: Callable[[Any], Any] = float
    carrier: Carrier = FLOATS
    if any(isinstance(value, Fraction) for value in given) and all(
        isinstance(value, Fraction | int) for value in given
    ):
        carrier, convert = FRACTIONS, Fraction
    return carrier, {atom: convert(value) for atom, value in values.items()}


def _check(atom: Atom, value: Any) -> None:
    wrong: Any
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        outside = value[~((value >= 0) & (value <= 1))]  # this finds NaN as well
        wrong = outside.flat[0] if outside.size else None
    elif isinstance(value, numbers.Real | np.bool_):
        degree: Any = value
        wrong = None if 0 <= degree <= 1 else degree
    else:
        found = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
        raise DegreeError(
            f"`{atom}`: expected a number, a Fraction or a NumPy array of numbers, got {found}"
        )
    if wrong is not None:
        raise DegreeError(f"`{atom}`: a degree of truth is in [0, 1], got {_shown(wrong)}")


def _shown(number: Any) -> str:
    try:
        return f"{float(number)!r}"
    except OverflowError:
        return "a number too large for a float"


def _broadcast(values: Mapping[Atom, Any]) -> Mapping[Atom, Any]:
    arrays = {atom: np.asarray(value, dtype=np.float64) for atom, value in values.items()}
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"`{atom}` {array.shape}" for atom, array in arrays.items())
        raise DegreeError(f"the shapes of these degrees do not broadcast: {shapes}") from None
    return arrays
