"""How states are judged on development data, and which state a pipeline continues with."""

import math
from dataclasses import replace

import pytest
import torch
from small_runs import JOINT, PIPELINE, small_sets, train

from residuum.results.store import Store
from residuum.study.digits import experiment
from residuum.study.digits import task as tasks
from residuum.study.digits.data.batches import ImageTensors
from residuum.study.digits.data.images import load_images
from residuum.training.loop import Training


@pytest.fixture(scope="module")
def images():
    return ImageTensors(load_images("embedded"), torch.float64, torch.device("cpu"))


SETS = small_sets("embedded", 16, 12, "paper")
LABELS = load_images("embedded").train_labels
DEV, PAIRS = SETS.dev.tolist(), SETS.pair_dev.tolist()


def wrong_in(places):
    """What a network says of DEV that errs by one in some places."""
    return [(int(LABELS[i]) + (place in places)) % 10 for place, i in enumerate(DEV)]


def test_joint_learning_is_judged_by_accuracy_and_coherence_where_digit_is_good(
    images, monkeypatch
):
    said = [wrong_in({0, 19}), wrong_in({0, 1, 2, 3}), wrong_in(range(5))]  # 90, 80, 75 percent
    sums = [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [1, 1, 1, 1, 1]]
    products = [[0] * 5, [4] * 5, [6, 2, 0, 8, 4]]
    task = tasks.JointTask([replace(JOINT, seed=seed) for seed in range(3)], [SETS] * 3, images)
    results = {task.networks["Sum"]: sums, task.networks["Product"]: products}

    def say(_network, _images, places):
        assert places.tolist() == [DEV]
        return torch.tensor(said)

    def say_of_pairs(network, _images, pairs):
        assert pairs.tolist() == [PAIRS]
        return torch.tensor(results[network])

    monkeypatch.setattr(tasks, "predict_images", say)
    monkeypatch.setattr(tasks, "predict_pairs", say_of_pairs)
    found = task.judge()
    for run in range(3):
        digit = dict(zip(DEV, said[run], strict=True))
        accuracy = 100 * sum(digit[i] == LABELS[i] for i in DEV) / len(DEV)
        agreeing = [0, 0]
        for place, (i, j) in enumerate(PAIRS):
            agreeing[0] += sums[run][place] == (digit[i] + digit[j]) % 10
            agreeing[1] += products[run][place] == digit[i] * digit[j] % 10
        names = ("digit_accuracy", "sum_coherence", "product_coherence")
        expected = [accuracy, *(100 * count / len(PAIRS) for count in agreeing)]
        assert [float(found[name][run]) for name in names] == pytest.approx(expected)
        # Of exactly 80 percent too: more is asked for.
        score = sum(expected) / 3 if accuracy > 80 else -math.inf
        assert float(found["score"][run]) == pytest.approx(score)


def test_what_a_network_says_of_images_and_pairs_is_its_largest_logit(images):
    task = tasks.JointTask([JOINT, replace(JOINT, seed=1)], [SETS] * 2, images)
    found = tasks.predict_images(task.networks["Digit"], images.train, torch.tensor([DEV]))
    of_pairs = tasks.predict_pairs(task.networks["Sum"], images.train, torch.tensor([PAIRS]))
    pairs = [torch.cat([images.train[i], images.train[j]], dim=1) for i, j in PAIRS]
    for network, shown, said in (
        (task.networks["Digit"], images.train[DEV], found),
        (task.networks["Sum"], torch.stack(pairs), of_pairs),
    ):
        logits = network(shown.expand(2, *shown.shape)).tolist()
        assert said.tolist() == [[row.index(max(row)) for row in run] for run in logits]


@pytest.mark.parametrize("chunk", [1, 3, 7])
def test_predictions_in_pieces_are_the_same(images, monkeypatch, chunk):
    networks = tasks.JointTask([JOINT], [SETS], images).networks["Sum"]
    whole = tasks.predict_pairs(networks, images.train, torch.tensor([PAIRS]))
    monkeypatch.setattr("residuum.study.digits.networks.CHUNK", chunk)
    assert torch.equal(tasks.predict_pairs(networks, images.train, torch.tensor([PAIRS])), whole)


@pytest.mark.parametrize("selection", ["coherence", "gold"])
def test_operators_of_a_pipeline_are_judged_by_digit_or_by_gold(images, selection):
    run = replace(PIPELINE, selection=selection)
    digit = tasks.DigitTask([run], [SETS], images).networks["Digit"]  # which knows nothing yet
    task = tasks.OperatorTask([run], [SETS], images, digit, "Product")
    found = task.judge()
    shown = digit(images.train[None, DEV]).argmax(-1)[0].tolist()
    known = dict(zip(DEV, shown if selection == "coherence" else LABELS[DEV].tolist(), strict=True))
    joined = torch.stack([torch.cat([images.train[i], images.train[j]], dim=1) for i, j in PAIRS])
    said = task.networks["Product"](joined[None]).argmax(-1)[0].tolist()
    right = [one == known[i] * known[j] % 10 for one, (i, j) in zip(said, PAIRS, strict=True)]
    assert found.keys() == {selection, "score"}
    assert float(found["score"]) == float(found[selection]) == 100 * sum(right) / 5
    assert set(task._expected.flatten().tolist()) == {known[i] * known[j] % 10 for i, j in PAIRS}


def test_pairs_are_labelled_by_the_digit_that_was_chosen(images, tmp_path, monkeypatch):
    run = replace(
        PIPELINE, digit_epochs=6, digit_rate=0.02, schedule="constant", epochs=1, digit_size=50
    )
    sets = small_sets("embedded", 50, 12, "paper")
    # By hand: all states, of which the first of the most accurate counts.
    stage = tasks.DigitTask([run.digit_stage], [sets], images)
    training = Training(stage, "sgd", epochs=6, judge_every=1)
    labelled, accuracies = [], []
    for _ in range(6):
        training.run(until=0.0)
        said = stage.networks["Digit"](images.train[None]).argmax(-1)[0].tolist()
        labelled.append([(said[i] + said[j]) % 10 for i, j in sets.pairs.tolist()])
        accuracies.append(sum(said[i] == LABELS[i] for i in sets.dev.tolist()))
    chosen = accuracies.index(max(accuracies))
    assert labelled[chosen] != labelled[-1], accuracies  # or nothing is tested

    given = {}

    class Spy(tasks.OperatorTask):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            given.update({name: labels.tolist() for name, labels in self._labels.items()})

    monkeypatch.setattr(experiment, "OperatorTask", Spy)
    monkeypatch.setattr(experiment, "_sets", lambda *_: sets)
    with Store(tmp_path / "runs.sqlite") as store:
        train([run], store)
        (record,) = store
    assert given["Sum"] == [labelled[chosen]]
    assert record.curves["Digit: selected"].values == (chosen + 1,)
