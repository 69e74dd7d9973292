"""Gradients of formulas: how often they vanish, how large they are, and which side they move.

A violated formula with a gradient of zero is never repaired, however much truth its relaxation
preserves. Derivatives are exact: dual numbers differentiate forward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from residuum.analysis.consistency import refuse_seed, refuse_what_has_no_cube
from residuum.errors import DegreeError
from residuum.logic import Atom, Formula, Implies, atoms_of
from residuum.logic.boolean import values_by_atom
from residuum.relaxations import Degree, Relaxation, interpret
from residuum.relaxations import relaxation as find_relaxation
from residuum.relaxations.arrays import ARRAYS, Array
from residuum.relaxations.carriers import Exact
from residuum.syntax import as_formula

POINTS = 2**14
"""The number of random points, unless the user gives another."""


@dataclass(frozen=True)
class Gradients:
    """The gradients of a formula at a sample of degrees.

    A point *violates* the formula if the formula is false for the degrees rounded at ½. `violated`
    is the share of such points. `stuck` is the share of violating points whose gradient is exactly
    zero with respect to the degrees, and `stuck_logits` with respect to their logits. `mean_size`
    is the mean Euclidean length of the finite gradients with respect to the degrees. For an
    implication between formulas with atoms, `raising` is the share of the gradient at violating
    points that raises the consequent; the rest lowers the antecedent.
    """

    points: int
    violated: float
    stuck: float | None
    stuck_logits: float | None
    mean_size: float
    raising: float | None


def gradients(
    formula: str | Formula,
    relaxation: str | Relaxation,
    degrees: Mapping[str, Any] | Mapping[Atom, Any] | None = None,
    *,
    points: int = POINTS,
    seed: int = 0,
) -> Gradients:
    """Return the gradients of a formula at given degrees, an array for each atom, or random ones.

    >>> gradients("P -> Q", "r-godel").raising
    1.0
    """
    read, chosen = as_formula(formula), find_relaxation(relaxation)
    refuse_seed(seed)
    refuse_what_has_no_cube(read)
    atoms = atoms_of(read)
    if not atoms or points < 1:
        raise DegreeError(
            f"expected a formula with atoms and at least one point, got {len(atoms)} atoms and "
            f"{points} points; add atoms, or ask for more points"
        )
    sample = _uniform(atoms, points, seed) if degrees is None else _given(read, degrees)
    gradient = gradient_at(read, atoms, chosen, sample)
    violated = _crisp(read, chosen, sample) == 0
    with np.errstate(invalid="ignore"):  # infinite derivatives at saturated degrees
        at_logits = gradient * sample * (1 - sample)
    sizes = np.sqrt((gradient**2).sum(axis=0))
    return Gradients(
        points=sample.shape[1],
        violated=float(violated.mean()),
        stuck=_share(~gradient.any(axis=0), violated),
        stuck_logits=_share(~at_logits.any(axis=0), violated),
        mean_size=float(sizes[np.isfinite(sizes)].mean()) if np.isfinite(sizes).any() else 0.0,
        raising=_raising(read, atoms, chosen, sample, violated),
    )


def _uniform(atoms: Sequence[Atom], points: int, seed: int) -> Array:
    return np.random.default_rng(seed).random((len(atoms), points))


def _given(formula: Formula, degrees: Mapping[Any, Any]) -> Array:
    values = values_by_atom(formula, degrees)
    try:
        rows = [np.atleast_1d(np.asarray(value, float)) for value in values.values()]
        arrays = np.broadcast_arrays(*rows)
    except (TypeError, ValueError) as error:
        raise DegreeError(
            f"expected arrays of degrees that broadcast, got others ({error}); give one number or "
            "one array of the same shape for each atom"
        ) from None
    sample = np.stack([array.ravel() for array in arrays])
    if not sample.size or not np.all((sample >= 0) & (sample <= 1)):
        raise DegreeError(
            "expected one point or more with degrees in [0, 1], got none or others; correct the "
            "arrays"
        )
    return sample


def _share(which: Any, among: Any) -> float | None:
    return float(which[among].mean()) if among.any() else None


def _crisp(formula: Formula, relaxation: Relaxation, sample: Array) -> Array:
    # Every relaxation agrees with Boolean logic on 0 and 1.
    return _values(formula, relaxation, (sample > 0.5).astype(float))


def _values(formula: Formula, relaxation: Relaxation, sample: Array) -> Array:
    known = {
        atom: Degree(ARRAYS, true=row) for atom, row in zip(atoms_of(formula), sample, strict=True)
    }
    degree = interpret(formula, known, relaxation, ARRAYS).true
    return np.broadcast_to(degree, sample.shape[1])


def gradient_at(
    formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation, sample: Array
) -> Array:
    """Return the derivatives: a row for each atom, a column for each point of the sample."""
    on = _Duals()
    directions = np.eye(len(atoms))[:, :, None]
    known = {
        atom: Degree(on, true=_Dual(sample[i], np.broadcast_to(directions[i], sample.shape)))
        for i, atom in enumerate(atoms)
    }
    result = _dual(interpret(formula, known, relaxation, on).true)
    return np.broadcast_to(result.derivative, sample.shape)


def _raising(
    formula: Formula,
    atoms: Sequence[Atom],
    relaxation: Relaxation,
    sample: Array,
    violated: Array,
) -> float | None:
    if not isinstance(formula, Implies) or not violated.any():
        return None
    if not (atoms_of(formula.antecedent) and atoms_of(formula.consequent)):
        return None
    sides = []
    for side in (formula.antecedent, formula.consequent):
        rows = [atoms.index(atom) for atom in atoms_of(side)]
        sides.append(_values(side, relaxation, sample[rows][:, violated]))
    antecedent, consequent = Atom("antecedent"), Atom("consequent")
    gradient = gradient_at(
        Implies(antecedent, consequent), (antecedent, consequent), relaxation, np.stack(sides)
    )
    finite = np.isfinite(gradient).all(axis=0)
    lowering, raising = np.abs(gradient[:, finite]).sum(axis=1)
    return float(raising / (lowering + raising)) if lowering + raising else None


@final
class _Dual:
    """Values and their derivatives: arrays of shape (points,) and (atoms, points)."""

    __slots__ = ("derivative", "value")
    __array_priority__ = 1000  # so that array + dual calls the dual

    def __init__(self, value: Any, derivative: Any) -> None:
        self.value = value
        self.derivative = derivative

    def __add__(self, other: Any) -> _Dual:
        other = _dual(other)
        return _Dual(self.value + other.value, self.derivative + other.derivative)

    __radd__ = __add__

    def __neg__(self) -> _Dual:
        return _Dual(-self.value, -self.derivative)

    def __sub__(self, other: Any) -> _Dual:
        negated: _Dual = -_dual(other)
        return self + negated

    def __rsub__(self, other: Any) -> _Dual:
        return _dual(other) + -self

    def __mul__(self, other: Any) -> _Dual:
        other = _dual(other)
        derivative = self.derivative * other.value + self.value * other.derivative
        return _Dual(self.value * other.value, derivative)

    __rmul__ = __mul__


def _dual(number: Any) -> _Dual:
    return number if isinstance(number, _Dual) else _Dual(number, 0.0)


def _times(derivative: Any, factor: Any) -> Any:
    """Return a derivative times a factor that may be infinite. A derivative of 0 stays 0."""
    return np.where(derivative == 0, 0.0, derivative * factor)


@final
class _Duals:
    """Dual numbers as a carrier. At a tie `choose` takes the derivative of its first branch."""

    def constant(self, value: Exact) -> float:
        return float(value)

    def minimum(self, x: Any, y: Any) -> _Dual:
        return self.choose(x, y, x, y)

    def maximum(self, x: Any, y: Any) -> _Dual:
        return self.choose(x, y, y, x)

    def excess(self, x: Any, y: Any) -> _Dual:
        return self.choose(x, y, 0.0, _dual(x) - y)

    def choose(self, x: Any, y: Any, then: Any, otherwise: Any) -> _Dual:
        picked = np.less_equal(_dual(x).value, _dual(y).value)
        then, otherwise = _dual(then), _dual(otherwise)
        return _Dual(
            np.where(picked, then.value, otherwise.value),
            np.where(picked, then.derivative, otherwise.derivative),
        )

    def ratio(self, x: Any, y: Any, at_zero: Exact) -> _Dual:
        x, y = _dual(x), _dual(y)
        zero = np.equal(y.value, 0)
        below = np.where(zero, 1.0, y.value)
        value = np.where(zero, float(at_zero), x.value / below)
        derivative = np.where(zero, 0.0, (x.derivative - value * y.derivative) / below)
        return _Dual(value, derivative)

    def power(self, x: Any, exponent: Exact) -> _Dual:
        x, p = _dual(x), float(exponent)
        return _Dual(np.power(x.value, p), _times(x.derivative, p * np.power(x.value, p - 1)))

    def log(self, x: Any) -> _Dual:
        x = _dual(x)
        return _Dual(np.log(x.value), _times(x.derivative, 1 / x.value))

    def log1p(self, x: Any) -> _Dual:
        x = _dual(x)
        return _Dual(np.log1p(x.value), _times(x.derivative, 1 / (1 + x.value)))

    def exp(self, x: Any) -> _Dual:
        x = _dual(x)
        value = np.exp(x.value)
        # The derivative of exp(−inf) is 0, even if that of its argument is infinite.
        return _Dual(value, np.where(value == 0, 0.0, value * x.derivative))

    def expm1(self, x: Any) -> _Dual:
        x = _dual(x)
        return _Dual(np.expm1(x.value), np.exp(x.value) * x.derivative)
