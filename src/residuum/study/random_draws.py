"""Random choices that are the same on every machine and with every version.

All choices use only the raw numbers of PCG64 seeded by a SeedSequence, which NumPy promises never
to change. NumPy makes no such promise for the methods of its generators, and PyTorch makes none.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from residuum.errors import DataError

Indices = npt.NDArray[np.int64]


def stream(seed: int, purpose: str) -> np.random.PCG64:
    """Return random numbers for one purpose, independent of those for any other purpose."""
    if seed < 0:
        raise DataError(f"seed: expected a whole number of at least 0, got {seed}")
    return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=tuple(purpose.encode())))


def permutation(numbers: np.random.PCG64, count: int) -> Indices:
    """Return 0 to `count` - 1 in random order."""
    return np.argsort(numbers.random_raw(count), kind="stable").astype(np.int64)
