"""The paired bootstrap over seeds and over the units that test examples are made of.

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
(Satterthwaite 1946).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

import numpy as np
import numpy.typing as npt

from residuum.errors import ComparisonError
from residuum.results.statistics import Comparison, Floats, judge

Integers: TypeAlias = npt.NDArray[np.intp]

_ONE_SEED: Final = "with one seed, this says nothing of what other seeds would give"

SLIM: Final = 16
"""Rows and columns of the matrices that are multiplied at a time.

So slim, they stay in the cache and on one thread. On a busy machine the threads of a BLAS wait
for each other, and a second becomes a minute.
"""

FEWEST_USABLE: Final = 0.9
"""Of all resamples; with very few units some draw no example that counts."""


@final
@dataclass(frozen=True)
class Ratio:
    """Scores that are ratios of sums over examples, arrays (seeds, examples) above and below.

    For F1, twice the chunks found rightly in a sentence, over those predicted and those there.
    """

    numerator: npt.ArrayLike
    denominator: npt.ArrayLike


@final
@dataclass(frozen=True)
class Resampled:
    """Scores of systems, by seed and in every resample of seeds and units."""

    by_seed: Mapping[str, Floats]
    resampled: Mapping[str, Floats]

    @property
    def means(self) -> dict[str, float]:
        """The score of each system: its mean over the seeds."""
        return {name: float(scores.mean()) for name, scores in self.by_seed.items()}

    def compare(self, first: str, second: str, *, confidence: float = 0.95) -> Comparison:
        """Compare two of the systems, in the unit of their scores."""
        differences = self.by_seed[first] - self.by_seed[second]
        seeds = len(differences)
        variance = float((self.resampled[first] - self.resampled[second]).var(ddof=1))
        of_seeds = float(differences.var(ddof=1)) / seeds if seeds > 1 else 0.0
        freedom = (seeds - 1) * max(1.0, variance / of_seeds) ** 2 if of_seeds > 0 else math.inf
        scale = max(float(np.abs(self.by_seed[name]).max()) for name in (first, second))
        difference = float(differences.mean())
        judged = judge(difference, math.sqrt(variance), freedom, confidence, scale=scale)
        return judged if seeds > 1 or judged.note else replace(judged, note=_ONE_SEED)


def resample(
    systems: Mapping[str, npt.ArrayLike | Ratio],
    units: npt.ArrayLike | None = None,
    *,
    resamples: int = 2000,
    seed: int = 0,
) -> Resampled:
    """Resample seeds and units, the same for all systems, which had the same of both.

    A system is an array (seeds, examples) of outcomes, of which the mean is taken, or a `Ratio`.
    `units` are the indices (examples, k) of what each example is made of: two images, or one
    sentence. Without them each example is its own unit.
    """
    if not systems or resamples < 2:
        raise ComparisonError("expected one system and two resamples at least")
    parts = {name: _parts(system) for name, system in systems.items()}
    shapes = {numerator.shape for numerator, _ in parts.values()}
    if len(shapes) > 1:
        raise ComparisonError(
            "expected the same seeds and examples of all systems, got arrays of the shapes "
            f"{sorted(shapes)}"
        )
    [(seeds, examples)] = shapes
    rng = np.random.default_rng(seed)
    indices, count = _compact(np.arange(examples)[:, None] if units is None else units, examples)
    rows = np.concatenate([row for pair in parts.values() for row in pair])
    chunks = _drawn_weights(count, resamples, rng)
    totals = np.hstack([weighted_totals(rows, indices, weights) for weights in chunks])
    drawn = _drawn_seeds(seeds, resamples, rng)
    scores = {}
    for name, (numerator, denominator) in parts.items():
        above, below, totals = np.split(totals, np.cumsum([len(numerator), len(denominator)]))
        with np.errstate(divide="ignore", invalid="ignore"):
            scores[name] = (drawn * (above / below)).sum(axis=0)
    # A resample without an example that counts has no score.
    usable = np.all([np.isfinite(score) for score in scores.values()], axis=0)
    if usable.sum() < max(2, FEWEST_USABLE * resamples):
        raise ComparisonError(
            f"expected enough units to resample, got {count}: {resamples - usable.sum()} of "
            f"{resamples} resamples drew no example that counts"
        )
    by_seed = {
        name: above.sum(axis=1) / below.sum(axis=1) for name, (above, below) in parts.items()
    }
    return Resampled(by_seed, {name: score[usable] for name, score in scores.items()})


def paired_bootstrap(
    first: npt.ArrayLike | Ratio,
    second: npt.ArrayLike | Ratio,
    units: npt.ArrayLike | None = None,
    *,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare two systems on the same seeds and examples; the arguments are those of `resample`."""
    both = resample({"first": first, "second": second}, units, resamples=resamples, seed=seed)
    return both.compare("first", "second", confidence=confidence)


