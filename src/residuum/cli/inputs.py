"""What the verbs take from the command line and from standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from residuum.errors import ResiduumError
from residuum.logic import Formula
from residuum.relaxations import Relaxation, default_relaxations, relaxation_names
from residuum.syntax import parse

FormulaText = Annotated[
    str,
    typer.Argument(
        metavar="FORMULA", help="A formula, such as 'P & Q -> R'; '-' reads standard input."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Compute afresh; neither use nor keep results on disk.")
]
RelaxationNames = Annotated[
    list[str] | None,
    typer.Option(
        "--relaxation",
        "-r",
        metavar="NAME",
        help="A relaxation, such as r-product or 's-yager(2)'; repeat it, or separate names by "
        "commas. Without it: the five of the paper.",
        autocompletion=lambda incomplete: _names_starting_with(incomplete),
    ),
]
_PICTURE = typer.Option(
    "--output",
    "-o",
    metavar="FILE",
    help="The picture: PNG, SVG or PDF, by the ending of its name.",
)
Picture = Annotated[Path, _PICTURE]
MaybePicture = Annotated[Path | None, _PICTURE]


def _names_starting_with(incomplete: str) -> list[str]:
    return [name for name in relaxation_names() if name.startswith(incomplete)]


def read_formula(text: str) -> Formula:
    """Return the formula of an argument; `-` stands for standard input."""
    if text != "-":
        return parse(text)
    try:
        return parse(sys.stdin.buffer.read().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ResiduumError(f"standard input is not UTF-8 text (byte {error.start})") from None


def read_relaxations(names: list[str] | None) -> tuple[Relaxation, ...]:
    """Return the relaxations asked for, or the paper's five."""
    return default_relaxations([part for name in names or () for part in name.split(",")])
