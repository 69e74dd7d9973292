"""The verbs that there are."""

from __future__ import annotations

import typer

from residuum.cli.sweep.run import run
from residuum.cli.sweep.status import status

sweep = typer.Typer(
    name="sweep", help="Search for settings on development data.", no_args_is_help=True
)
for verb in (run, status):
    sweep.command()(verb)
