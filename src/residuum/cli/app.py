"""The `residuum` command and its verbs: the one place where a verb is registered."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from residuum import __version__
from residuum.cli.advise import advise
from residuum.cli.archive import archive
from residuum.cli.check import check
from residuum.cli.consistency import consistency, self_consistency
from residuum.cli.errors import PrintableErrors
from residuum.cli.explore import explore
from residuum.cli.field import field
from residuum.cli.gradients import gradients
from residuum.cli.outputs import say
from residuum.cli.relaxations import relaxations
from residuum.cli.report import report
from residuum.cli.score import score
from residuum.cli.show import show
from residuum.cli.study import study
from residuum.cli.surface import surface
from residuum.cli.sweep import sweep
from residuum.cli.tautologies import tautologies
from residuum.cli.truth import truth

VERBS: Final = (
    show,
    truth,
    consistency,
    self_consistency,
    tautologies,
    gradients,
    surface,
    relaxations,
    check,
    advise,
    explore,
    field,
    score,
    archive,
    report,
)
"""The verbs, in the order of `residuum --help`. To add a verb, add its function here."""

GROUPS: Final = (study, sweep)
"""Verbs that have verbs of their own, such as `residuum sweep run`."""

app = typer.Typer(
    name="residuum",
    cls=PrintableErrors,
    help="Logic for learning: read rules, and their truth under any relaxation.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in VERBS:
    app.command()(verb)
for group in GROUPS:
    app.add_typer(group)


def _print_version(asked: bool) -> None:
    if asked:
        say(f"residuum {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass
