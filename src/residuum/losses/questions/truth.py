"""The degree of truth of a rule, one per example."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from residuum.losses.degrees.tensors import TENSORS
from residuum.losses.inputs.calls import Call
from residuum.losses.questions.pieces import ask, needs_pieces
from residuum.losses.routes.choosing import Chooser
from residuum.losses.routes.definition import Definition
from residuum.losses.routes.steps import evaluation_of, per_example
from residuum.relaxations import Degree
from residuum.relaxations.tnorms import Archimedean, TNorm
from residuum.syntax.over import CONJUNCTION


def truth(definition: Definition, routes: Chooser, call: Call) -> Tensor:
    """Return the degree of truth of each example."""
    if definition.is_exact:
        penalty = routes.evaluate(call)
        assert penalty is not None
        return torch.exp(-penalty)
    if definition.over[0].over != CONJUNCTION:
        penalty = routes.evaluate(call)
        assert penalty is not None
        return _with_penalty(definition.relaxation.tnorm, definition.divided(penalty, call))
    root = len(definition.plan.steps) - 1

    def degree_of(call: Call) -> Degree:
        return evaluation_of(definition, call).degree(root)

    if needs_pieces(definition, call):
        return _in_pieces(definition, call, degree_of).reshape(call.batch)
    degree = torch.as_tensor(degree_of(call).true, device=call.device)
    return per_example(degree, call, definition.plan.rank)


def _with_penalty(tnorm: TNorm, penalty: Tensor) -> Tensor:
    """Return the degree that has a penalty."""
    on = TENSORS
    if not isinstance(tnorm, Archimedean):
        return 1 - penalty
    most = on.minimum(penalty, on.constant(tnorm.limit))
    return torch.as_tensor(tnorm.degree(on, most).true)


def _in_pieces(definition: Definition, call: Call, degree: Callable[[Call], Degree]) -> Tensor:
    """Return one degree of truth per example, the conjunction of the degrees of its pieces.

    Gradients are taken piece by piece too, for which each piece is evaluated a second time.
    """

    def sides(call: Call) -> Tensor:
        def evaluate(*inputs: Tensor) -> Tensor:
            return _stacked(degree(call._replace(inputs=list(inputs))), call)

        inputs = call.inputs
        if torch.is_grad_enabled() and any(given.requires_grad for given in inputs):
            found: Tensor = checkpoint(
                evaluate, *inputs, use_reentrant=False, preserve_rng_state=False
            )
            return found
        return evaluate(*inputs)

    def conjoin(first: Tensor, second: Tensor) -> Tensor:
        x, y = (Degree(TENSORS, true=one[:, 0], false=one[:, 1]) for one in (first, second))
        both = definition.relaxation.tnorm.conjoin(x, y)
        return torch.stack([both.true, both.false], -1)

    return ask(definition, call, sides, conjoin)[:, 0]


def _stacked(degree: Degree, call: Call) -> Tensor:
    sides = (torch.as_tensor(side, device=call.device) for side in (degree.true, degree.false))
    return torch.stack([side.flatten().expand(*call.batch) for side in sides], -1)
