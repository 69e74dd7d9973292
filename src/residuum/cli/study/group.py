"""The group `residuum study`. A study is imported only when its name is given."""

from __future__ import annotations

from typing import Final

import typer

from residuum.cli.on_demand import OnDemand
from residuum.cli.study.options import ManyValues

STUDIES: Final = ("digits", "chunking")
"""The names of all studies, each with a module and a function of that name in this package."""


class Studies(OnDemand):
    """The group of studies."""

    files = {name: f"residuum.cli.study.{name}" for name in STUDIES}  # noqa: RUF012  # not changed
    kind = ManyValues


study = typer.Typer(
    name="study", cls=Studies, help="Run the experiments of the paper.", no_args_is_help=True
)
