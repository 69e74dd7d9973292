"""The group `residuum study`. A study is imported only when its name is given."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from residuum.cli.study.options import ManyValues

STUDIES: Final = ("digits", "chunking")
"""The names of all studies, each with a module and a function of that name in this package."""


class Studies(TyperGroup):
    """A group of commands that are built on demand."""

    def list_commands(self, _ctx: Any) -> list[str]:
        """Return the names of all studies."""
        return list(STUDIES)

    def get_command(self, ctx: Any, name: str) -> Any:
        """Return the command of a study; None if no study has this name."""
        # Typer compares a wrong name with all commands, to suggest one.
        for study in (name,) if name in STUDIES else STUDIES:
            if study not in self.commands:
                self.commands[study] = _command_of(study)
        return super().get_command(ctx, name)


def _command_of(study: str) -> TyperCommand:
    module = import_module(f"residuum.cli.study.{study}")
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
    alone.command(study, cls=ManyValues)(getattr(module, study))
    command: TyperCommand = typer.main.get_command(alone)  # type: ignore[assignment]
    return command


study = typer.Typer(
    name="study", cls=Studies, help="Run the experiments of the paper.", no_args_is_help=True
)
