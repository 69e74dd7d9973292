"""Means, t-tests, Holm and the best of a row, against exact fractions, SciPy and brute force."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from residuum.errors import ComparisonError
from residuum.results import (
    Comparison,
    find_best,
    find_best_of_each,
    holm,
    mean_and_deviation,
    paired_t_test,
    t_test_of_sum,
    welch_t_test,
)

percents = st.integers(0, 10_000).map(lambda hundredths: hundredths / 100)
samples = st.lists(percents, min_size=2, max_size=8)


# Means


@settings(deadline=None, derandomize=True)
@given(values=samples)
def test_mean_and_sample_deviation_are_those_of_exact_fractions(values):
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    variance = sum((value - mean) ** 2 for value in exact) / (len(exact) - 1)
    found = mean_and_deviation(values)
    assert found.count == len(values)
    assert found.mean == pytest.approx(float(mean), rel=1e-12, abs=1e-12)
    assert found.deviation == pytest.approx(math.sqrt(variance), rel=1e-9, abs=1e-9)


def test_one_run_has_a_mean_and_a_note_instead_of_a_deviation():
    found = mean_and_deviation([97.5])
    assert (found.mean, found.deviation, found.count) == (97.5, None, 1)
    assert "two seeds" in found.note


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf], [[1.0, 2.0]]])
def test_what_cannot_be_summarised_is_refused(values):
    for ask in (mean_and_deviation, lambda v: paired_t_test(v, v), lambda v: welch_t_test(v, v)):
        with pytest.raises(ComparisonError, match="finite number for each run"):
            ask(values)


# t-tests


def test_a_paired_t_test_by_hand():
    # Differences 1, 2, 3: mean 2, standard error 1/√3, t = 2√3 with 2 degrees of freedom, for
    # which P(T > t) = 1/2 − t / (2 √(2 + t²)); the 97.5% quantile q solves it for 1/40.
    found = paired_t_test([96, 98, 97], [95, 96, 94])
    t = 2 * math.sqrt(3)
    assert found.difference == 2
    assert found.p_value == pytest.approx(1 - t / math.sqrt(2 + t * t), rel=1e-12)
    q = math.sqrt(2 * 0.95**2 / (1 - 0.95**2))
    assert (found.low, found.high) == pytest.approx((2 - q / math.sqrt(3), 2 + q / math.sqrt(3)))


@settings(deadline=None, derandomize=True)
@given(pairs=st.lists(st.tuples(percents, percents), min_size=2, max_size=8))
def test_the_paired_t_test_agrees_with_scipy(pairs):
    first, second = zip(*pairs, strict=True)
    assume(len({round(a - b, 6) for a, b in pairs}) > 1)
    found, expected = paired_t_test(first, second), stats.ttest_rel(first, second)
    interval = expected.confidence_interval(0.95)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-7, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1e-7)
    assert found.note == ""


@settings(deadline=None, derandomize=True)
@given(first=samples, second=samples, confidence=st.sampled_from([0.5, 0.9, 0.99]))
def test_welchs_t_test_agrees_with_scipy(first, second, confidence):
    assume(min(len(set(first)), len(set(second))) > 1)
    found = welch_t_test(first, second, confidence=confidence)
    expected = stats.ttest_ind(first, second, equal_var=False)
    interval = expected.confidence_interval(confidence)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-7, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1e-7)


@settings(deadline=None, derandomize=True)
@given(first=samples, second=samples)
def test_sums_of_one_and_two_means_are_tested_as_scipy_does(first, second):
    assume(min(len(set(first)), len(set(second))) > 1)
    alone = t_test_of_sum([first])
    expected = stats.ttest_1samp(first, 0)
    assert (alone.difference, alone.p_value) == pytest.approx(
        (np.mean(first), expected.pvalue), rel=1e-7, abs=1e-12
    )
    both = t_test_of_sum([first, [-value for value in second]])
    expected = stats.ttest_ind(first, second, equal_var=False)
    assert both.p_value == pytest.approx(expected.pvalue, rel=1e-7, abs=1e-12)


def test_a_sum_of_three_means_by_hand():
    # Sums of squares: 2, 4 and 2, so that the means have the variances 2/1/2, 4/3/4 and 2/1/2.
    found = t_test_of_sum([[3, 5], [-1, -1, 1, 1], [0, -2]])
    variances = [Fraction(1), Fraction(4, 3) / 4, Fraction(1)]
    freedom = sum(variances) ** 2 / (1 + variances[1] ** 2 / 3 + 1)
    assert found.difference == 3
    t = 3 / math.sqrt(sum(variances))
    assert found.p_value == pytest.approx(2 * stats.t.sf(t, float(freedom)), rel=1e-12)


def test_sums_of_means_need_two_values_in_each_sample():
    assert "two seeds" in t_test_of_sum([[1.0, 2.0], [3.0]]).note
    assert t_test_of_sum([[1.0, 2.0], [3.0]]).difference == 4.5
    with pytest.raises(ComparisonError, match="at least one sample"):
        t_test_of_sum([])


@pytest.mark.parametrize("ask", [paired_t_test, welch_t_test])
def test_one_seed_gives_the_difference_and_a_note(ask):
    found = ask([98.0], [97.0])
    assert found == Comparison(1.0, None, None, None, found.note)
    assert "two seeds" in found.note


def test_welch_with_one_run_on_one_side_has_a_note():
    assert "two seeds" in welch_t_test([98.0], [97.0, 96.0]).note


@pytest.mark.parametrize("ask", [paired_t_test, welch_t_test])
def test_runs_that_do_not_vary_are_explained(ask):
    same = ask([97.3, 97.3, 97.3], [97.3, 97.3, 97.3])
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)
    apart = ask([97.3, 97.3, 97.3], [96.1, 96.1, 96.1])
    assert (apart.low, apart.high, apart.p_value) == (None, None, None)
    assert "how much they vary" in same.note
    assert "how much they vary" in apart.note


def test_differences_that_are_equal_but_for_rounding_do_not_vary():
    first, second = [0.3, 0.7, 1.1], [0.2, 0.6, 1.0]
    assert len({a - b for a, b in zip(first, second, strict=True)}) > 1
    assert paired_t_test(first, second).p_value is None


def test_pairs_of_unequal_length_and_bad_confidences_are_refused():
    with pytest.raises(ComparisonError, match="got 2 and 3 runs"):
        paired_t_test([1, 2], [1, 2, 3])
    for confidence in (0, 1, 95, math.nan):
        with pytest.raises(ComparisonError, match="confidence between 0 and 1"):
            paired_t_test([1, 2], [3, 5], confidence=confidence)


# Holm


def test_holm_by_hand():
    # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1 is 0.04, 0.06, 0.06, 0.04, then never less.
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.6, 0.9]) == [1.0, 1.0]


def closed_test(p_values, index):
    """The closure of Bonferroni's test: the largest p over all intersections with this one."""
    numbers = range(len(p_values))
    families = (f for n in numbers for f in itertools.combinations(numbers, n + 1) if index in f)
    return max(min(1.0, len(f) * min(p_values[i] for i in f)) for f in families)


