"""Antecedents that evidence makes false, in strict R-logics.

There 0 → x is 1, however small x is. On tensors the logarithm of 0 is a finite number, so that x
may look smaller than the antecedent. So Boolean logic tells where an antecedent is exactly 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from residuum.grounding import Plan
from residuum.losses.degrees.logits import Side, Source, degree_with
from residuum.losses.degrees.tensors import impossible
from residuum.losses.inputs.calls import Call
from residuum.losses.questions.crisp_truth import Crisp
from residuum.relaxations import Degree


class Certainty(NamedTuple):
    """Where the degrees of a plan are exactly 0 or exactly 1."""

    crisp: Crisp

    def or_true(self, antecedent: int, found: Any) -> Any:
        """Return a penalty of an implication, but 0 where its antecedent is exactly 0."""
        return torch.where(self.crisp.truth(antecedent, is_upper=True), found, 0.0)

    def or_true_degree(self, antecedent: int, found: Degree) -> Degree:
        """Return a degree of an implication, but 1 where its antecedent is exactly 0."""
        is_open = self.crisp.truth(antecedent, is_upper=True)

        def side_of(side: Side) -> Tensor:
            value = torch.as_tensor(getattr(found, side), device=is_open.device)
            true = {"true": 1.0, "log_false": impossible(value.dtype)}.get(side, 0.0)
            return torch.where(is_open, value, true)

        return degree_with(side_of)


def certainty_of(plan: Plan, call: Call, sources: Sequence[Source]) -> Certainty:
    """Return what is certain in a call, whose tensors are given as degrees."""
    false, true = (
        [_is_impossible(source.side, *sides) for source in sources]
        for sides in (("true", "log_true"), ("false", "log_false"))
    )
    upper = [~one for one in false]
    return Certainty(Crisp(plan, call._replace(inputs=true), upper))


def _is_impossible(side_of: Callable[[Side], Tensor], side: Side, log_side: Side) -> Tensor:
    """Return where a side is exactly 0. A softmax can underflow to 0, but not its logarithm."""
    logarithm = side_of(log_side).detach()
    return (side_of(side).detach() == 0) & (logarithm == impossible(logarithm.dtype))
