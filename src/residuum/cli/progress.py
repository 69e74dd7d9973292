"""A progress bar on stderr for long computations."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from threading import Timer
from typing import Final, TypeVar

from residuum.cli.interrupts import heeding_interrupts

T = TypeVar("T")

PATIENCE: Final = 1.0
"""Seconds before the bar is shown."""

BLINK: Final = 0.1
"""The shortest wait in seconds for which the bar is shown, so that it does not flicker."""


def with_progress(items: Iterable[T], count: int, doing: str) -> Iterator[T]:
    """Yield the items; after a second, show a progress bar if stderr is a terminal.

    The bar is shown only while an item is computed, so that the caller may print between items.
    """
    items = heeding_interrupts(items)
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    bar = Progress(*columns, console=console, transient=True, redirect_stdout=False)
    task = bar.add_task(doing, total=count)
    started = time.monotonic()
    for _ in range(count):
        showing = Timer(max(BLINK, PATIENCE - (time.monotonic() - started)), bar.start)
        showing.daemon = True
        showing.start()
        try:
            item = next(items)
        except StopIteration:  # there are fewer than was thought
            return
        finally:
            showing.cancel()
            showing.join()
            bar.stop()
        bar.advance(task)
        yield item
