"""Random choices that are the same everywhere and for ever.

They use nothing but the raw numbers of PCG64 seeded by a SeedSequence, which NumPy promises never
to change; it makes no such promise for the methods of its generators, nor does PyTorch.
"""

from __future__ import annotations

import math

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


def distinct_tuples(
    numbers: np.random.PCG64, pool: Indices, width: int, count: int, *, ordered: bool
) -> Indices:
    """Return `count` tuples of `width` different members of the pool, no tuple twice.

    Unless tuples are `ordered`, those with the same members count as the same. They are the
    first that come up when tuples are drawn one after the other, so that a longer list begins
    with a shorter one.
    """
    choices = math.perm(len(pool), width) if ordered else math.comb(len(pool), width)
    if not 0 < count <= choices:
        raise DataError(
            f"{len(pool):,} images make at most {choices:,} different "
            f"{'ordered ' if ordered else ''}{'pairs' if width == 2 else 'triples'}, "
            f"and at least 1 is needed; got {count:,}"
        )
    place_values = len(pool) ** np.arange(width)
    kept = np.empty((0, width), np.int64)
    while len(kept) < count:
        raw = numbers.random_raw(count * width)
        drawn = (raw % np.uint64(len(pool))).astype(np.int64).reshape(-1, width)
        in_order = np.sort(drawn, axis=1)
        has_no_repeat = (np.diff(in_order, axis=1) > 0).all(axis=1)
        kept = np.concatenate([kept, drawn[has_no_repeat]])
        members = kept if ordered else np.sort(kept, axis=1)
        _, first = np.unique(members @ place_values, return_index=True)
        kept = kept[np.sort(first)]
    return pool[kept[:count]]
