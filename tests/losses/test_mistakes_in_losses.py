"""Losses that published libraries got wrong, one claim each."""

from __future__ import annotations

import math

import pytest
import torch

import residuum as rs
from residuum.relaxations import relaxation_names

PAPER = ["s-product", "r-product", "s-godel", "r-godel", "lukasiewicz", "lukasiewicz-maxsat"]
every_logic = pytest.mark.parametrize("name", relaxation_names())


def truth(text, name, **degrees):
    given = {key: torch.tensor(value, dtype=torch.float64) for key, value in degrees.items()}
    return float(rs.compile(text, name, inputs="probs").truth(given))


@every_logic
def test_truth_is_not_shifted_by_an_epsilon(name):
    for text, expected in (("P -> Q", 0), ("~P", 0), ("P & ~Q", 1), ("Q -> P", 1), ("P | Q", 1)):
        assert truth(text, name, **{k: v for k, v in (("P", 1.0), ("Q", 0.0)) if k in text}
                     ) == pytest.approx(expected, abs=1e-12)  # fmt: skip


@pytest.mark.parametrize("name", ["s-product", "r-product"])
def test_the_penalty_of_what_is_nearly_true_is_nearly_nothing(name):
    rule = rs.compile("P", name, inputs="probs")
    tiny = 2.0**-40
    penalty = rule(P=torch.tensor(1 - tiny, dtype=torch.float64))
    assert float(penalty) == pytest.approx(-math.log1p(-tiny), rel=1e-9)


@every_logic
def test_false_implies_false_without_a_steep_gradient(name):
    p, q = (torch.zeros(1, requires_grad=True) for _ in range(2))
    rule = rs.compile("P -> Q", name, inputs="probs", reduction="none")
    assert rule.truth(P=p, Q=q) == 1
    rule(P=p, Q=q).sum().backward()
    for leaf in (p, q):
        assert leaf.grad is None or leaf.grad.abs() <= 1


@every_logic
def test_gradients_at_all_ones_and_all_zeros_are_numbers(name):
    for value in (0.0, 1.0):
        for text in ("forall x in d: P(x)", "exists x in d: P(x)", "forall x in d: ~P(x)"):
            given = torch.full((1, 20), value, requires_grad=True)
            rs.compile(text, name, domains={"d": 20}, inputs="probs", reduction="none")(
                P=given
            ).sum().backward()
            assert given.grad is None or given.grad.isfinite().all()


@pytest.mark.parametrize("name", PAPER)
def test_guarded_penalties_keep_their_dtype(name):
    for dtype in (torch.float32, torch.float64):
        rule = rs.compile(
            "forall x, y in d where x < y: P(x) -> P(y)", name, domains={"d": 4}, reduction="none"
        )
        assert rule(P=torch.randn(2, 4, dtype=dtype)).dtype == dtype


@pytest.mark.parametrize("name", PAPER)
def test_a_part_used_twice_means_the_same_both_times(name):
    part = rs.parse("forall x in d: P(x) -> Q(x)")
    rule = rs.compile(rs.Implies(part, part), name, domains={"d": 3}, reduction="none")
    alone = rs.compile(part, name, domains={"d": 3}, reduction="none")
    given = {key: torch.randn(2, 3) for key in "PQ"}
    before = {key: value.clone() for key, value in given.items()}
    first = alone(given)
    rule(given)
    assert torch.equal(alone(given), first)
    assert all(torch.equal(given[key], before[key]) for key in given)
    if name.startswith("r-") or "luka" in name:
        assert (rule(given) == 0).all()


def test_an_output_of_one_row_is_a_batch_of_one():
    rule = rs.compile("forall x in d: P(x)", domains={"d": 4}, reduction="none")
    assert rule(P=torch.randn(1, 4)).shape == (1,)
    assert rule(P=torch.randn(4)).shape == ()
    assert rule(P=torch.randn(1, 1, 4)).shape == (1, 1)