@settings(deadline=None, derandomize=True)
@given(p_values=st.lists(st.floats(0, 1), max_size=6))
def test_holm_is_the_closure_of_bonferroni(p_values):
    expected = [closed_test(p_values, index) for index in range(len(p_values))]
    assert holm(p_values) == pytest.approx(expected)


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_numbers_outside_0_to_1_are_no_p_values(bad):
    with pytest.raises(ComparisonError, match="between 0 and 1"):
        holm([0.5, bad])


# The best of a row


def compared(p_values):
    return lambda a, b: Comparison(0.0, None, None, p_values[frozenset(a + b)])


def test_ties_with_the_best_are_what_remains_after_correction():
    p_values = {frozenset("ab"): 0.02, frozenset("ac"): 0.001, frozenset("bc"): 0.04}
    found = find_best({"c": 90.0, "a": 98.0, "b": 97.0}, compared(p_values))
    # Corrected, 0.001, 0.02 and 0.04 are 0.003, 0.04 and 0.04.
    assert (found.name, found.ties) == ("a", ("a",))
    assert found.p_values == pytest.approx({"b": 0.04, "c": 0.003})
    stricter = find_best({"c": 90.0, "a": 98.0, "b": 97.0}, compared(p_values), significance=0.01)
    assert stricter.ties == ("a", "b")


def test_all_pairs_are_corrected_for_because_the_best_was_chosen():
    names = "abcde"
    p_values = {frozenset(pair): 1.0 for pair in itertools.combinations(names, 2)}
    p_values[frozenset("ab")] = 0.01  # times ten pairs, not four
    found = find_best({name: -rank for rank, name in enumerate(names)}, compared(p_values))
    assert found.ties == tuple(names)
    assert found.p_values["b"] == pytest.approx(0.1)


def test_a_comparison_without_a_p_value_counts_against_neither_system():
    p_values = {frozenset("ab"): None, frozenset("ac"): 0.02, frozenset("bc"): None}
    found = find_best({"a": 98.0, "b": 97.0, "c": 96.0}, compared(p_values))
    assert (found.ties, found.p_values) == (("a", "b"), {"b": None, "c": 0.02})


def test_one_system_is_the_best_and_none_is_an_error():
    assert find_best({"a": 1.0}, compared({})).ties == ("a",)
    with pytest.raises(ComparisonError, match="got none"):
        find_best({}, compared({}))


def test_rows_of_a_table_are_corrected_for_together():
    p_values = {"few": {"ab": 0.02, "ac": 0.001, "bc": 0.3}, "many": {"ab": 0.03}}
    rows = {"few": {"a": 90.0, "b": 89.0, "c": 70.0}, "many": {"b": 95.0, "a": 91.0}}

    def compare(row, *pair):
        return Comparison(1.0, None, None, p_values[row]["".join(sorted(pair))])

    # Of all four: 4 · 0.001, 3 · 0.02, 2 · 0.03 and 0.3.
    found = find_best_of_each(rows, compare)
    assert (found["few"].name, found["few"].ties) == ("a", ("a", "b"))
    assert found["few"].p_values == pytest.approx({"b": 0.06, "c": 0.004})
    assert (found["many"].name, found["many"].ties) == ("b", ("b", "a"))
    assert found["many"].p_values == pytest.approx({"a": 0.06})
    alone = find_best_of_each({"many": rows["many"]}, compare)
    assert alone["many"].ties == ("b",)
    # What cannot be compared counts against nobody.
    assert find_best_of_each(rows, lambda *_: None)["few"].ties == ("a", "b", "c")


def test_the_best_of_equal_systems_is_seldom_alone():
    # Five systems with one mean: some are wrongly called worse in about one row of twenty at most.
    rng = np.random.default_rng(20)
    names, rows, wrong = "abcde", 400, 0
    for _ in range(rows):
        runs = {name: rng.normal(97, 0.5, size=6) for name in names}
        means = {name: float(values.mean()) for name, values in runs.items()}
        found = find_best(means, lambda a, b, runs=runs: paired_t_test(runs[a], runs[b]))
        wrong += len(found.ties) < len(names)
    assert wrong <= 0.05 * rows + 2 * math.sqrt(0.05 * 0.95 * rows)
