"""The progress of a sweep, against counts by hand."""

import builtins

import pytest

from made_up_training import dev, sweep_in, write
from residuum.errors import ResiduumError
from residuum.results import Store
from residuum.sweeps import read_sweep
from residuum.sweeps.progress import sweep_progress
from residuum.sweeps.storage import open_storage

# A grid of nine trials with two seeds and nine epochs, then three final runs of twelve epochs, in
# each of two configurations; each run takes a second.
EPOCHS = 9 * 2 * 9 + 3 * 12


def progress_of(path, tmp_path, most):
    store = tmp_path / "runs.sqlite"
    with Store(store) as opened:
        _, trained = sweep_in(path, opened, most=most)
    return sweep_progress(read_sweep(path), store), [run for _, run in trained]


def test_a_sweep_that_never_ran_has_no_progress(tmp_path):
    found = sweep_progress(read_sweep(write(tmp_path)), tmp_path / "runs.sqlite")
    assert [(one.trials, one.values, one.best_value, one.seconds_left) for one in found] == [
        (9, {}, None, None)
    ] * 2
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.toml"]


def test_trials_with_all_seeds_count_and_time_left_follows_the_pace_so_far(tmp_path):
    found, trained = progress_of(write(tmp_path), tmp_path, most=11)
    whole = [trained[place : place + 2] for place in range(0, 10, 2)]
    means = [sum(map(dev, pair)) / 2 for pair in whole]
    assert list(found[0].values.values()) == means
    best, _ = whole[means.index(max(means))]
    assert found[0].best == {"learning_rate": best.learning_rate, "weight": best.weight}
    assert found[0].best_value == max(means)
    assert (found[0].given_up, found[0].final_runs) == (0, 0)
    assert found[0].seconds_left == pytest.approx((EPOCHS - 11 * 9) / 9)
    assert (found[1].values, found[1].best_value) == ({}, None)
    assert found[1].seconds_left == pytest.approx(EPOCHS / 9)


def test_a_sweep_that_is_over_has_no_time_left(tmp_path):
    found, _ = progress_of(write(tmp_path), tmp_path, most=None)
    assert [(len(one.values), one.final_runs, one.seconds_left) for one in found] == [(9, 3, 0)] * 2


def test_halving_counts_those_given_up_and_the_epochs_of_all_rungs(tmp_path):
    path = write(tmp_path, more='pruner = "halving"\nleast_epochs = 1')
    found, trained = progress_of(path, tmp_path, most=2 * 9 * 2)
    wanted = 2 * (9 * 1 + 3 * 3 + 1 * 9) + 3 * 12
    assert {run.epochs for run in trained} == {1}
    for one in found:
        assert (one.given_up, one.values) == (6, {})
        assert one.seconds_left == pytest.approx(wanted - 18)
    found, _ = progress_of(path, tmp_path, most=None)
    assert [(len(one.values), one.given_up, one.seconds_left) for one in found] == [(1, 8, 0)] * 2


def test_optuna_that_is_missing_is_named_with_how_to_install_it(tmp_path, monkeypatch):
    plain = builtins.__import__

    def without(name, *rest, **options):
        if name == "optuna":
            raise ImportError(name)
        return plain(name, *rest, **options)

    sweep = read_sweep(write(tmp_path))
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ResiduumError, match=r"pip install 'residuum\[sweeps\]'"):
        open_storage(sweep, tmp_path / "runs.sqlite")
