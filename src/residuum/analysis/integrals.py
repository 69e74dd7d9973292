"""Consistency: the integral of a relaxed formula over the unit cube of its atoms."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Final

import numpy as np

from residuum.analysis.antiderivatives import integrate_in_closed_form
from residuum.analysis.bounds.boxes import enclose
from residuum.analysis.cache import find_entry
from residuum.analysis.closed_forms import ClosedForm, constant
from residuum.analysis.giving_up import NotThisWay
from residuum.analysis.laws import rewrite
from residuum.analysis.moments import integrate_by_moments
from residuum.analysis.orderings import integrate_by_orderings
from residuum.analysis.polynomials import integrate_polynomial
from residuum.analysis.results import Consistency, Kind, exact_bounds
from residuum.analysis.sampling import estimate, refuse_seed
from residuum.analysis.simplices import integrate_piecewise_linear
from residuum.analysis.three_valued import integrate_three_valued
from residuum.analysis.uniform_parts import mixture
from residuum.errors import EvaluationError
from residuum.logic import Atom, Formula, Iff, Truth, atoms_of, distinct_nodes, quantifiers_of
from residuum.logic.boolean import refuse_guard
from residuum.relaxations import Relaxation, is_built_in
from residuum.relaxations import relaxation as find_relaxation
from residuum.syntax import as_formula

ExactMethod = Callable[[Formula, Sequence[Atom], Relaxation], Fraction | ClosedForm]

EXACT_METHODS: Final[Mapping[str, ExactMethod]] = {
    "moments": integrate_by_moments,
    "three-valued": integrate_three_valued,
    "orderings": integrate_by_orderings,
    "polynomial": integrate_polynomial,
    "simplices": integrate_piecewise_linear,
    "antiderivative": integrate_in_closed_form,
}
BY_MODULES: Final = frozenset({"moments", "three-valued", "orderings"})
METHODS: Final = (*EXACT_METHODS, "boxes", "sobol")

NARROWEST: Final = 1e-8
"""Certified bounds are not narrowed beyond this."""

USEFUL: Final = 1e-2
"""Wider certified bounds say less than a sample, and are given only to those who ask for them."""


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

    For a tautology this is its consistency: 1 where the relaxation preserves its truth. It is
    exact for polynomial and piecewise linear logics, and for rational ones, such as `r-product`,
    where a closed form can be derived. Otherwise, up to eight atoms of a rational logic, it is
    certified: its bounds provably hold and are as narrow as `seconds` allow. For others, where
    exact arithmetic would take too much, or where the bounds would stay wider than 0.01, it is an
    estimate whose 99.9% interval is narrowed to ± `tolerance` if a million points can do that.
    `method` forces one of METHODS. What took long is kept on disk for the next time, unless
    `cache` is False.

    >>> consistency("P -> (Q -> P)", "s-godel").exact
    Fraction(19, 24)
    """
    chosen = find_relaxation(relaxation)
    given = as_formula(formula)
    asked = {"method": method, "tolerance": tolerance, "seed": seed}
    entry = find_entry(given, chosen, asked, seconds=seconds) if cache else None
    known = None if entry is None else entry.read(narrowest=NARROWEST)
    if known is not None:
        return known
    result = _integrate(given, chosen, method, tolerance, seconds, seed)
    if entry is not None:
        entry.write(result)
    return result


