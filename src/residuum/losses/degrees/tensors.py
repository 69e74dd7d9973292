"""Torch tensors as a carrier. Every function and its gradient are finite everywhere.

Where a logarithm would be infinite, its tangent takes its place: below the truth `floor(x)`, which
is 1e-30 in single and 1e-300 in double precision, log x is the tangent at that point. So an
impossible formula has a finite penalty, which still falls when the degree rises. Nothing else is
changed: there is no epsilon in any formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, final

import torch
from torch import Tensor

from residuum.relaxations.carriers import Exact, LazyCarrier, Number, Pick, as_float
from residuum.relaxations.degrees import Later

FLOORS: Final = {torch.float32: 1e-30, torch.float64: 1e-300}
"""The truth below which a logarithm is replaced by its tangent."""

LARGEST: Final = 1e30
"""The number that stands for infinity. The sum of millions of them is still finite."""

NEARLY_TRUE: Final = 0.9
"""For a larger x, 1 − x would lose more than one digit; it is computed from its parts."""

_STEEP: Final = math.log(LARGEST)


def floor(x: Tensor) -> float:
    """Return the truth below which a logarithm is replaced by its tangent, for the dtype of x."""
    return FLOORS[x.dtype]


def impossible(dtype: torch.dtype) -> float:
    """Return the logarithm of truth 0: the value at 0 of the tangent at the floor."""
    return math.log(FLOORS[dtype]) - 1


def _finite(value: float) -> float:
    return min(max(value, -LARGEST), LARGEST)


def is_traced(x: Tensor) -> bool:
    """Return whether Python cannot look at values: a trace or the capture of a CUDA graph."""
    return (
        torch.compiler.is_compiling()
        or torch._C._functorch.is_functorch_wrapped_tensor(x)
        or (x.is_cuda and torch.cuda.is_current_stream_capturing())
    )


def is_transformed() -> bool:
    """Return whether torch.compile or torch.func is active."""
    return torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()


_AS_IT_IS: Final = nullcontext()


def in_full(device: torch.device) -> AbstractContextManager[Any]:
    """Return a context without autocast, which would compute in half precision."""
    if not torch.is_autocast_enabled(device.type):
        return _AS_IT_IS
    return torch.autocast(device.type, enabled=False)


below_autograd: Final[Callable[[], AbstractContextManager[Any]]] = (
    torch._C._AutoDispatchBelowAutograd
)
"""Returns a context below autograd: PyTorch records nothing and skips all checks for that."""


def outside_inference_mode() -> AbstractContextManager[Any]:
    """Return a context for cached tensors: one made in inference mode cannot have gradients."""
    if torch.compiler.is_compiling() or not torch.is_inference_mode_enabled():
        return _AS_IT_IS
    return torch.inference_mode(False)


def bounded(
    given: Tensor, smallest: float = -LARGEST, largest: float = LARGEST
) -> tuple[Tensor, bool]:
    """Return numbers cut to a range, so that their sums are finite, and whether one may be −inf.

    The derivative is 1 everywhere, also where numbers are cut. −inf is not cut.
    """
    if not is_traced(given) and given.numel():
        low, high = (float(bound) for bound in torch.aminmax(given.detach()))
        if low >= smallest and high <= largest:
            return given, False
    fixed = given.detach()
    within = fixed.clamp(smallest, largest) + (given - fixed)
    return torch.where(fixed == -torch.inf, given, within), True


@final
class Tensors(LazyCarrier):
    """Tensors of float32 or float64, mixed with Python numbers.

    Ties: the minimum and the maximum of two numbers, and of the groundings of a quantifier, share
    the gradient evenly between equal arguments. Several operands are compared pair by pair. The
    gradient of `excess` is 0 where its arguments are equal.
    """

    def constant(self, value: Exact) -> float:
        return _finite(as_float(value))

    def minimum(self, x: Number, y: Number) -> Number:
        if not isinstance(y, Tensor):
            return x.clamp(max=y) if isinstance(x, Tensor) else min(x, y)
        return torch.minimum(x, y) if isinstance(x, Tensor) else y.clamp(max=x)

    def maximum(self, x: Number, y: Number) -> Number:
        if not isinstance(y, Tensor):
            return x.clamp(min=y) if isinstance(x, Tensor) else max(x, y)
        return torch.maximum(x, y) if isinstance(x, Tensor) else y.clamp(min=x)

    def excess(self, x: Number, y: Number) -> Number:
        gap = x - y
        return torch.relu(gap) if isinstance(gap, Tensor) else max(gap, 0.0)

    def ratio(self, x: Number, y: Number, at_zero: Exact) -> Number:
        if not isinstance(y, Tensor):
            limit = _finite(as_float(at_zero))
            return x / y if y else torch.full_like(x, limit) if isinstance(x, Tensor) else limit
        if at_zero == math.inf:  # below 1 / LARGEST the tangent takes its place
            kept = y.clamp(min=1 / LARGEST)
            return (x / kept * (2 - y / kept)).clamp(max=2 * LARGEST)
        # A denominator below the floor would give a gradient beyond the range of floats.
        is_zero = y.abs() < floor(y)
        quotient = x / torch.where(is_zero, torch.ones_like(y), y)
        return torch.where(is_zero, _finite(as_float(at_zero)), quotient.clamp(-LARGEST, LARGEST))

    def choose(self, x: Number, y: Number, then: Number, otherwise: Number) -> Number:
        return torch.where(torch.as_tensor(x <= y), then, otherwise)

    def power(self, x: Number, exponent: Exact) -> Number:
        if not isinstance(x, Tensor):
            return x ** as_float(exponent)
        p = self.constant(exponent)
        largest = LARGEST / max(p, 1.0)
        with torch.no_grad():
            is_small, is_large = x < floor(x), x**p >= largest
        # Below the floor: the straight line from 0 to the power at the floor. Above the largest,
        # where the derivative would overflow: a tangent as a function of log x.
        line = x * _finite(floor(x) ** (p - 1))
        beyond = torch.log(x.clamp(min=floor(x))) - math.log(largest) / p
        tangent = largest + _finite(p * largest) * beyond
        inside = torch.where(is_small | is_large, 1.0, x) ** p
        return torch.where(is_small, line, torch.where(is_large, tangent, inside))

    def log(self, x: Number) -> Number:
        if not isinstance(x, Tensor):
            return math.log(x) if x > 0 else -LARGEST
        # `where`, not a sum: next to the gradient of the line all other gradients would round to 0.
        line = x / floor(x) + impossible(x.dtype)
        return torch.where(x < floor(x), line, torch.log(x.clamp(min=floor(x))))

    def log_or(self, x: Number, instead: Callable[[], Number]) -> Number:
        if not isinstance(x, Tensor):
            return math.log(x) if x > 0 else instead()
        if not is_traced(x) and (not x.numel() or float(x.detach().amin()) >= floor(x)):
            return torch.log(x)
        is_small = x < floor(x)
        return torch.where(is_small, instead(), torch.log(torch.where(is_small, 1.0, x)))

    def log_linear(self, x: Number, factor: float, instead: Callable[[], Number]) -> Number:
        # `instead` starts at eps, above the floor: a smaller x has a gradient 1 / x that overflows
        # when multiplied by the gradient of a large penalty.
        if not isinstance(x, Tensor):
            is_large = x > torch.finfo(torch.float64).eps
            return math.log(x) + math.log(factor) if is_large else instead()
        is_small = x < torch.finfo(x.dtype).eps
        kept = torch.where(is_small, 1.0, x)
        # A product rounds less than a sum of logarithms, but may leave the range of floats.
        fits = 1e-28 < factor < 1e7
        logarithm = torch.log(kept * factor) if fits else torch.log(kept) + math.log(factor)
        return torch.where(is_small, instead(), logarithm)

    def log_complement(self, x: Later, rest: Later, instead: Callable[[], Number]) -> Number:
        true = x.number
        if not isinstance(true, Tensor):
            return self.log_or(rest.number, instead)
        if not is_traced(true) and (not true.numel() or float(true.detach().amax()) <= 0.5):
            return torch.log1p(-true)
        # For small x only x itself has the digits of the logarithm and of its gradient: the
        # gradients of the parts of 1 − x are large, of opposite sign, and cancel.
        by_truth = torch.log1p(-true.clamp(max=0.5))
        return torch.where(true <= 0.5, by_truth, self.log_or(rest.number, instead))

    def log_rest(
        self, x: Later, rest: Callable[[Pick], Number], log_rest: Callable[[Pick], Number]
    ) -> Number:
        true = x.number
        if not isinstance(true, Tensor) or not true.dim() or is_traced(true):
            return self.log_complement(x, Later(lambda: rest(_whole)), lambda: log_rest(_whole))
        known = true.detach()
        if not known.numel() or float(known.amax()) <= NEARLY_TRUE:
            return torch.log1p(-true)
        # Usually few numbers are large, and only they need the parts of 1 − x.
        where = (known > NEARLY_TRUE).nonzero(as_tuple=True)

        def pick(side: Number) -> Number:
            return _at(side, where)

        large = self.log_or(rest(pick), lambda: log_rest(pick))
        return torch.log1p(-true.clamp(max=NEARLY_TRUE)).index_put(where, large)

    def add_product(self, x: Number, y: Number, z: Number) -> Number:
        if all(isinstance(number, Tensor) for number in (x, y, z)):
            return torch.addcmul(x, y, z)
        return x + y * z

    def log1p(self, x: Number) -> Number:
        if not isinstance(x, Tensor):
            return math.log1p(x) if x > -1 else -LARGEST
        # The float next to −1 is at a distance of eps / 2; there the tangent begins.
        step = torch.finfo(x.dtype).eps / 2
        line = (x + 1) / step + (math.log(step) - 1)
        return torch.where(x < step - 1, line, torch.log1p(x.clamp(min=step - 1)))

    def exp(self, x: Number) -> Number:
        if not isinstance(x, Tensor):
            return _exp(x)
        return torch.exp(x.clamp(max=_STEEP)) * _beyond(x)

    def expm1(self, x: Number) -> Number:
        if not isinstance(x, Tensor):
            return _exp(x) - 1 if abs(x) > 1 else math.expm1(x)
        return torch.expm1(x.clamp(max=_STEEP)) * _beyond(x)


def _whole(side: Number) -> Number:
    return side


def _at(side: Number, where: tuple[Tensor, ...]) -> Number:
    """Return the numbers of a side at places of the tensor that the side broadcasts to."""
    if not isinstance(side, Tensor) or not side.dim():
        return side
    own = where[len(where) - side.dim() :]
    return side[
        tuple(i if n != 1 else torch.zeros_like(i) for i, n in zip(own, side.shape, strict=True))
    ]


def _beyond(x: Tensor) -> Tensor:
    """Return the factor that continues an exponential where it would overflow, and 1 elsewhere."""
    return 1 + torch.log1p((x - _STEEP).clamp(0, LARGEST))


def _exp(x: float) -> float:
    return math.exp(min(x, _STEEP))


TENSORS: Final = Tensors()
