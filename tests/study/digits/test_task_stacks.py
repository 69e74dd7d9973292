"""A run in a stack has the same numbers as alone, after a stop, and in another stack."""

import math
import zlib
from dataclasses import replace
from types import SimpleNamespace

import pytest
import safetensors.torch
import torch
from small_runs import small_sets

from residuum.study.digits.data.batches import ImageTensors
from residuum.study.digits.data.images import load_images
from residuum.study.digits.settings import Settings
from residuum.study.digits.task import DigitTask, JointTask, OperatorTask
from residuum.training.checkpoints import ChangedError, Checkpoints, Progress
from residuum.training.loop import Training

PLAIN = Settings(
    images="embedded", relaxation="r-product", digit_size=15, pair_size=20, seed=0, epochs=5,
    batch=8, learning_rate=0.02, weight=0.1, judge_every=2, judge_pairs=10, precision="float64",
)  # fmt: skip
RUNS = [
    replace(PLAIN, relaxation="lukasiewicz-maxsat", learning_rate=0.05),
    replace(PLAIN, seed=20, schedule="restarts", period=2.0),
    replace(
        PLAIN, relaxation="s-godel", weight=2.0, warm_up=1, warm_up_rate=0.01,
        warm_up_weight=0.2, freeze=True,
    ),
    replace(PLAIN, relaxation="s-product", pair_pool="original", digit_size=23),
]  # fmt: skip

CLIPPED = replace(PLAIN, clip=0.5)


@pytest.fixture(scope="module")
def images():
    return ImageTensors(load_images("embedded"), torch.float64, torch.device("cpu"))


def sets_of(runs):
    return [small_sets("embedded", run.digit_size, run.pair_size, run.pair_pool) for run in runs]


def training_of(runs, images, optimiser="sgd"):
    task = JointTask(runs, sets_of(runs), images)
    return Training(
        task,
        optimiser,
        epochs=runs[0].epochs,
        judge_every=runs[0].judge_every,
        clip=[run.clip for run in runs],
        average=runs[0].average,
    )


