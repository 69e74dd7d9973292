"""Statistics over seeds: means, t-tests, and the correction for many comparisons.

No result is NaN. A number that the runs cannot tell is None, and a note says why.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar, final

import numpy as np
import numpy.typing as npt

from residuum.errors import ComparisonError

Floats: TypeAlias = npt.NDArray[np.float64]
Row = TypeVar("Row")

ROUNDING: Final = 1e-12
"""Deviations below this, relative to the values, come from rounding."""

_TOO_FEW_SEEDS: Final = "at least two seeds are needed to know how much they vary"
_NO_SCALE: Final = "all differences are the same, so nothing shows how much they vary"


@final
@dataclass(frozen=True)
class Summary:
    """The mean over runs and their sample standard deviation (divided by count − 1)."""

    mean: float
    deviation: float | None
    count: int
    note: str = ""


@final
@dataclass(frozen=True)
class Comparison:
    """The score of one system minus that of another: an estimate, its interval, a p-value.

    The p-value is two-sided. It and the interval are None if the runs cannot tell.
    """

    difference: float
    low: float | None
    high: float | None
    p_value: float | None
    note: str = ""


@final
@dataclass(frozen=True)
class Best:
    """The best of several systems, and `ties`: those not significantly worse, the best included.

    `p_values` compare each other system with the best, corrected for all comparisons.
    """

    name: str
    ties: tuple[str, ...]
    p_values: Mapping[str, float | None] = field(default_factory=dict)


def mean_and_deviation(values: Sequence[float]) -> Summary:
    """Return the mean and the sample standard deviation of a measure over all seeds.

    >>> mean_and_deviation([96.0, 97.0, 98.0])
    Summary(mean=97.0, deviation=1.0, count=3, note='')
    """
    sample = _sample(values)
    if len(sample) < 2:
        return Summary(float(sample[0]), None, 1, _TOO_FEW_SEEDS)
    return Summary(float(sample.mean()), float(sample.std(ddof=1)), len(sample))


def paired_t_test(
    first: Sequence[float], second: Sequence[float], *, confidence: float = 0.95
) -> Comparison:
    """Compare two systems by one measure per seed; entries of the same index share a seed."""
    one, other = _sample(first), _sample(second)
    if len(one) != len(other):
        raise ComparisonError(
            f"expected a run of both systems for each seed, got {len(one)} and {len(other)} runs; "
            "leave out the others, or use welch_t_test"
        )
    return _judge_means([one - other], confidence, scale=_scale(one, other))


def welch_t_test(
    first: Sequence[float], second: Sequence[float], *, confidence: float = 0.95
) -> Comparison:
    """Compare two systems by measures of independent runs (Welch 1947)."""
    one, other = _sample(first), _sample(second)
    return _judge_means([one, -other], confidence, scale=_scale(one, other))


def t_test_of_sum(samples: Sequence[Sequence[float]], *, confidence: float = 0.95) -> Comparison:
    """Test whether the means of independent samples add up to 0.

    One sample gives the usual t-test of its mean. Two samples, one of them negated, give Welch's.
    The difference of the result is the sum of the means.

    >>> t_test_of_sum([[3.0, 5.0], [-1.0, -1.0, -4.0]]).difference
    2.0
    """
    if not samples:
        raise ComparisonError("expected at least one sample, got none; give one")
    checked = [_sample(values) for values in samples]
    return _judge_means(checked, confidence, scale=_scale(*checked))


def _judge_means(samples: Sequence[Floats], confidence: float, *, scale: float) -> Comparison:
    """Judge the sum of the means of independent samples; each needs at least two values."""
    total = sum(float(sample.mean()) for sample in samples)
    if min(map(len, samples)) < 2:
        return Comparison(total, None, None, None, _TOO_FEW_SEEDS)
    variances = [float(sample.var(ddof=1)) / len(sample) for sample in samples]
    freedom = joint_freedom(variances, [len(sample) for sample in samples])
    return judge(total, math.sqrt(sum(variances)), freedom, confidence, scale=scale)


def joint_freedom(variances: Sequence[float], counts: Sequence[int]) -> float:
    """Return the degrees of freedom of a sum of independent means (Satterthwaite 1946).

    `variances` are those of the means, `counts` the numbers of values behind them. Infinite if
    nothing varies.
    """
    total = sum(variances)
    if not total > 0:
        return math.inf
    parts = zip(variances, counts, strict=True)
    return 1 / sum((one / total) ** 2 / (count - 1) for one, count in parts if count > 1)


def judge(
    difference: float, error: float, freedom: float, confidence: float, *, scale: float
) -> Comparison:
    """Return the interval and p-value of a difference by Student's distribution.

    `error` is the standard error, `freedom` the degrees of freedom, and `scale` the size of the
    numbers that were subtracted.
    """
    if not 0 < confidence < 1:
        raise ComparisonError(
            f"expected a confidence between 0 and 1, got {confidence!r}; 0.95 is usual"
        )
    if error <= ROUNDING * scale:
        if abs(difference) <= ROUNDING * scale:
            return Comparison(0.0, 0.0, 0.0, 1.0, _NO_SCALE)
        return Comparison(difference, None, None, None, _NO_SCALE)
    from scipy.special import ndtr, ndtri, stdtr, stdtrit

    if math.isinf(freedom):
        p_value, quantile = 2 * ndtr(-abs(difference) / error), ndtri((1 + confidence) / 2)
    else:
        p_value = 2 * stdtr(freedom, -abs(difference) / error)
        quantile = stdtrit(freedom, (1 + confidence) / 2)
    reach = float(quantile) * error
    return Comparison(difference, difference - reach, difference + reach, float(p_value))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for multiple comparisons (Holm 1979), in the given order.

    Rejecting all hypotheses with a corrected p-value of at most 0.05 rejects any true hypothesis
    with a probability of at most 0.05, however the tests depend on each other.

    >>> holm([0.03, 0.01, 0.04])
    [0.06, 0.03, 0.06]
    """
    if not all(0 <= p_value <= 1 for p_value in p_values):
        raise ComparisonError(
            f"expected p-values between 0 and 1, got {list(p_values)}; correct them"
        )
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = largest
    return corrected


