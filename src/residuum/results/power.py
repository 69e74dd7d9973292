"""Power: how many seeds a test needs so that it is likely to see what there is.

Means and deviations are taken as they were measured. From few seeds they are known roughly, and so
is the number of seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from residuum.results.statistics import joint_freedom

POWER: Final = 0.8
"""The probability with which a test should see a difference that is there."""

MOST: Final = 1_000_000
"""The largest number of seeds that is looked for."""


def power_of_t_test(
    effect: float, deviations: Sequence[float], count: int, *, significance: float = 0.05
) -> float:
    """Return the power of a two-sided t-test of a sum of independent means, to see its sign.

    `effect` is the true sum, and `deviations` are those of the samples, each with `count` values.
    One deviation is a test of a mean, or of pairs; two are Welch's test.

    >>> round(power_of_t_test(0.5, [1.0], 34), 2)
    0.81
    """
    from scipy.special import nctdtr, ndtr, ndtri, stdtrit

    variances = [deviation**2 / count for deviation in deviations]
    error = math.sqrt(sum(variances))
    if not error > 0:
        return 1.0 if effect else 0.0
    freedom, distance = joint_freedom(variances, [count] * len(variances)), abs(effect) / error
    if freedom > 1_000:  # the noncentral distribution overflows, and is nearly normal
        return float(ndtr(distance - ndtri(1 - significance / 2)))
    critical = stdtrit(freedom, 1 - significance / 2)
    return float(1 - nctdtr(freedom, distance, critical))


def count_for_t_test(
    effect: float,
    deviations: Sequence[float],
    *,
    significance: float = 0.05,
    power: float = POWER,
) -> int | None:
    """Return the fewest values of each sample that give a t-test this power.

    Return None if there is no effect, or if more than MOST values are needed.

    >>> count_for_t_test(1.0, [1.0]), count_for_t_test(0.0, [1.0])
    (10, None)
    """
    return _fewest(
        lambda count: power_of_t_test(effect, deviations, count, significance=significance), power
    )


def power_of_f_test(
    ratio: float, samples: tuple[int, int], count: int, *, significance: float = 0.05
) -> float:
    """Return the power of a one-sided F-test to see that a ratio of variances is not 1.

    `samples` are the numbers of independent samples whose variances are averaged on both sides;
    each has `count` values. A ratio below 1 is seen where the test refutes one above 1.
    """
    from scipy.special import fdtrc, fdtri

    above, below = (number * (count - 1) for number in samples)
    if ratio < 1:
        ratio, above, below = 1 / ratio, below, above
    return float(fdtrc(above, below, fdtri(above, below, 1 - significance) / ratio))


def count_for_f_test(
    ratio: float,
    samples: tuple[int, int],
    *,
    significance: float = 0.05,
    power: float = POWER,
) -> int | None:
    """Return the fewest values of each sample that give an F-test of variances this power.

    Return None if the ratio is 1, or if more than MOST values are needed.
    """
    if ratio <= 0 or not all(samples):
        return None
    return _fewest(
        lambda count: power_of_f_test(ratio, samples, count, significance=significance), power
    )


def _fewest(power_of: Callable[[int], float], power: float) -> int | None:
    """Return the smallest count from 2 to MOST that has the power, which grows with the count."""
    low, high = 1, 2
    while power_of(high) < power:
        if high >= MOST:
            return None
        low, high = high, min(2 * high, MOST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle) >= power else (middle, high)
    return high
