"""Powers and numbers of seeds, beside simulations and a textbook."""

import numpy as np
import pytest
from scipy import stats

from residuum.results.power import (
    MOST,
    count_for_f_test,
    count_for_t_test,
    power_of_f_test,
    power_of_t_test,
)

DRAWS = 20_000
TOLERANCE = 4 * 0.5 / DRAWS**0.5
"""Four standard errors of a simulated share, at most."""


@pytest.mark.parametrize(
    ("effect", "deviations", "count"),
    [(1.0, [1.0], 5), (-0.5, [2.0], 40), (1.0, [1.0, 0.2], 6), (0.3, [1.0, 3.0], 100)],
)
def test_the_power_of_a_t_test_is_the_share_of_simulated_tests_that_see_the_sign(
    effect, deviations, count
):
    random = np.random.default_rng(3)
    first = effect + deviations[0] * random.standard_normal((DRAWS, count))
    if len(deviations) == 1:
        found = stats.ttest_1samp(first, 0, axis=1)
    else:
        second = deviations[1] * random.standard_normal((DRAWS, count))
        found = stats.ttest_ind(first, second, axis=1, equal_var=False)
    seen = (found.pvalue <= 0.05) & (np.sign(found.statistic) == np.sign(effect))
    assert power_of_t_test(effect, deviations, count) == pytest.approx(seen.mean(), abs=TOLERANCE)


@pytest.mark.parametrize(("ratio", "samples"), [(2.0, (3, 9)), (0.4, (5, 2))])
def test_the_power_of_an_f_test_is_the_share_of_simulated_tests(ratio, samples):
    random, count = np.random.default_rng(5), 4
    first, second = (
        (random.standard_normal((DRAWS, number, count)) * scale).var(axis=2, ddof=1).mean(axis=1)
        for number, scale in zip(samples, (ratio**0.5, 1.0), strict=True)
    )
    freedoms = [number * (count - 1) for number in samples]
    p_value = stats.f.sf(first / second, *freedoms)
    seen = p_value <= 0.05 if ratio > 1 else p_value >= 0.95
    assert power_of_f_test(ratio, samples, count) == pytest.approx(seen.mean(), abs=TOLERANCE)


def test_counts_are_the_usual_ones_for_small_medium_and_large_effects():
    """Per group, for a power of 0.8 at 0.05 two-sided; effects are those of Cohen 1988."""
    counts = [count_for_t_test(effect, [1.0, 1.0]) for effect in (0.2, 0.5, 0.8)]
    assert counts == [394, 64, 26]


@pytest.mark.parametrize("significance", [0.05, 0.001])
def test_the_count_is_the_fewest_with_the_power(significance):
    count = count_for_t_test(0.4, [1.0], significance=significance)
    powers = [
        power_of_t_test(0.4, [1.0], some, significance=significance) for some in (count - 1, count)
    ]
    assert powers[0] < 0.8 <= powers[1]
    count = count_for_f_test(1.3, (9, 27))
    assert power_of_f_test(1.3, (9, 27), count - 1) < 0.8 <= power_of_f_test(1.3, (9, 27), count)


def test_what_no_number_of_seeds_shows_has_no_count():
    assert count_for_t_test(0.0, [1.0]) is None
    assert count_for_t_test(0.0, [0.0]) is None
    assert count_for_t_test(1e-9, [1.0]) is None  # more than MOST
    assert count_for_f_test(1.0, (3, 3)) is None
    assert count_for_f_test(2.0, (0, 3)) is None
    assert count_for_t_test(1.0, [0.0]) == 2
    assert count_for_t_test(0.003, [1.0]) < MOST


def test_power_passes_smoothly_from_student_to_normal():
    powers = [power_of_t_test(0.09, [1.0], count) for count in (999, 1_000, 1_001, 1_002, 1_003)]
    assert powers == sorted(powers)
    assert powers[-1] - powers[0] < 0.005
