"""`residuum advise`: which relaxation suits the rules of a user."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Annotated

import typer

from residuum.cli.inputs import AsJson, MaybePictureFile, RelaxationNames, read_relaxations
from residuum.cli.outputs import print_json, print_table, say, say_lines
from residuum.cli.progress import with_progress
from residuum.errors import ResiduumError
from residuum.relaxations import Relaxation, default_relaxations, relaxation
from residuum.reports import check_picture, save_picture
from residuum.reports.advice_figures import draw_advice
from residuum.results import find_records
from residuum.syntax import load

if TYPE_CHECKING:
    from residuum.advice import Advice, Consultation

HEADS = ("relaxation", "points", "weight", "stuck", "raises", "mended", "evaded")
LEGEND = """\
points    what small networks reach in the rehearsal, of 100, with the best weight of the rules
stuck     share of violated groundings whose gradient is zero
raises    share of the gradient that raises the consequent; the rest lowers the antecedent
mended    share of violated groundings that become true by following the rule's gradient
evaded    share of violated groundings that become true because their antecedent becomes false"""
MEASURES = ("stuck", "raising", "mended", "evaded")
WITHOUT = "no rule"


def advise(
    file: Annotated[Path, typer.Argument(metavar="FILE.rsd", help="A rule file.")],
    sample: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="Predictions of your model: an array for each tensor that the rules take; "
            "`observed:NAME` is evidence, `label:NAME` are labels. Without it: random predictions.",
        ),
    ] = None,
    inputs: Annotated[
        str,
        typer.Option(
            metavar="FORM", help="The form of the predictions: probs, log_probs or logits."
        ),
    ] = "probs",
    relaxations: RelaxationNames = None,
    output: MaybePictureFile = None,
    as_json: AsJson = False,
) -> None:
    """Rehearse your own rules under each relaxation and under `exact`, and recommend one.

    Small networks learn made-up examples that obey your rules. It takes less than a minute; Ctrl-C
    prints what is known. With --output the fate of violated groundings is also drawn.

    \b
    residuum advise rules.rsd
    residuum advise rules.rsd --sample predictions.npz -o advice.png
    residuum advise rules.rsd -r "s-product,r-product,exact" --json
    """
    knowledge, (chosen, with_exact) = load(file), _read_choice(relaxations)
    if output:
        check_picture(output)
    try:
        from residuum.advice import Consultation, read_given, what_studies_found
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ResiduumError(
            "expected PyTorch for advice, and it is not installed; run: pip install "
            "'residuum[learn]'"
        ) from None
    samples = [read_given(sample, knowledge, inputs)] if sample else []  # type: ignore[arg-type]
    asked = Consultation(knowledge, samples, chosen, with_exact=with_exact)
    is_whole = _carried_out(asked)
    advice = asked.advice(what_studies_found(find_records()))
    if output:
        save_picture(draw_advice(asked.measured), output)
    if as_json:
        print_json(_as_data(asked, advice))
    else:
        _print_text(asked, advice)
    if not is_whole:
        raise typer.Exit(130)


def _read_choice(names: list[str] | None) -> tuple[tuple[Relaxation, ...], bool]:
    """Return the relaxations to try, and whether `exact` is one of them."""
    if not names:
        return (*default_relaxations(()), relaxation("lukasiewicz-maxsat")), True
    parts = [part for name in names for part in name.split(",")]
    others = [part for part in parts if part.strip() != "exact"]
    return read_relaxations(others) if others else (), len(others) < len(parts)


def _carried_out(asked: Consultation) -> bool:
    """Do the work with progress, and return whether nothing interrupted it."""
    try:
        for _ in with_progress(asked.steps(), asked.count, "rehearsing"):
            pass
    except KeyboardInterrupt:
        say("interrupted; this is what is known so far", err=True)
        return False
    return True


def _as_data(asked: Consultation, advice: Advice) -> dict[str, object]:
    return {
        "advice": asdict(advice),
        "rehearsed": [asdict(one) for one in asked.rehearsed],
        "rewritten": [asdict(one) for one in asked.rewritten],
        "aggregated": {over: asdict(one) for over, one in asked.aggregated.items()},
        "measured": [asdict(one) for one in asked.measured],
    }


def _print_text(asked: Consultation, advice: Advice) -> None:
    from residuum.advice.traps import as_lines

    for rule in dict.fromkeys(one.rule for one in asked.measured):
        own = [one for one in asked.measured if one.rule == rule]
        shares = [f"{one.violated:.1%} of {one.sample}" for one in own
                  if one.relaxation == own[0].relaxation]  # fmt: skip
        size = own[0].groundings
        say(f"{rule}: {size:,} groundings in each example, violated: {', '.join(shares)}")
    print_table(HEADS, _rows(asked))
    say_lines(LEGEND)
    say()
    over = "" if advice.over is None else f', over="{advice.over}"'
    say(f"Recommended: {advice.relaxation or 'no relaxation'}{over}")
    for name, form in advice.forms.items():
        say(f"  Write {name} as: {form}")
    for reason in advice.reasons:
        say(f"  {reason}.")
    for line in as_lines(advice.traps):
        say(f"Trap: {line}.")


def _rows(asked: Consultation) -> list[list[str]]:
    """Return a row for each relaxation; measures are means over rules and samples."""
    rehearsed = {one.relaxation or WITHOUT: one for one in asked.rehearsed}
    rows = []
    for name in dict.fromkeys([*rehearsed, *(one.relaxation for one in asked.measured)]):
        one = rehearsed.get(name)
        row = [name, "–", "–"] if one is None else [name, f"{one.points:.1f}", f"{one.weight:g}"]
        own = [found for found in asked.measured if found.relaxation == name]
        for measure in MEASURES:
            values = [v for found in own if (v := getattr(found, measure)) is not None]
            row.append(_percent_or_dash(mean(values) if values else None))
        rows.append(row)
    others = [(f"{one.relaxation}, exists", one) for one in asked.rewritten]
    others += [(f"over {over}", one) for over, one in asked.aggregated.items()]
    dashes = ["–"] * len(MEASURES)
    rows += [[name, f"{one.points:.1f}", f"{one.weight:g}", *dashes] for name, one in others]
    return rows


def _percent_or_dash(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}" if 0 < share < 0.1 else f"{share:.0%}"
