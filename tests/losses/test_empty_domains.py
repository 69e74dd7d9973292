"""Over nothing `forall` is true and `exists` false, in every meaning of a rule."""

from __future__ import annotations

import pytest
import torch

import residuum as rs

PAPER = ["s-product", "r-product", "s-godel", "r-godel", "lukasiewicz", "lukasiewicz-maxsat"]
every_logic = pytest.mark.parametrize("name", [*PAPER, "r-yager(2)", "s-nilpotent-minimum"])


def empty(*shape):
    return torch.zeros(*shape, requires_grad=True)


@every_logic
@pytest.mark.parametrize("kind", ["exclusive", "independent"])
def test_forall_over_an_empty_domain_is_true(name, kind):
    rule = rs.compile(
        "forall x in e: P(x)", name, domains={"e": 0}, outputs={"P": kind}, reduction="none"
    )
    given = empty(2, 0)
    assert rule(P=given).tolist() == [0, 0]
    assert rule.truth(P=given).tolist() == [1, 1]
    assert rule.satisfied(P=given).tolist() == [True, True]
    assert rule.violations(P=given) == []
    rule(P=given).sum().backward()
    assert given.grad.shape == (2, 0)


@every_logic
def test_exists_over_an_empty_domain_is_false(name):
    rule = rs.compile("exists x in e: P(x)", name, domains={"e": 0})
    given = empty(2, 0)
    assert rule.truth(P=given).tolist() == [0, 0]
    assert rule.satisfied(P=given).tolist() == [False, False]


@every_logic
def test_an_empty_domain_beside_another_leaves_no_groundings(name):
    rule = rs.compile(
        "forall x in e, y in three: P(x) -> Q((x + y) mod 3)",
        name,
        domains={"e": 0, "three": 3},
        predicates={"P": ("e",), "Q": ("three",)},
        reduction="none",
    )
    logits = torch.randn(2, 3, requires_grad=True)
    assert rule(P=empty(2, 0), Q=logits).tolist() == [0, 0]
    rule(P=empty(2, 0), Q=logits).sum().backward()
    assert logits.grad.tolist() == [[0, 0, 0]] * 2


@every_logic
@pytest.mark.parametrize("length", [0, 1])
def test_a_sequence_too_short_for_a_step_says_nothing(name, length):
    rule = rs.compile(
        "forall i in s: Tag(i, A) -> Tag(i + 1, B)",
        name,
        domains={"s": "sequence", "t": ("A", "B")},
        predicates={"Tag": ("s", "t")},
        reduction="none",
    )
    given = empty(2, length, 2)
    assert rule(Tag=given).tolist() == [0, 0]
    assert rule.satisfied(Tag=given).tolist() == [True, True]
    assert rule.coverage(Tag=given).tolist() == [0, 0]


def test_a_function_of_an_empty_and_another_domain():
    rule = rs.compile(
        "forall x in e, y in three: Q((x + y) mod 3)",
        domains={"e": 0, "three": 3},
        predicates={"Q": ("three",)},
        reduction="none",
    )
    assert rule(Q=torch.randn(2, 3)).tolist() == [0, 0]


@every_logic
def test_what_nothing_fulfils_has_a_finite_penalty_and_gradient(name):
    rule = rs.compile(
        "R | (exists i in s: Tag(i + 1, B))",
        name,
        domains={"s": "sequence", "t": ("A", "B")},
        predicates={"Tag": ("s", "t")},
        reduction="none",
    )
    alone = rs.compile("R", name, reduction="none")
    given, logits = empty(2, 1, 2), torch.tensor([0.0, 2.0], requires_grad=True)
    penalty = rule(Tag=given, R=logits)
    torch.testing.assert_close(penalty, alone(R=logits))
    penalty.sum().backward()
    assert given.grad is None or given.grad.isfinite().all()
    assert logits.grad.isfinite().all()
    nothing = rs.compile("exists x in e: P(x)", name, domains={"e": 0}, reduction="none")(
        P=empty(2, 0)
    )
    assert nothing.isfinite().all()
    assert (nothing >= 1).all()


@every_logic
def test_a_guard_that_nothing_meets_is_an_empty_domain(name):
    guarded = rs.compile(
        "exists x in d where x > 5: P(x)", name, domains={"d": 3}, reduction="none"
    )
    nothing = rs.compile("exists x in d: P(x)", name, domains={"d": 0}, reduction="none")
    torch.testing.assert_close(guarded(P=torch.randn(2, 3)), nothing(P=empty(2, 0)))
