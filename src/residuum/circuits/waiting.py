"""A line on a terminal for those who wait: what a computation of more than a second is doing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Final

PATIENCE: Final = 1.0
"""Seconds before the line is printed."""


@contextmanager
def saying_after_a_second(doing: str) -> Iterator[None]:
    """Print to stderr what is being done if it takes longer, and only if stderr is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():  # a program without a console has none
        yield
        return
    line = Timer(PATIENCE, print, [f"residuum: {doing} …"], {"file": sys.stderr, "flush": True})
    line.daemon = True
    line.start()
    try:
        yield
    finally:
        line.cancel()
