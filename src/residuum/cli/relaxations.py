"""`residuum relaxations`: the list of relaxations, and all about one of them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from residuum.cli.inputs import AsJson
from residuum.cli.outputs import print_json, print_pairs, print_table, say
from residuum.relaxations import Relaxation, parameter_of, relaxation, relaxation_names


def relaxations(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Describe these relaxations in full. Without a name: list all."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the relaxations, or describe some of them in full.

    \b
    residuum relaxations
    residuum relaxations r-product "s-hamacher(1/2)"
    """
    chosen = [relaxation(name) for name in names or relaxation_names()]
    if as_json:
        print_json([_described(one) for one in chosen])
    elif names:
        for number, one in enumerate(chosen):
            if number:
                say()
            print_pairs(_in_full(one))
    else:
        heads = ("name", "parameter", "t-norm", "has jumps", "P1")
        print_table(heads, map(_list_row, chosen))
        say("P1: every connective is sub-differentiable inside the unit cube.")
        say("For formulas, penalty, LaTeX and jumps: residuum relaxations NAME")


def _described(one: Relaxation) -> dict[str, Any]:
    parameter = parameter_of(one.name)
    return {
        "name": one.name,
        "kind": one.kind,
        "structure": one.structure,
        "parameter": parameter and {"symbol": parameter.symbol, "range": parameter.range},
        "parameters": {symbol: float(value) for symbol, value in one.parameters.items()},
        "expressions": dict(one.expressions),
        "latex": dict(one.latex),
        "discontinuities": dict(one.discontinuities),
        "subdifferentiable": dict(one.is_subdifferentiable),
        "source": one.source,
    }


def _parameter_values(one: Relaxation) -> str:
    # For some values of the parameter the formulas do not mention it.
    return ", ".join(f"{symbol} = {value}" for symbol, value in one.parameters.items())


def _p1(one: Relaxation) -> str:
    answers = one.is_subdifferentiable
    if None in answers.values():
        return "unknown"
    failing = [name for name, answer in answers.items() if not answer]
    return f"no: {', '.join(failing)}" if failing else "yes"


def _list_row(one: Relaxation) -> tuple[str, ...]:
    parameter = parameter_of(one.name)
    return (
        one.name,
        parameter.range if parameter else "",
        one.structure,
        ", ".join(one.discontinuities),
        _p1(one).split(":")[0],
    )


def _in_full(one: Relaxation) -> list[tuple[str, str]]:
    parameter = parameter_of(one.name)
    kept = one.discontinuities
    jumps = "; ".join(f"{name} where {place}" for name, place in kept.items())
    return [
        ("name", one.name),
        ("kind", f"{one.kind}-logic" if len(one.kind) == 1 else "S- and R-logic at once"),
        *([("parameter", _parameter_values(one) or parameter.range)] if parameter else []),
        ("t-norm", one.structure),
        *one.expressions.items(),
        ("conjoined", _conjoined(one)),
        ("discontinuous", jumps or "nowhere"),
        ("P1", _p1(one)),
        *((f"latex {name}", text) for name, text in one.latex.items()),
        ("source", one.source),
    ]


def _conjoined(one: Relaxation) -> str:
    if not one.has_generator:
        return "a conjunction costs its largest penalty"
    if not one.is_capped:
        return "the outermost conjunction costs the sum of the penalties, without a cap"
    return "a conjunction costs the sum of the penalties, at most that of false"
