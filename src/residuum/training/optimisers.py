"""Optimisers for stacked parameters: each run has its own learning rate at every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import torch
from torch import Tensor

from residuum.training.rates import OptimiserName


class Optimiser(Protocol):
    """Changes parameters by their gradients; `rates` holds one number per parameter and run."""

    def step(self, gradients: Sequence[Tensor], rates: Sequence[Tensor]) -> None:
        """Change the parameters in place."""

    @property
    def state(self) -> list[Tensor]:
        """What must be kept to go on later: tensors with a first dimension of runs."""


class Sgd:
    """Stochastic gradient descent without momentum."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._parameters = list(parameters)

    @property
    def state(self) -> list[Tensor]:
        """Nothing is remembered."""
        return []

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor], rates: Sequence[Tensor]) -> None:
        """Change the parameters in place."""
        for parameter, gradient, rate in zip(self._parameters, gradients, rates, strict=True):
            parameter.addcmul_(gradient, _beside(rate, parameter), value=-1)


class Adam:
    """Kingma and Ba's Adam with PyTorch's default constants."""

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
        """Running means, and how many steps they are of."""
        return [*self._means, *self._squares, self._steps]

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor], rates: Sequence[Tensor]) -> None:
        """Change the parameters in place."""
        slopes = list(gradients)
        self._steps += 1
        first = 1 - self.FIRST**self._steps
        second = (1 - self.SECOND**self._steps).sqrt()
        torch._foreach_lerp_(self._means, slopes, 1 - self.FIRST)
        torch._foreach_mul_(self._squares, self.SECOND)
        torch._foreach_addcmul_(self._squares, slopes, slopes, 1 - self.SECOND)
        for parameter, mean, square, rate in zip(
            self._parameters, self._means, self._squares, rates, strict=True
        ):
            root = square.sqrt().div_(_beside(second, parameter)).add_(self.SMALL)
            parameter.sub_(mean / root * _beside(rate / first, parameter))


OPTIMISERS: Final[dict[OptimiserName, type[Sgd | Adam]]] = {"sgd": Sgd, "adam": Adam}


def clipped(gradients: Sequence[Tensor], most: float) -> list[Tensor]:
    """Return gradients of stacked parameters, scaled down where a run's norm is over the most."""
    squares = [gradient.flatten(1).square().sum(1) for gradient in gradients]
    norms = torch.stack(squares).sum(0).sqrt()
    factors = most / norms.clamp(min=most)
    return [gradient * _beside(factors, gradient) for gradient in gradients]


def _beside(per_run: Tensor, parameter: Tensor) -> Tensor:
    """Return one number per run in a shape that broadcasts over a stacked parameter."""
    shape = (len(per_run), *(1,) * (parameter.dim() - 1))
    return per_run.to(parameter.dtype).reshape(shape)
