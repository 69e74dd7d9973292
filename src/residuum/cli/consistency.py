"""`residuum consistency` and `residuum self-consistency`."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Annotated, Any

import typer

from residuum.analysis import Consistency
from residuum.analysis import consistency as consistency_of
from residuum.analysis import self_consistency as self_consistency_of
from residuum.cli.inputs import AsJson, RelaxationNames, read_formula, read_relaxations
from residuum.cli.outputs import print_json
from residuum.logic import is_tautology

Formulas = Annotated[
    list[str],
    typer.Argument(metavar="FORMULA", help="One formula or more; '-' reads standard input."),
]
Digits = Annotated[
    int, typer.Option("--digits", min=1, max=17, help="Significant digits of decimals.")
]


def consistency(
    formulas: Formulas,
    relaxation: RelaxationNames = None,
    digits: Digits = 6,
    as_json: AsJson = False,
) -> None:
    """Integrate formulas over the unit cube of their atoms: 1 where truth is preserved.

    \b
    residuum consistency "P -> (Q -> P)"
    residuum consistency "P | ~P" "P & Q -> P" -r s-godel --json
    """
    _report(consistency_of, formulas, relaxation, digits, as_json, wants_tautologies=True)


def self_consistency(
    formulas: Formulas,
    relaxation: RelaxationNames = None,
    digits: Digits = 6,
    as_json: AsJson = False,
) -> None:
    """Integrate F <-> F for formulas F: how far they imply themselves.

    \b
    residuum self-consistency "P & Q"
    """
    _report(self_consistency_of, formulas, relaxation, digits, as_json, wants_tautologies=False)


def _report(
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
    objects = []
    for formula in read:
        if not as_json:
            typer.echo(formula)
            if wants_tautologies and is_tautology(formula).answer is False:
                typer.echo("  not a tautology: these are mean degrees")
        for one in chosen:
            result = measure(formula, one)
            if as_json:
                objects.append(_object(str(formula), one.name, result))
            else:
                typer.echo(f"  {one.name:<{width}}  {shown(result, digits)}")
    if as_json:
        print_json(objects)


def shown(result: Consistency, digits: int) -> str:
    """Return a result in words: the fraction and its decimals, or the interval."""
    decimal = f"{result.value:.{digits}g}"
    if result.exact is None:
        low, high = _outwards(result.low, digits, -1), _outwards(result.high, digits, 1)
        return f"{decimal}, between {low} and {high} ({result.kind})"
    whole = str(result.exact)
    return f"{decimal} = {whole}" if "/" in whole and len(whole) < 60 else decimal


def _outwards(bound: float, digits: int, direction: int) -> str:
    """Return a bound with so many decimals, rounded away from the value."""
    rounding = ROUND_CEILING if direction > 0 else ROUND_FLOOR
    return str(Decimal(bound).quantize(Decimal(1).scaleb(-digits), rounding=rounding))


def _object(formula: str, relaxation: str, result: Consistency) -> dict[str, Any]:
    return {
        "formula": formula,
        "relaxation": relaxation,
        "value": result.value,
        "kind": result.kind,
        "exact": None if result.exact is None else str(result.exact),
        "recognised": result.recognised,
        "low": result.low,
        "high": result.high,
        "method": result.method,
        "seconds": result.seconds,
    }
