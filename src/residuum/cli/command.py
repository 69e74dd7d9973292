"""The entry of the `residuum` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. Ctrl-C ends it without a traceback, also while modules are loaded."""
    try:
        from residuum.cli.app import app
        from residuum.cli.errors import errors_as_messages
    except KeyboardInterrupt:
        sys.exit(130)
    # A label may hold characters that the encoding of the terminal lacks; they are escaped.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    with errors_as_messages():
        app()
