"""How the verbs print: tables for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import typer


def print_json(value: object) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, indent=2))


def print_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns, without wrapping or cutting anything."""
    listed = list(pairs)
    width = max(len(name) for name, _ in listed)
    for name, value in listed:
        typer.echo(f"{name:<{width}}  {value}")


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table as wide as the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, header_style="bold")
    for number, head in enumerate(heads):
        table.add_column(head, no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)
