"""The bootstrap over seeds and images: weights and variance exactly, error rates by simulation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from residuum.errors import ComparisonError
from residuum.results import Ratio, find_best, paired_bootstrap, resample
from residuum.results.bootstrap import _compact, weighted_totals

SEED = 20


# Weights


def expanded(values, units, drawn):
    """The total of a resample that is written out: every choice of copies of an example's units."""
    total = 0.0
    for value, made_of in zip(values, units, strict=True):
        for _ in itertools.product(*(  # one place in the drawing for each distinct unit
            [place for place, unit in enumerate(drawn) if unit == one] for one in set(made_of)
        )):  # fmt: skip
            total += value
    return total


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data(), count=st.integers(2, 5), places=st.integers(1, 3))
def test_weights_are_those_of_a_resample_written_out(data, count, places):
    unit = st.integers(0, count - 1)
    units = data.draw(st.lists(st.tuples(*[unit] * places), min_size=count, max_size=8))
    units += [(one,) * places for one in range(count)]
    drawn = data.draw(st.lists(unit, min_size=count, max_size=count))
    values = np.random.default_rng(SEED).normal(size=(2, len(units)))
    indices, found = _compact(np.array(units), len(units))
    weights = np.array([[drawn.count(one)] for one in range(count)] + [[1]], dtype=np.float64)
    totals = weighted_totals(values, indices, weights)
    assert found == count
    assert totals[:, 0] == pytest.approx([expanded(row, units, drawn) for row in values])


@pytest.mark.parametrize("largest", [1, 100, 1_000_000])
def test_totals_of_whole_numbers_are_exact_in_both_precisions(largest):
    rng = np.random.default_rng(SEED)
    rows = rng.integers(largest + 1, size=(19, 5000))
    indices = rng.integers(400, size=(5000, 2))
    weights = rng.integers(9, size=(401, 70))
    expected = rows @ (weights[indices[:, 0]] * weights[indices[:, 1]])
    for kind in (np.float32, np.float64):
        found = weighted_totals(rows.astype(kind), indices, weights.astype(np.float64))
        np.testing.assert_array_equal(found, expected)


def test_units_may_have_any_numbers():
    rng = np.random.default_rng(SEED)
    first, second = rng.random((2, 2, 40)) < [[[0.9]], [[0.7]]]
    units = rng.integers(10, size=(40, 2))
    plain = paired_bootstrap(first, second, units, resamples=50)
    named = paired_bootstrap(first, second, 1000 * units - 7, resamples=50)
    assert plain == named


# Variance


def exact_variance(score, units, seeds):
    """The variance over all equally likely drawings of units and of one seed less than all."""
    values = [
        score(drawn, chosen)
        for drawn in itertools.product(range(units), repeat=units)
        for chosen in itertools.product(range(seeds), repeat=seeds - 1)
    ]
    return np.var(values)


def test_the_variance_of_a_mean_is_that_over_all_drawings():
    rng = np.random.default_rng(SEED)
    units = np.array([(i, j) for i in range(4) for j in range(4)])
    first, second = rng.random((2, 3, len(units))) < 0.7
    differences = first.astype(float) - second

    def score(drawn, chosen):
        weights = [expanded([1.0], [pair], drawn) for pair in units.tolist()]
        return np.mean([np.average(differences[seed], weights=weights) for seed in chosen])

    found = resample({"first": first, "second": second}, units, resamples=40_000)
    resampled = found.resampled["first"] - found.resampled["second"]
    assert resampled.var() == pytest.approx(exact_variance(score, 4, 3), rel=0.03)


def test_seeds_of_systems_that_do_not_share_them_are_drawn_independently():
    rng = np.random.default_rng(SEED)
    first, second = rng.random((3, 4)) < 0.7, rng.random((2, 4)) < 0.4

    def score(drawn, chosen, others):
        picked = list(drawn)
        ours = np.mean([first[seed, picked].mean() for seed in chosen])
        return ours - np.mean([second[seed, picked].mean() for seed in others])

    exact = np.var([
        score(drawn, chosen, others)
        for drawn in itertools.product(range(4), repeat=4)
        for chosen in itertools.product(range(3), repeat=2)
        for others in itertools.product(range(2), repeat=1)
    ])  # fmt: skip
    systems = {"first": first, "second": second}
    found = resample(systems, seeds={"first": "a", "second": "b"}, resamples=40_000)
    assert found.compare("first", "second").difference == first.mean() - second.mean()
    resampled = found.resampled["first"] - found.resampled["second"]
    assert resampled.var() == pytest.approx(exact, rel=0.03)


def test_systems_with_other_seeds_change_nothing_for_those_that_share_theirs():
    rng = np.random.default_rng(SEED)
    first, second, third = (rng.random((count, 90)) < 0.8 for count in (3, 3, 5))
    found = resample(
        {"first": first, "second": second, "third": third},
        seeds={"first": (0, 1, 2), "second": (0, 1, 2), "third": range(5)},
    )
    assert found.compare("first", "second") == paired_bootstrap(first, second)


