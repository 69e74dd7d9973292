"""The loss of one step against the textbook: loops over groundings, on numbers of Python."""

import math
from dataclasses import replace

import pytest
import torch

from residuum.study.digits.data.batches import ImageTensors
from residuum.study.digits.data.images import load_images
from residuum.study.digits.data.sets import make_sets
from residuum.study.digits.knowledge import Labelled, Pairs, stacked_penalties
from residuum.study.digits.settings import Settings
from residuum.study.digits.task import DigitTask, JointTask, OperatorTask

RELAXATIONS = ["r-product", "s-product", "lukasiewicz-maxsat", "s-godel", "lukasiewicz"]
ATOMS = ["Digit(left(p))", "Digit(right(p))", "Sum", "Product"]
RESULTS = {
    "sum_coherence": ("Sum", lambda a, b: (a + b) % 10),
    "product_coherence": ("Product", lambda a, b: (a * b) % 10),
}


def softmax(logits):
    powers = [math.exp(logit) for logit in logits]
    return [power / sum(powers) for power in powers]


def penalty_of(relaxation, degree):
    return -math.log(degree) if relaxation.endswith("product") else 1 - degree


def implication(relaxation, left, right, result):
    """The degree of left & right -> result."""
    if relaxation == "r-product":
        return min(1.0, result / (left * right))
    if relaxation == "s-product":
        return 1 - left * right * (1 - result)
    if relaxation == "s-godel":
        return max(1 - min(left, right), result)
    return min(1.0, 1 - max(0.0, left + right - 1) + result)


def conjunction(relaxation, penalties):
    if relaxation == "s-godel":
        return max(penalties, default=0.0)
    return min(1.0, sum(penalties)) if relaxation == "lukasiewicz" else sum(penalties)


def textbook(relaxation, weight, labelled, labels, outputs, counts):
    """The parts of the loss of one run; logits are lists of lists."""
    stated = [
        penalty_of(relaxation, softmax(row)[label])
        for row, label in zip(labelled, labels, strict=True)
    ]
    parts = {"labels": conjunction(relaxation, stated)}
    for rule, (operator, result) in RESULTS.items():
        groundings = []
        for pair in range(len(counts)):
            if not counts[pair]:
                continue
            left, right, found = (
                softmax(outputs[name][pair]) for name in (ATOMS[0], ATOMS[1], operator)
            )
            groundings += [
                penalty_of(
                    relaxation, implication(relaxation, left[a], right[b], found[result(a, b)])
                )
                for a in range(10)
                for b in range(10)
            ]
        parts[rule] = conjunction(relaxation, groundings)
    weighted = [parts["labels"], *(weight * parts[rule] for rule in RESULTS)]
    return {**parts, "total": conjunction(relaxation, weighted)}


def logits_of(seed, count, scale):
    chance = torch.Generator().manual_seed(seed)
    return scale * torch.randn((len(RELAXATIONS), count, 10), generator=chance).double()


# Sharp outputs make Łukasiewicz's implications false; soft ones leave the exact logic uncapped.
@pytest.mark.parametrize("scale", [0.5, 8.0])
@pytest.mark.parametrize("counted", [3, 2, 1])
def test_losses_are_those_of_the_textbook(scale, counted):
    labels = torch.tensor([[3, 0, 9, 3]]).expand(len(RELAXATIONS), -1)
    labelled = logits_of(1, 4, scale)
    labelled[4, torch.arange(4), labels[0]] += 12  # so sure that the exact logic is not capped
    outputs = {name: logits_of(place, 3, scale) for place, name in enumerate(ATOMS, start=2)}
    counts = torch.arange(3).expand(len(RELAXATIONS), -1) < counted
    weights = torch.tensor([0.1, 0.25, 1.5, 2.0, 0.3], dtype=torch.float64)
    found = stacked_penalties(
        RELAXATIONS, Labelled(labelled, labels, labels >= 0), Pairs(outputs, counts, weights)
    )
    for run, relaxation in enumerate(RELAXATIONS):
        expected = textbook(
            relaxation,
            float(weights[run]),
            labelled[run].tolist(),
            labels[run].tolist(),
            {name: logits[run].tolist() for name, logits in outputs.items()},
            counts[run].tolist(),
        )
        for part, penalty in expected.items():
            assert float(found[part][run]) == pytest.approx(penalty, rel=1e-9, abs=1e-9), relaxation
        if scale == 8.0 and relaxation.startswith("lukasiewicz"):
            assert expected["sum_coherence"] > 0


