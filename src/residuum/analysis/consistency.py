"""Consistency: the integral of a relaxed formula over the unit cube of its atoms.

`LADDER` lists the exact methods in the order in which they are tried. Certified bounds ("boxes")
and then an estimate ("sobol") follow.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from residuum.analysis import bounds as certified
from residuum.analysis import closed_forms, exact
from residuum.analysis.cache import find_cache_file
from residuum.analysis.cases.mixtures import mixture
from residuum.analysis.closed_forms.numbers import ClosedForm, constant
from residuum.analysis.laws import rewrite
from residuum.analysis.methods import ExactMethod, Fragment, NotThisWay
from residuum.analysis.results import Consistency, ResultKind, exact_bounds
from residuum.analysis.sampling import estimate
from residuum.errors import EvaluationError
from residuum.logic import (
    And,
    Atom,
    Formula,
    Iff,
    Implies,
    Or,
    Truth,
    atoms_of,
    distinct_nodes,
    quantifiers_of,
)
from residuum.logic.questions import refuse_comparisons
from residuum.relaxations import Relaxation, is_built_in
from residuum.relaxations import relaxation as find_relaxation
from residuum.relaxations.drastic import Drastic
from residuum.relaxations.lukasiewicz import Lukasiewicz
from residuum.relaxations.minimum import Minimum
from residuum.relaxations.nilpotent_minimum import NilpotentMinimum
from residuum.relaxations.product import Product
from residuum.syntax import as_formula

_ORDERED: Final = (Minimum, NilpotentMinimum, Drastic)
"""T-norms that only compare degrees."""

LADDER: Final = (
    ExactMethod(
        "moments",
        lambda *given: exact.moments.integrate_by_moments(*given),
        only=Fragment((Product,), ("S",)),
        outside="it is not the S-logic of the product",
        needs_modules=True,
    ),
    ExactMethod(
        "three-valued",
        lambda *given: exact.three_valued.integrate_three_valued(*given),
        only=Fragment((Minimum,), ("S",)),
        outside="it is not the S-logic of the minimum",
        needs_modules=True,
    ),
    ExactMethod(
        "orderings",
        lambda *given: exact.orderings.integrate_by_orderings(*given),
        only=Fragment(_ORDERED),
        outside="its truth functions do more than compare degrees",
        needs_modules=True,
    ),
    ExactMethod(
        "polynomial",
        lambda *given: exact.polynomials.integrate_polynomial(*given),
        never=(
            Fragment((*_ORDERED, Lukasiewicz), connectives=(And, Or, Implies, Iff)),
            Fragment((Product,), ("R",), connectives=(Implies, Iff)),
        ),
    ),
    ExactMethod(
        "simplices",
        lambda *given: exact.simplices.integrate_piecewise_linear(*given),
        never=(Fragment((Product,)),),
        most_atoms=6,  # the cube of n atoms starts as n! simplices
    ),
    ExactMethod(
        "antiderivative",
        lambda *given: closed_forms.antiderivatives.integrate_in_closed_form(*given),
        most_atoms=2,
    ),
)
"""The exact methods, what each is meant for, and the function that loads when it is tried."""

METHODS: Final = (*(method.name for method in LADDER), "boxes", "sobol")

NARROWEST: Final = 1e-8
"""The width at which certified bounds are narrow enough."""

USEFUL: Final = 1e-2
"""The width beyond which certified bounds are returned only for `method="boxes"`.