@pytest.mark.parametrize("name", PAPER)
def test_every_row_of_a_batch_gets_its_own_gradient(name):
    rule = rs.compile(
        "forall x in d: P(x) -> Q(x)",
        name,
        domains={"d": 3},
        outputs={"Q": "independent"},
        reduction="none",
    )
    torch.manual_seed(3)
    p, q = torch.randn(6, 3), torch.randn(6, 3)
    together = [p.clone().requires_grad_(), q.clone().requires_grad_()]
    rule(P=together[0], Q=together[1]).sum().backward()
    for row in range(6):
        alone = [p[row].clone().requires_grad_(), q[row].clone().requires_grad_()]
        rule(P=alone[0], Q=alone[1]).backward()
        for whole, one in zip(together, alone, strict=True):
            if one.grad is None:  # the residuum of the minimum leaves its antecedent alone
                assert (name, whole.grad) == ("r-godel", None)
            else:
                torch.testing.assert_close(whole.grad[row], one.grad)


@pytest.mark.parametrize("name", PAPER)
def test_a_disjunction_is_taken_in_each_example_alone(name):
    rule = rs.compile(
        "exists x in d: P(x)", name, domains={"d": 2}, inputs="probs", reduction="none"
    )
    given = torch.tensor([[0.5, 0.25], [1.0, 1.0], [0.125, 0.125]])
    alone = torch.stack([rule(P=row) for row in given])
    torch.testing.assert_close(rule(P=given), alone)
    assert alone[1] == 0
    assert (alone[[0, 2]] > 0).all()


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("form", ["logits", "probs", "log_probs"])
def test_what_is_impossible_has_a_finite_penalty_that_still_pulls(name, form):
    value = {"logits": -torch.inf, "probs": 0.0, "log_probs": -torch.inf}[form]
    rule = rs.compile("P", name, inputs=form, reduction="none")
    penalty = rule(P=torch.tensor([value]))
    assert penalty.isfinite().all()
    assert penalty >= 1
    given = torch.tensor([0.0], requires_grad=True)
    rs.compile("P", name, inputs="probs", reduction="none")(P=given).backward()
    assert given.grad < 0


@every_logic
def test_three_true_disjuncts_and_conjuncts_cost_nothing(name):
    ones = torch.ones(3)
    for text in ("P & Q & R", "P | Q | R"):
        assert rs.compile(text, name, inputs="probs", reduction="none")(
            P=ones, Q=ones, R=ones
        ).tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", [n for n in relaxation_names() if not n.startswith("s-")])
def test_an_equal_consequent_satisfies_a_residuum(name):
    half = torch.full((1,), 0.5)
    assert rs.compile("P -> Q", name, inputs="probs", reduction="none")(P=half, Q=half) == 0


@pytest.mark.parametrize("name", ["s-product", "r-product"])
def test_gradients_of_small_probabilities_are_not_dropped(name):
    for p in (1e-6, 1e-12, 1e-25):
        given = torch.tensor([p], requires_grad=True)
        rs.compile("P", name, inputs="probs", reduction="none")(P=given).backward()
        assert float(given.grad) == pytest.approx(-1 / p, rel=1e-5)


@pytest.mark.parametrize("name", ["s-product", "r-product"])
def test_a_saturated_and_wrong_network_still_learns(name):
    z = torch.tensor([[60.0, 0.0]], requires_grad=True)
    rule = rs.compile("P(1)", name, domains={"d": 2}, predicates={"P": ("d",)}, reduction="none")
    penalty = rule(P=z)
    penalty.backward()
    assert penalty.item() == pytest.approx(60)
    torch.testing.assert_close(z.grad, torch.tensor([[1.0, -1.0]]))
    q = torch.tensor([60.0], requires_grad=True)
    rs.compile("~Q", name, reduction="none")(Q=q).backward()
    torch.testing.assert_close(q.grad, torch.tensor([1.0]))


@pytest.mark.parametrize("name", PAPER)
def test_satisfaction_does_not_depend_on_the_relaxation(name):
    torch.manual_seed(0)
    rule = rs.compile("forall a, b in d: P(a) & Q(b) -> S((a + b) mod 4)", name, domains={"d": 4})
    p, q, s = (torch.randn(50, 4) for _ in range(3))
    expected = (p.argmax(-1) + q.argmax(-1)) % 4 == s.argmax(-1)
    assert torch.equal(rule.satisfied(P=p, Q=q, S=s), expected)