def test_examples_that_do_not_count_state_nothing():
    labelled, labels = logits_of(1, 4, 1.0), torch.zeros(len(RELAXATIONS), 4, dtype=torch.int64)
    counts = torch.tensor([[True, False, True, False]]).expand(len(RELAXATIONS), -1)
    few = stacked_penalties(RELAXATIONS, Labelled(labelled, labels, counts))
    expected = stacked_penalties(
        RELAXATIONS, Labelled(labelled[:, ::2], labels[:, ::2], counts[:, ::2])
    )
    assert few.keys() == {"labels", "total"}
    torch.testing.assert_close(few["total"], expected["total"], rtol=1e-12, atol=0)


@pytest.mark.parametrize("run", range(len(RELAXATIONS)), ids=RELAXATIONS)
def test_gradients_are_those_of_the_textbook(run):
    relaxation, weight, labels, counts = RELAXATIONS[run], 0.3, [3, 7], [True, False]
    # Neither so sure nor so unsure that a clamp hides the gradient.
    labelled, outputs = logits_of(1, 2, 1.0), {}
    labelled[:, torch.arange(2), labels] += 5
    for place, name in enumerate(ATOMS, start=2):
        outputs[name] = logits_of(place, 2, 1.0)
    for name, digit in zip(ATOMS, (6, 7, 2, 8), strict=True):
        outputs[name][:, 0, digit] += 3.0
    rows = [labelled[run], *(outputs[name][run] for name in ATOMS)]
    leaves = [row.clone()[None].requires_grad_() for row in rows]
    total = stacked_penalties(
        [relaxation],
        Labelled(leaves[0], torch.tensor([labels]), torch.ones(1, 2, dtype=torch.bool)),
        Pairs(
            dict(zip(ATOMS, leaves[1:], strict=True)),
            torch.tensor([counts]),
            torch.tensor([weight], dtype=torch.float64),
        ),
    )["total"]
    gradients = torch.autograd.grad(total.sum(), leaves)

    def loss(changed):
        first, *others = [row.tolist() for row in changed]
        return textbook(
            relaxation, weight, first, labels, dict(zip(ATOMS, others, strict=True)), counts
        )["total"]

    step, differences = 1e-6, []
    for part, gradient in enumerate(gradients):
        for digit in (2, 3, 6, 7, 8):
            ends = []
            for sign in (1, -1):
                changed = [row.clone() for row in rows]
                changed[part][0, digit] += sign * step
                ends.append(loss(changed))
            differences.append((ends[0] - ends[1]) / (2 * step))
            assert float(gradient[0, 0, digit]) == pytest.approx(
                differences[-1], rel=1e-5, abs=1e-8
            )
        if part:
            assert not gradient[0, 1].any()  # this pair does not count
    assert any(differences)


PLAIN = Settings(
    images="embedded", relaxation="r-product", digit_size=7, pair_size=5, seed=3, epochs=4,
    batch=4, learning_rate=0.02, weight=0.1, warm_up=1, warm_up_relaxation="s-product",
    warm_up_rate=0.01, warm_up_weight=0.7, judge_pairs=10, precision="float64",
)  # fmt: skip


@pytest.fixture(scope="module")
def images():
    return ImageTensors(load_images("embedded"), torch.float64, torch.device("cpu"))


@pytest.mark.parametrize(
    ("epoch", "relaxation", "weight"), [(0, "s-product", 0.7), (1, "r-product", 0.1)]
)
def test_a_step_of_joint_learning_is_that_of_the_textbook(images, epoch, relaxation, weight):
    sets = make_sets(load_images("embedded"), 7, 5)
    task = JointTask([PLAIN], [sets], images)
    assert (task.steps, task.begin(epoch)) == (2, (relaxation,))
    seen = []
    for number in range(2):
        step = torch.tensor(number)
        moment = torch.tensor(2 * epoch + number)
        pairs = task._pairs_now[0, 4 * number : 4 * number + 4]
        digits = task._digits_now[0, 4 * number : 4 * number + 4]
        counts = [True] * 4 if number == 0 else [True, False, False, False]
        seen += [tuple(pair) for pair, is_one in zip(pairs.tolist(), counts, strict=True) if is_one]
        # Dropout goes by places in the batch: labelled images first, then left, then right.
        singles = torch.cat([digits, pairs[:, 0], pairs[:, 1]])
        logits = task.networks["Digit"](images.train[singles][None], moment)[0].tolist()
        joined = torch.cat([images.train[pairs[:, 0]], images.train[pairs[:, 1]]], -1)[None]
        expected = textbook(
            relaxation, weight, logits[:4], images.train_labels[digits].tolist(),
            {
                ATOMS[0]: logits[4:8],
                ATOMS[1]: logits[8:],
                **{name: task.networks[name](joined, moment)[0].tolist() for name in ATOMS[2:]},
            },
            counts,
        )  # fmt: skip
        for part, penalty in task.losses(step).items():
            assert penalty.tolist() == pytest.approx([expected[part]], rel=1e-9)
    assert sorted(seen) == sorted(map(tuple, sets.pairs.tolist()))
    assert set(task._digits_now.flatten().tolist()) <= set(sets.digit.tolist())


