"""Claims are decided from runs of the same seeds, and of different ones."""

import math
import re
from statistics import fmean, stdev, variance

import numpy as np
import pytest
from scipy import stats

from residuum.results.power import count_for_f_test, count_for_t_test
from residuum.study.decisions import (
    add_up,
    by_gains,
    by_variances,
    decided,
    difference_of,
    mean_samples,
)

FEW = {0: 60.0, 20: 61.0, 50: 63.0}
OTHER_FEW = {0: 40.0, 20: 45.0, 50: 41.0}
MANY = {1001: 80.0, 1002: 81.0, 1003: 80.5, 1004: 82.0}
OTHER_MANY = {1001: 70.0, 1002: 72.0, 1003: 70.5, 1004: 71.0}


def test_values_of_the_same_seeds_are_paired_and_others_are_not():
    paired, apart = difference_of("", MANY, OTHER_MANY), difference_of("", MANY, FEW)
    assert (paired.is_paired, apart.is_paired) == (True, False)
    expected = stats.ttest_rel(list(MANY.values()), list(OTHER_MANY.values())).pvalue
    assert paired.compared.p_value == pytest.approx(expected)
    expected = stats.ttest_ind(list(MANY.values()), list(FEW.values()), equal_var=False).pvalue
    assert apart.compared.p_value == pytest.approx(expected)


@pytest.mark.parametrize("other", [OTHER_MANY, FEW])
def test_samples_of_a_difference_add_up_to_it(other):
    found = difference_of("", MANY, other)
    assert sum(fmean(one.values()) for one in found.samples) == pytest.approx(
        found.compared.difference
    )


def test_a_single_common_seed_pairs_nothing():
    found = difference_of("", MANY, {1001: 70.0, 7: 72.0})
    assert not found.is_paired
    assert found.compared.difference == fmean(MANY.values()) - 71


def test_the_mean_over_paired_and_unpaired_comparisons_is_that_of_independent_seeds():
    """(M − O + M − F) / 2: seeds of M and O are one sample, those of F another."""
    found = [difference_of("", MANY, OTHER_MANY), difference_of("", MANY, FEW)]
    many = [MANY[seed] - OTHER_MANY[seed] / 2 for seed in MANY]
    few = [value / 2 for value in FEW.values()]
    assert sorted(mean_samples(found), key=len) == [
        {seed: -value / 2 for seed, value in FEW.items()},
        dict(zip(MANY, many, strict=True)),
    ]
    expected = stats.ttest_ind(many, few, equal_var=False)
    decision = decided(found)
    assert decision.status == "confirmed"
    assert f"(p = {expected.pvalue:.2g})" in decision.evidence
    assert f"mean {fmean(many) - fmean(few):+.1f} points" in decision.evidence
    assert "in 1 of 2 the seeds differ, and runs are not paired" in decision.evidence


def test_comparisons_of_the_same_seeds_say_nothing_of_pairing():
    decision = decided([difference_of("", MANY, OTHER_MANY), difference_of("", FEW, OTHER_FEW)])
    assert "paired" not in decision.evidence
    assert decision.status == "confirmed"


def test_samples_without_a_seed_that_all_have_leave_the_mean_open():
    chain = [{0: 1.0, 1: 1.0}, {1: 1.0, 2: 2.0}, {2: 3.0, 3: 3.0}]
    assert add_up(chain) == [{}]
    twice = {seed: 2 * value for seed, value in MANY.items()}
    seeds = [[1001, 1002], [1002, 1003], [1003, 1004]]
    parts = [
        difference_of("", {s: twice[s] for s in some}, {s: MANY[s] for s in some}) for some in seeds
    ]
    assert decided(parts).status == "open"


