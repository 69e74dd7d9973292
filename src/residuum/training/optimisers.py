"""Optimisers for stacked parameters; each run has its own learning rate at every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import torch
from torch import Tensor

from residuum.training.rates import OptimiserName


class Optimiser(Protocol):
    """Updates parameters in place; `rates` has a tensor with one number per run for each.

    `factors` has one number per run, by which all its gradients are multiplied first.
    """

    def step(
        self, gradients: Sequence[Tensor], rates: Sequence[Tensor], factors: Tensor | None = None
    ) -> None:
        """Update the parameters in place."""

    @property
    def state(self) -> list[Tensor]:
        """The tensors to keep in a checkpoint, each with a first dimension of runs."""


class Sgd:
    """Stochastic gradient descent without momentum."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._parameters = list(parameters)

    @property
    def state(self) -> list[Tensor]:
        """An empty list: plain SGD has no state."""
        return []

    @torch.no_grad()
    def step(
        self, gradients: Sequence[Tensor], rates: Sequence[Tensor], factors: Tensor | None = None
    ) -> None:
        """Update the parameters in place."""
        for parameter, gradient, given in zip(self._parameters, gradients, rates, strict=True):
            # A smaller rate does the same as a smaller gradient, and the gradient stays unread.
            rate = given if factors is None else given * factors
            parameter.addcmul_(gradient, _beside(rate, parameter), value=-1)


class Adam:
    """Adam (Kingma and Ba) with the default constants of PyTorch."""

    FIRST: Final = 0.9
    SECOND: Final = 0.999
    SMALL: Final = 1e-8

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._parameters = list(parameters)
        self._means = [torch.zeros_like(parameter) for parameter in self._parameters]
        self._squares = [torch.zeros_like(parameter) for parameter in self._parameters]
        first = self._parameters[0]
        self._steps = torch.zeros(len(first), dtype=torch.float64, device=first.device)

    @property
    def state(self) -> list[Tensor]:
        """The running means of gradients and of their squares, and the number of steps."""
        return [*self._means, *self._squares, self._steps]

    @torch.no_grad()
    def step(
        self, gradients: Sequence[Tensor], rates: Sequence[Tensor], factors: Tensor | None = None
    ) -> None:
        """Update the parameters in place."""
        given = list(gradients)
        if factors is not None:
            given = [gradient * _beside(factors, gradient) for gradient in given]
        self._steps += 1
        first = 1 - self.FIRST**self._steps
        second = (1 - self.SECOND**self._steps).sqrt()
        torch._foreach_lerp_(self._means, given, 1 - self.FIRST)
        torch._foreach_mul_(self._squares, self.SECOND)
        torch._foreach_addcmul_(self._squares, given, given, 1 - self.SECOND)
        for parameter, mean, square, rate in zip(
            self._parameters, self._means, self._squares, rates, strict=True
        ):
            root = square.sqrt().div_(_beside(second, parameter)).add_(self.SMALL)
            parameter.sub_(mean / root * _beside(rate / first, parameter))


OPTIMISERS: Final[dict[OptimiserName, type[Sgd | Adam]]] = {"sgd": Sgd, "adam": Adam}


def clipping_factors(gradients: Sequence[Tensor], most: Tensor) -> Tensor:
    """Return the factor for each run that scales its gradient down to a norm of at most `most`.

    The norm is that of all gradients of a run together. A run below its norm has the factor 1, and
    so has a run whose `most` is infinite.
    """
    norms = [torch.linalg.vector_norm(gradient.flatten(1), dim=1) for gradient in gradients]
    norm = torch.linalg.vector_norm(torch.stack(norms), dim=0)
    return torch.where(norm > most, most / norm, 1)


def _beside(per_run: Tensor, parameter: Tensor) -> Tensor:
    """Reshape one number per run so that it broadcasts over a stacked parameter."""
    shape = (len(per_run), *(1,) * (parameter.dim() - 1))
    return per_run.to(parameter.dtype).reshape(shape)