@pytest.mark.parametrize("relaxation", RELAXATIONS)
def test_a_step_of_a_pipeline_is_that_of_the_textbook(images, relaxation):
    sets = make_sets(load_images("embedded"), 5, 5)
    run = replace(
        PLAIN, protocol="pipeline", digit_epochs=2, digit_rate=0.1, relaxation=relaxation,
        warm_up=0,
    )  # fmt: skip
    first = DigitTask([run.digit_stage], [sets], images)
    digit = first.networks["Digit"]
    second = OperatorTask([run], [sets], images, digit, "Sum")
    shown = digit(images.train[None]).argmax(-1)[0].tolist()
    labels = [(shown[i] + shown[j]) % 10 for i, j in sets.pairs.tolist()]
    singles = torch.tensor(sets.digit)
    pairs = images.train[torch.tensor(sets.pairs)]
    for name, task, examples, known in (
        ("Digit", first, images.train[singles], images.train_labels[singles]),
        ("Sum", second, torch.cat([pairs[:, 0], pairs[:, 1]], -1), torch.tensor(labels)),
    ):
        task.begin(1)
        order = task._order_now[0].tolist()
        assert sorted(order) == [-1, -1, -1, 0, 1, 2, 3, 4]
        assert order[5:] == [-1, -1, -1]
        for number, seen in enumerate((order[:4], order[4:5])):
            # What fills up the batch comes last, so that dropout is the same without.
            moment = torch.tensor(2 + number)
            logits = task.networks[name](examples[seen][None], moment)[0].tolist()
            stated = [
                penalty_of(relaxation, softmax(row)[label])
                for row, label in zip(logits, known[seen].tolist(), strict=True)
            ]
            losses = task.losses(torch.tensor(number))
            assert losses.keys() == {name, "total"}
            for penalty in losses.values():
                expected = conjunction(relaxation, stated)
                assert penalty.tolist() == pytest.approx([expected], rel=1e-9)


def test_warm_ups_have_rates_of_their_own_and_schedules_begin_after_them(images):
    sets = make_sets(load_images("embedded"), 7, 5)
    runs = [
        PLAIN,
        replace(PLAIN, freeze=True),
        replace(PLAIN, warm_up=0),
        replace(PLAIN, schedule="restarts", period=1.5),
    ]
    task = JointTask(runs, [sets] * 4, images)

    def cosine(epochs, period):
        return 0.02 * (1 + math.cos(math.pi * epochs / period)) / 2

    first, third = task.rates(0), task.rates(2)
    assert [len(row) for row in first["Sum"]] == [4, 4]
    for name in ("Digit", "Sum", "Product"):
        assert first[name][1] == pytest.approx([0.01, 0.01, cosine(0.5, 4), 0.01])
    later = [cosine(1.5, 3), cosine(1.5, 3), cosine(2.5, 4), cosine(0, 1.5)]
    assert third["Product"][1] == pytest.approx(later)
    assert third["Digit"][1] == pytest.approx([later[0], 0.0, *later[2:]])


def test_the_first_stage_of_a_pipeline_has_a_warm_up_too(images):
    run = replace(PLAIN, protocol="pipeline", digit_epochs=2, digit_rate=0.5, warm_up=3)
    sets = make_sets(load_images("embedded"), 7, 5)
    task = DigitTask([run.digit_stage], [sets], images)
    assert [task.begin(epoch) for epoch in (0, 1)] == [("s-product",)] * 2
    assert task.rates(1)["Digit"] == [[0.01], [0.01]]
    shorter = DigitTask([replace(run, warm_up=1).digit_stage], [sets], images)
    assert shorter.begin(1) == ("r-product",)
    assert shorter.rates(1)["Digit"] == [[0.5], [0.25]]