@pytest.mark.parametrize("turned", [False, True])
def test_leads_over_relaxations_with_other_seeds_are_compared_by_all_their_seeds(turned):
    """The lead is M − F, then half of that: M − F − (M − F) / 2 by seeds of both."""
    large = mean_samples([difference_of("", MANY, FEW)])
    small = [{seed: value / 2 for seed, value in sample.items()} for sample in large]
    pair = (small, large) if turned else (large, small)
    found = by_gains(*pair, ("here", "there"))
    halves = [[value / 2 for value in one.values()] for one in (MANY, FEW)]
    expected = stats.ttest_ind(*halves, equal_var=False).pvalue
    assert found.status == ("refuted" if turned else "confirmed")
    assert f"where relaxations have different seeds (p = {expected:.2g})" in found.evidence


def test_leads_that_share_one_seed_are_not_compared():
    lead = mean_samples([difference_of("", FEW, OTHER_FEW)])
    assert by_gains(lead, [{0: 1.0, 7: 2.0}], ("", "")) is None
    assert by_gains(lead, [], ("", "")) is None


def test_each_sample_counts_alike_in_a_deviation_however_many_seeds_it_has():
    calm = [10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 10.0]
    wild, middle = [10.0, 16.0, 13.0], [20.0, 24.0, 23.0]
    found = by_variances([middle], [calm, wild], "these vary", "those")
    both = fmean([variance(calm), variance(wild)])
    assert f"those by {math.sqrt(both):.2f}" in found.evidence
    freedom = 4 / (1 / 9 + 1 / 2)
    p_value = stats.f.sf(variance(middle) / both, 2, freedom)
    assert f"(p = {p_value:.2g}, one-sided)" in found.evidence


def test_samples_of_one_size_have_all_their_degrees_of_freedom():
    first, second = [[1.0, 2.0, 4.0], [1.0, 5.0, 4.0]], [[1.0, 2.0, 2.5], [3.0, 3.5, 3.0]]
    pooled = [fmean(map(variance, samples)) for samples in (first, second)]
    p_value = stats.f.sf(pooled[0] / pooled[1], 4, 4)
    assert f"(p = {p_value:.2g}, one-sided)" in by_variances(first, second, "", "").evidence
    assert by_variances([[1.0]], second, "", "").status == "open"


def shifted(values, by):
    return {seed: value + by for seed, value in values.items()}


NOISE = {1: 0.5, 2: -1.0, 3: 1.0, 4: -0.5}
NOTHING = dict.fromkeys(NOISE, 0.0)


@pytest.mark.parametrize(("lead", "status"), [(0.5, "open"), (0.1, "undecidable")])
def test_an_open_claim_says_how_many_seeds_would_do(lead, status):
    found = decided([difference_of("", shifted(NOISE, lead), NOTHING)])
    assert found.status == status
    [count] = re.findall(r"([\d,]+) seeds would do for a power of 80%", found.evidence)
    values = np.random.default_rng(1).normal(
        lead, stdev(NOISE.values()), (4_000, int(count.replace(",", "")))
    )
    seen = stats.ttest_1samp(values, 0, axis=1)
    power = np.mean((seen.pvalue <= 0.05) & (seen.statistic > 0))
    assert power == pytest.approx(0.8, abs=0.03)
    assert ("more than the 50 within reach" in found.evidence) == (status == "undecidable")


def test_a_negative_setting_says_how_many_seeds_would_show_it():
    """Two settings are tested, so that its p-value must be at most 0.025."""
    clear, below = shifted(NOISE, 20.0), shifted(NOISE, -0.5)
    found = decided([difference_of("", one, NOTHING) for one in (clear, below)])
    expected = count_for_t_test(-0.5, [stdev(NOISE.values())], significance=0.025)
    assert f"; {expected} seeds would do" in found.evidence


def test_what_cannot_be_counted_stays_open():
    assert decided([difference_of("", NOISE, NOISE)]).status == "open"
    with_missing = decided([difference_of("", shifted(NOISE, 0.1), NOTHING), None])
    assert with_missing.status == "open"
    assert "would do" not in with_missing.evidence


def test_variances_that_hardly_differ_need_many_seeds():
    calm, wild = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.1]
    found = by_variances([wild], [calm], "these vary", "those")
    expected = count_for_f_test(variance(wild) / variance(calm), (1, 1))
    assert found.status == "undecidable"
    assert f"; {expected:,} seeds would do" in found.evidence