def test_the_variance_of_a_ratio_is_that_over_all_drawings():
    rng = np.random.default_rng(SEED)
    right, there = rng.integers(1, 5, size=(2, 2, 5))
    ratio = Ratio(right, right + there)

    def score(drawn, chosen):
        picked = list(drawn)
        seeds = [right[s, picked].sum() / (right + there)[s, picked].sum() for s in chosen]
        return np.mean(seeds)

    found = resample({"one": ratio}, resamples=40_000)
    assert found.resampled["one"].var() == pytest.approx(exact_variance(score, 5, 2), rel=0.03)
    assert found.means["one"] == np.mean(right.sum(1) / (right + there).sum(1))


def test_a_mean_is_a_ratio_with_ones_below():
    rng = np.random.default_rng(SEED)
    first, second = rng.random((2, 3, 200)) < 0.8
    units = rng.integers(50, size=(200, 2))
    ones = np.ones((1, 200))
    plain = paired_bootstrap(first, second, units)
    ratios = paired_bootstrap(Ratio(first, ones), Ratio(second, np.ones((3, 200))), units)
    assert plain == ratios
    assert plain.difference == pytest.approx(first.mean() - second.mean())


# Error rates: two systems that are equally good


def readers(rng, seeds, *, images, pairs, stable, deviation):
    """Systems that get a pair right if they read both images; null differences by construction.

    An image is read or not for all seeds alike with the chance `stable`, else anew for each seed;
    the share of images that are read varies between seeds by `deviation`.
    """
    units = rng.integers(images, size=(pairs, 2))
    outcomes = []
    for _ in range(2):
        hard = rng.random(images)
        for _ in range(seeds):
            level = np.clip(0.85 + deviation * rng.standard_normal(), 0, 1)
            difficulty = np.where(rng.random(images) < stable, hard, rng.random(images))
            outcomes.append((difficulty < level)[units].all(axis=1))
    first, second = np.array(outcomes).reshape(2, seeds, pairs)
    return first, second, units


def wrong_verdicts(trials, seeds, *, naive=False, **study):
    """The share of trials in which equally good systems are called different at 5%."""
    rng = np.random.default_rng(SEED)
    wrong = 0
    for _ in range(trials):
        first, second, units = readers(rng, seeds, **study)
        made_of = None if naive else units
        wrong += paired_bootstrap(first, second, made_of, resamples=160).p_value <= 0.05
    return wrong / trials


IMAGES_VARY = {"images": 60, "pairs": 300, "stable": 1.0, "deviation": 0.0}
SEEDS_VARY = {"images": 300, "pairs": 900, "stable": 0.7, "deviation": 0.06}


def test_images_that_vary_are_called_a_difference_in_one_of_twenty_trials_or_less():
    assert 0.01 <= wrong_verdicts(300, 1, **IMAGES_VARY) <= 0.075


def test_pairs_resampled_as_if_independent_are_wrong_half_of_the_time():
    assert wrong_verdicts(300, 1, naive=True, **IMAGES_VARY) >= 0.4


@pytest.mark.parametrize("seeds", [3, 6])
def test_seeds_that_vary_are_called_a_difference_in_one_of_twenty_trials_or_less(seeds):
    assert 0.01 <= wrong_verdicts(300, seeds, **SEEDS_VARY) <= 0.075


def test_two_seeds_are_called_a_difference_somewhat_too_often():
    assert 0.05 <= wrong_verdicts(300, 2, **SEEDS_VARY) <= 0.12


def test_images_that_each_seed_reads_differently_are_called_a_difference_too_seldom():
    assert wrong_verdicts(300, 3, **{**IMAGES_VARY, "stable": 0.5}) <= 0.02


def test_other_numbers_of_seeds_are_called_a_difference_in_one_of_twenty_trials_or_less():
    rng = np.random.default_rng(SEED)
    wrong = 0
    for _ in range(300):
        first, second, units = readers(rng, 10, **SEEDS_VARY)
        found = resample(
            {"many": first, "few": second[:3]},
            units,
            seeds={"many": "ten", "few": "three"},
            resamples=160,
        )
        wrong += found.compare("many", "few").p_value <= 0.05
    assert 0.01 <= wrong / 300 <= 0.075


def test_intervals_cover_the_true_difference():
    rng = np.random.default_rng(SEED)
    covered = 0
    for _ in range(300):  # 200 sentences of two chunks, found with chances of 0.8 and 0.6
        first, second = rng.binomial(2, [[[0.8]], [[0.6]]], size=(2, 1, 200))
        below = np.full((1, 200), 2)
        found = paired_bootstrap(Ratio(first, below), Ratio(second, below), resamples=160)
        covered += found.low <= 0.2 <= found.high
    assert 0.92 <= covered / 300 <= 0.98


