"""`residuum consistency` and `residuum self-consistency`: mean degrees over the unit cube."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import partial
from typing import Annotated, Any

import typer

from residuum.analysis import Consistency
from residuum.analysis import consistency as consistency_of
from residuum.analysis import self_consistency as self_consistency_of
from residuum.analysis.results import in_full
from residuum.cli.errors import warn
from residuum.cli.inputs import (
    AsJson,
    NoCache,
    RelaxationNames,
    read_formula,
    read_relaxations,
)
from residuum.cli.outputs import print_json, say
from residuum.cli.progress import with_progress
from residuum.logic import Formula, is_tautology
from residuum.relaxations import Relaxation

Formulas = Annotated[
    list[str],
    typer.Argument(metavar="FORMULA", help="One formula or more; '-' reads standard input."),
]
Digits = Annotated[
    int,
    typer.Option(
        "--digits",
        min=1,
        max=1000,
        help="Significant digits of exact values. Bounds have at most as many as are certain.",
    ),
]


def consistency(
    formulas: Formulas,
    relaxation: RelaxationNames = None,
    digits: Digits = 6,
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> None:
    """Compute the mean degree of formulas over all degrees of their atoms: 1 if truth is preserved.

    \b
    residuum consistency "P -> (Q -> P)"
    residuum consistency "P | ~P" "P & Q -> P" -r s-godel --json
    residuum consistency "P -> (Q -> P)" -r s-godel --digits 50
    """
    measure = partial(consistency_of, cache=not no_cache)
    _print_results(measure, formulas, relaxation, digits, as_json, wants_tautologies=True)


def self_consistency(
    formulas: Formulas,
    relaxation: RelaxationNames = None,
    digits: Digits = 6,
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> None:
    """Compute the mean degree of F <-> F for each formula F.

    \b
    residuum self-consistency "P & Q"
    """
    measure = partial(self_consistency_of, cache=not no_cache)
    _print_results(measure, formulas, relaxation, digits, as_json, wants_tautologies=False)


def _print_results(
    measure: Callable[..., Consistency],
    formulas: list[str],
    names: list[str] | None,
    digits: int,
    as_json: bool,
    *,
    wants_tautologies: bool,
) -> None:
    chosen = read_relaxations(names)
    width = max(len(one.name) for one in chosen)
    read = [read_formula(text) for text in formulas]
    count = len(read) * len(chosen)
    measured = (measure(formula, one) for formula in read for one in chosen)
    results = with_progress(measured, count, "integrating")
    found: list[tuple[Formula, Relaxation, Consistency]] = []
    try:
        for formula in read:
            if not as_json:
                say(str(formula))
                if wants_tautologies and is_tautology(formula).answer is False:
                    say("  not a tautology: these are mean degrees")
            for one, result in zip(chosen, results, strict=False):
                found.append((formula, one, result))
                if not as_json:
                    say(f"  {one.name:<{width}}  {consistency_in_words(result, digits)}")
    except KeyboardInterrupt:
        if as_json:
            print_json([_result_object(*one) for one in found])
        warn(f"interrupted after {len(found)} of {count} results")
        raise
    if as_json:
        print_json([_result_object(*one) for one in found])


def consistency_in_words(result: Consistency, digits: int) -> str:
    """Return the decimals of a result with its exact value, or with its bounds."""
    decimal = result.decimal(digits)
    if result.exact is None:
        low, high = _outwards(result.low, digits, -1), _outwards(result.high, digits, 1)
        return f"{decimal}, between {low} and {high} ({result.kind})"
    whole = in_full(result.exact)
    return f"{decimal} = {whole}" if decimal != whole and len(whole) < 60 else decimal


def _outwards(bound: float, digits: int, direction: int) -> str:
    """Return a bound with this many decimals, rounded away from the value."""
    rounding = ROUND_CEILING if direction > 0 else ROUND_FLOOR
    decimals = min(digits, 17)  # a bound is a double
    return str(Decimal(bound).quantize(Decimal(1).scaleb(-decimals), rounding=rounding))


def _result_object(formula: Formula, relaxation: Relaxation, result: Consistency) -> dict[str, Any]:
    return {
        "formula": str(formula),
        "relaxation": relaxation.name,
        "value": result.value,
        "kind": result.kind,
        "exact": None if result.exact is None else in_full(result.exact),
        "recognised": result.recognised,
        "low": result.low,
        "high": result.high,
        "method": result.method,
        "seconds": result.seconds,
    }
