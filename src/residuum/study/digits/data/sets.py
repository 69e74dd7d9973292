"""The sets of the digits study, as indices of images: what is labelled, paired and evaluated.

They follow the paper: TRAIN and DEV part the training images, DIGIT is a labelled part of TRAIN,
and PAIR has pairs of other images of TRAIN, unlabelled. Where the authors' generator did otherwise
than the paper says, or than one would expect, `make_sets` says what is done here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final, Literal

import numpy as np

from residuum.errors import DataError
from residuum.study.common_settings import check_choice
from residuum.study.digits.data.images import Images, ImagesName
from residuum.study.random_draws import Indices, permutation, stream

PairPool = Literal["paper", "original"]

DIGIT_SIZES: Final = MappingProxyType[ImagesName, tuple[int, int, int]](
    {"mnist": (1_000, 5_000, 25_000), "embedded": (100, 200, 600)}
)
"""The sizes of DIGIT that are compared, those of the paper for MNIST; the middle one is usual."""

PAIR_SIZES: Final = MappingProxyType[ImagesName, tuple[int, int, int]](
    {"mnist": (1_000, 5_000, 25_000), "embedded": (200, 1_000, 4_000)}
)
"""The sizes of PAIR, likewise."""

SEED: Final = 20
"""What the sets of the study are drawn by, whatever the seed of a run."""

_SHARE_OF_DEV: Final = 6
DRAWS_PER_IMAGE: Final = 5
"""Rows of the sets for evaluation, for each image."""


@dataclass(frozen=True, eq=False)
class Sets:
    """Indices into `Images.train` (the first five) and into `Images.test`; read-only arrays.

    `pairs` are the unlabelled ones that rules are grounded in. `pair_dev` and `pair_test` measure
    accuracy and coherence, the last three the laws of arithmetic they are named after.
    """

    train: Indices
    dev: Indices
    digit: Indices
    pairs: Indices
    pair_dev: Indices
    pair_test: Indices
    commutativity: Indices
    associativity: Indices
    distributivity: Indices

    def __post_init__(self) -> None:
        for indices in vars(self).values():
            indices.setflags(write=False)


def make_sets(
    images: Images,
    digit_size: int,
    pair_size: int,
    pair_pool: PairPool = "paper",
    seed: int = SEED,
) -> Sets:
    """Draw the sets of one setting; equal arguments always give equal sets.

    A sixth of the training images is DEV and the rest TRAIN, for MNIST 10,000 and 50,000. DIGIT
    is at most half of TRAIN, and a smaller DIGIT is the beginning of a larger. PAIR never pairs
    an image with itself, and has no pair twice, nor its reverse; a smaller PAIR is the beginning
    of a larger with the same pool. With `pair_pool="paper"` that pool is the images of TRAIN that
    are in no DIGIT set of any size, half of TRAIN, so that PAIR does not depend on `digit_size`.

    With `pair_pool="original"` it is what the authors' generator took: only as many further
    images as DIGIT has, which may well be in a larger DIGIT.

    The sets for evaluation have five rows for each image of DEV or TEST, for MNIST 50,000. The
    pairs of `pair_dev` and `pair_test`, and the triples, are ordered: none occurs twice, but its
    reverse may occur. For `commutativity` a pair and its reverse are the same.

    Every set has random numbers of its own. The authors' generator began anew with the same seed
    for each, so that PairDEV and PairTEST were the same list of indices, the pairs for
    commutativity nearly so, and the triples for associativity those for distributivity.
    """
    check_choice("pool of pairs", pair_pool, PairPool)
    order = permutation(stream(seed, "dev"), len(images.train))
    dev_size = len(images.train) // _SHARE_OF_DEV
    dev, train = np.sort(order[:dev_size]), np.sort(order[dev_size:])

    shuffled = train[permutation(stream(seed, "digit"), len(train))]
    largest = len(train) // 2
    if not 0 < digit_size <= largest:
        raise DataError(
            f"DIGIT can have 1 to {largest:,} of the {len(train):,} images of TRAIN, "
            f"so that as many are left for pairs, not {digit_size:,}"
        )
    if pair_pool == "paper":
        pool = shuffled[largest:]
    else:
        rest = shuffled[digit_size:]
        pool = rest[permutation(stream(seed, "pool"), len(rest))][:digit_size]

    test = np.arange(len(images.test))
    draw = partial(_draw, seed)

    return Sets(
        train=train,
        dev=dev,
        digit=shuffled[:digit_size],
        pairs=distinct_tuples(stream(seed, "pairs"), pool, 2, pair_size, ordered=False),
        pair_dev=draw("pair_dev", dev, 2),
        pair_test=draw_pair_test(len(test), seed),
        commutativity=draw("commutativity", test, 2, ordered=False),
        associativity=draw("associativity", test, 3),
        distributivity=draw("distributivity", test, 3),
    )


def draw_pair_test(images: int, seed: int = SEED) -> Indices:
    """Return `Sets.pair_test` for so many test images; the images themselves are not needed."""
    return _draw(seed, "pair_test", np.arange(images), 2)


def _draw(seed: int, purpose: str, pool: Indices, width: int, *, ordered: bool = True) -> Indices:
    count = DRAWS_PER_IMAGE * len(pool)
    return distinct_tuples(stream(seed, purpose), pool, width, count, ordered=ordered)


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
