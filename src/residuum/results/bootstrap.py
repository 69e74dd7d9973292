"""The bootstrap over seeds and over the units that test examples are made of.

Test pairs of images are not independent: an image that a network misreads spoils every pair it is
in, so that resampling pairs finds intervals far too narrow. What was drawn independently are the
images, and the seeds. Both are resampled with replacement, and an example then counts as often as
its images do: w_i · w_j times for the pair of i and j, v_s times more for the seed s (the
"pigeonhole bootstrap" of Owen 2007). Its variance is never too small for many images, and too
large, up to 2ᵏ⁺¹ − 1 times for k images to an example, for the part that is mere noise of single
outcomes.

Seeds are few, for which the bootstrap needs two corrections. One seed less is drawn than there
are, so that their part of the variance is unbiased (Rao and Wu 1988). And the difference over its
standard error is compared with Student's distribution: with one degree of freedom less than seeds
where the seeds are all that varies, with more as their share of the variance is smaller
(Satterthwaite 1946). Systems with different seeds share the draws of units, but not those of seeds,
and their difference has the variances of both, as in Welch's test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

import numpy as np
import numpy.typing as npt

from residuum.errors import ComparisonError
from residuum.results.statistics import Comparison, Floats, joint_freedom, judge

Integers: TypeAlias = npt.NDArray[np.intp]

_ABOUT_ONE_SEED: Final = "with one seed, this says nothing about other seeds"

ROWS_AT_ONCE: Final = 16
EXAMPLES_AT_ONCE: Final = 256
RESAMPLES_AT_ONCE: Final = 64
"""The sizes of the matrices that are multiplied.