def weighted_totals(rows: Floats, indices: Integers, weights: Floats) -> Floats:
    """Return the sums of rows (rows, examples) over examples, for each column of weights of units.

    An example is in a resample once for every way to choose a copy of each of its units.
    """
    product = weights[indices[:, 0]]
    for column in indices.T[1:]:
        product *= weights[column]
    slices = (rows[start : start + SLIM] for start in range(0, len(rows), SLIM))
    return np.vstack([part @ product for part in slices])


def _drawn_weights(count: int, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield how often each unit is drawn, one column per resample, and at the end a row of ones."""
    for start in range(0, resamples, SLIM):
        size = min(SLIM, resamples - start)
        drawn = rng.integers(count, size=(size, count)) + count * np.arange(size)[:, None]
        weights = np.ones((count + 1, size))
        weights[:count] = np.bincount(drawn.ravel(), minlength=size * count).reshape(size, -1).T
        yield weights


def _drawn_seeds(count: int, resamples: int, rng: np.random.Generator) -> Floats:
    """Return the share of each seed, one column per resample; there is no choice of one seed."""
    drawn = max(1, count - 1)
    return rng.multinomial(drawn, [1 / count] * count, size=resamples).T / drawn


def _parts(system: npt.ArrayLike | Ratio) -> tuple[Floats, Floats]:
    """Return numerator and denominator, the latter with one row where all seeds share it."""
    if isinstance(system, Ratio):
        above, below = _outcomes(system.numerator), _outcomes(system.denominator)
    else:
        above = _outcomes(system)
        below = np.ones((1, above.shape[1]))
    if above.shape[1] != below.shape[1] or len(below) not in (1, len(above)):
        raise ComparisonError(
            f"expected a denominator for each numerator, got {below.shape} for {above.shape}"
        )
    if (below < 0).any() or not (below.sum(axis=1) > 0).all():
        raise ComparisonError("expected denominators that are not negative and not all zero")
    return above, below


def _outcomes(values: npt.ArrayLike) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise ComparisonError(
            "expected finite outcomes (seeds, examples) of one seed and example at least, got an "
            f"array of shape {found.shape}"
        )
    return found


def _compact(units: npt.ArrayLike, examples: int) -> tuple[Integers, int]:
    """Number the units from 0, and count them.

    The pair of an image and itself depends on one image, and counts as often as that one: where a
    unit stands again in an example, the index is that of the row of ones.
    """
    found = np.asarray(units)
    if found.ndim != 2 or len(found) != examples or not np.issubdtype(found.dtype, np.integer):
        raise ComparisonError(
            f"expected the units of {examples} examples, whole numbers (examples, k), got an array "
            f"of {found.dtype} of shape {found.shape}"
        )
    names, inverse = np.unique(found, return_inverse=True)
    numbered = inverse.reshape(found.shape)
    indices = numbered.copy()
    for place in range(1, found.shape[1]):
        is_repeated = (numbered[:, place, None] == numbered[:, :place]).any(axis=1)
        indices[is_repeated, place] = len(names)
    if len(names) < 2:
        raise ComparisonError(f"expected two units at least to resample, got {len(names)}")
    return indices, len(names)
