"""Ctrl-C that is never lost."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


def heeding_interrupts(items: Iterable[T]) -> Iterator[T]:
    """Yield the items; an interrupt stops the one that is awaited, or else comes before the next.

    So what the caller does between items, such as printing one, is done as a whole; a second
    interrupt stops even that. Python only prints what is raised in a callback, and a lazy import
    has such callbacks; other libraries drop an interrupt, or turn it into an error of their own:
    it is raised all the same, as soon as the item is there.
    """
    handler, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    if handler is not signal.default_int_handler:  # ignored, or someone else's business
        yield from items
        return
    pressed = waiting = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        again, pressed = pressed, True
        if waiting or again:
            signal.default_int_handler(number, frame)

    def report(lost: Any) -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            hook(lost)

    signal.signal(signal.SIGINT, remember)
    sys.unraisablehook = report
    iterator = iter(items)
    try:
        while not pressed:
            waiting = True
            try:
                item = next(iterator)
            except StopIteration:
                return
            finally:
                waiting = False
            yield item
        raise KeyboardInterrupt
    except Exception as error:
        if pressed:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, handler)
        sys.unraisablehook = hook


@contextmanager
def holding_interrupts(announce: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Hold the first interrupt back; yield a function that says whether there was one.

    It is announced at once, and the caller stops where nothing is lost. A second one stops
    whatever is going on.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler:  # ignored, or someone else's business
        yield lambda: False
        return
    pressed = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            signal.default_int_handler(number, frame)
        pressed = True
        announce()

    signal.signal(signal.SIGINT, remember)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, handler)
