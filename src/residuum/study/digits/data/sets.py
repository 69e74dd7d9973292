"""The sets of the digits study, as indices of images: what is labelled, paired and evaluated.

The sets follow the paper. TRAIN and DEV divide the training images. DIGIT is a labelled part of
TRAIN, and PAIR holds unlabelled pairs of other images of TRAIN. The docstring of `make_sets` tells
where the authors' generator differs.
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
"""The sizes of DIGIT that are compared; for MNIST those of the paper."""

PAIR_SIZES: Final = MappingProxyType[ImagesName, tuple[int, int, int]](
    {"mnist": (1_000, 5_000, 25_000), "embedded": (200, 1_000, 4_000)}
)
"""The sizes of PAIR that are compared; the middle one is the default."""

SEED: Final = 20
"""The seed of all sets. It does not depend on the seed of a run."""

_SHARE_OF_DEV: Final = 6
DRAWS_PER_IMAGE: Final = 5
"""Pairs or triples in a set for evaluation, for each image."""


@dataclass(frozen=True, eq=False)
class Sets:
    """Indices into `Images.train` (the first five) and into `Images.test`, as read-only arrays.

    `pairs` holds the unlabelled pairs that the rules are grounded in. `pair_dev` and `pair_test`
    measure accuracy and coherence. The last three measure the laws they are named after.
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

    DEV is a sixth of the training images and TRAIN the rest: 10,000 and 50,000 for MNIST. DIGIT
    is at most half of TRAIN, and a smaller DIGIT is the beginning of a larger one. PAIR pairs no
    image with itself and holds no pair twice or reversed. A smaller PAIR is the beginning of a
    larger PAIR with the same pool. With `pair_pool="paper"` the pool is the half of TRAIN that no
    DIGIT of any size uses, so that PAIR does not depend on `digit_size`.

    With `pair_pool="original"` the pool is that of the authors' generator: only as many further
    images as DIGIT has, which may also be in a larger DIGIT.

    The sets for evaluation have five rows for each image of DEV or TEST: 50,000 for MNIST. The
    pairs of `pair_dev` and `pair_test`, and the triples, are ordered: no row occurs twice, but
    its reverse may occur. In `commutativity` a pair and its reverse count as the same.

    Every set has its own random numbers. The authors' generator used the same seed for each set.
    Its PairDEV and PairTEST were the same list of indices, its pairs for commutativity nearly the
    same, and its triples for associativity those for distributivity.
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
            f"so that half of them are left for pairs, not {digit_size:,}"
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
    """Return `Sets.pair_test` for this number of test images; the images are not needed."""
    return _draw(seed, "pair_test", np.arange(images), 2)


def _draw(seed: int, purpose: str, pool: Indices, width: int, *, ordered: bool = True) -> Indices:
    count = DRAWS_PER_IMAGE * len(pool)
    return distinct_tuples(stream(seed, purpose), pool, width, count, ordered=ordered)


def distinct_tuples(
    numbers: np.random.PCG64, pool: Indices, width: int, count: int, *, ordered: bool
) -> Indices:
    """Return `count` tuples of `width` different members of the pool, no tuple twice.

    Unless tuples are `ordered`, tuples with the same members count as the same. Tuples are drawn
    one after the other and the first `count` are kept, so that a longer list begins with a
    shorter one.
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
