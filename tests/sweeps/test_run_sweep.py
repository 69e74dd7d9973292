"""A search finds what brute force finds, walks a whole grid, and survives any stop."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import optuna
import pytest

import made_up_training
from made_up_training import GRID, RANGES, dev, sweep_in, write
from residuum.results import Store
from residuum.study.digits.settings import STUDY, TUNING, Settings
from residuum.sweeps import read_sweep
from residuum.sweeps.searching import Search
from residuum.sweeps.storage import open_storage

HALVING = 'pruner = "halving"\nleast_epochs = 1'
TPE = 'sampler = "tpe"\ntrials = 12\ntogether = 5'


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.sqlite") as opened:
        yield opened


def settings(relaxation, rate, weight, seed, epochs=9):
    return Settings(
        images="embedded", relaxation=relaxation, digit_size=20, pair_size=40, epochs=epochs,
        learning_rate=rate, weight=weight, seed=seed,
    )  # fmt: skip


def test_a_grid_is_walked_exactly_and_its_best_point_wins(tmp_path, store):
    winners, trained = sweep_in(write(tmp_path), store)
    names, rates, weights = ("r-product", "s-product"), (0.1, 0.01, 0.001), (0.5, 1.0, 2.0)
    expected = [
        settings(*point, seed)
        for point in itertools.product(names, rates, weights)
        for seed in (1, 2)
    ]
    searched = [run for name, run in trained if name == TUNING]
    assert len(searched) == len(expected) == 36
    assert set(searched) == set(expected)
    for name, winner in zip(names, winners, strict=True):
        means = {
            (rate, weight): sum(dev(settings(name, rate, weight, seed)) for seed in (1, 2)) / 2
            for rate, weight in itertools.product(rates, weights)
        }
        best = max(means, key=means.get)
        assert winner.settings == {"learning_rate": best[0], "weight": best[1]}
        assert winner.value == means[best]
        final = [settings(name, *best, seed, epochs=12) for seed in (0, 20, 50)]
        assert [one.configuration for one in winner.records] == [one.configuration for one in final]
        assert {one.study for one in winner.records} == {STUDY}


def test_of_equal_trials_the_first_wins_and_nothing_learnt_has_no_winner(
    tmp_path, store, monkeypatch
):
    monkeypatch.setattr(made_up_training, "dev", lambda _run: 50.0)
    winners, _ = sweep_in(write(tmp_path), store)
    sweep = read_sweep(tmp_path / "sweep.toml")
    search = Search(sweep, sweep.configurations[0], open_storage(sweep, store.path))
    assert winners[0].settings == search.trials[0].params
    monkeypatch.setattr(made_up_training, "dev", lambda _run: 0.0)
    with Store(tmp_path / "other.sqlite") as other:
        winners, trained = sweep_in(tmp_path / "sweep.toml", other)
    assert [(one.settings, one.records) for one in winners] == [({}, [])] * 2
    assert {name for name, _ in trained} == {TUNING}


def test_halving_trains_a_third_for_thrice_as_long(tmp_path, store):
    winners, trained = sweep_in(write(tmp_path, more=HALVING), store)
    mine = [run for name, run in trained if name == TUNING and run.relaxation == "r-product"]
    points = {
        epochs: {(run.learning_rate, run.weight) for run in mine if run.epochs == epochs}
        for epochs in (1, 3, 9)
    }
    assert [len(points[epochs]) for epochs in (1, 3, 9)] == [9, 3, 1]
    assert len(mine) == 2 * (9 + 3 + 1)
    ranked = sorted(points[1], key=lambda p: -dev(settings("r-product", *p, 1)))
    assert points[3] == set(ranked[:3])
    assert points[9] == {ranked[0]}
    assert winners[0].settings == dict(zip(("learning_rate", "weight"), ranked[0], strict=True))


@pytest.mark.parametrize(
    ("space", "more"), [(GRID, ""), (GRID, HALVING), (RANGES, TPE), (RANGES, f"{TPE}\n{HALVING}")]
)
def test_a_sweep_that_is_stopped_often_ends_with_the_same_result(tmp_path, space, more):
    path = write(tmp_path, space, more)
    with Store(tmp_path / "once.sqlite") as store:
        expected, unhindered = sweep_in(path, store)
        assert sweep_in(path, store) == (expected, [])
    found, trained = None, []
    with Store(tmp_path / "often.sqlite") as store:
        while found is None:
            found, some = sweep_in(path, store, most=8)
            trained += some
    assert found == expected
    assert len(trained) == len(set(trained))  # nothing twice
    assert set(trained) == set(unhindered)


def test_tpe_spends_its_budget_within_its_ranges_and_a_larger_one_goes_on(tmp_path, store):
    _, trained = sweep_in(write(tmp_path, RANGES, TPE), store)
    mine = [run for name, run in trained if (name, run.seed) == (TUNING, 1)]
    assert len(mine) == 2 * 12
    assert len(set(mine)) == 2 * 12
    assert all(0.001 <= run.learning_rate <= 0.1 and 8 <= run.batch <= 64 for run in mine)
    assert all(isinstance(run.batch, int) for run in mine)
    _, more = sweep_in(write(tmp_path, RANGES, TPE.replace("12", "15")), store)
    new = [run for name, run in more if (name, run.seed) == (TUNING, 1)]
    assert len(new) == 2 * 3
    assert not set(new) & set(mine)


@pytest.mark.parametrize("has_grid_id", [False, True])
def test_a_process_that_dies_while_asking_leaves_no_hole_in_the_grid(tmp_path, store, has_grid_id):
    path = write(tmp_path)
    sweep = read_sweep(path)
    storage = open_storage(sweep, store.path)
    for configuration in sweep.configurations:
        study = optuna.create_study(
            study_name=sweep.name(configuration), storage=storage.optuna, direction="maximize"
        )
        if has_grid_id:
            grid = {name: list(one.values) for name, one in sweep.space.items()}
            study.sampler = optuna.samplers.GridSampler(grid, seed=0)
        study.ask()  # and nothing is ever suggested
    _, trained = sweep_in(path, store)
    searched = {
        (run.relaxation, run.learning_rate, run.weight) for n, run in trained if n == TUNING
    }
    assert len(searched) == 2 * 9


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_kills_at_random_moments_lose_nothing_and_change_nothing(tmp_path):
    path = write(tmp_path)
    with Store(tmp_path / "once.sqlite") as store:
        expected, _ = sweep_in(path, store)
    killed = tmp_path / "killed.sqlite"
    done = subprocess.run(
        [sys.executable, made_up_training.__file__, str(path), str(killed)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    found, kills = map(json.loads, done.stdout.splitlines())
    assert found == [[dict(one.settings), one.value] for one in expected]
    assert kills > 0
    with Store(killed) as store:
        assert len(list(store)) == 36 + 6


def test_a_store_that_cannot_be_written_is_noticed_before_training(tmp_path, store):
    from residuum.errors import RecordError

    store._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(RecordError, match="cannot be written"):
        sweep_in(write(tmp_path), store)
    assert list(store) == []


def test_a_storage_that_is_no_url_is_refused(tmp_path, store):
    from residuum.errors import ResiduumError

    sweep = read_sweep(write(tmp_path, more='storage = "nonsense"'))
    with pytest.raises(ResiduumError, match="storage: expected a URL such as"):
        open_storage(sweep, store.path)
    other = Path(tmp_path / "elsewhere.db")
    sweep = read_sweep(write(tmp_path, more=f'storage = "sqlite:///{other}"'))
    open_storage(sweep, store.path)
    assert other.exists()
