"""The `residuum` command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from residuum import __version__
from residuum.cli.advise import advise
from residuum.cli.archive import archive
from residuum.cli.check import check
from residuum.cli.consistency import consistency, self_consistency
from residuum.cli.gradients import gradients
from residuum.cli.outputs import say, say_lines
from residuum.cli.relaxations import relaxations
from residuum.cli.report import report
from residuum.cli.score import score
from residuum.cli.show import show
from residuum.cli.study import study
from residuum.cli.surface import surface
from residuum.cli.sweep import sweep
from residuum.cli.tautologies import tautologies
from residuum.cli.truth import truth
from residuum.errors import ResiduumError
from residuum.printable import printable


class Verbs(TyperGroup):
    """The verbs of the command; what Typer says of a mistake in its words is made printable."""

    def make_context(self, *args: Any, **others: Any) -> Any:
        """Read the options."""
        with _printable_mistakes():
            return super().make_context(*args, **others)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb that was asked for."""
        with _printable_mistakes():
            return super().invoke(ctx)


@contextmanager
def _printable_mistakes() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message"):  # one of Typer, which prints its `message`
            error.message = printable(error.message)  # type: ignore[attr-defined]
        raise


app = typer.Typer(
    name="residuum",
    cls=Verbs,
    help="Logic for learning: read rules, and their truth under any relaxation.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (
    show, truth, consistency, self_consistency, tautologies, gradients, surface, relaxations, check,
    advise, score, archive, report,
):  # fmt: skip
    app.command()(verb)
app.add_typer(study)
app.add_typer(sweep)


def _print_version(asked: bool) -> None:
    if asked:
        say(f"residuum {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command; a user's mistake is a message on stderr and exit code 2.

    An interrupt ends it with exit code 130, which Typer sees to; verbs print what they have.
    """
    # A label may hold characters that the terminal's encoding cannot; they are escaped.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        app()
    except ResiduumError as error:
        say_lines(f"residuum: {error}", err=True)
        sys.exit(2)
    except OSError as error:  # what is written to a named file says so itself
        say_lines(f"residuum: the output cannot be written: {error.strerror or error}", err=True)
        _leave_output()
        sys.exit(2)


def _leave_output() -> None:
    """Let Python not try again, at its end, to write what could not be written."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
