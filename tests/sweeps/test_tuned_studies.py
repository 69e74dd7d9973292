"""Sweeps of the real studies: what they measure on DEV, and that TEST stays unseen."""

from pathlib import Path

import pytest
import torch

from killed_training import Silent
from residuum.results import Curve, Record, Store
from residuum.study.chunking import experiment as chunking
from residuum.study.digits import experiment as digits
from residuum.study.running import finish_at_once, make_records, run_all
from residuum.sweeps import read_sweep
from residuum.sweeps.running import run_sweep
from residuum.sweeps.tuned_studies import TUNED, dev_value

DIGITS = """
study = "digits"
seeds = [1]
final_seeds = [0]
[settings]
images = "embedded"
relaxation = "r-product"
digit_size = 100
pair_size = 20
epochs = 2
optimiser = "adam"
judge_every = 1
{more}
[space]
learning_rate = [0.01]
"""
CHUNKING = """
study = "chunking"
seeds = [1]
final_seeds = [0]
[settings]
corpus = "sample"
relaxation = "r-product"
constraints = true
hidden = 4
epochs = 1
[space]
learning_rate = [0.01, 0.02]
"""
PIPELINE = 'protocol = "pipeline"\ndigit_epochs = 2\ndigit_rate = 0.01\nselection = "gold"'


def loaded(folder, text):
    path = Path(folder) / "sweep.toml"
    path.write_text(text)
    sweep = read_sweep(path)
    return sweep, TUNED[sweep.study].load(sweep.settings, torch.device("cpu"))


@pytest.mark.parametrize(
    "text",
    [DIGITS.format(more=""), DIGITS.format(more=PIPELINE), CHUNKING],
    ids=["joint", "pipeline", "chunking"],
)
def test_the_measures_that_a_sweep_knows_are_those_that_runs_have(tmp_path, text):
    sweep, data = loaded(tmp_path, text)
    tuned = TUNED[sweep.study]
    values = {**sweep.settings, **data.decided, "learning_rate": 0.01}
    [record] = make_records(data.tuning, [tuned.make({**values, "seed": 1})], finish_at_once)
    found = {name.rpartition("dev/")[2] for name in record.curves if "dev/" in name}
    assert found == set(tuned.measures(values))
    assert record.measures == {}
    for measure in found:
        assert 0 <= dev_value(record, measure) <= 100


@pytest.mark.parametrize(
    ("text", "module"), [(DIGITS.format(more=""), digits), (CHUNKING, chunking)]
)
def test_a_search_never_measures_on_test_and_its_winner_does_once(
    tmp_path, monkeypatch, text, module
):
    sweep, data = loaded(tmp_path, text)
    measured, usual = [], module.measure

    def measure(*values):
        measured.append(values)
        return usual(*values)

    monkeypatch.setattr(module, "measure", measure)
    seen = []
    with Store(tmp_path / "runs.sqlite") as store:

        def train(experiment, runs):
            run_all(experiment, runs, store, watch=Silent())
            seen.append((experiment.name, len(runs), len(measured)))

        monkeypatch.setattr("residuum.sweeps.running.dev_value", lambda *_: 50.0)
        [winner] = run_sweep(sweep, data, store, train)
    trials = sweep.trials
    assert seen == [(f"{sweep.study}-tuning", trials, 0), (sweep.study, 1, 1)]
    assert winner.records[0].measures


def record(**curves):
    named = {name.replace("__", ": ").replace("_of_", "/"): one for name, one in curves.items()}
    return Record("digits", 1, {"seed": 0}, {}, named, {}, 1.0, {})


def test_a_value_on_dev_is_that_of_the_selected_state():
    one = record(
        joint__dev_of_score=Curve([10, 20, 30], [1.0, 7.0, 5.0]),
        joint__dev_of_sum=Curve([10, 20, 30], [9.0, 2.0, 8.0]),
        joint__selected=Curve([30], [20.0]),
    )
    assert (dev_value(one, "score"), dev_value(one, "sum")) == (7.0, 2.0)


def test_a_run_that_was_never_usable_has_the_value_0():
    one = record(
        joint__dev_of_score=Curve([10], [float("-inf")]), joint__selected=Curve([10], [-1.0])
    )
    assert dev_value(one, "score") == 0


def test_a_value_of_several_stages_is_the_mean_of_those_that_have_it():
    one = record(
        Digit__dev_of_score=Curve([1], [90.0]),
        Digit__selected=Curve([1], [1.0]),
        Sum__dev_of_score=Curve([1], [60.0]),
        Sum__dev_of_gold=Curve([1], [60.0]),
        Sum__selected=Curve([1], [1.0]),
    )
    assert (dev_value(one, "score"), dev_value(one, "gold")) == (75.0, 60.0)
