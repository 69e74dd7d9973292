"""Functions of tensors on a GPU, recorded as CUDA graphs.

A graph launches all kernels of a function at once. It reads and writes its own memory. So tensors
are copied in and out, and a recording can be replayed while earlier results are still in use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar, final

import torch
from torch import Tensor, nn

from residuum.losses.degrees.tensors import below_autograd
from residuum.losses.routes import thresholds

Function = Callable[[Sequence[Tensor]], Sequence[Tensor]]
T = TypeVar("T")

_recording: Final = threading.Lock()  # threads share the streams that record
_replaying: Final = threading.Lock()  # a thread copies in only after another has copied out


RECORDING_PRIORITY: Final = -3
"""The priority of the streams that record, which other code hardly ever uses.

PyTorch has 32 streams of each priority and hands them out in turn. If another thread launched a
kernel on a stream that records, the kernel would be recorded instead of run.
"""

hook_on_saved_tensors: Final = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
"""Asks PyTorch which hook sees saved tensors. PyTorch 2.6 does not tell: nothing is recorded."""


class _Place:
    """The stream and the memory for all recordings that are replayed on one stream.

    The recordings share memory, because they never run at the same time.
    """

    def __init__(self) -> None:
        self._stream = torch.cuda.Stream(priority=RECORDING_PRIORITY)  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle()
        # PyTorch frees the memory with its last graph; this graph keeps it.
        self._anchor, _ = self.record(lambda: [torch.zeros(1, device="cuda")])

    def record(self, function: Callable[[], Sequence[Tensor]]) -> tuple[torch.cuda.CUDAGraph, Any]:
        """Return the graph of a function, and the tensors it writes to."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self._stream):
            # "thread_local" lets other threads use the GPU meanwhile.
            graph.capture_begin(self._pool, capture_error_mode="thread_local")
            try:
                made = list(function())
            finally:
                graph.capture_end()
        return graph, made

    def abandon(self) -> None:
        """Let PyTorch reuse freed memory again, after a recording has failed."""
        with suppress(RuntimeError):
            torch._C._cuda_endAllocateToPool(self._stream.device_index, self._pool)


_places: Final[dict[tuple[int, int], _Place]] = {}


@final
class Recording:
    """A recorded function of tensors of fixed shapes, replayed on one stream.

    Only one thread may record at a time.
    """

    def __init__(self, function: Function, inputs: Sequence[Tensor]) -> None:
        # Half precision is widened by the copy: gradients must not be rounded twice.
        self._given = [
            one.detach().to(_widened(one.dtype), copy=True).contiguous() for one in inputs
        ]
        used = torch.cuda.current_stream(inputs[0].device)
        key = used.device_index, used.cuda_stream
        with torch.cuda.device(used.device):
            function(self._given)  # the first run loads kernels, which cannot be recorded
            if key not in _places:
                _places[key] = _Place()
            try:
                self._graph, self._made = _places[key].record(lambda: function(self._given))
            except RuntimeError:
                _places.pop(key).abandon()  # its memory cannot be used after a failure
                raise

    def __call__(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Return the results of the function for these tensors, without gradients."""
        with _replaying, below_autograd():
            torch._foreach_copy_(self._given, list(inputs))
            self._graph.replay()
            return [one.clone() for one in self._made]


def is_plain(inputs: Sequence[Tensor]) -> bool:
    """Return whether no hook or mode of PyTorch must see the operations, which a replay hides."""
    return (
        all(type(one) in (Tensor, nn.Parameter) for one in inputs)
        and not torch.are_deterministic_algorithms_enabled()
        and not torch.is_inference_mode_enabled()
        and hook_on_saved_tensors is not None
        and hook_on_saved_tensors(True) is None
        and not torch._C._len_torch_dispatch_stack()
    )


def place_of(given: Tensor) -> Hashable:
    """Return the device and the stream that a recording for a tensor belongs to."""
    return given.device, torch.cuda.current_stream(given.device).cuda_stream


def _widened(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32) if dtype.is_floating_point else dtype


@final
class Recordings(Generic[T]):
    """The recordings of one rule, by signature. A copy of the rule records anew."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, T | None] = {}
        self._calls: dict[Hashable, int] = {}

    def __deepcopy__(self, memo: object) -> Recordings[T]:
        return Recordings()

    def __reduce__(self) -> tuple[Any, ...]:
        return Recordings, ()

    def find(self, key: Hashable, record: Callable[[], T]) -> T | None:
        """Return the recording for a key; None if calls are still few, or cannot be recorded."""
        # No thread waits for the lock. A thread that records gradients waits for PyTorch's GPU
        # thread, in which hooks and checkpoints may call rules: a wait could be a deadlock.
        if key not in self._kept and _recording.acquire(blocking=False):
            try:
                self._count(key, record)
            finally:
                _recording.release()
        return self._kept.get(key)

    def _count(self, key: Hashable, record: Callable[[], T]) -> None:
        """Count a call, and record it if it came often enough."""
        if key in self._kept or len(self._kept) == thresholds.MOST_RECORDINGS:
            return
        if len(self._calls) == thresholds.MOST_COUNTED:
            self._calls.clear()
        self._calls[key] = self._calls.get(key, 0) + 1
        if self._calls[key] < thresholds.RECORDED_AT:
            return
        try:
            self._kept[key] = record()
        except RuntimeError:  # too little memory, or an operation looks at values
            self._kept[key] = None
