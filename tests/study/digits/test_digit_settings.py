"""Chosen settings are found by relaxation, sizes and options, and given ones override them."""

import math
from dataclasses import fields, replace
from itertools import product
from typing import get_args

import pytest

from residuum.errors import ResiduumError
from residuum.results.records import run_id
from residuum.study.common_settings import of_length
from residuum.study.digits import settings
from residuum.study.digits.data.sets import PairPool
from residuum.study.digits.settings import WarmUps, preset

POOLS = get_args(PairPool)
WARM_UPS = get_args(WarmUps)

TABLE = {
    "mnist": {
        "joint": {
            "all": {"batch": 32, "epochs": {"100": 7, "10000": 5}, "learning_rate": 0.5},
            "r-product": {"1000": {"weight": 0.1}, "5000": {"weight": 0.2, "batch": 16}},
            "s-product": {"1000": {"learning_rate": 0.25, "judge_every": {"100": 3, "10000": 4}}},
            "warm_ups": {"original": {"s-product": {"warm_up": 2, "warm_up_rate": 0.1}}},
            "pools": {"original": {"r-product": {"1000": {"weight": {"100": 0.3, "10000": 0.4}}}}},
        }
    }
}


@pytest.fixture(autouse=True)
def _made_up(monkeypatch):
    monkeypatch.setattr(settings, "_table", lambda: TABLE)


def chosen(relaxation="r-product", digit_size=1000, pair_size=5000, **others):
    return preset(
        "mnist", "joint", relaxation, digit_size=digit_size, pair_size=pair_size, seed=3, **others
    )


def test_settings_of_a_relaxation_go_before_those_of_all():
    run = chosen("s-product")
    assert (run.relaxation, run.digit_size, run.pair_size, run.seed) == ("s-product", 1000, 5000, 3)
    assert (run.batch, run.learning_rate, run.weight) == (32, 0.25, 1.0)


@pytest.mark.parametrize(("size", "weight"), [(1, 0.1), (2200, 0.1), (2300, 0.2), (10**6, 0.2)])
def test_other_sizes_have_the_settings_of_the_nearest_in_proportion(size, weight):
    assert chosen(digit_size=size).weight == weight


@pytest.mark.parametrize(("size", "epochs", "often"), [(999, 7, 3), (1001, 5, 4), (50_000, 5, 4)])
def test_what_depends_on_the_pairs_is_that_of_the_nearest_size(size, epochs, often):
    run = chosen("s-product", pair_size=size)
    assert (run.epochs, run.judge_every) == (epochs, often)


def test_other_relaxations_have_the_settings_of_r_product():
    assert (chosen("s-yager(2)", 5000).weight, chosen("s-yager(2)", 5000).batch) == (0.2, 16)


@pytest.mark.parametrize("relaxation", ["r-product", "s-yager(2)"])
def test_a_pool_of_pairs_may_have_settings_of_its_own(relaxation):
    def weight(**others):
        return chosen(relaxation, **others).weight

    assert weight(pair_pool="paper") == weight() == 0.1
    assert weight(pair_pool="original") == 0.4
    assert weight(pair_pool="original", pair_size=100) == 0.3


def test_what_a_pool_has_no_settings_for_are_those_of_the_papers():
    assert chosen(digit_size=5000, pair_pool="original").weight == 0.2
    assert chosen("s-product", pair_pool="original").learning_rate == 0.25


def test_warm_ups_of_the_authors_code_come_only_where_they_are_asked_for():
    assert chosen("s-product").warm_up == chosen("s-product", warm_ups="paper").warm_up == 0
    warmed = chosen("s-product", warm_ups="original", digit_size=5)
    assert (warmed.warm_up, warmed.warm_up_rate, warmed.learning_rate) == (2, 0.1, 0.25)
    assert chosen("r-product", warm_ups="original") == chosen("r-product")
    with pytest.raises(ResiduumError, match="warm_ups: expected paper or original, got 'none'"):
        chosen(warm_ups="none")


def test_given_settings_override_chosen_ones():
    run = chosen(weight=0.7, optimiser="adam", epochs=1)
    assert (run.weight, run.optimiser, run.epochs) == (0.7, "adam", 1)
    assert chosen("s-product", warm_ups="original", warm_up=1).warm_up == 1


def test_images_or_protocols_without_chosen_settings_are_refused():
    with pytest.raises(ResiduumError, match="'pipeline' on the images 'mnist'"):
        preset("mnist", "pipeline", "r-product", digit_size=1, pair_size=1, seed=0)
    with pytest.raises(ResiduumError, match="'embedded'"):
        preset("embedded", "joint", "r-product", digit_size=1, pair_size=1, seed=0)


def test_the_chosen_settings_are_valid(monkeypatch):
    monkeypatch.undo()
    for images, protocols in settings._table().items():
        for protocol, table in protocols.items():
            relaxations = table.keys() - {"all", "note", "pools", "warm_ups"}
            for relaxation, digit_size, pair_size, pool in product(
                relaxations, (1, 200, 1000, 5000, 25_000), (1, 1000, 5000, 25_000), POOLS
            ):
                run = preset(
                    images, protocol, relaxation,
                    digit_size=digit_size, pair_size=pair_size, seed=0, pair_pool=pool,
                )  # fmt: skip
                assert run.learning_rate > 0
                assert run.warm_up == 0 or run.warm_up_rate > 0
                assert run.judge_every <= run.epochs


@pytest.mark.parametrize(("kind", "options"), [("pools", POOLS), ("warm_ups", WARM_UPS)])
def test_settings_of_options_are_for_options_and_relaxations_there_are(monkeypatch, kind, options):
    monkeypatch.undo()
    for protocols in settings._table().values():
        for table in protocols.values():
            for option, relaxations in table.get(kind, {}).items():
                assert option in options
                assert relaxations.keys() <= table.keys()


ADDED = {"clip": 100, "weight_ramp": 3, "rate_ramp": 2, "average": 0.99}
"""Settings that are younger than some records, with values that are not their defaults."""


def test_settings_that_came_later_are_left_out_at_their_defaults():
    run = chosen()
    assert run.configuration.keys() == {one.name for one in fields(run)} - ADDED.keys()
    for name, value in ADDED.items():
        assert chosen(**{name: value}).configuration == {**run.configuration, name: value}
        default = chosen(**{name: getattr(run, name)})
        assert run_id("digits", default.configuration, 1) == run_id("digits", run.configuration, 1)


@pytest.mark.parametrize("average", [-0.1, 1.0, 2, math.nan])
def test_impossible_decays_of_averages_are_refused(average):
    with pytest.raises(ResiduumError, match="average: expected a decay from 0 to below 1"):
        chosen(average=average)


@pytest.mark.parametrize("name", ["weight_ramp", "rate_ramp"])
def test_ramps_are_not_longer_than_the_training(name):
    for wrong in (-1, 6):
        with pytest.raises(ResiduumError, match=f"{name}: expected from 0 to the 5 epochs, got"):
            chosen(**{name: wrong})
    assert getattr(of_length(chosen(**{name: 4}), 3), name) == 3  # 2.4, rounded up
    pipeline = replace(
        chosen(**{name: 4}), protocol="pipeline", digit_epochs=2, digit_rate=0.1, weight=1.0
    )
    assert getattr(pipeline.digit_stage, name) == 2


@pytest.mark.parametrize("clip", [0, -1.0, math.inf, math.nan])
def test_impossible_norms_are_refused(clip):
    with pytest.raises(ResiduumError, match="clip: expected a norm above 0"):
        chosen(clip=clip)
