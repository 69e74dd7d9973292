"""The directive `command`: what `--help` of a verb of `residuum` says, read from the command."""

import re
from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from residuum.cli.app import app as residuum_app


def verbs() -> dict[str, Any]:
    """Return every command by its words, such as `sweep run`."""
    return dict(_below("", typer.main.get_command(residuum_app)))


def _below(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        yield words, command
        return
    context = typer.Context(command)
    for name in command.list_commands(context):
        yield from _below(f"{words} {name}".strip(), command.get_command(context, name))


def in_markdown(words: str, verb: Any) -> str:
    """Return what a verb does, how it is called, and its options."""
    told, _, examples = (verb.help or "").partition("\b")
    context = typer.Context(verb, info_name=f"residuum {words}")
    usage = " ".join(verb.get_usage(context).removeprefix("Usage: ").split())
    shown = [line.strip() for line in examples.strip().splitlines()]
    records = (parameter.get_help_record(context) for parameter in verb.params)
    rows = [_row(*record) for record in records if record and "--help" not in record[0]]
    return "\n\n".join(
        [
            *(" ".join(part.split()) for part in told.split("\n\n")),
            "\n".join(["```", usage, *(f"$ {line}" for line in shown), "```"]),
            "\n".join(["| argument or option | what it is |", "| --- | --- |", *rows]),
        ]
    )


def _row(names: str, told: str) -> str:
    """Return a line of the table, with the names as code and the text without markup."""
    plain = re.sub(r"([\\|<>*_\[\]`#])", r"\\\1", " ".join(told.split()))
    return f"| `{names.replace('|', chr(92) + '|')}` | {plain} |"


class Command(SphinxDirective):
    """Show a verb: what it does, how it is called, its options."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        words = " ".join(self.arguments[0].split())
        known = verbs()
        if words not in known:
            raise self.error(f"expected a verb of residuum, got {words!r}: {', '.join(known)}")
        return self.parse_text_to_nodes(in_markdown(words, known[words]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command", Command)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
