"""Groups of commands that are imported when their name is given, so that each starts quickly."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup


class OnDemand(TyperGroup):
    """A group of commands that are built on demand.

    `files` has the module of each command, with a function of its name, or a group of that name.
    """

    files: ClassVar[Mapping[str, str]]
    kind: ClassVar[type[TyperCommand]] = TyperCommand

    def list_commands(self, _ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return list(self.files)

    def get_command(self, ctx: Any, name: str) -> Any:
        """Return a command; None if there is none of this name."""
        # Typer compares a wrong name with all commands, to suggest one.
        for one in (name,) if name in self.files else self.files:
            if one not in self.commands:
                self.commands[one] = self._command(one)
        return super().get_command(ctx, name)

    def _command(self, name: str) -> Any:
        found = getattr(import_module(self.files[name]), name.replace("-", "_"))
        if isinstance(found, typer.Typer):
            return typer.main.get_group(found)
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(name, cls=self.kind)(found)
        return typer.main.get_command(alone)
