"""The route for CUDA graphs: a wrapper that records the kernels of a rule and replays them.

A small rule is a few dozen kernels that run for less time than their launch takes. A recording
launches them all at once (`cuda_recording.py`). Clauses are recorded with a flag that says whether
their values are safe; if not, the call is handed over to the next route. Other rules are recorded
step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Final, NamedTuple, final

import torch
from torch import Tensor

from residuum.losses.inputs.calls import Call, Case
from residuum.losses.routes import thresholds
from residuum.losses.routes.clauses import (
    ByHand,
    Kernel,
    recordable_penalties,
    sums,
    usable_clauses,
)
from residuum.losses.routes.cuda_recording import (
    Recording,
    Recordings,
    hook_on_saved_tensors,
    is_plain,
    place_of,
)
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.gradients import Backward, KnownGradients, with_gradients
from residuum.losses.routes.listing import Clauses
from residuum.losses.routes.minima import largest
from residuum.losses.routes.route import Evaluate, Surroundings
from residuum.losses.routes.steps import StepsRoute
from residuum.losses.routes.tables import table_sums


def is_launch_bound(groundings: int, device: torch.device) -> bool:
    """Return whether a GPU needs more time to launch the kernels than to run them."""
    return device.type == "cuda" and groundings <= thresholds.LAUNCH_BOUND


class Replay(NamedTuple):
    """Recordings of the forward pass and, if gradients must wait for it, of the backward pass."""

    forward: Recording
    backward: Recording | None


@final
class CudaGraphsRoute:
    """Replays a recording of an earlier call of the same shapes."""

    name: Final = "CUDA graphs"
    hands_over_because: Final = (
        f"call {thresholds.RECORDED_AT} of a kind is recorded, and later ones are replayed, unless "
        "values need another route, or hooks or modes of PyTorch must see the operations"
    )

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._steps = StepsRoute(definition)
        self.recordings: Recordings[Replay] = Recordings()

    def prepare(self, case: Case, around: Surroundings) -> Evaluate | str:
        """Return a function that evaluates calls of a case, or the reason why there is none."""
        definition = self._definition
        if case.groundings > definition.block(case.device):
            return f"{case.groundings:,} groundings do not fit one block"
        if not is_launch_bound(case.groundings, case.device):
            return f"kernels take longer than their launch, or {case.device} is no GPU"
        if hook_on_saved_tensors is None:
            return "this version of PyTorch does not tell which hooks must see saved tensors"
        if around.why_not_ordinary is not None:
            return around.why_not_ordinary
        if case.is_broadcast or not case.examples:
            return "some tensors are broadcast over the batch, or the batch is empty"
        clauses = self._clauses(case, around)
        by_steps = self._steps.prepare(case, around)
        if clauses is None and isinstance(by_steps, str):
            return by_steps
        shape = case.batch
        if definition.is_several:
            shape = (definition.rules, *case.batch)
        evaluate = None if isinstance(by_steps, str) else self._steps.evaluate
        step = _Step(case, clauses, shape, evaluate, definition.is_several)
        return partial(_replayed, self.recordings, step)

    def _clauses(self, case: Case, around: Surroundings) -> Clauses | None:
        """Return the clauses if they save more time than the check of their flag costs."""
        clauses = usable_clauses(self._definition, case, around)
        if isinstance(clauses, str) or clauses.cross is not None:
            return None
        if not (self._definition.is_several or clauses.cost == "complement"):
            return None
        if clauses.table is not None and case.examples < thresholds.FEWEST_EXAMPLES:
            return None
        return clauses


def _kernel_of(clauses: Clauses) -> Kernel:
    if clauses.cost == "least":
        return largest
    return sums if clauses.table is None else table_sums


def _replayed(recordings: Recordings[Replay], step: _Step, call: Call) -> Tensor | None:
    """Return the penalties of a call; None if it is not recorded or values need another route."""
    if not is_plain(call.inputs):
        return None
    beside = [call.lengths] if step.clauses is not None else list(call.masks.values())
    tensors = [*call.inputs, *(one for one in beside if one is not None)]
    wants_gradients = torch.is_grad_enabled() and any(one.requires_grad for one in call.inputs)
    # A recording must not keep the tensors of the call alive.
    step = step._replace(call=call._replace(inputs=[], sources=None))
    found = recordings.find(
        (
            place_of(call.inputs[0]),
            step.shape,
            wants_gradients,
            step.clauses is None,
            step.case.is_observed,
            _shapes(tensors),
        ),
        lambda: step.record(tensors, len(call.inputs), wants_gradients=wants_gradients),
    )
    if found is None:
        return None
    value, *made = found.forward(tensors)
    if step.clauses is not None and not made.pop().item():
        return None
    if not wants_gradients:
        return value
    inputs = call.inputs
    backward: Backward
    if found.backward is None:
        places = range(len(inputs))
        backward = KnownGradients([[place] for place in places], len(inputs), step.value_again)
        saved = [*inputs, *(one.unsqueeze(0) for one in made)]
        return with_gradients(value, backward, saved, inputs)
    backward = _LaterGradients(len(inputs), step.value_again, found.backward)
    return with_gradients(value, backward, tensors, inputs)


def _shapes(tensors: Sequence[Tensor]) -> Hashable:
    return tuple((one.shape, one.dtype) for one in tensors)


class _Step(NamedTuple):
    """The penalties of a call and their gradients, as functions of tensors.

    The tensors are the inputs, followed by the lengths or the masks of the examples.
    """

    case: Case
    clauses: Clauses | None
    shape: tuple[int, ...]
    evaluate: Callable[[Call], Tensor] | None
    is_several: bool
    call: Call | None = None

    def record(self, tensors: Sequence[Tensor], given: int, *, wants_gradients: bool) -> Replay:
        """Return recordings for these tensors. The first `given` of them are the inputs."""

        def forward(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
            wanted = wants_gradients and not self.is_several
            return self._results(tensors, given, None, wants_gradients=wanted)

        def backward(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
            *others, upstream = tensors
            return self._results(others, given, upstream, wants_gradients=True)[1 : 1 + given]

        recorded = Recording(forward, tensors)
        if not self.is_several or not wants_gradients:
            return Replay(recorded, None)
        [value, *_] = recorded(tensors)
        return Replay(recorded, Recording(backward, [*tensors, torch.ones_like(value)]))

    def _results(
        self,
        tensors: Sequence[Tensor],
        given: int,
        upstream: Tensor | None,
        *,
        wants_gradients: bool,
    ) -> list[Tensor]:
        """Return penalties, gradients if wanted, and for clauses whether both are valid."""
        inputs, beside = tensors[:given], tensors[given:]
        if self.clauses is None:
            return self._evaluated(inputs, beside, upstream, wants_gradients=wants_gradients)
        lengths = beside[0] if beside else None
        value, gradients, is_safe = recordable_penalties(
            _kernel_of(self.clauses),
            self.clauses,
            inputs,
            lengths,
            self.shape,
            self.case.examples,
            upstream,
            wants_gradients=wants_gradients,
        )
        return [value, *gradients, is_safe]

    def _evaluated(
        self,
        inputs: Sequence[Tensor],
        beside: Sequence[Tensor],
        upstream: Tensor | None,
        *,
        wants_gradients: bool,
    ) -> list[Tensor]:
        assert self.evaluate is not None
        assert self.call is not None
        leaves = [one.detach().requires_grad_(wants_gradients) for one in inputs]
        masks = dict(zip(self.call.masks, beside, strict=True))
        with torch.set_grad_enabled(wants_gradients):
            value = self.evaluate(self.call._replace(inputs=leaves, masks=masks))
        if not wants_gradients:
            return [value]
        # A sum, not `grad_outputs`, for which `grad` would import half of PyTorch's compiler.
        with torch.enable_grad():
            total = (value if upstream is None else value * upstream).sum()
        gradients = torch.autograd.grad(total, leaves, materialize_grads=True)
        return [value.detach(), *gradients]

    def value_again(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return the penalties by operations that can be differentiated twice."""
        assert self.call is not None
        call = self.call._replace(inputs=list(inputs))
        if self.evaluate is not None:
            return self.evaluate(call)
        assert self.clauses is not None
        by_hand = ByHand(_kernel_of(self.clauses), self.clauses, self.case, self.is_several)
        value = by_hand(call)
        assert value is not None  # safe values: only those are replayed
        return value


class _LaterGradients(NamedTuple):
    """Gradients that a recording computes from the saved tensors."""

    given: int
    again: Callable[[Sequence[Tensor]], Tensor]
    recording: Recording

    def __call__(self, upstream: Tensor, saved: Sequence[Tensor]) -> list[Tensor | None]:
        found = self.recording([*saved, upstream])
        return [one.to(into.dtype) for one, into in zip(found, saved[: self.given], strict=True)]
