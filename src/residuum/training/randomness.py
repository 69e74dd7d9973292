"""Random numbers that are functions of where they are used.

A number is a hash of its counters: the seed of a run, a purpose, an epoch, a place. Nothing is
drawn in sequence, so a run sees the same numbers alone and among others, on any device, and
after it was stopped and continued.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

# The finaliser of splitmix64; torch has no unsigned 64-bit arithmetic, and wraps around.
_GOLDEN: Final = 0x9E3779B97F4A7C15 - 2**64
_FIRST: Final = 0xBF58476D1CE4E5B9 - 2**64
_SECOND: Final = 0x94D049BB133111EB - 2**64


def purpose(name: str) -> int:
    """Return a counter that stands for a word."""
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
    """Return x shifted to the right, zeros coming in."""
    return (x >> by) & ((1 << (64 - by)) - 1)


def uniform(*counters: Tensor | int) -> Tensor:
    """Return a number of [0, 1) in double precision for each combination of counters."""
    return _shifted(hashed(*counters), 11).double() * 2.0**-53


def permutations(size: int, *counters: Tensor) -> Tensor:
    """Return a permutation of 0 … size − 1 for each combination of counters, along a last axis."""
    places = torch.arange(size, device=counters[0].device)
    keys = hashed(*(counter.unsqueeze(-1) for counter in counters), places)
    return keys.argsort(dim=-1, stable=True)


def starting_values(seeds: Tensor, name: str, shape: Sequence[int], bound: float) -> Tensor:
    """Return parameters to begin with, uniform within a bound: (runs, …), in double precision."""
    places = torch.arange(torch.Size(shape).numel(), device=seeds.device)
    numbers = uniform(seeds.unsqueeze(-1), purpose(name), places)
    return ((2 * numbers - 1) * bound).reshape(len(seeds), *shape)


def dropped_out(x: Tensor, share: float, *counters: Tensor | int) -> Tensor:
    """Return x (…, examples, units) with a share of its units at 0, the others scaled up for it.

    The counters have the dimensions of x before `examples`, or none.
    """
    places = torch.arange(x.shape[-2], device=x.device)
    keys = hashed(*(_beside_examples(counter) for counter in counters), places)
    return x * kept(1 - share, keys, x.shape[-1]).to(x.dtype) / (1 - share)


def _beside_examples(counter: Tensor | int) -> Tensor | int:
    return counter.unsqueeze(-1) if isinstance(counter, Tensor) else counter


def kept(probability: float, keys: Tensor, width: int) -> Tensor:
    """Return for each key `width` Booleans that are true with a probability, in 1/65536ths."""
    places = torch.arange(-(-width // 4), device=keys.device)
    quarters = hashed(keys.unsqueeze(-1), places).view(torch.int16)[..., :width]
    return quarters.int() < round(probability * 2**16) - 2**15
