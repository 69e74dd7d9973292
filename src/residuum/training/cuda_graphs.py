"""Steps of training as CUDA graphs, and branches of a step side by side on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final, TypeVar, final

import torch
from torch import Tensor

EAGER_STEPS: Final = 3
"""Steps taken before a capture, so that libraries have set themselves up."""


@final
class Stepper:
    """Calls a function of the number of a step, which changes tensors in place.

    On a GPU a step is many small kernels, and launching them takes longer than running them. So
    after a few steps they are captured and replayed. `key` stands for what the function does:
    when it changes, they are captured anew, and without one they never are.
    """

    def __init__(self, step: Callable[[Tensor], None], device: torch.device) -> None:
        self._step = step
        self._number = torch.zeros((), dtype=torch.int64, device=device)
        self._key: Hashable = None
        self._taken = 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def take(self, number: int, key: Hashable) -> None:
        """Take a step; its number is at hand as a tensor."""
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
            with torch.cuda.graph(self._graph):
                self._step(self._number)
            self._graph.replay()
        self._taken += 1

    def _take_aside(self) -> None:
        """Take a step on a stream of its own, as a capture wants it before."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._step(self._number)
        torch.cuda.current_stream().wait_stream(stream)


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
