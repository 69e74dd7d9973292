"""Arguments and options that several verbs have, and how they are read."""

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
    bool,
    typer.Option(
        "--no-cache", help="Compute everything; neither read nor write the cache on disk."
    ),
]
RelaxationNames = Annotated[
    list[str] | None,
    typer.Option(
        "--relaxation",
        "-r",
        metavar="NAME",
        help="A relaxation, such as r-product or 's-yager(2)'. Repeat the option, or separate "
        "names by commas. Without it: the five of the paper.",
        autocompletion=lambda incomplete: _names_starting_with(incomplete),
    ),
]
_PICTURE = typer.Option(
    "--output",
    "-o",
    metavar="FILE",
    help="The picture to write; the ending .png, .svg or .pdf decides its format.",
)
PictureFile = Annotated[Path, _PICTURE]
MaybePictureFile = Annotated[Path | None, _PICTURE]


def _names_starting_with(incomplete: str) -> list[str]:
    return [name for name in relaxation_names() if name.startswith(incomplete)]


def read_formula(text: str) -> Formula:
    """Return the formula of an argument; `-` reads standard input."""
    if text != "-":
        return parse(text)
    try:
        return parse(sys.stdin.buffer.read().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ResiduumError(
            f"standard input: expected UTF-8 text, got another byte at {error.start}; convert it "
            "to UTF-8"
        ) from None


def read_relaxations(names: list[str] | None) -> tuple[Relaxation, ...]:
    """Return the relaxations by name; without names, the five of the paper."""
    return default_relaxations([part for name in names or () for part in name.split(",")])
