"""The best state of each run is the first with the highest finite score."""

import math

import pytest
import torch

from residuum.training.loop import Best, Training, are_finite


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
def test_a_state_that_diverged_is_not_chosen_and_changes_no_other_run(optimiser):
    rates = [0.001, 1e200, 0.002]
    task = Falling(rates)
    training = Training(task, optimiser, epochs=4, judge_every=2)
    training.run()
    calm = Falling(rates[::2])
    alone = Training(calm, optimiser, epochs=4, judge_every=2)
    alone.run()
    assert training.curves[::2] == alone.curves
    assert not any(map(math.isfinite, training.curves[1].losses["total"]))
    assert training.curves[1].measures["score"] == [-math.inf] * 2
    assert training.best.epochs.tolist() == [2, -1, 2]
    training.best.restore()
    alone.best.restore()
    assert torch.equal(task.networks["only"].x[::2], calm.networks["only"].x)
