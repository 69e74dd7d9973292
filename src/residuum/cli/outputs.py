"""How the verbs print: tables for people, JSON for programs.

All text for people goes through this module, which makes it printable: a label in a rule file or
a value in a record may hold escape sequences, which must not reach the terminal. Text is not markup
of Rich either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import typer

from residuum.printable import printable, printable_lines


def say(line: str = "", *, err: bool = False) -> None:
    """Print one line; a line break in it is printed as an escape."""
    typer.echo(printable(line), err=err)


def say_lines(text: str, *, err: bool = False) -> None:
    """Print text of several lines."""
    typer.echo(printable_lines(text), err=err)


def print_json(value: object) -> None:
    """Print a value as JSON in ASCII; other characters are escapes of JSON."""
    typer.echo(json.dumps(value, indent=2))


def print_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns; nothing is wrapped or cut."""
    listed = list(pairs)
    width = max(len(name) for name, _ in listed)
    for name, value in listed:
        say(f"{name:<{width}}  {value}")


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table that fits the width of the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, header_style="bold")
    for number, head in enumerate(heads):
        table.add_column(Text(printable(head)), no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console().print(table)
