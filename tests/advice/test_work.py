"""Budgets of work: what is counted, and that clocks decide nothing."""

import math
import time

import pytest
import torch

from residuum.advice import Rehearsal, draw_samples, fit, fitting, rehearsing
from residuum.advice.fitting import fewer_rules
from residuum.advice.work import OPERATION, Budget, Counting
from residuum.relaxations import relaxation
from residuum.syntax import loads


def test_operations_and_their_numbers_are_counted_also_those_of_gradients():
    one = torch.ones(10, requires_grad=True)
    with Counting() as forward:
        total = (one * 2.0).sum()
    assert (forward.operations, forward.numbers) == (2, 11)
    assert forward.work == 2 * OPERATION + 11
    with Counting() as backward:
        total.backward()
    assert backward.operations >= 2  # the gradients of the sum and of the product
    assert backward.numbers >= 20


def test_a_budget_gives_what_is_left():
    budget = Budget(10, math.inf)
    assert budget.take(6)
    assert not budget.take(5)
    assert budget.take(4)
    assert budget.is_spent
    later = budget.renewed(3)
    assert not later.is_spent
    later.spend(5)
    assert later.is_spent
    assert Budget(10, 0).is_late
    assert not Budget(10, 0).take(1)


RULES = loads(
    "domain d = 0..5\npredicate A(d) independent\npredicate B(d) independent\n"
    "rule one: A(0) -> B(0)\nrule two: forall x in d: A(x) -> B(x)\n"
    "rule three: forall x, y in d: A(x) & B(y) -> A(y)\n"
)


def test_whether_something_is_rehearsed_does_not_depend_on_the_clock(monkeypatch):
    monkeypatch.setattr(rehearsing, "STEPS", 3)
    [sample, _] = draw_samples(RULES, examples=10)
    rehearsal = Rehearsal(RULES, sample)
    budget = Budget(1e12, math.inf)
    found = rehearsal.try_out(relaxation("s-product"), budget)
    cost = 1e12 - budget._left
    monkeypatch.setattr(time, "thread_time", lambda: 1e6)  # a machine that is very slow
    assert rehearsal.try_out(relaxation("s-product"), Budget(cost, 1e9)) == found
    assert rehearsal.try_out(relaxation("s-product"), Budget(cost - 1, 1e9)) is None


def test_long_steps_have_fewer_examples_if_outputs_are_large(monkeypatch):
    [sample, _] = draw_samples(RULES, examples=100)
    monkeypatch.setattr(fitting, "OPERATION", 1)
    half = sum(fitting._work_of_step(RULES, sample)) // 2
    monkeypatch.setattr(fitting, "STEP", half)
    knowledge, thinner, said = fit(RULES, sample)
    assert len(knowledge.rules) == 3
    assert 2 <= thinner.examples < 100
    assert said == (f"{thinner.examples} of 100 examples, at random",)
    operations, numbers = fitting._work_of_step(knowledge, thinner)
    assert operations + numbers <= half


@pytest.mark.parametrize(("step", "kept"), [(1_000, ["one"]), (10**12, ["one", "two", "three"])])
def test_long_steps_have_fewer_rules_if_operations_are_many(monkeypatch, step, kept):
    [sample, _] = draw_samples(RULES, examples=4)
    monkeypatch.setattr(fitting, "OPERATION", 10**6)
    monkeypatch.setattr(fitting, "STEP", step)
    knowledge, thinner, _ = fit(RULES, sample)
    assert list(knowledge.rules) == kept
    assert thinner.examples == 4


def test_of_very_many_rules_some_are_taken_from_all_of_the_file(monkeypatch):
    text = "predicate A\n" + "".join(f"rule r{number}: A\n" for number in range(10))
    monkeypatch.setattr(fitting, "MOST_RULES", 4)
    assert list(fewer_rules(loads(text)).rules) == ["r0", "r2", "r5", "r7"]
    assert list(fewer_rules(RULES).rules) == ["one", "two", "three"]
