"""Each run of taggers is trained once, and continues after any stop."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
import small_chunk_runs
from safetensors import safe_open
from safetensors.torch import save_file
from small_chunk_runs import FEW, RUN, RUNS, id_of, train

from killed_training import Silent, StopError, Stopping, content
from residuum.errors import ResiduumError
from residuum.results import Store
from residuum.study import running
from residuum.study.chunking import experiment
from residuum.study.chunking.settings import TUNING
from residuum.study.chunking.task import ChunkingTask
from residuum.training.checkpoints import _checksum


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        yield store


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("whole") / "runs.sqlite") as store:
        train(RUNS, store)
        return {record.id: content(record) for record in store}


@pytest.mark.parametrize("epoch", [1, 4])
def test_a_training_that_a_watcher_stops_continues_exactly(store, uninterrupted, epoch):
    with pytest.raises(StopError):
        train([RUN], store, Stopping("Tag", epoch))
    epochs = []

    class Noting(Silent):
        def epoch_is_over(self, _stage, epoch, _curves):
            epochs.append(epoch)

    train([RUN], store, Noting())
    assert epochs == list(range(epoch + 1, 5))
    [record] = store
    assert content(record) == uninterrupted[id_of(RUN)]
    assert list(store.path.with_name("runs.sqlite.checkpoints").iterdir()) == []


def test_a_training_stopped_within_an_epoch_continues_exactly(store, uninterrupted, monkeypatch):
    monkeypatch.setattr(running, "BETWEEN_CHECKPOINTS", 0.0)
    losses, steps = ChunkingTask.losses, []

    def failing(task, step):
        steps.append(step)
        if len(steps) == 5:  # of three in an epoch
            raise StopError
        return losses(task, step)

    with monkeypatch.context() as patch:
        patch.setattr(ChunkingTask, "losses", failing)
        with pytest.raises(StopError):
            train([RUN], store)
    train([RUN], store)
    [record] = store
    assert content(record) == uninterrupted[id_of(RUN)]


def test_a_run_goes_on_and_is_recorded_alike_in_any_company(store, tmp_path):
    plain, ruled = replace(RUN, constraints=False), RUN
    with pytest.raises(StopError):
        train([plain, ruled], store, Stopping("Tag", 2))
    with pytest.raises(StopError):
        train([plain], store, Stopping("Tag", 3))
    watch = Silent()
    train([plain, ruled], store, watch)
    assert watch.notes == []
    with Store(tmp_path / "alone.sqlite") as alone:
        train([plain], alone)
        train([ruled], alone)
        for run in (plain, ruled):
            found, expected = content(store.get(id_of(run))), content(alone.get(id_of(run)))
            assert found["curves"].keys() == expected["curves"].keys()
            for name, curve in expected["curves"].items():
                assert found["curves"][name]["epochs"] == curve["epochs"]
                values = found["curves"][name]["values"]
                assert values == pytest.approx(curve["values"], rel=1e-4)


def test_a_checkpoint_with_curves_of_its_company_is_set_aside(store, uninterrupted):
    with pytest.raises(StopError):
        train([RUN], store, Stopping("Tag", 2))
    [path] = store.path.with_name("runs.sqlite.checkpoints").iterdir()
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        header = json.loads(file.metadata()["residuum"])
    header["curves"]["losses"]["rule_of_another_run"] = [1.0, 2.0]
    text = json.dumps(header)
    state = [tensors[str(place)] for place in range(len(tensors))]
    save_file(tensors, path, {"residuum": text, "checksum": str(_checksum(text, state))})
    watch = Silent()
    train([RUN], store, watch)
    [note] = watch.notes
    assert "its losses are not those of this run. " in note
    assert {record.id: content(record) for record in store} == {
        id_of(RUN): uninterrupted[id_of(RUN)]
    }


def test_what_is_measured_is_the_state_that_was_chosen(store):
    for seed in range(8):  # until one was best before its end
        run = replace(RUN, seed=seed)
        train([run], store)
        whole = store.get(id_of(run))
        chosen = int(whole.curves["selected"].values[0])
        if chosen < run.epochs:
            break
    assert chosen < run.epochs
    # With a constant rate, a run that ends there ends in that state.
    shorter = replace(run, epochs=chosen)
    train([shorter], store)
    assert store.get(id_of(shorter)).measures == whole.measures


def test_killed_at_any_moment_or_two_at_once_each_run_is_kept_once(tmp_path, uninterrupted):
    paths = os.pathsep.join(sys.path)  # where this test found what it imports
    done = subprocess.run(
        [sys.executable, small_chunk_runs.__file__, tmp_path],
        check=True, capture_output=True, text=True, timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths},
    )  # fmt: skip
    expected, killed, shared, kills, exits, left = json.loads(done.stdout)
    assert {record["id"] for record in expected} == set(uninterrupted)
    assert killed == expected
    assert shared == expected
    assert kills > 0
    assert exits == [0, 0]
    assert left == []


def test_tuning_does_not_measure_on_test(store, monkeypatch):
    monkeypatch.setattr(experiment, "measure", None)
    train([RUN], store, name=TUNING)
    [record] = store
    assert (record.study, len(record.measures), len(record.outcomes)) == (TUNING, 0, 0)
    assert record.id == id_of(RUN, TUNING) != id_of(RUN)
    assert len(record.curves["dev/f1"].values) == 4


def test_text_without_labels_is_for_rules_alone_and_trained_apart():
    half = replace(RUN, fraction=0.5)
    assert replace(half, unlabelled=True).stack != half.stack
    with pytest.raises(ResiduumError, match="a fraction below 1, got constraints=True and frac"):
        replace(RUN, unlabelled=True, fraction=1.0)
    with pytest.raises(ResiduumError, match="unlabelled: expected constraints"):
        replace(RUN, constraints=False, unlabelled=True)


def test_a_record_says_how_many_words_of_test_are_unknown(uninterrupted):
    seen = [word.lower() for sentence in FEW.train for word in sentence.words]
    test = [word.lower() for sentence in FEW.test for word in sentence.words]
    # All of these runs see nearly all sentences: what is never there cannot be known.
    never = 100 * sum(word not in seen for word in test) / len(test)
    assert all(never <= one["measures"]["unknown_words"] <= 100 for one in uninterrupted.values())


def test_both_decodings_are_measured_and_one_obeys_the_rules(uninterrupted):
    for one in uninterrupted.values():
        measures = one["measures"]
        names = ("f1", "precision", "recall", "accuracy", "violations", "f1/NP")
        assert {*names, *(f"viterbi_{name}" for name in names)} <= measures.keys()
        assert measures["viterbi_violations"] == 0
    # Taggers that have seen so little break rules by the likeliest tags.
    assert any(one["measures"]["violations"] > 0 for one in uninterrupted.values())


@pytest.mark.parametrize("stopped", [False, True])
def test_a_run_that_diverges_changes_no_other_run_and_its_record_says_so(store, stopped):
    tame, calm = replace(RUN, relaxation="s-godel"), replace(RUN, seed=20)
    wild = replace(tame, learning_rate=1e300)
    if stopped:
        with pytest.raises(StopError):
            train([wild, calm], store, Stopping("Tag", 3))
        assert list(store) == []
    train([wild, calm], store)
    record = store.get(id_of(wild))
    assert (record.measures, record.outcomes) == ({}, {})
    assert record.diverged.epoch <= 2
    assert "parameters" in record.diverged.not_finite
    assert "selected" not in record.curves
    # After a stop the calm run goes on alone, which changes the last digits of float32.
    with Store(store.path.with_name("other.sqlite")) as other:
        train([tame, calm], other)
        expected = content(other.get(id_of(calm)))
    found = content(store.get(id_of(calm)))
    if stopped:
        assert found["measures"]["soft_violations"] == pytest.approx(
            expected["measures"]["soft_violations"], rel=1e-5
        )
    else:
        assert found == expected
