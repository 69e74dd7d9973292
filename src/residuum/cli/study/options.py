"""What all studies take from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from residuum.errors import ResiduumError
from residuum.relaxations import Relaxation
from residuum.training.devices import DeviceName

T = TypeVar("T")

Names = Annotated[
    list[str] | None,
    typer.Option(
        "--relaxation",
        "-r",
        metavar="NAME",
        help="A relaxation; repeat it, or separate names by commas. Without it: the paper's.",
    ),
]
Seeds = Annotated[str | None, typer.Option(metavar="NUMBERS", help="Such as 0,20,50, the default.")]
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
    """Return the names of relaxations as the catalogue has them."""
    return [find(part).name for name in given or () for part in name.split(",")]


def seeds_in(text: str | None) -> list[int]:
    """Return the seeds that were asked for."""
    try:
        numbers = [] if text is None else [int(word) for word in text.split(",")]
    except ValueError:
        numbers = [-1]
    if any(number < 0 for number in numbers):
        raise ResiduumError(f"--seeds: expected whole numbers such as 0,20,50, got {text!r}")
    return numbers


def check_markdown(*, markdown: bool, table: bool) -> None:
    """Refuse a form without what it is a form of."""
    if markdown and not table:
        raise ResiduumError("--markdown is a form of --table: give both")
