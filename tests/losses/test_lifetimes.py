"""What nobody holds any longer is gone at once, and the device's memory with it."""

import gc
import weakref

import pytest
import torch

import residuum as rs
from residuum.relaxations import relaxation_names

RULE = "forall d in digit: Digit(d) -> Next((d + 1) mod 4)"


@pytest.fixture(scope="module", autouse=True)
def first_use():
    """PyTorch imports parts of itself at its first backward pass, which keeps frames alive."""
    used("s-product")


@pytest.fixture(autouse=True)
def no_collector():
    gc.disable()
    yield
    gc.enable()


def used(relaxation):
    rule = rs.compile(RULE, relaxation, domains={"digit": 4}, reduction="mean")
    digit, following = torch.randn(5, 8, requires_grad=True).chunk(2, dim=1)
    rule(Digit=digit, Next=following).backward()
    rule.truth(Digit=digit, Next=following)
    rule.violations(Digit=digit, Next=following)
    return weakref.ref(rule)


@pytest.mark.parametrize("relaxation", [*relaxation_names(), "exact"])
def test_a_rule_is_gone_with_its_last_holder(relaxation):
    assert used(relaxation)() is None


@pytest.mark.parametrize("relaxation", [*relaxation_names(), "exact"])
def test_a_rule_that_counts_is_gone_with_its_tensors(relaxation):
    rule = rs.compile("exactly 2 d in digit: Digit(d)", relaxation, domains={"digit": 4})
    digit = torch.randn(5, 4, requires_grad=True)
    rule(Digit=digit).backward()
    rule.truth(Digit=digit)
    gone = weakref.ref(rule), weakref.ref(digit)
    del rule, digit
    assert [one() for one in gone] == [None, None]


def test_a_theory_is_gone_with_its_last_holder():
    knowledge = rs.loads("""
        domain digit = 0..3
        domain image
        predicate Digit(image, digit)
        predicate Next(image, digit)
        rule successor: forall i in image, d in digit: Digit(i, d) -> Next(i, (d + 1) mod 4)
        rule no_last: forall i in image: ~Next(i, 0)
    """)
    theory = rs.Theory(knowledge, Digit=torch.nn.Linear(3, 4), Next=torch.nn.Linear(3, 4))
    theory(image=torch.randn(5, 3)).total.backward()
    gone = weakref.ref(theory)
    del theory
    assert gone() is None


@pytest.mark.parametrize("block", [None, 8])
@pytest.mark.parametrize("relaxation", [*relaxation_names(), "exact"])
def test_a_penalty_is_gone_with_its_last_holder(relaxation, block):
    """Though nobody asked for its slopes, which hold what they are made of."""
    rule = rs.compile(RULE, relaxation, domains={"digit": 4}, block=block, reduction="none")
    given = {name: torch.randn(5, 4, requires_grad=True) for name in ("Digit", "Next")}
    gone = weakref.ref(rule(given))
    assert gone() is None
