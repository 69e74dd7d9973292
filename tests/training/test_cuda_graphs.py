"""Branches are called in order, and on a GPU a captured step with branches is the plain one."""

import gc
import weakref

import pytest
import torch

from residuum.training.cuda_graphs import Stepper, concurrently, without_collection


def test_what_branches_return_is_in_their_order():
    called = []
    branches = [lambda name=name: called.append(name) or name.upper() for name in "abc"]
    assert concurrently(branches) == ["A", "B", "C"]
    assert called == ["a", "b", "c"]
    assert concurrently([]) == []


def test_garbage_is_collected_before_a_recording_and_not_during_it():
    class Training:
        def __init__(self):
            self.itself = self  # only the collector frees it, as it does a training's graph

    def forgotten():
        return weakref.ref(Training())

    before = forgotten()
    with without_collection():
        assert before() is None
        during = forgotten()
        kept = [[] for _ in range(100_000)]  # would make the collector run
        assert during() is not None
    assert gc.isenabled()
    assert kept
    gc.collect()
    assert during() is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_captured_step_with_branches_changes_what_an_eager_one_would():
    def trained(take):
        generator = torch.Generator().manual_seed(0)
        weights = [
            torch.randn(300, 300, generator=generator).cuda().requires_grad_() for _ in range(4)
        ]
        x = torch.randn(200, 300, generator=generator).cuda()

        def step(number):
            branches = [lambda w=w: (x @ w / 17).tanh().square().sum(1) for w in weights]
            loss = torch.stack(concurrently(branches)).sum() * (1 + number)
            slopes = torch.autograd.grad(loss, weights)
            with torch.no_grad():
                for weight, slope in zip(weights, slopes, strict=True):
                    weight -= 1e-3 * slope

        take(step)
        return torch.stack(weights).detach()

    def eagerly(step):
        for number in range(40):
            step(torch.tensor(number, device="cuda"))

    def captured(step):
        stepper = Stepper(step, torch.device("cuda"))
        for number in range(40):
            stepper.take(number, "key")

    torch.testing.assert_close(trained(captured), trained(eagerly), rtol=1e-5, atol=1e-5)
