"""Random numbers as hashes of counters, without a state.

The counters are the seed of a run, a purpose, an epoch, a position. Nothing is drawn in sequence,
so a run sees the same numbers alone and in a stack, on any device, and after it was stopped and
continued.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

# Constants of the finaliser of splitmix64, as signed integers: PyTorch has no unsigned 64-bit
# arithmetic, and signed arithmetic wraps around.
_GOLDEN: Final = 0x9E3779B97F4A7C15 - 2**64
_FIRST: Final = 0xBF58476D1CE4E5B9 - 2**64
_SECOND: Final = 0x94D049BB133111EB - 2**64


def purpose(name: str) -> int:
    """Return the counter of a named purpose."""
    return zlib.crc32(name.encode())


def hashed(*counters: Tensor | int) -> Tensor:
    """Return 64 random bits for each combination of counters, which broadcast."""
    state: Tensor | None = None
    for counter in counters:
        number = torch.as_tensor(counter, dtype=torch.int64)
        state = _mixed(number if state is None else state + number)
    assert state is not None, "a random number needs a counter"
    return state


def _mixed(x: Tensor) -> Tensor:
    x = x + _GOLDEN
    x = (x ^ _shifted(x, 30)) * _FIRST
    x = (x ^ _shifted(x, 27)) * _SECOND
    return x ^ _shifted(x, 31)


def _shifted(x: Tensor, by: int) -> Tensor:
    """Return x shifted to the right, filled with zeros."""
    return (x >> by) & ((1 << (64 - by)) - 1)


def uniform(*counters: Tensor | int) -> Tensor:
    """Return a number in [0, 1), in double precision, for each combination of counters."""
    return _shifted(hashed(*counters), 11).double() * 2.0**-53


def permutations(size: int, *counters: Tensor) -> Tensor:
    """Return a permutation of 0 … size − 1 for each combination of counters, in the last axis."""
    places = torch.arange(size, device=counters[0].device)
    keys = hashed(*(counter.unsqueeze(-1) for counter in counters), places)
    return keys.argsort(dim=-1, stable=True)


def starting_values(seeds: Tensor, name: str, shape: Sequence[int], bound: float) -> Tensor:
    """Return initial parameters, uniform within ± bound: (runs, …), in double precision."""
    places = torch.arange(torch.Size(shape).numel(), device=seeds.device)
    numbers = uniform(seeds.unsqueeze(-1), purpose(name), places)
    return ((2 * numbers - 1) * bound).reshape(len(seeds), *shape)


def dropped_out(x: Tensor, share: float, *counters: Tensor | int) -> Tensor:
    """Apply dropout to x (…, examples, units): set a share of units to 0, and scale up the others.

    The counters are numbers, or tensors with the dimensions of x before `examples`.
    """
    places = torch.arange(x.shape[-2], device=x.device)
    keys = hashed(*(_beside_examples(counter) for counter in counters), places)
    return x * kept(1 - share, keys, x.shape[-1]).to(x.dtype) / (1 - share)


def _beside_examples(counter: Tensor | int) -> Tensor | int:
    return counter.unsqueeze(-1) if isinstance(counter, Tensor) else counter


def kept(probability: float, keys: Tensor, width: int) -> Tensor:
    """Return `width` Booleans for each key, true with a probability rounded to 1/65536."""
    places = torch.arange(-(-width // 4), device=keys.device)
    quarters = hashed(keys.unsqueeze(-1), places).view(torch.int16)[..., :width]
    return quarters.int() < round(probability * 2**16) - 2**15
