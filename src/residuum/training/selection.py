"""The best state of each run so far, by a measure on development data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import final

import torch
from torch import Tensor


def are_finite(parameters: Iterable[Tensor]) -> Tensor:
    """Return which runs of a stack have no parameter that is infinite or NaN."""
    return torch.stack(
        [one.detach().isfinite().reshape(len(one), -1).all(1) for one in parameters]
    ).all(0)


@final
class Best:
    """Copies of stacked parameters, each run's from the moment of its highest score.

    Of equal scores the first counts. A score of −inf or NaN is never chosen; a run that had no
    other ends with its last parameters, and `epochs` says −1.
    """

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._parameters = list(parameters)
        first = self._parameters[0]
        self._copies = [parameter.detach().clone() for parameter in self._parameters]
        self.scores = torch.full((len(first),), -torch.inf, dtype=torch.float64)
        self.epochs = torch.full((len(first),), -1, dtype=torch.int64)

    @torch.no_grad()
    def consider(self, scores: Tensor, epoch: int) -> None:
        """Keep the parameters of the runs whose score is higher than before."""
        scores = scores.double().cpu()
        is_better = scores > self.scores
        self.scores = torch.where(is_better, scores, self.scores)
        self.epochs = torch.where(is_better, epoch, self.epochs)
        for run in is_better.nonzero().flatten().tolist():
            for copy, parameter in zip(self._copies, self._parameters, strict=True):
                copy[run].copy_(parameter[run])

    @torch.no_grad()
    def restore(self) -> None:
        """Put the best parameters of each run in place."""
        for run in (self.epochs >= 0).nonzero().flatten().tolist():
            for copy, parameter in zip(self._copies, self._parameters, strict=True):
                parameter[run].copy_(copy[run])

    @property
    def state(self) -> list[Tensor]:
        """What must be kept to go on later: tensors with a first dimension of runs."""
        return [*self._copies, self.scores, self.epochs]
