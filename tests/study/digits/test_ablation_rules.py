"""Rules about runs outside the tables decide made-up runs as they should."""

import math
import random

import pytest
from scipy.stats import ttest_ind

from made_up_runs import SEEDS, run
from residuum.study.digits.claim_rules import About
from residuum.study.digits.claims import RULES
from residuum.study.digits.findings import Findings

GODEL = About(relaxation="s-godel", measures=["commutativity"])


def decide(rule, records):
    return RULES[rule](Findings([]), records, GODEL)


def long_run(seed, chosen, *, last=60.0, schedule="restarts", epochs=1600):
    curves = {"joint: selected": [(epochs, chosen)], "joint: dev/score": [(20, 50), (epochs, last)]}
    return run("r-product", seed, 80, curves=curves, epochs=epochs, schedule=schedule,
               period=200.0 if schedule == "restarts" else None)  # fmt: skip


@pytest.mark.parametrize(
    ("chosen", "status"),
    [
        ((100, 540, 1000), "confirmed"),
        ((540, 600, 1020), "open"),
        ((80, 600, 1020), "refuted"),
        ((-1, -1, 400), "refuted"),  # no usable state at all
    ],
)
def test_the_claim_on_convergence_is_decided_by_the_selected_epochs(chosen, status):
    records = [long_run(seed, epoch) for seed, epoch in zip(SEEDS, chosen, strict=True)]
    found = decide("converges_in_time", records)
    assert found.status == status
    assert f"from {min(chosen)} to {max(chosen)}; 0 of them" in found.evidence


def test_short_trainings_and_falling_rates_say_nothing_of_convergence():
    records = [long_run(0, 300, epochs=1599), long_run(20, 1500, schedule="cosine")]
    assert decide("converges_in_time", records) == ("open", "missing: runs of 1,600 epochs")


def test_long_trainings_that_end_without_a_usable_digit_are_counted():
    records = [long_run(0, 300, last=-math.inf), long_run(20, 400)]
    found = decide("converges_in_time", records)
    assert (found.status, "1 of them end without" in found.evidence) == ("confirmed", True)


def warmed(length, level, protocol="joint", **others):
    """Runs after a warm-up of some length, within a tenth of a point of a level."""
    noise = random.Random(length)
    return [
        run("s-godel", seed, 50, protocol=protocol, warm_up=length,
            laws=level + noise.uniform(-0.1, 0.1), **{"judge_every": 5 + length % 2, **others})
        for seed in SEEDS
    ]  # fmt: skip


def with_lengths(protocol, levels):
    return [r for length, level in levels.items() for r in warmed(length, level, protocol)]


@pytest.mark.parametrize(
    ("joint", "pipeline", "status"),
    [
        ({1: 20, 2: 60, 5: 60}, {2: 20, 6: 80, 10: 80}, "confirmed"),
        ({1: 20, 2: 60, 5: 60}, {2: 20, 10: 80, 12: 90}, "refuted"),
        ({1: 20, 2: 30, 5: 60}, {}, "refuted"),
        ({1: 20, 2: 60, 5: 60}, {}, "open"),
        ({1: 60, 2: 60, 5: 60}, {2: 80, 6: 80}, "open"),  # shorter than was claimed
        ({2: 60}, {8: 60}, "open"),
        ({}, {}, "open"),
    ],
)
def test_the_shortest_sufficient_warm_up_decides_the_claim_on_lengths(joint, pipeline, status):
    records = [*with_lengths("joint", joint), *with_lengths("pipeline", pipeline)]
    found = decide("is_as_long_as_claimed", records)
    assert found.status == status
    assert ("missing: pipeline" in found.evidence) == (len(pipeline) < 2)


def test_warm_ups_of_runs_that_differ_otherwise_are_not_compared():
    records = [*warmed(2, 30), *warmed(5, 60, learning_rate=0.5), *warmed(0, 99)]
    assert decide("is_as_long_as_claimed", records).status == "open"


def test_the_shortest_warm_up_is_named_with_what_each_reached():
    found = decide("is_as_long_as_claimed", with_lengths("joint", {1: 20, 2: 30, 5: 60, 20: 60}))
    assert found.evidence.startswith("joint: 5 epochs; 20.0% with 1, 30.0% with 2, 60.0% with 5")


def over_batches(batch, gains, seeds=SEEDS, **others):
    """Runs whose coherence reaches 40 in a warm-up of 50 epochs, gains some, and loses it."""
    return [
        run("s-godel", seed, 50, pair_size=1000, batch=batch, **others, curves={
            f"joint: dev/{name}_coherence": [(40, 90), (60, 40), (80, 40 + gain), (600, 35)]
            for name in ("sum", "product")
        })
        for seed, gain in zip(seeds, gains, strict=True)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("small", "large", "status"),
    [
        ((9, 9.5, 9.2), (0, 0.4, 0.1), "confirmed"),
        ((0, 0.4, 0.1), (9, 9.5, 9.2), "refuted"),
        ((1, 2, 3), (3, 1, 2), "open"),
    ],
)
def test_gains_with_minima_over_batches_are_compared_with_one_minimum(small, large, status):
    records = [*over_batches(64, small), *over_batches(1000, large)]
    found = decide("gains_more_over_batches", records)
    assert found.status == status
    assert f"rises by {sum(small) / 3:.1f} points at most with batches" in found.evidence
    assert "16 times fewer steps" in found.evidence


@pytest.mark.parametrize(
    ("small", "status"), [((0.9, 1.1, 1.5, 1.3), "confirmed"), ((0.2, 1.1, 0.1, 0.6), "open")]
)
def test_gains_with_minima_are_compared_without_pairing_if_the_seeds_differ(small, status):
    large = (0, 0.4, 0.1)
    records = [*over_batches(64, small, (1, 2, 3, 4)), *over_batches(1000, large)]
    found = decide("gains_more_over_batches", records)
    assert found.status == status
    p_value = ttest_ind(small, large, equal_var=False).pvalue
    assert f"steps, with different seeds (p = {p_value:.2g})" in found.evidence


def test_minima_are_over_all_the_data_only_if_labels_and_pairs_fit_into_a_batch():
    for records in (
        [*over_batches(64, (9, 9, 9)), *over_batches(500, (0, 0.1, 0))],
        [
            r
            for batch, gains in ((64, (9, 9, 9)), (1000, (0, 0.1, 0)))
            for r in over_batches(batch, gains, digit_size=5000)
        ],
        over_batches(1000, (0, 0.1, 0)),
    ):
        assert decide("gains_more_over_batches", records).status == "open"
