"""Computations that do not depend on each other, side by side on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

T = TypeVar("T")


def concurrently(branches: Sequence[Callable[[], T]]) -> list[T]:
    """Call functions, and return what each returns.

    While a step is captured, each has a stream of its own, and so has its backward pass: of a
    graph's many small kernels those of different branches then run at the same time.
    """
    if not (torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()):
        return [branch() for branch in branches]
    here = torch.cuda.current_stream()
    streams = [torch.cuda.Stream() for _ in branches]  # type: ignore[no-untyped-call]
    found = []
    for branch, stream in zip(branches, streams, strict=True):
        stream.wait_stream(here)
        with torch.cuda.stream(stream):
            found.append(branch())
    for stream in streams:  # only now: what waits for one branch would keep back the next
        here.wait_stream(stream)
    return found
