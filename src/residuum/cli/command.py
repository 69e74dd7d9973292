"""The entry of the `residuum` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command. Ctrl-C ends it without a traceback, also while it is being loaded."""
    try:
        from residuum.cli.app import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()
