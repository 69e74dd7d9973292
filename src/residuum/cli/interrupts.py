"""Ctrl-C that is never lost and never stops a line in the middle."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


def heeding_interrupts(items: Iterable[T]) -> Iterator[T]:
    """Yield the items; an interrupt stops the computation of an item, not the caller between items.

    An interrupt while the caller works, for instance prints an item, is raised before the next
    item. A second interrupt stops at once. Some interrupts would be lost: Python only prints an
    exception of a callback (lazy imports have callbacks), and libraries drop an interrupt or turn
    it into an error of their own. Such an interrupt is raised as soon as the item is computed.
    """
    handler, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    if handler is not signal.default_int_handler:  # ignored, or handled by other code
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
    """Hold back the first interrupt; yield a function that says whether there was one.

    `announce` is called at once, and the caller stops where nothing is lost. A second interrupt
    stops at once.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler:  # ignored, or handled by other code
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
