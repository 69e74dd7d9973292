"""Random pairs and triples of images."""

from __future__ import annotations

import math

import numpy as np

from residuum.errors import DataError
from residuum.study.drawing import Indices


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
