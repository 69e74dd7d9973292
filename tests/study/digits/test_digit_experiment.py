"""Each run is trained once, continues after any stop, and has a complete record."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from itertools import product

import pytest
import small_runs
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from small_runs import JOINT, PIPELINE, RUNS, id_of, train

from killed_training import Silent, StopError, Stopping, content
from residuum.errors import ResiduumError
from residuum.results.encoding import from_line, to_line
from residuum.results.records import run_id
from residuum.results.store import Store
from residuum.study import running
from residuum.study.digits import experiment
from residuum.study.digits.experiment import STAGES
from residuum.study.digits.settings import TUNING, Settings
from residuum.study.digits.task import JointTask
from residuum.training.checkpoints import Checkpoints
from residuum.training.loop import Training

STEADY = replace(JOINT, seed=50, clip=0.5, average=0.9, weight_ramp=3, rate_ramp=2)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(experiment, "_sets", small_runs.small_sets)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        yield store


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """What the runs come to that nothing stops, by id."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "_sets", small_runs.small_sets)
        with Store(tmp_path_factory.mktemp("whole") / "runs.sqlite") as store:
            train([*RUNS, STEADY], store)
            return {record.id: content(record) for record in store}


def found_in(store):
    return {record.id: content(record) for record in store}


@pytest.mark.parametrize(
    ("runs", "stopping"),
    [
        (RUNS[:2], ("joint", 1)),
        (RUNS[2:3], ("joint", 4)),
        (RUNS[3:4], ("Digit", 2)),
        (RUNS[4:], ("Sum", 3)),
        (RUNS[3:], ("Product", 4)),
        (RUNS[2:4], (None, None, 1)),
        ([STEADY], ("joint", 1)),
        ([STEADY], ("joint", 3)),
    ],
)
def test_a_training_that_a_watcher_stops_continues_exactly(store, uninterrupted, runs, stopping):
    with pytest.raises(StopError):
        train(runs, store, Stopping(*stopping))
    over = {record.id for record in store}
    watch = Silent()
    train(runs, store, watch)
    ids = {id_of(run) for run in runs}
    assert found_in(store) == {name: uninterrupted[name] for name in ids}
    assert sorted(watch.over) == sorted(ids - over)
    folder = store.path.with_name("runs.sqlite.checkpoints")
    assert list(folder.iterdir()) == []


def test_a_training_stopped_within_an_epoch_continues_exactly(store, uninterrupted, monkeypatch):
    monkeypatch.setattr(running, "BETWEEN_CHECKPOINTS", 0.0)
    losses, steps = JointTask.losses, []

    def failing(task, step):
        steps.append(step)
        if len(steps) == 6:  # of two in an epoch
            raise StopError
        return losses(task, step)

    with monkeypatch.context() as patch:
        patch.setattr(JointTask, "losses", failing)
        with pytest.raises(StopError):
            train(RUNS[:2], store)
    train(RUNS[:2], store)
    assert len(steps) == 6
    found = found_in(store)
    assert found == {name: uninterrupted[name] for name in map(id_of, RUNS[:2])}


def test_killed_at_any_moment_or_two_at_once_each_run_is_kept_once(tmp_path):
    paths = os.pathsep.join(sys.path)  # where this test found what it imports
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, small_runs.__file__, tmp_path],
        check=True, capture_output=True, text=True, env=environment, timeout=300,
    )  # fmt: skip
    expected, killed, shared, kills, exits, left = json.loads(done.stdout)
    assert len({record["id"] for record in expected}) == 3
    assert killed == expected
    assert shared == expected
    assert kills > 0
    assert exits == [0, 0]
    assert left == []


def damage_nothing(path):
    pass


def remove(path):
    path.unlink()


def rewritten(change):
    def damage(path):
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = file.metadata()
        change(tensors, metadata)
        save_file(tensors, path, metadata)

    return damage


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[-1000] ^= 1
    path.write_bytes(content)


