"""Penalties that have names elsewhere: hinges, clause losses, differences of logarithms."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

import residuum as rs
from residuum.relaxations import relaxation_names

torch.manual_seed(5)
LEFT, RIGHT = (torch.rand(50, dtype=torch.float64) * 0.98 + 0.01 for _ in range(2))
PAPER = ["s-product", "r-product", "s-godel", "r-godel", "lukasiewicz", "lukasiewicz-maxsat"]


def test_lukasiewicz_implications_are_hinges():
    rule = rs.compile("P -> Q", "lukasiewicz", inputs="probs", reduction="none")
    torch.testing.assert_close(rule(P=LEFT, Q=RIGHT), torch.clamp(LEFT - RIGHT, min=0))


def test_lukasiewicz_clauses_are_hinges_on_the_sum_of_literals():
    third = torch.rand(50, dtype=torch.float64)
    rule = rs.compile("~P | Q | ~R", "lukasiewicz", inputs="probs", reduction="none")
    expected = torch.clamp(1 - ((1 - LEFT) + RIGHT + (1 - third)), min=0)
    torch.testing.assert_close(rule(P=LEFT, Q=RIGHT, R=third), expected)


def test_r_product_implications_are_differences_of_logarithms():
    rule = rs.compile("P -> Q", "r-product", inputs="probs", reduction="none")
    torch.testing.assert_close(rule(P=LEFT, Q=RIGHT), torch.relu(LEFT.log() - RIGHT.log()))


def test_s_product_implications_are_reichenbachs():
    rule = rs.compile("P -> Q", "s-product", inputs="probs", reduction="none")
    torch.testing.assert_close(rule(P=LEFT, Q=RIGHT), -torch.log(1 - LEFT + LEFT * RIGHT))


def test_godel_implications_cost_what_their_definitions_say():
    strict = rs.compile("P -> Q", "s-godel", inputs="probs", reduction="none")(P=LEFT, Q=RIGHT)
    torch.testing.assert_close(strict, 1 - torch.maximum(1 - LEFT, RIGHT))
    residual = rs.compile("P -> Q", "r-godel", inputs="probs", reduction="none")(P=LEFT, Q=RIGHT)
    torch.testing.assert_close(residual, torch.where(LEFT <= RIGHT, 0, 1 - RIGHT))


@pytest.mark.parametrize("reduction", ["r-product", "s-product"])
def test_the_digit_sum_rule_is_the_hand_written_sum(reduction):
    logits = {name: torch.randn(4, 10, dtype=torch.float64) for name in ("Left", "Right", "Sum")}
    rule = rs.compile(
        "forall a, b in digit: Left(a) & Right(b) -> Sum((a + b) mod 10)",
        reduction,
        domains={"digit": 10},
        reduction="none",
    )
    logs = {name: torch.log_softmax(z, -1) for name, z in logits.items()}
    expected = torch.zeros(4, dtype=torch.float64)
    for a in range(10):
        for b in range(10):
            antecedent = logs["Left"][:, a] + logs["Right"][:, b]
            consequent = logs["Sum"][:, (a + b) % 10]
            if reduction == "r-product":
                expected += torch.relu(antecedent - consequent)
            else:
                expected -= torch.log(1 - antecedent.exp() * (1 - consequent.exp()))
    torch.testing.assert_close(rule(logits), expected)


def test_logits_are_read_as_softmax_sigmoid_and_single_sigmoid():
    z = {"P": torch.randn(4, 3), "Q": torch.randn(4, 3), "R": torch.randn(4)}
    p = {"P": z["P"].softmax(-1), "Q": z["Q"].sigmoid(), "R": z["R"].sigmoid()}
    text, declared = "forall x in d: P(x) -> Q(x) | R", {"domains": {"d": 3}}
    outputs = {"Q": "independent"}
    for name in relaxation_names():
        penalties = [
            rs.compile(text, name, **declared, outputs=outputs, inputs=form, reduction="none")(
                given
            )
            for form, given in (
                ("logits", z),
                ("probs", p),
                ("log_probs", {key: value.log() for key, value in p.items()}),
                ({"P": "probs"}, {**z, "P": p["P"]}),
            )
        ]
        for other in penalties[1:]:
            torch.testing.assert_close(other, penalties[0], rtol=1e-4, atol=1e-5)


def test_a_masked_class_has_probability_zero():
    rule = rs.compile("forall x in d: ~P(x)", "lukasiewicz-maxsat", domains={"d": 3})
    masked, rest = torch.tensor([1.0, 2.0, -torch.inf]), torch.tensor([1.0, 2.0])
    torch.testing.assert_close(rule(P=masked), rest.softmax(-1).sum())
    only = rs.compile("P(2)", "lukasiewicz", domains={"d": 3}, predicates={"P": ("d",)})
    assert only(P=masked) == 1


# The degrees of the drastic logic are constant almost everywhere.
@pytest.mark.parametrize("name", [name for name in relaxation_names() if name != "s-drastic"])
def test_gradients_are_those_of_finite_differences(name):
    rule = rs.compile(
        "forall a, b in d: P(a) & Q(b) -> S((a + b) mod 3)",
        name,
        domains={"d": 3},
        reduction="none",
    )
    generator = torch.Generator().manual_seed(1)
    p, q, s = (
        torch.randn(2, 3, dtype=torch.float64, generator=generator, requires_grad=True)
        for _ in range(3)
    )
    assert torch.autograd.gradcheck(lambda p, q, s: rule(P=p, Q=q, S=s), (p, q, s), fast_mode=True)
    assert torch.autograd.gradcheck(
        lambda p, q, s: rule.truth(P=p, Q=q, S=s), (p, q, s), fast_mode=True
    )


@pytest.mark.parametrize("name", PAPER)
def test_gradients_of_nested_quantifiers_are_those_of_finite_differences(name):
    rule = rs.compile(
        "forall a in d: (exists b in d where b != a: ~P(b) | Q(a)) <-> (forall c in d: P(c) -> R)",
        name,
        domains={"d": 3},
        inputs="probs",
        outputs={"P": "independent"},
        reduction="none",
    )
    generator = torch.Generator().manual_seed(2)
    p, q = (torch.rand(2, 3, dtype=torch.float64, generator=generator) for _ in range(2))
    r = torch.tensor([0.4, 0.7], dtype=torch.float64)
    leaves = tuple((0.1 + 0.8 * x).requires_grad_() for x in (p, q, r))
    assert torch.autograd.gradcheck(lambda p, q, r: rule(P=p, Q=q, R=r), leaves, fast_mode=True)


def test_binary_cross_entropy_is_the_penalty_of_a_literal():
    z = torch.randn(20, dtype=torch.float64)
    for text, label in (("P", 1.0), ("~P", 0.0)):
        expected = functional.binary_cross_entropy_with_logits(
            z, torch.full_like(z, label), reduction="none"
        )
        torch.testing.assert_close(rs.compile(text, "r-product", reduction="none")(P=z), expected)