def _integrate(
    given: Formula,
    chosen: Relaxation,
    method: str | None,
    tolerance: float,
    seconds: float,
    seed: int,
) -> Consistency:
    started = time.perf_counter()
    if method is not None and method not in METHODS:
        raise EvaluationError(f"expected a method among {', '.join(METHODS)}, got {method!r}")
    refuse_seed(seed)
    refuse_what_has_no_cube(given)
    has_constants = any(isinstance(node, Truth) for node in distinct_nodes(given))
    subject = given
    # In an S-logic rewriting gains nothing but the end of constants, and breaks modules up.
    if has_constants or (chosen.kind != "S" and method is None):
        subject = rewrite(given, residuated=chosen.kind != "S")
    if isinstance(subject, Truth):
        return _exact(Fraction(subject.value), "laws", started)
    atoms = atoms_of(subject)
    reasons: list[str] = []
    bounds = None
    # Rewriting makes chains flat, but where it merges conjunctions it may break up a module.
    forms = [subject] if has_constants else list(dict.fromkeys((subject, given)))
    for name in [method] if method else METHODS:
        try:
            if name in EXACT_METHODS:
                tried = forms if name in BY_MODULES else [subject]
                return _exact(_exactly(name, tried, chosen), name, started)
            if name == "boxes" and method is None:
                whole = _by_parts(forms[-1], chosen, tolerance, seconds, seed)
                if whole is not None:
                    return whole
                seconds = max(0.0, seconds - (time.perf_counter() - started))
            if name == "boxes":
                useful = USEFUL if method is None else 1.0
                found = enclose(
                    subject, atoms, chosen, width=NARROWEST, seconds=seconds, useful=useful
                )
                if isinstance(found, Fraction):
                    return _exact(found, name, started)
                bounds = found
        except NotThisWay as reason:
            reasons.append(f"{name}: {reason}")
    if method not in (None, "sobol") and bounds is None:
        raise EvaluationError(f"`{chosen}` cannot be integrated that way; {reasons[0]}")
    low, high = bounds or (0.0, 1.0)
    if bounds is not None and high - low <= tolerance:
        return _inexact("boxes", (low + high) / 2, low, high, started, reasons)
    mean, half_width = estimate(subject, atoms, chosen, tolerance=tolerance, seed=seed)
    # Bounds are certain, whatever the sample says.
    value, lower, upper = np.clip((mean, mean - half_width, mean + half_width), low, high).tolist()
    if bounds is not None and (method == "boxes" or high - low <= USEFUL):
        return _inexact("boxes", value, low, high, started, reasons)
    if bounds is not None:
        reasons.append(f"boxes: its certified bounds are wider than {USEFUL:g}")
    return _inexact("sobol", value, lower, upper, started, reasons)


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
    """Return the consistency of F <-> F: how far a formula implies itself.

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


def _exactly(
    method: str, forms: Sequence[Formula], relaxation: Relaxation
) -> Fraction | ClosedForm:
    """Return the value by an exact method, on the first of equal formulas that allows it."""
    *others, last = forms
    for form in others:
        with suppress(NotThisWay):
            return EXACT_METHODS[method](form, atoms_of(form), relaxation)
    return EXACT_METHODS[method](last, atoms_of(last), relaxation)


def _exact(value: Fraction | ClosedForm, method: str, started: float) -> Consistency:
    bounds = exact_bounds(value)
    seconds = time.perf_counter() - started
    return Consistency(float(value), "exact", value, *bounds, method, seconds)


def _by_parts(
    formula: Formula, relaxation: Relaxation, tolerance: float, seconds: float, seed: int
) -> Consistency | None:
    """Return the mean of a formula that is a mixture of simpler ones, if that of each is certain.

    The method is that of the one which is known least well.
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
        if isinstance(found.exact, Fraction):  # of which `low` and `high` are rounded
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
    kind: Kind = "certified" if method == "boxes" else "estimate"
    spent = time.perf_counter() - started
    return Consistency(value, kind, None, low, high, method, spent, note="; ".join(reasons))


def refuse_what_has_no_cube(formula: Formula) -> None:
    """Raise for what has no degrees to draw: a guard, or a quantifier not spelt out."""
    refuse_guard(formula)
    for quantifier in quantifiers_of(formula):
        domain = quantifier.bindings[0].domain
        raise EvaluationError(
            f"a formula over domain `{domain}` has an integral only once its members are known; "
            f"spell it out first: rs.expand(formula, {{{domain!r}: 3}})"
        )
