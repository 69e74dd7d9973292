"""Optimisers and schedules equal those of PyTorch, run by run."""

import math

import pytest
import torch

from residuum.errors import ResiduumError
from residuum.training.optimisers import Adam, Sgd, clipping_factors
from residuum.training.rates import Rate


def slopes(parameters, step):
    return [torch.sin(p * (step + 1)) + 0.1 * p for p in parameters]


@pytest.mark.parametrize(("ours", "theirs"), [(Sgd, torch.optim.SGD), (Adam, torch.optim.Adam)])
def test_each_run_of_a_stack_moves_as_with_pytorch(ours, theirs):
    torch.manual_seed(0)
    rates = torch.tensor([0.1, 0.01, 0.0], dtype=torch.float64)
    stacked = [torch.randn(3, 4, 5, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)]
    alone = [[p[run].clone().requires_grad_() for p in stacked] for run in range(3)]
    optimiser = ours(stacked)
    others = [theirs(alone[run], lr=float(rates[run])) for run in range(3)]
    for step in range(20):
        optimiser.step(slopes(stacked, step), [rates, rates])
        for run, other in enumerate(others):
            for parameter, slope in zip(alone[run], slopes(alone[run], step), strict=True):
                parameter.grad = slope.detach()
            other.step()
    for run in range(3):
        for ours_, theirs_ in zip(stacked, alone[run], strict=True):
            torch.testing.assert_close(ours_[run], theirs_.detach(), rtol=1e-12, atol=1e-12)


def test_adam_continues_from_its_saved_state():
    torch.manual_seed(1)
    whole = [torch.randn(2, 3, dtype=torch.float64)]
    broken = [whole[0].clone()]
    rates = [torch.full((2,), 0.05, dtype=torch.float64)]
    first, second = Adam(whole), Adam(broken)
    for step in range(10):
        first.step(slopes(whole, step), rates)
        if step == 5:
            kept = [one.clone() for one in second.state]
            second = Adam(broken)
            for mine, saved in zip(second.state, kept, strict=True):
                mine.copy_(saved)
        second.step(slopes(broken, step), rates)
    assert torch.equal(whole[0], broken[0])


@pytest.mark.parametrize(("ours", "theirs"), [(Sgd, torch.optim.SGD), (Adam, torch.optim.Adam)])
def test_the_gradient_of_each_run_is_clipped_as_by_pytorch(ours, theirs):
    torch.manual_seed(2)
    shapes = (4, 3, 5), (4, 2)
    most = torch.tensor([0.7, 0.7, math.inf, 100.0], dtype=torch.float64)
    parameters = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
    expected = [
        [torch.nn.Parameter(parameter[run].clone()) for parameter in parameters] for run in range(4)
    ]
    optimisers = [theirs(of_run, lr=0.1) for of_run in expected]
    optimiser = ours(parameters)
    for _ in range(3):
        gradients = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
        for gradient in gradients:
            gradient[1] *= 1e-3
        factors = clipping_factors(gradients, most)
        assert factors[0] < 1
        assert factors[1:].tolist() == [1, 1, 1]
        optimiser.step(gradients, [torch.full((4,), 0.1)] * 2, factors)
        for run, of_run in enumerate(expected):
            for parameter, gradient in zip(of_run, gradients, strict=True):
                parameter.grad = gradient[run].clone()
            torch.nn.utils.clip_grad_norm_(of_run, float(most[run]))
            optimisers[run].step()
    for run, of_run in enumerate(expected):
        for one, other in zip(parameters, of_run, strict=True):
            torch.testing.assert_close(one[run], other.detach(), rtol=1e-5, atol=1e-8)


def test_a_norm_that_overflows_clips_to_nothing_and_spares_the_other_runs():
    gradients = [torch.tensor([[3e38, 3e38], [3.0, 4.0], [0.0, 0.0]])]
    factors = clipping_factors(gradients, torch.tensor([1.0, 1.0, 1.0]))
    assert factors.tolist() == pytest.approx([0.0, 0.2, 1.0])


def test_restarts_are_those_of_pytorch():
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.SGD([parameter], lr=0.3)
    theirs = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimiser, T_0=5)
    ours = Rate(0.3, "restarts", period=5)
    for step in range(60):
        moment = step / 4
        optimiser.step()
        theirs.step(moment)
        assert math.isclose(ours.at(moment, 15), theirs.get_last_lr()[0], abs_tol=1e-15)


def test_a_cosine_schedule_falls_to_0_once():
    rate = Rate(0.2, "cosine")
    assert rate.at(0, 10) == 0.2
    assert math.isclose(rate.at(5, 10), 0.1)
    assert math.isclose(rate.at(10, 10), 0.0, abs_tol=1e-17)
    assert Rate(0.2).at(7, 10) == 0.2


@pytest.mark.parametrize(
    "wrong", [(-1.0,), (math.nan,), (0.1, "linear"), (0.1, "restarts"), (0.1, "restarts", 0)]
)
def test_invalid_rates_are_refused(wrong):
    with pytest.raises(ResiduumError):
        Rate(*wrong)
