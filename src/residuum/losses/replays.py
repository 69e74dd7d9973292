"""Penalties on a GPU by recordings of what they take, and their slopes likewise."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn

from residuum.losses.clause_penalties import (
    are_ordinary,
    can_be_recorded,
    penalties,
    without_a_look,
)
from residuum.losses.clauses import Clauses
from residuum.losses.receiving import Call
from residuum.losses.recordings import Recording, Recordings
from residuum.losses.slopes import Slopes, with_slopes

MOST_GROUNDINGS: Final = 1 << 21
"""Groundings in a batch beyond which kernels run for longer than it takes to launch them."""

Evaluate = Callable[[Call], Tensor]


def is_launch_bound(groundings: int, device: torch.device) -> bool:
    """Return whether a GPU takes longer to launch kernels than to run them."""
    return device.type == "cuda" and groundings <= MOST_GROUNDINGS


class Replay(NamedTuple):
    """Recordings of penalties, and of their slopes where these are not known with them."""

    forward: Recording
    backward: Recording | None


def replayed(
    recordings: Recordings[Replay], call: Call, shape: tuple[int, ...], evaluate: Evaluate | None
) -> Tensor | None:
    """Return the penalties of a call in a shape: that of the batch, before it the rules if several.

    `evaluate(call)` gives them by operations that can be recorded, if the clauses of the call are
    not the only way. None says that nothing is recorded, or that its values take more care.
    """
    if not _may_be_replayed(call):
        return None
    clauses = _clauses(call, is_several=shape != call.batch)
    if clauses is None and evaluate is None:
        return None
    # A recording must not keep the tensors of the call that it was made in.
    step = _Step(call._replace(inputs=[], sources=None), clauses, shape, evaluate)
    beside = [call.lengths] if clauses is not None else list(call.masks.values())
    tensors = [*call.inputs, *(one for one in beside if one is not None)]
    wants_slopes = torch.is_grad_enabled() and any(one.requires_grad for one in call.inputs)
    found = recordings.find(
        (_where(call), shape, wants_slopes, clauses is None, _shapes(tensors)),
        lambda: step.record(tensors, len(call.inputs), wants_slopes=wants_slopes),
    )
    if found is None:
        return None
    value, *made = found.forward(tensors)
    if clauses is not None and not made.pop().item():
        return None
    if not wants_slopes:
        return value
    slopes: Slopes
    if found.backward is None:
        slopes = _KnownSlopes(len(call.inputs), step)
        return with_slopes(value, slopes, [*call.inputs, *made], call.inputs)
    slopes = _LaterSlopes(len(call.inputs), step, found.backward)
    return with_slopes(value, slopes, tensors, call.inputs)


def _may_be_replayed(call: Call) -> bool:
    """Return whether nothing would have to look into what is replayed, which goes on as one."""
    return (
        call.may_replay
        and not call.is_broadcast
        and 0 not in call.batch
        and are_ordinary(call.inputs)
        and all(type(one) in (Tensor, nn.Parameter) for one in call.inputs)
        and not torch.are_deterministic_algorithms_enabled()
        and not torch.is_inference_mode_enabled()
        and torch._C._autograd._top_saved_tensors_default_hooks(True) is None
        and not torch._C._len_torch_dispatch_stack()
    )


def _clauses(call: Call, *, is_several: bool) -> Clauses | None:
    """Return the clauses of a call where they save enough work to be worth a look at the result."""
    clauses = call.clauses
    if clauses is None or not (is_several or clauses.meaning == "product"):
        return None
    return clauses if can_be_recorded(clauses, math.prod(call.batch)) else None


def _where(call: Call) -> Hashable:
    return call.device, torch.cuda.current_stream(call.device).cuda_stream


def _shapes(tensors: Sequence[Tensor]) -> Hashable:
    return tuple((one.shape, one.dtype) for one in tensors)


class _Step(NamedTuple):
    """The penalties of a call, and their slopes, as functions of its tensors.

    Those are the inputs and what depends on examples beside them: lengths, or masks.
    """

    call: Call
    clauses: Clauses | None
    shape: tuple[int, ...]
    evaluate: Evaluate | None

    def record(self, tensors: Sequence[Tensor], given: int, *, wants_slopes: bool) -> Replay:
        """Return recordings for tensors, so many of which are given."""

        def forward(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
            return self._made(tensors, given, None, wants_slopes=wants_slopes and is_one)

        def backward(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
            *others, upstream = tensors
            return self._made(others, given, upstream, wants_slopes=True)[1 : 1 + given]

        is_one = self.shape == self.call.batch
        recorded = Recording(forward, tensors)
        if is_one or not wants_slopes:
            return Replay(recorded, None)
        [value, *_] = recorded(tensors)
        return Replay(recorded, Recording(backward, [*tensors, torch.ones_like(value)]))

    def _made(
        self,
        tensors: Sequence[Tensor],
        given: int,
        upstream: Tensor | None,
        *,
        wants_slopes: bool,
    ) -> list[Tensor]:
        """Return penalties, slopes if wanted and, of clauses, whether all of that is right."""
        inputs, beside = tensors[:given], tensors[given:]
        if self.clauses is None:
            return self._evaluated(inputs, beside, upstream, wants_slopes=wants_slopes)
        lengths = beside[0] if beside else None
        value, slopes, is_safe = without_a_look(
            self.clauses, inputs, lengths, self.shape, upstream, wants_slopes=wants_slopes
        )
        return [value, *slopes, is_safe]

    def _evaluated(
        self,
        inputs: Sequence[Tensor],
        beside: Sequence[Tensor],
        upstream: Tensor | None,
        *,
        wants_slopes: bool,
    ) -> list[Tensor]:
        assert self.evaluate is not None
        leaves = [one.detach().requires_grad_(wants_slopes) for one in inputs]
        masks = dict(zip(self.call.masks, beside, strict=True))
        with torch.set_grad_enabled(wants_slopes):
            value = self.evaluate(self.call._replace(inputs=leaves, masks=masks, clauses=None))
        if not wants_slopes:
            return [value]
        # Shares of its own would have `grad` import half of PyTorch's compiler.
        with torch.enable_grad():
            total = (value if upstream is None else value * upstream).sum()
        slopes = torch.autograd.grad(total, leaves, materialize_grads=True)
        return [value.detach(), *slopes]

    def value_again(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return the penalties step by step."""
        if self.evaluate is not None:
            return self.evaluate(self.call._replace(inputs=list(inputs), clauses=None))
        assert self.clauses is not None
        examples = math.prod(self.call.batch)
        value = penalties(
            self.clauses, inputs, examples, self.call.lengths, self.shape, is_large=False
        )
        assert value is not None  # for so it was when it was recorded
        return value


class _KnownSlopes(NamedTuple):
    """Slopes that are saved behind the inputs."""

    given: int
    step: _Step

    def __call__(self, upstream: Tensor, saved: Sequence[Tensor]) -> list[Tensor | None]:
        pairs = zip(saved[: self.given], saved[self.given :], strict=True)
        return [_times(slope, upstream).to(one.dtype) for one, slope in pairs]

    def value_again(self, inputs: Sequence[Tensor]) -> Tensor:
        return self.step.value_again(inputs)


def _times(slope: Tensor, upstream: Tensor) -> Tensor:
    return slope * upstream.reshape(upstream.shape + (1,) * (slope.dim() - upstream.dim()))


class _LaterSlopes(NamedTuple):
    """Slopes that a recording makes of all that is saved."""

    given: int
    step: _Step
    recording: Recording

    def __call__(self, upstream: Tensor, saved: Sequence[Tensor]) -> list[Tensor | None]:
        found = self.recording([*saved, upstream])
        return [one.to(into.dtype) for one, into in zip(found, saved[: self.given], strict=True)]

    def value_again(self, inputs: Sequence[Tensor]) -> Tensor:
        return self.step.value_again(inputs)
