"""The studies that there are."""

from __future__ import annotations

import typer

from residuum.cli.study.chunking import chunking
from residuum.cli.study.digits import digits
from residuum.cli.study.options import ManyValues

study = typer.Typer(name="study", help="Run the experiments of the paper.", no_args_is_help=True)
for experiment in (digits, chunking):
    study.command(cls=ManyValues)(experiment)
