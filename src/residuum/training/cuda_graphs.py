"""A training step replayed as a CUDA graph, and branches of a step on parallel streams."""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar, final

import torch
from torch import Tensor

EAGER_STEPS: Final = 3
"""Eager steps before the recording, in which libraries initialise themselves."""


@final
class Stepper:
    """Runs a training step, given its number; the step changes tensors in place.

    On a GPU a step consists of many small kernels, and launching them takes longer than running
    them. So after a few steps one step is recorded as a CUDA graph and replayed. `key` stands for
    what the step computes: if the key changes, the step is recorded again. With a key of None
    the step is never recorded.
    """

    def __init__(self, step: Callable[[Tensor], None], device: torch.device) -> None:
        self._step = step
        self._number = torch.zeros((), dtype=torch.int64, device=device)
        self._key: Hashable = None
        self._taken = 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def take(self, number: int, key: Hashable) -> None:
        """Run one step; the function receives the number as a tensor."""
        self._number.fill_(number)
        if key != self._key:
            self._key, self._taken, self._graph = key, 0, None
        if self._graph is not None:
            self._graph.replay()
        elif key is None or not self._number.is_cuda:
            self._step(self._number)
        elif self._taken < EAGER_STEPS:
            self._take_aside()
        else:
            self._graph = torch.cuda.CUDAGraph()
            with without_collection(), torch.cuda.graph(self._graph):
                self._step(self._number)
            self._graph.replay()
        self._taken += 1

    def _take_aside(self) -> None:
        """Run one step on a side stream, as PyTorch requires before a recording."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._step(self._number)
        torch.cuda.current_stream().wait_stream(stream)


@contextmanager
def without_collection() -> Iterator[None]:
    """Collect garbage now, and not before the end.

    The garbage may hold the CUDA graph of an earlier training. If it is freed while another one is
    recorded, that recording fails.
    """
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


T = TypeVar("T")


def concurrently(branches: Sequence[Callable[[], T]]) -> list[T]:
    """Call independent functions, and return their results.

    While a CUDA graph is recorded, each function and its backward pass get their own stream, so
    that the kernels of different branches run at the same time in the replayed graph.
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
    for stream in streams:  # after all branches: waiting earlier would delay the next branch
        here.wait_stream(stream)
    return found
