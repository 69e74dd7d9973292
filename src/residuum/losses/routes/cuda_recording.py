"""Functions of tensors on a GPU, recorded as CUDA graphs.

A rule is a few dozen kernels, most of which run for less time than it takes to launch them. A graph
launches all at once. It reads and writes memory of its own, so that tensors are copied in and out,
and a recording can be used while results of an earlier use are still needed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar, final

import torch
from torch import Tensor

from residuum.losses.degrees.tensors import without_graph
from residuum.losses.routes import thresholds

Function = Callable[[Sequence[Tensor]], Sequence[Tensor]]
T = TypeVar("T")

_recording: Final = threading.Lock()  # the streams that record are shared
_replaying: Final = threading.Lock()  # no thread may copy in before another has copied out


RAREST: Final = -3
"""The priority of the streams that record.

PyTorch has 32 streams of each priority, which it lends in turn. What another thread launched on one
that records would be recorded, not run: so they are of a priority that hardly anyone asks for.
"""


class _Place:
    """Where the recordings that are used on one stream are made.

    They share memory, for they never run at the same time.
    """

    def __init__(self) -> None:
        self._stream = torch.cuda.Stream(priority=RAREST)  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle()
        # Memory is lost to all with the last graph that uses it.
        self._anchor, _ = self.record(lambda: [torch.zeros(1, device="cuda")])

    def record(self, function: Callable[[], Sequence[Tensor]]) -> tuple[torch.cuda.CUDAGraph, Any]:
        """Return the graph of a function, and the tensors it writes to."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self._stream):
            # Other threads may go on with what they do on the GPU.
            graph.capture_begin(self._pool, capture_error_mode="thread_local")
            try:
                made = list(function())
            finally:
                graph.capture_end()
        return graph, made

    def abandon(self) -> None:
        """Have memory be used again that others let go of, after a recording was broken off."""
        with suppress(RuntimeError):
            torch._C._cuda_endAllocateToPool(self._stream.device_index, self._pool)


_places: Final[dict[tuple[int, int], _Place]] = {}


@final
class Recording:
    """A function for tensors of certain shapes, used on the stream on which it was recorded.

    One thread makes them at a time.
    """

    def __init__(self, function: Function, inputs: Sequence[Tensor]) -> None:
        # Narrow numbers are widened on the way: gradients must not be rounded twice.
        self._given = [
            one.detach().to(_widened(one.dtype), copy=True).contiguous() for one in inputs
        ]
        used = torch.cuda.current_stream(inputs[0].device)
        key = used.device_index, used.cuda_stream
        with torch.cuda.device(used.device):
            function(self._given)  # what is loaded on first use cannot be recorded
            if key not in _places:
                _places[key] = _Place()
            try:
                self._graph, self._made = _places[key].record(lambda: function(self._given))
            except RuntimeError:
                _places.pop(key).abandon()  # what was broken off leaves its memory in disorder
                raise

    def __call__(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Return what the function makes of tensors, without gradients."""
        with _replaying, without_graph():
            torch._foreach_copy_(self._given, list(inputs))
            self._graph.replay()
            return [one.clone() for one in self._made]


def _widened(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32) if dtype.is_floating_point else dtype


@final
class Recordings(Generic[T]):
    """Recordings of one rule, by what they depend on. Copies of the rule make their own."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, T | None] = {}
        self._calls: dict[Hashable, int] = {}

    def __deepcopy__(self, memo: object) -> Recordings[T]:
        return Recordings()

    def __reduce__(self) -> tuple[Any, ...]:
        return Recordings, ()

    def find(self, key: Hashable, record: Callable[[], T]) -> T | None:
        """Return what was recorded for a key; None until it was met often enough, or cannot be."""
        # Nobody waits for a thread that records: to record gradients it waits for PyTorch's own
        # thread of the GPU, in which hooks and checkpoints call rules, too.
        if key not in self._kept and _recording.acquire(blocking=False):
            try:
                self._count(key, record)
            finally:
                _recording.release()
        return self._kept.get(key)

    def _count(self, key: Hashable, record: Callable[[], T]) -> None:
        """Count a call and, if there were enough, record it."""
        if key in self._kept or len(self._kept) == thresholds.MOST_RECORDINGS:
            return
        if len(self._calls) == thresholds.MOST_COUNTED:
            self._calls.clear()
        self._calls[key] = self._calls.get(key, 0) + 1
        if self._calls[key] < thresholds.RECORDED_AT:
            return
        try:
            self._kept[key] = record()
        except RuntimeError:  # there is not enough memory, or something looks at values
            self._kept[key] = None