Their product is the largest for which OpenBLAS takes a single thread. On a busy machine its threads
wait for each other, and a second becomes a minute.
"""

PRODUCTS_AT_ONCE: Final = 16
"""Products of matrices in one call of NumPy, whose own time would otherwise be seen."""

EXACT_BELOW: Final = 2**24
"""Whole numbers below this are exact in single precision, which takes half the time."""

FEWEST_USABLE: Final = 0.9
"""The share of resamples that must have a score. With few units some draw no example."""


@final
@dataclass(frozen=True)
class Ratio:
    """A score that is a ratio of sums over examples; both arrays are (seeds, examples).

    For F1, the numerator is twice the correct chunks of a sentence, and the denominator the
    predicted plus the gold chunks.
    """

    numerator: npt.ArrayLike
    denominator: npt.ArrayLike


@final
@dataclass(frozen=True)
class Resampled:
    """Scores of systems, by seed and in each resample of seeds and units."""

    by_seed: Mapping[str, Floats]
    resampled: Mapping[str, Floats]
    seeds: Mapping[str, object]
    """What names the seeds of each system. Systems with equal entries are compared in pairs."""

    @property
    def means(self) -> dict[str, float]:
        """The score of each system: its mean over the seeds."""
        return {name: float(scores.mean()) for name, scores in self.by_seed.items()}

    def compare(self, first: str, second: str, *, confidence: float = 0.95) -> Comparison:
        """Compare two systems; the difference is in the unit of their scores."""
        one, other = self.by_seed[first], self.by_seed[second]
        are_paired = self.seeds[first] == self.seeds[second]
        samples = [one - other] if are_paired else [one, -other]
        variance = float((self.resampled[first] - self.resampled[second]).var(ddof=1))
        counts = [len(sample) for sample in samples]
        of_seeds = [
            float(sample.var(ddof=1)) / len(sample) if len(sample) > 1 else 0.0
            for sample in samples
        ]
        freedom = joint_freedom(of_seeds, counts)
        if math.isfinite(freedom):
            freedom *= max(1.0, variance / sum(of_seeds)) ** 2
        difference = sum(float(sample.mean()) for sample in samples)
        scale = max(float(np.abs(scores).max()) for scores in (one, other))
        judged = judge(difference, math.sqrt(variance), freedom, confidence, scale=scale)
        if min(counts) > 1 or judged.note:
            return judged
        return replace(judged, note=_ABOUT_ONE_SEED)


def resample(
    systems: Mapping[str, npt.ArrayLike | Ratio],
    units: npt.ArrayLike | None = None,
    *,
    seeds: Mapping[str, object] | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Resampled:
    """Resample seeds and units. Units are the same for all systems, which share all examples.

    A system is an array (seeds, examples) of outcomes, whose mean is the score, or a `Ratio`.
    `units` are the indices (examples, k) of the units in each example: two images, or one sentence.
    Without `units` each example is its own unit. `seeds` names the seeds of each system: systems
    with equal entries have the same seeds in the same order, and these are drawn together; the
    seeds of others are drawn independently. Without `seeds` all systems share them.
    """
    if not systems or resamples < 2:
        raise ComparisonError(
            "expected at least one system and two resamples, got fewer; give more"
        )
    parts = {name: _parts(system) for name, system in systems.items()}
    shared = dict.fromkeys(systems) if seeds is None else {name: seeds[name] for name in systems}
    counts, examples = _sizes({name: above.shape for name, (above, _) in parts.items()}, shared)
    rng = np.random.default_rng(seed)
    indices, count = _compact(np.arange(examples)[:, None] if units is None else units, examples)
    rows = np.concatenate([row for pair in parts.values() for row in pair])
    if (rows == np.rint(rows)).all():
        rows = rows.astype(np.float32)
    chunks = _drawn_weights(count, resamples, rng)
    totals = np.hstack([weighted_totals(rows, indices, weights) for weights in chunks])
    drawn = {which: _drawn_seeds(count, resamples, rng) for which, count in counts.items()}
    scores = {}
    for name, (numerator, denominator) in parts.items():
        above, below, totals = np.split(totals, np.cumsum([len(numerator), len(denominator)]))
        with np.errstate(divide="ignore", invalid="ignore"):
            scores[name] = (drawn[shared[name]] * (above / below)).sum(axis=0)
    # A resample whose denominator is zero has no score.
    usable = np.all([np.isfinite(score) for score in scores.values()], axis=0)
    if usable.sum() < max(2, FEWEST_USABLE * resamples):
        raise ComparisonError(
            f"expected enough units to resample, got {count}: {resamples - usable.sum()} of "
            f"{resamples} resamples drew no example that counts; use a larger test set"
        )
    by_seed = {
        name: above.sum(axis=1) / below.sum(axis=1) for name, (above, below) in parts.items()
    }
    return Resampled(by_seed, {name: score[usable] for name, score in scores.items()}, shared)


def paired_bootstrap(
    first: npt.ArrayLike | Ratio,
    second: npt.ArrayLike | Ratio,
    units: npt.ArrayLike | None = None,
    *,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare two systems on the same seeds and examples; see `resample` for the arguments."""
    both = resample({"first": first, "second": second}, units, resamples=resamples, seed=seed)
    return both.compare("first", "second", confidence=confidence)


def weighted_totals(rows: npt.NDArray[np.floating], indices: Integers, weights: Floats) -> Floats:
    """Return the weighted sums of rows (rows, examples) over examples, one column per resample.

    The weight of an example is the product of the weights of its units. Rows of whole numbers may
    be given in single precision.
    """
    largest = float(weights.max()) ** indices.shape[1] * float(np.abs(rows).max())
    if largest * EXAMPLES_AT_ONCE >= EXACT_BELOW:
        rows = rows.astype(np.float64)
    cast = weights.astype(rows.dtype)
    totals = np.zeros((len(rows), weights.shape[1]))
    step = PRODUCTS_AT_ONCE * EXAMPLES_AT_ONCE
    for start in range(0, rows.shape[1], step):
        units = indices[start : start + step]
        product = cast[units[:, 0]]
        for column in units.T[1:]:
            product *= cast[column]
        for first in range(0, len(rows), ROWS_AT_ONCE):
            some = slice(first, first + ROWS_AT_ONCE)
            totals[some] += _multiplied(rows[some, start : start + step], product)
    return totals


