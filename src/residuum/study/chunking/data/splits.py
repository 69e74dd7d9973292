"""Which training sentences a run uses, and which of them are for development."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from residuum.errors import DataError
from residuum.study.common_settings import check_fraction
from residuum.study.random_draws import Indices, permutation, stream

SHARE_OF_DEV: Final = 10
"""One in this many of the sentences in use is for development."""


@dataclass(frozen=True, eq=False)
class Split:
    """Indices of training sentences: for learning, for development, and without labels."""

    train: Indices
    dev: Indices
    unlabelled: Indices

    def __post_init__(self) -> None:
        for indices in vars(self).values():
            indices.setflags(write=False)


def make_split(sentences: int, fraction: float, seed: int) -> Split:
    """Draw a fraction of the sentences for use with labels; the others count as unlabelled.

    The split depends only on the arguments. A smaller fraction is part of a larger one.

    >>> split = make_split(200, 0.1, seed=0)
    >>> len(split.train), len(split.dev), len(split.unlabelled)
    (18, 2, 180)
    """
    check_fraction(fraction)
    in_use = round(fraction * sentences)
    dev = round(in_use / SHARE_OF_DEV)
    if not 0 < dev < in_use:
        raise DataError(
            f"{fraction:.3g} of {sentences:,} sentences are too few: expected enough that one in "
            f"{SHARE_OF_DEV} can be for development, found {in_use}; raise the fraction"
        )
    order = permutation(stream(seed, "chunking sentences"), sentences)
    return Split(order[dev:in_use].copy(), order[:dev].copy(), order[in_use:].copy())
