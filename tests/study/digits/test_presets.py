import pytest

from residuum.errors import ResiduumError
from residuum.study.digits import presets
from residuum.study.digits.presets import preset

TABLE = {
    "mnist": {
        "joint": {
            "all": {"batch": 32, "epochs": {"100": 7, "10000": 5}, "learning_rate": 0.5},
            "r-product": {"1000": {"weight": 0.1}, "5000": {"weight": 0.2, "batch": 16}},
            "s-product": {"1000": {"learning_rate": 0.25, "judge_every": {"100": 3, "10000": 4}}},
        }
    }
}


@pytest.fixture(autouse=True)
def _made_up(monkeypatch):
    monkeypatch.setattr(presets, "_table", lambda: TABLE)


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


def test_what_is_given_goes_before_what_was_chosen():
    run = chosen(weight=0.7, optimiser="adam", epochs=1)
    assert (run.weight, run.optimiser, run.epochs) == (0.7, "adam", 1)


def test_images_or_protocols_nothing_was_chosen_for_are_said_to_be():
    with pytest.raises(ResiduumError, match="'pipeline' on the images 'mnist'"):
        preset("mnist", "pipeline", "r-product", digit_size=1, pair_size=1, seed=0)
    with pytest.raises(ResiduumError, match="'embedded'"):
        preset("embedded", "joint", "r-product", digit_size=1, pair_size=1, seed=0)


def test_the_settings_that_come_along_make_sense(monkeypatch):
    monkeypatch.undo()
    for images, protocols in presets._table().items():
        for protocol, by_relaxation in protocols.items():
            for relaxation in by_relaxation.keys() - {"all", "note"}:
                for digit_size in (1, 200, 1000, 5000, 25_000):
                    for pair_size in (1, 1000, 5000, 25_000):
                        run = preset(
                            images, protocol, relaxation,
                            digit_size=digit_size, pair_size=pair_size, seed=0,
                        )  # fmt: skip
                        assert run.learning_rate > 0
                        assert run.warm_up == 0 or run.warm_up_rate > 0
                        assert run.judge_every <= run.epochs
