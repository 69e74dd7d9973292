"""`residuum advise`: which relaxation suits the rules of a user."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from residuum.cli.inputs import AsJson, MaybePictureFile, RelaxationNames, read_relaxations
from residuum.cli.outputs import print_json, print_table, say, say_lines
from residuum.cli.progress import with_progress
from residuum.errors import ResiduumError
from residuum.reports import check_picture, save_picture
from residuum.reports.advice_figures import draw_advice
from residuum.results import find_records
from residuum.syntax import load

if TYPE_CHECKING:
    from residuum.advice import Measured

HEADS = (
    "relaxation", "self", "stuck", "raises", "mended", "evaded", "off", "cost",
)  # fmt: skip
LEGEND = """\
self      mean degree to which a grounding is equivalent to itself
stuck     share of violated groundings whose gradient is zero
raises    share of the gradient that raises the consequent; the rest lowers the antecedent
mended    share of violated groundings that become true by following the rule's gradient
evaded    share of violated groundings that become true because their antecedent becomes false
off       mean distance of the degree of truth from the exact probability
cost      time of a call, forward and backward; the cheapest relaxation has 1"""


def advise(
    file: Annotated[Path, typer.Argument(metavar="FILE.rsd", help="A rule file.")],
    sample: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="Predictions of your model: an array for each tensor that the rules take. "
            "Without it: random predictions.",
        ),
    ] = None,
    inputs: Annotated[
        str,
        typer.Option(
            metavar="FORM", help="The form of the predictions: probs, log_probs or logits."
        ),
    ] = "probs",
    relaxation: RelaxationNames = None,
    output: MaybePictureFile = None,
    as_json: AsJson = False,
) -> None:
    """Measure your own rules under each relaxation, and recommend one.

    With --output the fate of violated groundings is also drawn.

    \b
    residuum advise rules.rsd
    residuum advise rules.rsd --sample predictions.npz -o advice.png
    residuum advise rules.rsd -r "r-product,s-yager(2)" --json
    """
    knowledge, chosen = load(file), read_relaxations(relaxation)
    if output:
        check_picture(output)
    try:
        from residuum.advice import (
            draw_samples,
            measure,
            read_sample,
            recommend,
            what_studies_found,
        )
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ResiduumError(
            "expected PyTorch for advice, and it is not installed; run: pip install "
            "'residuum[learn]'"
        ) from None
    samples = (
        [read_sample(sample, knowledge, inputs)] if sample else draw_samples(knowledge)  # type: ignore[arg-type]
    )
    tasks = [(rule, one) for rule in knowledge.rules for one in samples]
    work = (measure(knowledge, rule, one, chosen) for rule, one in tasks)
    measured = [one for found in with_progress(work, len(tasks), "measuring") for one in found]
    advice = recommend(measured, what_studies_found(find_records()))
    if output:
        save_picture(draw_advice(measured), output)
    if as_json:
        print_json({"measured": [asdict(one) for one in measured], "advice": asdict(advice)})
        return
    for (rule, name), group in groupby(measured, lambda one: (one.rule, one.sample)):
        rows = list(group)
        say(
            f"{rule}, predictions: {name}. {rows[0].groundings:,} groundings in each of "
            f"{rows[0].examples:,} examples ({rows[0].bytes:,} bytes with one number for each), "
            f"{rows[0].violated:.1%} violated"
        )
        print_table(HEADS, (_measured_row(one) for one in rows))
    say_lines(LEGEND)
    say()
    say(f"Recommended: {advice.relaxation or 'no relaxation before the others'}")
    for reason in advice.reasons:
        say(f"  {reason}.")


def _measured_row(one: Measured) -> list[str]:
    return [
        one.relaxation,
        _number_or_dash(one.self_consistency),
        *map(_percent_or_dash, (one.stuck, one.raising, one.mended, one.evaded)),
        _number_or_dash(one.disagreement),
        f"{one.cost:.1f}",
    ]


def _percent_or_dash(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}" if 0 < share < 0.1 else f"{share:.0%}"


def _number_or_dash(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