def test_a_real_difference_is_found():
    rng = np.random.default_rng(SEED)
    hard = rng.random(2000)
    units = rng.integers(2000, size=(6000, 2))
    first, second = ((hard < level)[units].all(axis=1) for level in (0.97, 0.95))
    found = paired_bootstrap([first] * 3, [second] * 3, units)
    assert found.difference == first.mean() - second.mean()
    assert 0 < found.low < 0.97**2 - 0.95**2 < found.high
    # One image of fifty is read by the first only, and then half of each pair it is in counts.
    error = 2 * 0.96 * math.sqrt(0.02 * 0.98 / 2000)
    assert error < (found.high - found.low) / 2 / 1.96 < 1.2 * error
    assert found.p_value < 0.001


def test_the_best_of_systems_that_were_resampled_together():
    rng = np.random.default_rng(SEED)
    hard = rng.random((3, 3000))
    levels = {"a": 0.9, "b": 0.97, "c": 0.971}
    systems = {name: hard < level for name, level in levels.items()}
    found = resample(systems)
    best = find_best(found.means, found.compare)
    assert (best.name, best.ties) == ("c", ("b", "c"))
    assert found.means["a"] == systems["a"].mean()
    assert found.compare("a", "b") == paired_bootstrap(systems["a"], systems["b"])


# Corners


def test_the_same_seed_gives_the_same_answer_and_another_another():
    rng = np.random.default_rng(SEED)
    first, second = rng.random((2, 3, 100)) < 0.8
    answers = [paired_bootstrap(first, second, seed=seed) for seed in (1, 1, 2)]
    assert answers[0] == answers[1] != answers[2]


def test_systems_change_sides_with_the_sign():
    rng = np.random.default_rng(SEED)
    first, second = rng.random((2, 3, 100)) < 0.8
    one, other = paired_bootstrap(first, second), paired_bootstrap(second, first)
    assert (one.difference, one.p_value) == pytest.approx((-other.difference, other.p_value))
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_with_one_seed_a_note_limits_the_result_to_the_examples():
    rng = np.random.default_rng(SEED)
    first, second = rng.random((2, 1, 100)) < 0.8
    found = paired_bootstrap(first, second)
    assert "one seed" in found.note
    assert found.low < found.difference < found.high
    share = first.astype(float) - second  # of one seed, the mean of independent examples
    error = share.std() / math.sqrt(100)
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.06)


def test_a_single_seed_of_one_system_is_noted_too():
    rng = np.random.default_rng(SEED)
    systems = {"one": rng.random((1, 100)) < 0.8, "many": rng.random((4, 100)) < 0.8}
    found = resample(systems, seeds={"one": 1, "many": 4})
    assert "one seed" in found.compare("one", "many").note


def test_systems_that_are_said_to_share_seeds_must_have_as_many():
    systems = {"one": np.ones((2, 3)), "other": np.ones((3, 3))}
    with pytest.raises(ComparisonError, match="say by `seeds`"):
        resample(systems, seeds={"one": "same", "other": "same"})


def test_identical_systems_and_ones_without_any_variation_are_explained():
    alike = np.ones((3, 10))
    same = paired_bootstrap(alike, alike)
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)
    apart = paired_bootstrap(alike, 0 * alike)
    assert (apart.difference, apart.p_value) == (1, None)
    assert "how much they vary" in apart.note


@pytest.mark.parametrize(
    ("first", "second", "units", "said"),
    [
        (np.ones((2, 3)), np.ones((3, 3)), None, "same seeds and examples"),
        (np.ones((2, 3)), np.ones((2, 4)), None, "same seeds and examples"),
        (np.ones(3), np.ones(3), None, "seeds, examples"),
        (np.ones((0, 3)), np.ones((0, 3)), None, r"shape \(0, 3\)"),
        (np.full((1, 3), np.nan), np.ones((1, 3)), None, "finite outcomes"),
        (np.ones((1, 3)), np.ones((1, 3)), [[0], [1]], "units of 3 examples"),
        (np.ones((1, 3)), np.ones((1, 3)), [0, 1, 2], "units of 3 examples"),
        (np.ones((1, 3)), np.ones((1, 3)), [[0.0], [1.0], [2.0]], "whole numbers"),
        (np.ones((1, 3)), np.ones((1, 3)), [[4], [4], [4]], "got [01];"),
        (np.ones((1, 3)), np.ones((1, 3)), np.zeros((3, 0), int), "got [01];"),
        (Ratio(np.ones((2, 3)), np.zeros((2, 3))), np.ones((2, 3)), None, "denominators"),
        (Ratio(np.ones((2, 3)), -np.ones((2, 3))), np.ones((2, 3)), None, "denominators"),
        (Ratio(np.ones((2, 3)), np.ones((3, 3))), np.ones((2, 3)), None, "denominator for each"),
        (np.ones((1, 1)), np.ones((1, 1)), [[0, 1]], "drew no example that counts"),
    ],
)  # fmt: skip
def test_what_cannot_be_resampled_is_explained(first, second, units, said):
    with pytest.raises(ComparisonError, match=said):
        paired_bootstrap(first, second, units)


def test_no_systems_and_one_resample_are_refused():
    with pytest.raises(ComparisonError, match="system and two resamples"):
        resample({})
    with pytest.raises(ComparisonError, match="system and two resamples"):
        resample({"a": np.ones((2, 3))}, resamples=1)