def halve(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def other_epoch(_tensors, metadata):
    header = json.loads(metadata["residuum"])
    metadata["residuum"] = json.dumps({**header, "epoch": 3})


def no_checksum(_tensors, metadata):
    del metadata["checksum"]


def swap_runs(path):
    others = [other for other in path.parent.iterdir() if other != path]
    first, second = path.read_bytes(), others[0].read_bytes()
    path.write_bytes(second)
    others[0].write_bytes(first)


def infinite_epoch(_tensors, metadata):
    header = json.loads(metadata["residuum"])
    metadata["residuum"] = json.dumps({**header, "epoch": math.inf})


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "zeros": lambda path: path.write_bytes(bytes(1000)),
    "text": lambda path: path.write_text('{"epoch": 3}'),
    "no end of epochs": rewritten(infinite_epoch),
    "none": damage_nothing,
    "removed": remove,
    "cut off": halve,
    "one bit": flip_a_bit,
    "a tensor missing": rewritten(lambda tensors, _: tensors.pop("3")),
    "the last tensor missing": rewritten(lambda tensors, _: tensors.pop(str(len(tensors) - 1))),
    "another shape": rewritten(lambda tensors, _: tensors.update({"1": torch.zeros(1).double()})),
    "another epoch": rewritten(other_epoch),
    "no checksum": rewritten(no_checksum),
    "of another run": swap_runs,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_checkpoint_is_set_aside_and_its_run_starts_again(store, uninterrupted, damage):
    runs = [JOINT, replace(JOINT, seed=50)]
    with pytest.raises(StopError):
        train(runs, store, Stopping("joint", 2))
    folder = store.path.with_name("runs.sqlite.checkpoints")
    damage(folder / f"{id_of(JOINT)}.joint.safetensors")
    epochs = []

    class Noting(Silent):
        def epoch_is_over(self, stage, epoch, _curves):
            epochs.append((len(stage.runs), epoch))

    watch = Noting()
    train(runs, store, watch)
    name = id_of(JOINT)
    assert found_in(store)[name] == uninterrupted[name]
    told = {damage_nothing: 0, remove: 0, swap_runs: 2}.get(damage, 1)
    assert len(watch.notes) == told
    assert all("cannot be used" in note and "starts again" in note for note in watch.notes)
    if damage is damage_nothing:
        assert epochs == [(2, 3), (2, 4)]
    elif damage is not swap_runs:  # the other run goes on from where it was
        assert {(1, 3), (1, 1)} <= set(epochs)
        assert len(epochs) == 6
    assert list(folder.iterdir()) == []


def test_checkpoints_of_runs_that_are_done_are_removed(store):
    train([JOINT], store)
    folder = store.path.with_name("runs.sqlite.checkpoints")
    left = folder / f"{id_of(JOINT)}.joint.safetensors"
    left.write_bytes(b"killed before it was removed")
    train([JOINT], store)
    assert not left.exists()


def test_runs_stopped_while_measured_are_measured_one_by_one(store, uninterrupted, monkeypatch):
    measure, together = experiment.measure, []

    def stopped(networks, *others):
        together.append(len(next(networks["Digit"].parameters())))
        if len(together) in (1, 3):
            raise StopError
        return measure(networks, *others)

    monkeypatch.setattr(experiment, "measure", stopped)
    runs = [JOINT, replace(JOINT, seed=50)]
    for kept in (0, 1):
        with pytest.raises(StopError):
            train(runs, store)
        assert len(found_in(store)) == kept
    train(runs, store)
    assert together == [2, 1, 1, 1]
    assert found_in(store)[id_of(JOINT)] == uninterrupted[id_of(JOINT)]


WILD = [
    replace(JOINT, seed=50, learning_rate=1e200),
    replace(PIPELINE, seed=50, digit_rate=1e200),
    replace(PIPELINE, seed=60, learning_rate=1e200),
]
"""Runs that diverge: in their only stage, in the first and in the second of three stages."""


def test_a_run_that_diverges_changes_no_other_run_and_its_record_says_so(store, uninterrupted):
    train([*RUNS, STEADY, *WILD], store)
    found = found_in(store)
    for name, expected in uninterrupted.items():
        assert found[name] == expected
    for run, stage in zip(WILD, ("joint", "Digit", "Sum"), strict=True):
        record = store.get(id_of(run))
        assert (record.measures, record.outcomes) == ({}, {})
        assert record.diverged.epoch == 1
        assert {f"{stage}: loss/total", f"{stage}: parameters"} <= {*record.diverged.not_finite}
        assert record.curves[f"{stage}: loss/total"].epochs == (1,)
        assert not math.isfinite(record.curves[f"{stage}: loss/total"].values[-1])
        assert f"{stage}: selected" not in record.curves
        assert not any(name.startswith("Product: ") for name in record.curves)
        assert from_line(to_line(record)) == record


@pytest.mark.parametrize("wild", WILD)
def test_a_run_that_diverges_alone_is_neither_trained_on_nor_measured(store, wild, monkeypatch):
    monkeypatch.setattr(experiment, "measure", None)
    watch = Silent()
    before = {"digit_epochs": 1000} if wild.digit_rate == 1e200 else {}  # Digit is learnt first
    train([replace(wild, epochs=1000, **before)], store, watch)
    (record,) = store
    assert record.diverged.epoch < 5
    assert watch.over == [record.id]


@pytest.mark.parametrize("wild", WILD)
def test_a_diverged_run_that_was_stopped_is_not_trained_again(store, wild, monkeypatch):
    class StoppedLater(Silent):
        def epoch_is_over(self, stage, epoch, _curves):
            if epoch == 3 and stage.name == ("joint" if wild.protocol == "joint" else "Sum"):
                raise StopError

    calm = replace(wild, learning_rate=0.01, digit_rate=0.02, seed=70)
    with pytest.raises(StopError):
        train([calm, wild], store, StoppedLater())
    assert list(store) == []
    assert [stage.has_diverged for stage in progress_of(store, wild)].count(
        True
    ) == 1  # it is known before it is restored

    def never(*_):
        raise AssertionError("the run is trained again")

    with monkeypatch.context() as patch:
        patch.setattr(Training, "_run_epoch", never)
        with pytest.raises(AssertionError, match="trained again"):  # of the calm run
            train([calm, wild], store)
    (record,) = store
    assert (record.id, record.diverged.epoch) == (id_of(wild), 1)
    train([calm, wild], store)
    assert store.get(id_of(calm)).diverged is None
    assert list(store.path.with_name("runs.sqlite.checkpoints").iterdir()) == []


def progress_of(store, run):
    checkpoints = Checkpoints(store.path.with_name("runs.sqlite.checkpoints"), pytest.fail)
    return [checkpoints.progress(f"{id_of(run)}.{stage}") for stage in STAGES[run.protocol]]


def test_a_run_of_tuning_that_diverges_says_so(store):
    train(WILD[:1], store, study=TUNING)
    (record,) = store
    assert record.diverged is not None


def test_records_are_complete_and_survive_json(store):
    watch = Silent()
    train([JOINT, replace(PIPELINE, selection="gold")], store, watch)
    assert len(watch.over) == 2
    joint, pipeline = (store.get(name) for name in watch.over)
    parts = ("labels", "sum_coherence", "product_coherence", "total")
    judged = ("digit_accuracy", "sum_coherence", "product_coherence", "score")
    assert joint.curves.keys() == {
        *(f"joint: loss/{part}" for part in parts),
        *(f"joint: dev/{measure}" for measure in judged),
        "joint: selected",
    }
    assert pipeline.curves.keys() == {
        f"{stage}: {what}"
        for stage, judged in (("Digit", "digit_accuracy"), ("Sum", "gold"), ("Product", "gold"))
        for what in (f"loss/{stage}", "loss/total", f"dev/{judged}", "dev/score", "selected")
    }
    assert joint.curves["joint: loss/total"].epochs == (2, 4)  # losses, too, where it was judged
    assert joint.curves["joint: dev/score"].epochs == (2, 4)
    assert joint.curves["joint: dev/score"].values == (-math.inf,) * 2  # it has hardly learnt
    assert joint.curves["joint: selected"].values == (-1.0,)
    assert pipeline.curves["Digit: loss/total"].epochs == (1, 2, 3)
    for record in (joint, pipeline):
        assert record.configuration["seed"] == 0
        assert record.seconds > 0
        assert record.environment["runs_together"] == 1
        assert len(record.measures) == 11
        assert {len(array) for array in record.outcomes.values()} == {8, 357}
        line = to_line(record)
        assert json.loads(line)["id"] == record.id
        assert from_line(line) == record


def test_tuning_does_not_measure_on_test(store, monkeypatch):
    monkeypatch.setattr(experiment, "measure", None)
    train([JOINT], store, study=TUNING)
    (record,) = store
    assert (record.study, len(record.measures), len(record.outcomes)) == (TUNING, 0, 0)
    assert record.id == id_of(JOINT, TUNING) != id_of(JOINT)


def test_runs_asked_for_twice_are_run_once(store):
    watch = Silent()
    train([JOINT, replace(JOINT, weight=0.1), JOINT], store, watch)
    assert watch.over == [id_of(JOINT)]
    train([JOINT], store, watch)
    assert len(watch.over) == 1


def test_ids_are_those_of_records_that_exist():
    # Written down when the first runs were kept: they must never change.
    run = Settings(
        images="mnist", relaxation="lukasiewicz-maxsat", digit_size=1000, pair_size=5000, seed=0,
        epochs=220, optimiser="adam", learning_rate=0.0003, weight=0.1, precision="bfloat16",
    )  # fmt: skip
    assert id_of(run) == "7d07ea44896c1c1b"
    reversed_ = dict(reversed(run.configuration.items()))
    assert run_id("digits", reversed_, 1) == id_of(run)
    assert id_of(replace(run, period=None, warm_up_weight=1)) == id_of(run)
    assert id_of(replace(run, seed=1)) != id_of(run)


def test_a_relaxation_spelt_otherwise_is_the_same_run():
    usual, other = (replace(JOINT, relaxation=name) for name in ("s-yager(2)", "s-yager( 2.0 )"))
    assert usual == other
    assert id_of(usual) == id_of(other)


def test_stacks_hold_runs_of_the_same_shape_and_progress():
    together = [
        JOINT,
        replace(JOINT, seed=1),
        replace(JOINT, relaxation="s-godel", warm_up=2, warm_up_rate=0.1, freeze=True, weight=3.0),
        replace(JOINT, digit_size=99, pair_pool="original", learning_rate=0.5, schedule="constant"),
    ]
    apart = [
        replace(JOINT, optimiser="adam"), replace(JOINT, precision="float32"),
        replace(JOINT, pair_size=13), replace(JOINT, epochs=5), replace(JOINT, batch=9),
        replace(JOINT, judge_every=3), replace(JOINT, judge_pairs=9),
        replace(JOINT, images="mnist"), PIPELINE, replace(PIPELINE, digit_size=17),
        replace(PIPELINE, digit_epochs=4),
        replace(PIPELINE, selection="gold"),
    ]  # fmt: skip
    found = running.stacks([*together, *apart], 36, lambda _: 0)
    assert sorted(map(len, found)) == [1] * len(apart) + [len(together)]
    assert {*found[[len(one) for one in found].index(4)]} == {*together}
    half_done = running.stacks(together, 36, lambda run: run.seed)
    assert sorted(map(len, half_done)) == [1, 3]


def test_stacks_are_not_too_large_and_neighbours_share_their_relaxation():
    relaxations = ["r-product", "s-godel", "s-product"]
    runs = [
        replace(JOINT, relaxation=name, seed=seed) for seed, name in product(range(7), relaxations)
    ]
    found = running.stacks(runs, 8, lambda _: 0)
    assert list(map(len, found)) == [7, 7, 7]
    assert {run for stack in found for run in stack} == {*runs}
    order = [run.relaxation for stack in found for run in stack]
    assert order == sorted(order)


@pytest.mark.parametrize(
    "wrong",
    [
        {"relaxation": "nonsense"}, {"warm_up_relaxation": "nonsense"}, {"protocol": "joined"},
        {"images": "cifar"}, {"pair_pool": "all"}, {"optimiser": "rprop"}, {"selection": "silver"},
        {"precision": "float16"}, {"schedule": "linear"}, {"schedule": "restarts"},
        {"epochs": 0}, {"batch": 0}, {"judge_every": 0}, {"judge_pairs": 0}, {"digit_size": 0},
        {"pair_size": -1}, {"learning_rate": -0.1}, {"warm_up_rate": math.nan},
        {"digit_rate": math.inf}, {"weight": -1.0}, {"warm_up_weight": math.nan},
        {"protocol": "pipeline", "digit_rate": 0.1}, {"protocol": "pipeline", "digit_epochs": 2},
        {"warm_up": 5, "warm_up_rate": 0.1}, {"warm_up": -1, "warm_up_rate": 0.1}, {"warm_up": 1},
    ],
    ids=str,
)  # fmt: skip
def test_invalid_settings_are_refused(wrong):
    with pytest.raises(ResiduumError):
        replace(JOINT, **wrong)
