"""How the command line prints errors and warnings, and the exit codes it ends with.

A user's mistake is a `ResiduumError`: a message on stderr, no traceback, exit code 2. Ctrl-C ends
the command with exit code 130, which Typer and `command.py` see to.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from typer.core import TyperGroup

from residuum.cli.outputs import say, say_lines
from residuum.errors import ResiduumError
from residuum.printable import printable

MISTAKE: Final = 2
"""The exit code after a mistake of the user, and when the output cannot be written."""


def print_error(message: object) -> None:
    """Print an error, which may have several lines, on stderr."""
    say_lines(f"residuum: {message}", err=True)


def warn(line: str) -> None:
    """Print a warning of one line on stderr; the command goes on."""
    say(f"residuum: {line}", err=True)


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Print an error as a message, and end the process with exit code 2."""
    try:
        yield
    except ResiduumError as error:
        print_error(error)
        sys.exit(MISTAKE)
    except OSError as error:  # of stdout; an error of a named file is a ResiduumError
        print_error(f"the output cannot be written: {error.strerror or error}")
        _discard_output()
        sys.exit(MISTAKE)


def _discard_output() -> None:
    """Send the rest of stdout nowhere. At exit Python would try to write it again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


class PrintableErrors(TyperGroup):
    """A group of verbs whose usage errors hold no control characters.

    Typer quotes the words of the user in its own errors, such as an unknown option.
    """

    def make_context(self, *args: Any, **others: Any) -> Any:
        """Read the options of the command."""
        with _printable_errors():
            return super().make_context(*args, **others)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb that was asked for."""
        with _printable_errors():
            return super().invoke(ctx)


@contextmanager
def _printable_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message"):  # an error of Typer, which prints its `message`
            error.message = printable(error.message)  # type: ignore[attr-defined]
        raise
