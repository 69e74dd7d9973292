"""The best state of a run is the first with the highest score; a run that diverges is stopped."""

import math

import pytest
import torch

from residuum.results.records import Divergence
from residuum.training.checkpoints import Checkpoints, Progress
from residuum.training.loop import Best, Curves, Training, are_finite


def considered(*rows):
    """The choice after scores of three runs, each of whose parameters are the epoch's number."""
    parameters = [torch.zeros(3, 2), torch.zeros(3)]
    best = Best(parameters)
    for epoch, scores in enumerate(rows, start=1):
        for parameter in parameters:
            parameter.fill_(epoch)
        best.consider(torch.tensor(scores), epoch)
    return best, parameters


def test_the_highest_score_is_chosen_and_of_equal_ones_the_first():
    best, parameters = considered((1.0, 5.0, 0.0), (3.0, 5.0, -2.0), (3.0, 4.0, 0.5))
    best.restore()
    assert best.epochs.tolist() == [2, 1, 3]
    assert best.scores.tolist() == [3.0, 5.0, 0.5]
    assert parameters[0].tolist() == [[2, 2], [1, 1], [3, 3]]
    assert parameters[1].tolist() == [2, 1, 3]


def test_a_score_of_nan_or_minus_infinity_is_never_chosen():
    nan, never = math.nan, -math.inf
    best, parameters = considered((nan, nan, 2.0), (1.0, never, nan), (nan, nan, never))
    best.restore()
    assert best.epochs.tolist() == [2, -1, 1]
    assert parameters[1].tolist() == [2, 3, 1]  # the second run ends where it is


def test_the_best_state_continues_from_a_checkpoint():
    best, _ = considered((1.0, 5.0, 0.0), (3.0, 1.0, -2.0))
    other, parameters = considered()
    for mine, kept in zip(other.state, best.state, strict=True):
        mine.copy_(kept)
    other.consider(torch.tensor([2.0, 5.0, 7.0]), 3)
    other.restore()
    assert other.epochs.tolist() == [2, 1, 3]
    assert parameters[1].tolist() == [2, 1, 0]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_one_parameter_that_is_not_finite_is_found(wrong):
    parameters = [torch.ones(3, 2, 4), torch.ones(3)]
    assert are_finite(parameters).tolist() == [True] * 3
    parameters[0][2, 1, 3] = wrong
    parameters[1][0] = wrong
    assert are_finite(parameters).tolist() == [False, True, False]


class Falling:
    """Each run's number falls to the minimum of x⁴; the score is higher the larger it is."""

    steps = 5

    def __init__(self, rates):
        network = torch.nn.Module()
        network.x = torch.nn.Parameter(torch.full((len(rates), 2), 2.0, dtype=torch.float64))
        self.networks = {"only": network}
        self._rates = list(rates)

    def begin(self, _epoch):
        return None

    def losses(self, _step):
        total = (self.networks["only"].x ** 4).sum(1)
        return {"total": total, "half": total / 2}

    def parts(self, _run):
        return ("total", "half")

    def rates(self, _epoch):
        return {"only": [self._rates] * self.steps}

    def judge(self):
        x = self.networks["only"].x[:, 0]
        return {"x": x, "score": torch.nan_to_num(x, nan=1e9)}


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_a_run_that_diverges_is_stopped_and_changes_no_other_run(optimiser):
    rates = [0.001, 1e200, 0.002]
    task = Falling(rates)
    training = Training(task, optimiser, epochs=4, judge_every=2)
    assert training.run()
    assert training.epoch == 4
    calm = Falling(rates[::2])
    alone = Training(calm, optimiser, epochs=4, judge_every=2)
    alone.run()
    assert training.curves[::2] == alone.curves
    wild = training.curves[1]
    assert [*map(math.isfinite, wild.losses["total"])] == [False]
    assert (wild.judged, wild.measures) == ([], {})
    assert wild.diverged == Divergence(1, ["loss/total", "loss/half", "parameters"])
    assert wild.by_name()["loss/half"].epochs == (1,)
    assert training.best.epochs.tolist() == [2, -1, 2]
    training.best.restore()
    alone.best.restore()
    assert torch.equal(task.networks["only"].x[::2], calm.networks["only"].x)


def test_a_stack_whose_runs_have_all_diverged_ends_at_once():
    task = Falling([1e200, 1e250])
    task.judge = None  # nobody is left to be judged
    training = Training(task, "sgd", epochs=1000, judge_every=1)
    assert training.run()
    assert training.epoch == 1
    assert all(curves.diverged for curves in training.curves)


