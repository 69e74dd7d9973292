"""Random choices that are the same everywhere and for ever.

They use nothing but the raw numbers of PCG64 seeded by a SeedSequence, which NumPy promises never
to change; it makes no such promise for the methods of its generators, nor does PyTorch.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from residuum.errors import DataError

Indices = npt.NDArray[np.int64]


def stream(seed: int, purpose: str) -> np.random.PCG64:
    """Return random numbers for one purpose, independent of those for any other."""
    if seed < 0:
        raise DataError(f"expected a seed of at least 0, got {seed}")
    return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=tuple(purpose.encode())))


def permutation(numbers: np.random.PCG64, count: int) -> Indices:
    """Return 0 to `count` - 1 in random order."""
    return np.argsort(numbers.random_raw(count), kind="stable").astype(np.int64)