An estimate says more than wider bounds.
"""


def consistency(
    formula: str | Formula,
    relaxation: str | Relaxation,
    *,
    method: str | None = None,
    tolerance: float = 1e-4,
    seconds: float = 60.0,
    seed: int = 0,
    cache: bool = True,
) -> Consistency:
    """Return the mean degree of a formula over uniformly drawn degrees of its atoms.

    For a tautology this is its consistency: 1 if the relaxation preserves its truth. The value is
    exact for polynomial and piecewise linear logics, and for formulas of rational logics such as
    `r-product` for which a closed form is found. Other formulas of a rational logic, up to eight
    atoms, get certified bounds. These do not depend on the speed of the machine, unless `seconds`
    ends the work early.

    All other values, and those with bounds wider than 0.01, are estimates with
    a 99.9% interval, narrowed to ± `tolerance` if a million points can do that. `method` forces one
    of METHODS. A value that took long is kept on disk, unless `cache` is False.

    >>> consistency("P -> (Q -> P)", "s-godel").exact
    Fraction(19, 24)
    """
    chosen = find_relaxation(relaxation)
    given = as_formula(formula)
    asked = {"method": method, "tolerance": tolerance, "seed": seed}
    file = find_cache_file(given, chosen, asked, seconds=seconds) if cache else None
    known = None if file is None else file.read(narrowest=NARROWEST)
    if known is not None:
        return known
    result = _integrate(given, chosen, method, tolerance, seconds, seed)
    if file is not None:
        file.write(result)
    return result


def self_consistency(
    formula: str | Formula,
    relaxation: str | Relaxation,
    *,
    method: str | None = None,
    tolerance: float = 1e-4,
    seconds: float = 60.0,
    seed: int = 0,
    cache: bool = True,
) -> Consistency:
    """Return the consistency of F <-> F for a formula F.

    >>> self_consistency("P & Q", "s-product").exact
    Fraction(449, 600)
    """
    read = as_formula(formula)
    return consistency(
        Iff(read, read),
        relaxation,
        method=method,
        tolerance=tolerance,
        seconds=seconds,
        seed=seed,
        cache=cache,
    )


def _integrate(
    given: Formula,
    chosen: Relaxation,
    method: str | None,
    tolerance: float,
    seconds: float,
    seed: int,
) -> Consistency:
    """Return the value by the first method that applies, or by the method of this name."""
    started = time.perf_counter()
    if method is not None and method not in METHODS:
        raise EvaluationError(
            f"expected a method among {', '.join(METHODS)}, got {method!r}; leave it out to use "
            "the best one"
        )
    refuse_seed(seed)
    refuse_what_has_no_cube(given)
    forms = _equal_forms(given, chosen, method)
    subject, reasons = forms[0], list[str]()
    if isinstance(subject, Truth):
        return _exact(Fraction(subject.value), "laws", started)
    with_atoms = [(form, atoms_of(form)) for form in forms]
    for rung in LADDER:
        if method is None or method == rung.name:
            value = _exactly(rung, with_atoms, chosen, reasons, is_asked_for=method is not None)
            if value is not None:
                return _exact(value, rung.name, started)
    bounds = None
    if method is None:
        whole = _by_parts(forms[-1], chosen, tolerance, seconds, seed)
        if whole is not None:
            return whole
    if method in (None, "boxes"):
        left = max(0.0, seconds - (time.perf_counter() - started))
        useful = USEFUL if method is None else 1.0
        try:
            found = certified.boxes.enclose(
                subject, atoms_of(subject), chosen, width=NARROWEST, seconds=left, useful=useful
            )
        except NotThisWay as reason:
            reasons.append(f"boxes: {reason}")
        else:
            if isinstance(found, Fraction):
                return _exact(found, "boxes", started)
            bounds = found
    if method not in (None, "sobol") and bounds is None:
        raise EvaluationError(
            f"expected a method that applies to this formula under `{chosen}`, but {reasons[0]}; "
            "leave out the method to use the best one"
        )
    return _inexactly(subject, chosen, bounds, method, tolerance, seed, reasons, started)


def _equal_forms(given: Formula, relaxation: Relaxation, method: str | None) -> list[Formula]:
    """Return formulas of the same degree: rewritten by laws, and as given if it has no constants.

    Rewriting flattens chains, but may break up a module by merging conjunctions. In an S-logic it
    only serves to remove constants.
    """
    has_constants = any(isinstance(node, Truth) for node in distinct_nodes(given))
    is_residuated = relaxation.kind != "S"
    if not has_constants and (not is_residuated or method is not None):
        return [given]
    rewritten = rewrite(given, residuated=is_residuated)
    return [rewritten] if has_constants else list(dict.fromkeys((rewritten, given)))


def _exactly(
    method: ExactMethod,
    forms: Sequence[tuple[Formula, Sequence[Atom]]],
    relaxation: Relaxation,
    reasons: list[str],
    *,
    is_asked_for: bool,
) -> Fraction | ClosedForm | None:
    """Return the value by an exact method, or None; the reason is then added to `reasons`."""
    reason = None
    for form, atoms in forms if method.needs_modules else forms[:1]:
        if is_asked_for or method.is_meant_for(form, atoms, relaxation):
            try:
                return method.mean(form, atoms, relaxation)
            except NotThisWay as refusal:
                reason = refusal
    if reason is not None:
        reasons.append(f"{method.name}: {reason}")
    return None


def _inexactly(
    subject: Formula,
    chosen: Relaxation,
    bounds: tuple[float, float] | None,
    method: str | None,
    tolerance: float,
    seed: int,
    reasons: list[str],
    started: float,
) -> Consistency:
    """Return certified bounds if they are useful or the user named them, else an estimate."""
    low, high = bounds or (0.0, 1.0)
    if bounds is not None and high - low <= tolerance:
        return _inexact("boxes", (low + high) / 2, low, high, started, reasons)
    mean, half_width = estimate(subject, atoms_of(subject), chosen, tolerance=tolerance, seed=seed)
    # The estimate is moved into the bounds, which are certain.
    value, lower, upper = np.clip((mean, mean - half_width, mean + half_width), low, high).tolist()
    if bounds is not None and (method == "boxes" or high - low <= USEFUL):
        return _inexact("boxes", value, low, high, started, reasons)
    if bounds is not None:
        reasons.append(f"boxes: its certified bounds are wider than {USEFUL:g}")
    return _inexact("sobol", value, lower, upper, started, reasons)


def _exact(value: Fraction | ClosedForm, method: str, started: float) -> Consistency:
    bounds = exact_bounds(value)
    seconds = time.perf_counter() - started
    return Consistency(float(value), "exact", value, *bounds, method, seconds)


def _by_parts(
    formula: Formula, relaxation: Relaxation, tolerance: float, seconds: float, seed: int
) -> Consistency | None:
    """Return the mean of a formula that is a mixture of simpler ones, or None.

    It is None unless the mean of each of them is exact or certified. The result names the method of
    the one with the widest bounds.
    """
    started = time.perf_counter()
    if relaxation.name != "r-product" or not is_built_in(relaxation):
        return None
    weights = mixture(formula)
    if formula in weights:
        return None
    total, low, high = ClosedForm(), Fraction(0), Fraction(0)
    hardest = None
    for place, (part, weight) in enumerate(weights.items()):
        left = max(0.0, seconds - (time.perf_counter() - started))
        found = _integrate(part, relaxation, None, tolerance, left / (len(weights) - place), seed)
        if found.kind == "estimate":
            return None
        total = total + constant(weight) * (found.exact or 0)
        lower, upper = map(Fraction, (found.low, found.high))
        if isinstance(found.exact, Fraction):  # `low` and `high` are rounded
            lower = upper = found.exact
        low, high = low + weight * lower, high + weight * upper
        if hardest is None or _doubt(found) > _doubt(hardest):
            hardest = found
    assert hardest is not None
    if hardest.kind == "exact":
        rational = total.rational
        return _exact(total if rational is None else rational, hardest.method, started)
    bounds = (
        max(0.0, math.nextafter(float(low), -math.inf)),
        min(1.0, math.nextafter(float(high), math.inf)),
    )
    return _inexact("boxes", sum(bounds) / 2, *bounds, started, [hardest.note])


def _doubt(result: Consistency) -> tuple[bool, float, float]:
    return result.kind != "exact", result.high - result.low, result.seconds


def _inexact(
    method: str, value: float, low: float, high: float, started: float, reasons: Sequence[str]
) -> Consistency:
    kind: ResultKind = "certified" if method == "boxes" else "estimate"
    spent = time.perf_counter() - started
    return Consistency(value, kind, None, low, high, method, spent, note="; ".join(reasons))


def refuse_what_has_no_cube(formula: Formula) -> None:
    """Raise for a formula with quantifiers or comparisons, which has no unit cube of atoms."""
    for quantifier in quantifiers_of(formula):
        domain = quantifier.bindings[0].domain
        raise EvaluationError(
            f"expected a formula without quantifiers, got one over domain `{domain}`; write it out "
            f"first: rs.expand(formula, {{{domain!r}: 3}})"
        )
    refuse_comparisons(formula)


def refuse_seed(seed: object) -> None:
    """Raise for a value that cannot seed a random generator."""
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise EvaluationError(
            f"expected a seed that is an integer and not negative, got {seed!r}; use 0, 1, 2, …"
        )