class Exploding(Falling):
    """The loss of the second run becomes what it is told in one epoch, and is finite otherwise."""

    def __init__(self, when, part, value):
        super().__init__([0.001, 0.001])
        self._when, self._part, self._value = when, part, value

    def begin(self, epoch):
        self._epoch = epoch

    def parts(self, _run):
        return ("total", "half", "idle")

    def losses(self, step):
        found = {**super().losses(step), "idle": torch.full((2,), torch.nan)}
        if self._epoch + 1 == self._when:
            found[self._part] = found[self._part] * torch.tensor([1.0, self._value])
        return found


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_record_can_say_which_loss_was_not_finite(value):
    training = Training(Exploding(3, "total", value), "sgd", epochs=6, judge_every=2)
    training.run()
    # `half` follows from the parameters, and `idle` was never finite.
    diverged = training.curves[1].diverged
    assert diverged == Divergence(3, ["loss/total", "loss/half", "parameters"])
    assert (training.curves[1].judged, len(training.curves[1].losses["half"])) == ([2], 3)
    assert training.curves[0].diverged is None
    assert training.curves[0].judged == [2, 4, 6]
    assert training.best.epochs.tolist() == [2, 2]
    found = training.curves[1].by_name()
    assert (found["loss/half"].epochs, found["dev/score"].epochs) == ((2, 3), (2,))


def test_a_part_of_the_loss_without_weight_may_be_nan():
    training = Training(Exploding(3, "half", math.nan), "sgd", epochs=6, judge_every=2)
    training.run()
    assert [curves.diverged for curves in training.curves] == [None, None]


def test_a_diverged_run_is_kept_in_its_checkpoint(tmp_path):
    checkpoints = Checkpoints(tmp_path, pytest.fail)
    training = Training(Exploding(3, "total", math.nan), "adam", epochs=6, judge_every=2)
    while training.epoch < 4:
        training.run(until=0.0)
    checkpoints.save(["calm", "wild"], training)
    assert checkpoints.progress("calm") == Progress(4, is_over=False)
    assert checkpoints.progress("wild") == Progress(3, is_over=True, has_diverged=True)
    resumed = Training(Falling([0.001]), "adam", epochs=6, judge_every=2)
    resumed.task.parts = training.task.parts
    checkpoints.restore(["wild"], resumed)
    assert resumed.is_over
    assert resumed.curves[0].diverged == training.curves[1].diverged
    assert str(resumed.curves[0]) == str(training.curves[1])  # NaN included
    resumed.task.losses = None
    assert resumed.run()
    assert resumed.epoch == 3


def test_a_run_that_is_left_out_has_neither_curves_nor_a_checkpoint(tmp_path):
    checkpoints = Checkpoints(tmp_path, pytest.fail)
    training = Training(Falling([0.001, 0.002]), "sgd", epochs=3, judge_every=1)
    training.left_out = frozenset([1])
    training.run()
    assert training.curves[1] == Curves()
    assert training.best.epochs.tolist() == [1, -1]
    checkpoints.save(["first", "second"], training)
    assert checkpoints.progress("second") == Progress(0, is_over=False)


def test_the_best_state_is_the_best_average():
    rates, decay = [0.001, 0.003], 0.9
    task = Falling(rates)
    x = task.networks["only"].x
    task.judge = lambda: {"x": x[:, 0].clone(), "score": -(x[:, 0] - 1.7).abs()}
    training = Training(task, "sgd", epochs=8, judge_every=1, average=decay)
    training.run()
    expected, last = [], []
    for run, rate in enumerate(rates):
        number = average = 2.0
        seen = []
        for _ in range(8):
            for _ in range(Falling.steps):
                number -= rate * 4 * number**3
                average = decay * average + (1 - decay) * number
            seen.append(average)
        assert training.curves[run].measures["x"] == pytest.approx(seen, rel=1e-12)
        assert x[run].tolist() == pytest.approx([number, number], rel=1e-12)
        expected.append(min(seen, key=lambda one: abs(one - 1.7)))
        last.append(seen[-1])
    assert expected != last  # or nothing is tested
    training.restore_best()
    assert x[:, 0].tolist() == pytest.approx(expected, rel=1e-12)


def test_without_a_best_state_the_last_average_counts():
    task = Falling([0.001])
    x = task.networks["only"].x
    task.judge = lambda: {"x": x[:, 0].clone(), "score": torch.tensor([-math.inf])}
    training = Training(task, "sgd", epochs=2, judge_every=1, average=0.9)
    training.run()
    raw = x.tolist()
    training.restore_best()
    assert x[0, 0].item() == training.curves[0].measures["x"][-1]
    assert x.tolist() != raw
