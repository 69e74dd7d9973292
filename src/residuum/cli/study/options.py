"""Options that all studies have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from residuum.errors import ResiduumError
from residuum.relaxations import Relaxation
from residuum.training.devices import DeviceName


class ManyValues(TyperCommand):
    """A command without arguments, whose repeatable options take several values at once.

    `--fraction 0.1 1.0` is `--fraction 0.1 --fraction 1.0`.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option before each further value, then parse as usual."""
        repeatable = {
            name
            for option in self.params
            if getattr(option, "multiple", False)
            for name in option.opts
        }
        spelt: list[str] = []
        latest = ""
        for place, word in enumerate(args):
            if word.startswith("-"):
                latest = word if word in repeatable else ""
            elif latest and args[place - 1] != latest:
                spelt.append(latest)
            spelt.append(word)
        return super().parse_args(ctx, spelt)


Names = Annotated[
    list[str] | None,
    typer.Option(
        "--relaxation",
        "-r",
        metavar="NAME",
        help="One relaxation or several; without it: the paper's.",
    ),
]
Seeds = Annotated[
    list[str] | None, typer.Option(metavar="NUMBERS", help="Such as 0,20,50, the default.")
]
Epochs = Annotated[
    int | None,
    typer.Option(min=1, help="Instead of those chosen for each relaxation and size."),
]
Device = Annotated[DeviceName, typer.Option(help="By default CUDA where there is any.")]
StoreFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Where runs are kept; see RESIDUUM_STORE."),
]
AsTable = Annotated[
    bool,
    typer.Option(
        "--table",
        help="Train nothing: print the paper's tables and claims from the records in the store "
        "and in results/*.jsonl.",
    ),
]
AsMarkdown = Annotated[bool, typer.Option("--markdown", help="With --table: as Markdown.")]


def names_in(given: list[str] | None, find: Callable[[str], Relaxation]) -> list[str]:
    """Return the canonical names of the given relaxations, which commas may separate."""
    return [find(part).name for name in given or () for part in name.split(",")]


def seeds_in(given: list[str] | None) -> list[int]:
    """Return the given seeds, which commas may separate."""
    words = [word for text in given or () for word in text.split(",")]
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        numbers = [-1]
    if any(number < 0 for number in numbers):
        found = ",".join(words)
        raise ResiduumError(f"--seeds: expected whole numbers such as 0,20,50, got {found!r}")
    return numbers


def check_markdown(*, markdown: bool, table: bool) -> None:
    """Raise if --markdown is given without --table."""
    if markdown and not table:
        raise ResiduumError("--markdown is a form of --table: give both")
