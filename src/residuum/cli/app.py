"""The `residuum` command and its verbs: the one place where a verb is registered."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from residuum import __version__
from residuum.cli.errors import PrintableErrors
from residuum.cli.on_demand import OnDemand
from residuum.cli.outputs import say

VERBS: Final = {
    "show": "residuum.cli.show",
    "truth": "residuum.cli.truth",
    "consistency": "residuum.cli.consistency",
    "self-consistency": "residuum.cli.consistency",
    "tautologies": "residuum.cli.tautologies",
    "gradients": "residuum.cli.gradients",
    "surface": "residuum.cli.surface",
    "relaxations": "residuum.cli.relaxations",
    "check": "residuum.cli.check",
    "advise": "residuum.cli.advise",
    "explore": "residuum.cli.explore",
    "field": "residuum.cli.field",
    "score": "residuum.cli.score",
    "archive": "residuum.cli.archive",
    "report": "residuum.cli.report",
    "study": "residuum.cli.study",
    "sweep": "residuum.cli.sweep",
}
"""The verbs, in the order of `residuum --help`, and their files. To add a verb, add it here.

The file has a function of the verb's name, or a group: a verb with verbs of its own, such as
`residuum sweep run`. It is imported when the verb is given.
"""


class Verbs(PrintableErrors, OnDemand):
    """The group of all verbs."""

    files = VERBS


app = typer.Typer(
    name="residuum",
    cls=Verbs,
    help="Logic for learning: read rules, and their truth under any relaxation.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
