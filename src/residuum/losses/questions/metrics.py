"""What one logs of a rule while a network learns, as plain numbers."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.hidden import has_predictions
from residuum.losses.questions.coverage import counts_of_groundings
from residuum.losses.questions.crisp_truth import satisfied
from residuum.losses.questions.truth import truth
from residuum.losses.routes.choosing import Chooser
from residuum.losses.routes.definition import Definition


def metrics_of(
    definition: Definition, routes: Chooser, call: Call, penalty: Tensor
) -> dict[str, Tensor]:
    """Return the numbers of one rule as tensors without dimensions; `penalty` is per example."""
    known = {"penalty": _mean(penalty), "truth": _mean(truth(definition, routes, call))}
    if not has_predictions(definition.plan.slots, call.labels, call.lengths):
        return known
    covered, holding, counted = counts_of_groundings(definition, call).double().unbind(-1)
    return {
        **known,
        "satisfied": _mean(satisfied(definition, call)),
        # Where there are no groundings, none is broken.
        "groundings": 1 - (counted - holding).sum() / counted.sum().clamp(min=1),
        "coverage": _mean(covered / counted.clamp(min=1)),
    }


def _mean(values: Tensor) -> Tensor:
    """Return the mean over examples; 0 if there are none."""
    return values.double().sum() / max(1, values.numel())


def as_numbers(found: Mapping[str, Tensor]) -> dict[str, float]:
    """Return tensors as plain numbers, for which a GPU is waited for once."""
    if not found:
        return {}
    numbers: list[float] = torch.stack(list(found.values())).tolist()
    return dict(zip(found, numbers, strict=True))