def _multiplied(rows: npt.NDArray[np.floating], weights: npt.NDArray[np.floating]) -> Floats:
    """Return the product of two matrices, as a sum of products of small ones."""
    count = rows.shape[1] // EXAMPLES_AT_ONCE
    rest = count * EXAMPLES_AT_ONCE
    left = rows[:, :rest].reshape(len(rows), count, EXAMPLES_AT_ONCE).swapaxes(0, 1)
    right = weights[:rest].reshape(count, EXAMPLES_AT_ONCE, weights.shape[1])
    product: Floats = (left @ right).sum(axis=0, dtype=np.float64)
    return product + rows[:, rest:] @ weights[rest:]


def _drawn_weights(count: int, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield blocks of weights: how often each unit is drawn, one column per resample.

    The last row is one, for units that repeat within an example.
    """
    for start in range(0, resamples, RESAMPLES_AT_ONCE):
        size = min(RESAMPLES_AT_ONCE, resamples - start)
        drawn = rng.integers(count, size=(size, count)) + count * np.arange(size)[:, None]
        weights = np.ones((count + 1, size))
        weights[:count] = np.bincount(drawn.ravel(), minlength=size * count).reshape(size, -1).T
        yield weights


def _drawn_seeds(count: int, resamples: int, rng: np.random.Generator) -> Floats:
    """Return the weight of each seed, one column per resample. One seed always has the weight 1."""
    drawn = max(1, count - 1)
    return rng.multinomial(drawn, [1 / count] * count, size=resamples).T / drawn


def _sizes(
    shapes: Mapping[str, tuple[int, ...]], seeds: Mapping[str, object]
) -> tuple[dict[object, int], int]:
    """Return the number of seeds by what names them, and the number of examples."""
    counts = {seeds[name]: count for name, (count, _) in shapes.items()}
    sizes = {size for _, size in shapes.values()}
    if len(sizes) > 1 or any(counts[seeds[name]] != count for name, (count, _) in shapes.items()):
        raise ComparisonError(
            "expected the same seeds and examples of all systems, got arrays of the shapes "
            f"{sorted({*shapes.values()})}; leave out what only some systems have, or say by "
            "`seeds` which systems share theirs"
        )
    return counts, sizes.pop()


def _parts(system: npt.ArrayLike | Ratio) -> tuple[Floats, Floats]:
    """Return numerator and denominator. The latter has one row if all seeds share it."""
    if isinstance(system, Ratio):
        above, below = _outcome_matrix(system.numerator), _outcome_matrix(system.denominator)
    else:
        above = _outcome_matrix(system)
        below = np.ones((1, above.shape[1]))
    if above.shape[1] != below.shape[1] or len(below) not in (1, len(above)):
        raise ComparisonError(
            f"expected a denominator for each numerator, got {below.shape} for {above.shape}; give "
            "arrays of equal shapes"
        )
    if (below < 0).any() or not (below.sum(axis=1) > 0).all():
        raise ComparisonError(
            "expected denominators from 0 on, not all zero, got others; correct them"
        )
    return above, below


def _outcome_matrix(values: npt.ArrayLike) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise ComparisonError(
            "expected finite outcomes (seeds, examples) of at least one seed and example, got an "
            f"array of shape {found.shape}; reshape it, and leave out failed runs"
        )
    return found


def _compact(units: npt.ArrayLike, examples: int) -> tuple[Integers, int]:
    """Return the units numbered from 0, and their count.

    A pair of an image and itself depends on one image, and counts as often as that image. So a unit
    that repeats within an example gets the index of the row of ones.
    """
    found = np.asarray(units)
    if found.ndim != 2 or len(found) != examples or not np.issubdtype(found.dtype, np.integer):
        raise ComparisonError(
            f"expected the units of {examples} examples, whole numbers (examples, k), got an array "
            f"of {found.dtype} of shape {found.shape}; give one row for each example"
        )
    names, inverse = np.unique(found, return_inverse=True)
    numbered = inverse.reshape(found.shape)
    indices = numbered.copy()
    for place in range(1, found.shape[1]):
        is_repeated = (numbered[:, place, None] == numbered[:, :place]).any(axis=1)
        indices[is_repeated, place] = len(names)
    if len(names) < 2:
        raise ComparisonError(
            f"expected at least two units to resample, got {len(names)}; use a larger test set"
        )
    return indices, len(names)