def find_best(
    means: Mapping[str, float],
    compare: Callable[[str, str], Comparison],
    *,
    significance: float = 0.05,
) -> Best:
    """Return the best system, and the systems that are not significantly worse.

    All pairs are compared and corrected together, because the best was chosen by the same runs. A
    comparison without a p-value counts against neither system.
    """
    rows = {"": means}
    found = find_best_of_each(rows, lambda _, *pair: compare(*pair), significance=significance)
    return found[""]


def find_best_of_each(
    rows: Mapping[Row, Mapping[str, float]],
    compare: Callable[[Row, str, str], Comparison | None],
    *,
    significance: float = 0.05,
) -> dict[Row, Best]:
    """Return the best system of each row of a table, corrected for all comparisons of all rows.

    Rows are treated as in `find_best`. `compare` returns None for two systems that cannot be
    compared, which counts against neither.
    """
    if not all(rows.values()):
        raise ComparisonError("expected the mean of at least one system, got none; give one")
    pairs = [(row, *pair) for row in rows for pair in itertools.combinations(rows[row], 2)]
    compared = {pair: compare(*pair) for pair in pairs}
    known = {
        pair: found.p_value
        for pair, found in compared.items()
        if found is not None and found.p_value is not None
    }
    corrected = dict(zip(known, holm(list(known.values())), strict=True))
    bests = {}
    for row, means in rows.items():
        best = max(means, key=lambda name: means[name])
        against = {
            other if one == best else one: corrected.get((where, one, other))
            for where, one, other in pairs
            if where == row and best in (one, other)
        }
        worse = {name for name, p in against.items() if p is not None and p <= significance}
        bests[row] = Best(best, tuple(name for name in means if name not in worse), against)
    return bests


def _sample(values: Sequence[float]) -> Floats:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or not len(sample) or not np.isfinite(sample).all():
        raise ComparisonError(
            f"expected one finite number for each run, got {values!r}; leave out failed runs"
        )
    return sample


def _scale(*samples: Floats) -> float:
    return max(float(np.abs(sample).max()) for sample in samples)