def test_a_clipped_run_moves_as_with_pytorch(images):
    run = replace(PLAIN, clip=0.5, epochs=2, schedule="constant")
    task = JointTask([run], sets_of([run]), images)
    parameters = [p for network in task.networks.values() for p in network.parameters()]
    optimiser = torch.optim.SGD(parameters, lr=run.learning_rate)
    norms = []
    for epoch in range(run.epochs):
        for network in task.networks.values():
            network.train()
        task.begin(epoch)
        for step in range(task.steps):
            optimiser.zero_grad()
            task.losses(torch.tensor(step))["total"].sum().backward()
            norms.append(float(torch.nn.utils.clip_grad_norm_(parameters, run.clip)))
            optimiser.step()
    assert min(norms) > run.clip
    for others in ([], [PLAIN], [replace(PLAIN, clip=1e9)]):
        training = training_of([run, *(replace(one, epochs=2) for one in others)], images)
        training.run()
        for ours, theirs in zip(training.state, parameters, strict=False):
            torch.testing.assert_close(ours[0], theirs[0].detach(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_an_average_of_the_parameters_is_judged_and_kept_and_changes_no_training(
    images, tmp_path, optimiser
):
    decay = 0.8
    plain = [replace(PLAIN, judge_every=1), replace(PLAIN, judge_every=1, seed=20)]
    usual = training_of(plain, images, optimiser)
    parameters = [p for network in usual.task.networks.values() for p in network.parameters()]
    averages = [p.detach().clone() for p in parameters]
    step, judge, measures = usual._step, usual.task.judge, []

    def step_and_average(number):
        step(number)
        for average, p in zip(averages, parameters, strict=True):
            average.mul_(decay).add_(p.detach(), alpha=1 - decay)

    usual._stepper._step = step_and_average

    def judge_the_average():
        kept = [p.detach().clone() for p in parameters]
        for p, average in zip(parameters, averages, strict=True):
            p.copy_(average)
        measures.append(judge())
        for p, value in zip(parameters, kept, strict=True):
            p.copy_(value)
        return measures[-1]

    usual.task.judge = judge_the_average
    usual.run()

    runs = [replace(run, average=decay) for run in plain]
    ours = training_of(runs, images, optimiser)
    ours.run(until=0.0)
    checkpoints = Checkpoints(tmp_path, pytest.fail)
    checkpoints.save(["first", "second"], ours)
    ours = training_of(runs, images, optimiser)
    checkpoints.restore(["first", "second"], ours)
    ours.run()
    found = [p for network in ours.task.networks.values() for p in network.parameters()]
    for mine, theirs in zip(found, parameters, strict=True):
        assert torch.equal(mine, theirs)  # the training itself is the same
    for run, curves in enumerate(ours.curves):
        accuracies = [float(judged["digit_accuracy"][run]) for judged in measures]
        assert curves.measures["digit_accuracy"] == pytest.approx(accuracies)
    assert ours.best.epochs.tolist() == [-1, -1]  # Digit is not usable yet
    ours.restore_best()
    for mine, last in zip(found, averages, strict=True):
        torch.testing.assert_close(mine.detach(), last, rtol=0, atol=1e-12)


def test_weights_and_rates_grow_step_by_step(images):
    ramped = replace(
        PLAIN, relaxation="s-product", weight_ramp=3, rate_ramp=2, epochs=4, schedule="constant"
    )
    others = [replace(PLAIN, epochs=4), replace(ramped, warm_up=1, warm_up_rate=0.5)]
    runs = [ramped, *others]
    task = JointTask(runs, sets_of(runs), images)
    assert task.steps == 3
    weights, rates, usual = [], [], []
    for epoch in range(4):
        task.begin(epoch)
        table = task.rates(epoch)
        assert table["Digit"] == table["Sum"] == table["Product"]
        for step in range(3):
            parts = {name: loss[0] for name, loss in task.losses(torch.tensor(step)).items()}
            rules = parts["sum_coherence"] + parts["product_coherence"]
            weights.append(((parts["total"] - parts["labels"]) / rules).item())
        rates += [row[0] for row in table["Sum"]]
        usual += [row[1] for row in table["Sum"]]
        if epoch == 0:
            assert [row[2] for row in table["Sum"]] == pytest.approx([0, 0.5 / 6, 1 / 6])
    ninths = [*(step / 9 for step in range(9)), 1, 1, 1]
    assert weights == pytest.approx([0.1 * share for share in ninths], abs=1e-12)
    sixths = [*(step / 6 for step in range(6)), 1, 1, 1, 1, 1, 1]
    assert rates == pytest.approx([0.02 * share for share in sixths])
    falling = [0.02 * (1 + math.cos(math.pi * step / 12)) / 2 for step in range(12)]
    assert usual == pytest.approx(falling)


def test_a_run_without_clipping_is_the_same_beside_a_clipped_one(images):
    plain, beside = training_of([PLAIN], images), training_of([PLAIN, CLIPPED], images)
    alone = training_of([CLIPPED], images)
    for training in (plain, beside, alone):
        training.run()
    for ours, first, second in zip(beside.state, plain.state, alone.state, strict=True):
        torch.testing.assert_close(ours[0], first[0], rtol=0, atol=1e-9)
        torch.testing.assert_close(ours[1], second[0], rtol=0, atol=1e-9)
    assert not torch.equal(beside.state[0][0], beside.state[0][1])


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_a_run_among_others_is_that_run(images, optimiser):
    together = training_of(RUNS, images, optimiser)
    together.run()  # 5 epochs of 3 steps, the last of which is half empty
    for place, run in enumerate(RUNS):
        alone = training_of([run], images, optimiser)
        alone.run()
        for ours, theirs in zip(together.state, alone.state, strict=True):
            torch.testing.assert_close(ours[place], theirs[0], rtol=0, atol=1e-9)
        expected = alone.curves[0].by_name()
        for name, curve in together.curves[place].by_name().items():
            assert curve.epochs == expected[name].epochs
            assert curve.values == pytest.approx(expected[name].values, abs=1e-7)


def test_a_training_that_was_stopped_goes_on_as_if_it_were_not(images, tmp_path):
    whole = training_of(RUNS[:2], images, "adam")
    whole.run()
    stopped = training_of(RUNS[:2], images, "adam")
    assert not stopped.run(until=0.0)
    checkpoints = Checkpoints(tmp_path, pytest.fail)
    checkpoints.save(["first", "second"], stopped)
    assert checkpoints.progress("first") == Progress(1, is_over=False)
    assert checkpoints.progress("third") == Progress(0, is_over=False)
    resumed = training_of(RUNS[1::-1], images, "adam")  # in another order
    checkpoints.restore(["second", "first"], resumed)
    assert resumed.run()
    for ours, theirs in zip(resumed.state, whole.state, strict=True):
        torch.testing.assert_close(ours.flip(0), theirs, rtol=0, atol=1e-9)
    for ours, theirs in zip(resumed.curves[::-1], whole.curves, strict=True):
        assert ours.losses.keys() == theirs.losses.keys()
        assert ours.losses["total"] == pytest.approx(theirs.losses["total"], abs=1e-9)


def test_runs_at_different_epochs_do_not_go_on_together(images, tmp_path):
    training, checkpoints = training_of(RUNS[:2], images), Checkpoints(tmp_path, pytest.fail)
    training.run(until=0.0)
    checkpoints.save(["first", "second"], training)
    training.run(until=0.0)
    checkpoints.save(["second", "other"], training)
    fresh = training_of(RUNS[:2], images)
    before = [state.clone() for state in fresh.state]
    with pytest.raises(ChangedError, match=r"\[1, 2\]"):
        checkpoints.restore(["first", "second"], fresh)
    assert fresh.epoch == 0
    assert all(torch.equal(*pair) for pair in zip(before, fresh.state, strict=True))
    epochs = [checkpoints.progress(name).epoch for name in ("first", "second")]
    assert epochs == [1, 2]  # neither is lost


@pytest.mark.parametrize("header", ['{"epoch": 1e999, "name": "run"}', "[" * 100_000, "[]", "{"])
def test_a_checkpoint_whose_header_makes_no_sense_is_set_aside(tmp_path, header):
    metadata = {"residuum": header, "checksum": str(zlib.crc32(header.encode()))}
    path, notes = tmp_path / "run.safetensors", []
    checkpoints = Checkpoints(tmp_path, notes.append)
    path.write_bytes(safetensors.torch.save({}, metadata))
    assert checkpoints.progress("run") == Progress(0, is_over=False)
    path.write_bytes(safetensors.torch.save({}, metadata))
    with pytest.raises(ChangedError, match="found 0 that can be used"):
        checkpoints.restore(["run"], SimpleNamespace(state=[]))
    assert [path.name for path in tmp_path.iterdir()] == ["run.unusable"]
    assert ["cannot be used" in note for note in notes] == [True, True]


def test_a_frozen_network_stays_as_it_is(images):
    run = replace(PLAIN, relaxation="s-product", warm_up=1, warm_up_rate=0.02, freeze=True)
    training = training_of([run], images)
    training.run(until=0.0)  # the warm-up
    digit = [p.detach().clone() for p in training.task.networks["Digit"].parameters()]
    others = [p.detach().clone() for p in training.task.networks["Sum"].parameters()]
    training.run()
    for before, after in zip(digit, training.task.networks["Digit"].parameters(), strict=True):
        assert torch.equal(before, after)
    pairs = zip(others, training.task.networks["Sum"].parameters(), strict=True)
    assert any(not torch.equal(before, after) for before, after in pairs)


def test_operators_learn_what_digit_makes_of_the_pairs(images):
    runs = [replace(PLAIN, protocol="pipeline", digit_epochs=3, digit_rate=0.05)]
    first = DigitTask(runs, sets_of(runs), images)
    Training(first, "sgd", epochs=3, judge_every=1).run()
    pairs = torch.tensor(sets_of(runs)[0].pairs)
    digits = first.networks["Digit"](images.train[None, pairs.flatten()]).argmax(-1).reshape(-1, 2)
    expected = [(int(a) * int(b)) % 10 for a, b in digits]
    task = OperatorTask(runs, sets_of(runs), images, first.networks["Digit"], "Product")
    assert task._labels["Product"].tolist() == [expected]
