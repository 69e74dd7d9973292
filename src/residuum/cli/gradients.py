"""`residuum gradients`: the gradient of a formula where the formula is violated."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from residuum.analysis import gradients as gradients_of
from residuum.cli.inputs import (
    AsJson,
    FormulaText,
    RelaxationNames,
    read_formula,
    read_relaxations,
)
from residuum.cli.outputs import print_json, print_table


def gradients(
    formula: FormulaText,
    relaxation: RelaxationNames = None,
    points: Annotated[int, typer.Option(min=1, help="The number of random points.")] = 2**14,
    as_json: AsJson = False,
) -> None:
    """Show how a formula's gradient behaves where the formula is violated.

    Points are uniform degrees of the atoms. A point violates the formula if the formula is false
    for the degrees rounded at 1/2. A point is stuck if its gradient is exactly zero.

    \b
    residuum gradients "P -> Q"
    residuum gradients "P & Q -> R" -r lukasiewicz --json
    """
    read = read_formula(formula)
    found = {
        one.name: gradients_of(read, one, points=points) for one in read_relaxations(relaxation)
    }
    if as_json:
        text = str(read)
        print_json(
            [{"formula": text, "relaxation": n, **asdict(result)} for n, result in found.items()]
        )
        return
    heads = ("relaxation", "violated", "stuck", "stuck (logits)", "mean size", "raises consequent")
    print_table(
        heads,
        (
            (
                name,
                _percent_or_blank(result.violated),
                _percent_or_blank(result.stuck),
                _percent_or_blank(result.stuck_logits),
                f"{result.mean_size:.3f}",
                _percent_or_blank(result.raising),
            )
            for name, result in found.items()
        ),
    )


def _percent_or_blank(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
