"""Softmaxes with classes masked by −inf or saturated: finite, right, and the same when traced."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from corners import LOGICS, PAPER
from torch import Tensor

import residuum as rs
from residuum.relaxations import Relaxation

RULES = (
    "forall a in c: A(a) -> B(a)",
    "exists a in c: A(a) & ~B(a)",
    "forall a in c: ~A(a) | (exists b in c: B(b) & A(b))",
)
EDGES = (-torch.inf, -1e30, -1e4, -30.0, 0.0, 100.0, 1e30)


def all_logits(classes: int, dtype: torch.dtype) -> dict[str, Tensor]:
    """Return every combination of edges as the logits of A, and in reverse order as those of B."""
    rows = torch.tensor(list(itertools.product(EDGES, repeat=classes)), dtype=dtype)
    return {"A": rows.clone().requires_grad_(), "B": rows.flip(0).clone().requires_grad_()}


@pytest.mark.parametrize("logic", LOGICS, ids=lambda logic: logic.name)
def test_masked_and_saturated_classes_give_finite_penalties_and_gradients(logic: Relaxation):
    for classes, text in itertools.product((1, 3), RULES):
        given = all_logits(classes, torch.float32)
        penalty = rs.compile(text, logic, domains={"c": classes}, reduction="none")(given)
        assert torch.isfinite(penalty).all(), (classes, text)
        for gradient in torch.autograd.grad(penalty.sum(), list(given.values()), allow_unused=True):
            assert gradient is None or torch.isfinite(gradient).all(), (classes, text)


def masked_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = np.exp(logits - logits.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_masked_classes_have_probability_0(dtype: torch.dtype):
    generator = torch.Generator().manual_seed(5)
    a, b = torch.randn(2, 5000, 4, generator=generator, dtype=dtype) * 3
    a[torch.rand(5000, 4, generator=generator) < 0.4] = -torch.inf
    a[:, 0] = 0.5  # at least one class is not masked
    p, q = (masked_softmax(x.numpy().astype(np.longdouble)) for x in (a, b))
    each = -np.log1p(-p * (1 - q))
    found = rs.compile(RULES[0], "s-product", domains={"c": 4}, reduction="none")(A=a, B=b)
    error = np.abs(found.numpy() - each.sum(-1)) / each.max(-1)
    assert error.max() <= 16 * torch.finfo(dtype).eps


@pytest.mark.parametrize("name", [*PAPER, "exact"])
@pytest.mark.parametrize(
    "text", ["forall a in c: ~A(a)", "A(1)", "forall a in c: A(a)", "exists a in c: ~A(a)"]
)
def test_classes_that_are_all_masked_count_as_equally_likely(text: str, name: str):
    rule = rs.compile(text, name, domains={"c": 4}, predicates={"A": ("c",)}, reduction="none")
    masked, equal = torch.full((1, 4), -torch.inf), torch.zeros(1, 4)
    torch.testing.assert_close(rule(A=masked), rule(A=equal))
    torch.testing.assert_close(rule.truth(A=masked), rule.truth(A=equal))


@pytest.mark.parametrize("name", PAPER)
def test_facts_about_classes_that_are_all_masked_cost_the_same_as_equal_classes(name: str):
    masked, equal = torch.full((1, 4), -torch.inf), torch.zeros(1, 4)
    torch.testing.assert_close(rs.facts(masked, [2], name), rs.facts(equal, [2], name))


@pytest.mark.parametrize("name", PAPER)
def test_a_rule_under_vmap_equals_the_eager_rule(name: str):
    given = {n: x.detach() for n, x in all_logits(3, torch.float32).items()}
    for text in RULES:
        rule = rs.compile(text, name, domains={"c": 3}, reduction="none")

        def cost(a: Tensor, b: Tensor, rule: rs.CompiledRule = rule) -> Tensor:
            return rule(A=a, B=b).sum()

        a, b = given["A"].requires_grad_(), given["B"].requires_grad_()
        eager = rule(A=a, B=b)
        gradients = torch.autograd.grad(eager.sum(), (a, b), allow_unused=True)
        traced = torch.vmap(lambda x, y, rule=rule: rule(A=x, B=y))(a, b)
        torch.testing.assert_close(traced, eager, rtol=3e-6, atol=1e-30)
        also = torch.func.vmap(torch.func.grad(cost, argnums=(0, 1)))(a.detach(), b.detach())
        for gradient, other in zip(gradients, also, strict=True):
            expected = torch.zeros_like(other) if gradient is None else gradient
            torch.testing.assert_close(other, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["s-product", "r-product"])
def test_a_rule_under_torch_compile_equals_the_eager_rule(name: str):
    rule = rs.compile("P -> Q | R", name, reduction="none")
    edges = torch.tensor(list(itertools.product(EDGES[1:], repeat=3))).T
    a, b, c = (column.clone().requires_grad_() for column in edges)
    eager = rule(P=a, Q=b, R=c)
    gradients = torch.autograd.grad(eager.sum(), (a, b, c))
    traced = torch.compile(lambda x, y, z: rule(P=x, Q=y, R=z), backend="eager")(a, b, c)
    torch.testing.assert_close(traced, eager, rtol=3e-6, atol=1e-30)
    for gradient, other in zip(
        gradients, torch.autograd.grad(traced.sum(), (a, b, c)), strict=True
    ):
        torch.testing.assert_close(other, gradient, rtol=1e-5, atol=1e-6)
