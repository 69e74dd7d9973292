"""Violated groundings without a gradient, from which a network cannot learn.

The gradient of a batch is a sum over groundings, in which one grounding cannot be seen. So each
atom of each grounding gets a small change of its own here, which is 0 but has a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import torch
from torch import Tensor

from residuum.grounding import Plan
from residuum.grounding.plans import Quantify, Read
from residuum.losses.aggregation import capped
from residuum.losses.degrees.logits import Form, Side, degree_with
from residuum.losses.degrees.tensors import floor, impossible
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.evidence import observed_entries
from residuum.losses.inputs.layouts import groundings_of
from residuum.losses.inputs.reading import read
from residuum.losses.questions.crisp_truth import crisp_truth_of
from residuum.losses.questions.pieces import pieces_of
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.steps import evaluation_of
from residuum.relaxations import Degree


def without_gradient(definition: Definition, call: Call) -> Tensor:
    """Return the share of violated groundings whose own penalty has no gradient; 0 if none is."""
    plan = definition.plan
    with torch.inference_mode(False):  # in which there are no gradients at all
        call = call._replace(
            inputs=[_usable(one) for one in call.inputs],
            masks={number: _usable(mask) for number, mask in call.masks.items()},
            sources=None,
        )
        fixed = call._replace(inputs=observed_entries(plan.slots, call.inputs, call.labels))
        counts = torch.zeros(2, dtype=torch.float64, device=call.device)
        pieces = zip(pieces_of(definition, call), pieces_of(definition, fixed), strict=True)
        for piece, own in pieces:
            counts += _counts(definition, piece.call, own.call)
        dead, violated = counts.unbind()
        return dead / violated.clamp(min=1)


def _usable(given: Tensor) -> Tensor:
    """Return a tensor without its graph; one of inference mode is copied, to take part in one."""
    return given.clone() if given.is_inference() else given.detach()


def _counts(definition: Definition, call: Call, fixed: Call) -> Tensor:
    """Return how many groundings of a piece are violated without a gradient, and how many in all.

    The inputs of `fixed` tell which entries are observed.
    """
    plan, groundings = definition.plan, groundings_of(definition.plan)
    counted = groundings.counted(call.bound, call.batch, call.masks, call.device, call.window)
    violated = counted & ~crisp_truth_of(definition, call).truth(groundings.body)
    changes: list[Tensor] = []

    def changed(number: int, degree: Degree) -> Degree:
        step = plan.steps[number]
        assert isinstance(step, Read)
        if _is_crisp(definition, step.slot):
            return degree
        access, index = call.bound.layout.accesses[number], call.bound.indices.get(number)
        is_fixed = read(fixed.inputs[step.slot], access, index, plan.rank, call.window)
        true = torch.as_tensor(degree.true)
        shape = torch.broadcast_shapes(true.shape, counted.shape)  # type: ignore[no-untyped-call]
        change = true.new_zeros(shape).requires_grad_()
        changes.append(change)
        return _moved(
            degree,
            change.masked_fill(is_fixed, 0.0),
            definition.forms[step.slot],
            is_compared=plan.slots[step.slot].compared is not None,
        )

    with torch.enable_grad():
        own = torch.as_tensor(evaluation_of(definition, call, changed).penalty(groundings.body))
        penalties = capped(own, definition.relaxation).expand(counted.shape)
    learns = _learns(plan, penalties, changes)
    return torch.stack([(violated & ~learns).sum(), violated.sum()]).double()


def _is_crisp(definition: Definition, slot: int) -> bool:
    """Return whether a slot is a comparison that is just true or false, which nothing moves."""
    compared = definition.plan.slots[slot].compared
    are_crisp = definition.is_exact and definition.comparisons == "crisp"
    return compared is not None and (are_crisp or compared.scale == 0)


def _learns(plan: Plan, penalties: Tensor, changes: Sequence[Tensor]) -> Tensor:
    """Return which groundings, whose penalties are given, have a gradient for some change."""
    learns = torch.zeros_like(penalties, dtype=torch.bool)
    shared = _shared_dimensions(plan)
    if not penalties.requires_grad:
        return learns
    for place in product(*(range(penalties.shape[d]) for d in shared)):
        at = [slice(None)] * penalties.dim()
        for dimension, index in zip(shared, place, strict=True):
            at[dimension] = slice(index, index + 1)
        with torch.enable_grad():
            total = penalties[tuple(at)].sum()
        for found in torch.autograd.grad(total, changes, retain_graph=True, allow_unused=True):
            if found is not None:
                learns[tuple(at)] |= _moves(found, learns[tuple(at)].shape)
    return learns


def _shared_dimensions(plan: Plan) -> list[int]:
    """Return the dimensions that groundings share with a quantifier inside of them.

    There a change belongs to all groundings, so that these are looked at one by one.
    """
    outermost = groundings_of(plan).quantifiers
    outer, inner = (
        {
            axis.dimension - plan.rank
            for number, step in enumerate(plan.steps)
            if isinstance(step, Quantify) and (number in outermost) == is_outer
            for axis in step.axes
            if axis.dimension is not None
        }
        for is_outer in (True, False)
    )
    return sorted(outer & inner)


def _moves(gradient: Tensor, shape: torch.Size) -> Tensor:
    """Return in which groundings a gradient is not 0, in their shape."""
    moves = (gradient != 0) & ~gradient.isnan()  # NaN reaches a network as 0
    for dimension, length in enumerate(shape):
        if length == 1:
            moves = moves.any(dimension, keepdim=True)
    return moves


def _moved(degree: Degree, change: Tensor, form: Form, *, is_compared: bool) -> Degree:
    """Return a degree that an output's change moves, at the rate of each side of the degree.

    The degree of a comparison counts as flat where its slope is lost in rounding. An output is as
    far away seldom, but sides of a comparison may be many scales apart.
    """
    true, false = (torch.as_tensor(one) for one in (degree.true, degree.false))
    smallest = floor(true)
    is_lost = ((1 - true) * (1 - false) == 0) & is_compared  # so PyTorch computes a slope
    on_ramp = ((true > 0) & (false > 0)) / 2  # flat at its ends
    rates: dict[Form, dict[Side, Callable[[], Tensor]]] = {
        "logits": {
            "true": lambda: (true * false).masked_fill(is_lost, 0.0),
            "false": lambda: (-true * false).masked_fill(is_lost, 0.0),
            "log_true": lambda: false,
            "log_false": lambda: -true,
        },
        "log_probs": {
            "true": lambda: true,
            "false": lambda: -true.masked_fill(is_lost, 0.0),
            "log_true": lambda: torch.ones_like(true),
            "log_false": lambda: -true / false.clamp(min=smallest),
        },
        "probs": {
            "true": lambda: torch.ones_like(true),
            "false": lambda: -torch.ones_like(true),
            "log_true": lambda: 1 / true.clamp(min=smallest),
            "log_false": lambda: -1 / false.clamp(min=smallest),
        },
        "ramp": {
            "true": lambda: on_ramp,
            "false": lambda: -on_ramp,
            "log_true": lambda: on_ramp / true.clamp(min=smallest),
            "log_false": lambda: -on_ramp / false.clamp(min=smallest),
        },
    }

    def side(name: Side) -> Tensor:
        value = torch.as_tensor(getattr(degree, name))
        rate = rates[form][name]()
        if form != "probs" and name == "log_true":  # a class masked by −inf stays impossible
            rate = rate.masked_fill(value == impossible(value.dtype), 0.0)
        return value + rate * change

    return degree_with(side)
