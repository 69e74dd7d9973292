"""Clauses have the same penalties and gradients for small and large batches, saturated or not."""

from __future__ import annotations

import random
from typing import Any

import mpmath
import pytest
import torch

import residuum as rs

NAMES = ("r-product", "s-product", "lukasiewicz-maxsat", "s-godel")
named = pytest.mark.parametrize("name", NAMES)

DENIED = "forall a, b in d: P(a) & ~Q(b) -> ~S((a + b) mod 3)"


def exact_penalty(name: str, logits: list[Any]) -> Any:
    """Return the penalty of DENIED, from degrees as pairs of truth and falsity."""
    p, q, s = (softmax(logits[n : n + 3]) for n in (0, 3, 6))
    total = mpmath.mpf(0)
    for a in range(3):
        for b in range(3):
            body, head = (p[a], q[b][::-1]), s[(a + b) % 3][::-1]
            if name == "r-product":
                gap = mpmath.log(body[0][0]) + mpmath.log(body[1][0]) - mpmath.log(head[0])
                total += max(gap, 0)
            else:
                total -= mpmath.log(1 - body[0][0] * body[1][0] * head[1])
    return total


def softmax(logits: list[Any]) -> list[tuple[Any, Any]]:
    parts = [mpmath.exp(z) for z in logits]
    return [(part / sum(parts), (sum(parts) - part) / sum(parts)) for part in parts]


@pytest.mark.parametrize("name", ["r-product", "s-product"])
@pytest.mark.parametrize("gap", [0.0, 5.0, 20.0, 35.0, 45.0, 55.0, 100.0])
@pytest.mark.parametrize("likeliest", [(0, 0, 0), (1, 2, 0), (2, 1, 1)])
def test_negated_literals_of_saturated_softmaxes_equal_those_of_mpmath(name, gap, likeliest):
    logits = [0.1, 0.5, -0.2, -0.3, 0.2, 0.4, 0.3, -0.1, 0.05]
    for slot, label in enumerate(likeliest):
        logits[3 * slot + label] += gap
    given = torch.tensor(logits).reshape(3, 1, 3).requires_grad_()
    penalty = rs.compile(DENIED, name, domains={"d": 3}, reduction="none")(
        P=given[0], Q=given[1], S=given[2]
    )
    penalty.sum().backward()
    with mpmath.workdps(200):
        exact = [mpmath.mpf(float(z)) for z in given.detach().flatten()]
        value = exact_penalty(name, exact)
        step = mpmath.mpf(10) ** -60
        gradients = []
        for place in range(9):
            ahead, behind = list(exact), list(exact)
            ahead[place] += step
            behind[place] -= step
            difference = exact_penalty(name, ahead) - exact_penalty(name, behind)
            gradients.append(difference / (2 * step))
    # A residuum is a difference of logarithms as large as the gap, and rounds like them.
    scale = 4 * (gap + 2) if name == "r-product" else value
    assert abs(float(penalty.detach()) - value) <= 3e-6 * scale + 1e-37
    largest = max(map(abs, gradients))
    for found, expected in zip(given.grad.flatten().tolist(), gradients, strict=True):
        assert abs(found - expected) <= 2e-5 * abs(expected) + 2e-6 * largest + 1e-37


def clauses_of_unlike_lengths() -> rs.Knowledge:
    draw = random.Random(1)
    rules = []
    for number in range(40):
        literals = [draw.choice(("", "~")) + f"Has({n})" for n in draw.sample(range(30), 4)]
        body = literals[: draw.randint(1, 3)]
        rules.append(f"rule r{number}: {' & '.join(body)} -> {literals[3]}")
    declared = "domain feature = 0..29\npredicate Has(feature) independent\n"
    return rs.loads(declared + "\n".join(rules))


TAGS = """
    domain kind = K, L, M, N, O
    domain tag = BK, BL, BM, BN, BO, IK, IL, IM, IN, IO, NONE
    domain position sequence
    function begin(kind): tag = K: BK, L: BL, M: BM, N: BN, O: BO
    function inside(kind): tag = K: IK, L: IL, M: IM, N: IN, O: IO
    predicate Tag(position, tag)
    rule after_begin: forall i in position, X, Y in kind where X != Y:
        Tag(i, begin(X)) -> ~Tag(i + 1, inside(Y))
    rule after_inside: forall i in position, X, Y in kind where X != Y:
        Tag(i, inside(X)) -> ~Tag(i + 1, inside(Y))
"""

SUM = "forall a, b in d: P(a) & Q(b) -> S((a + b) mod 8)"
RULES = {
    "a sum": (SUM, {"P": (8,), "Q": (8,), "S": (8,)}),
    "clauses": (clauses_of_unlike_lengths(), {"Has": (30,)}),
    "sequences": (rs.loads(TAGS), {"Tag": (9, 11)}),
}


@named
@pytest.mark.parametrize("rules", RULES)
def test_a_large_batch_has_the_penalties_and_gradients_of_its_examples(name, rules):
    text, shapes = RULES[rules]
    is_text = isinstance(text, str)
    compiled = (
        rs.compile(text, name, domains={"d": 8}, reduction="none")
        if is_text
        else rs.compile(text, name, reduction="none")
    )
    examples = 410  # tens of thousands of groundings of every rule, evaluated part by part
    generator = torch.Generator().manual_seed(5)
    given = {
        key: (3 * torch.randn(examples, *shape, generator=generator)).requires_grad_()
        for key, shape in shapes.items()
    }

    def total(tensors: dict[str, torch.Tensor]) -> torch.Tensor:
        found = compiled(tensors)
        return found if is_text else sum(found.values())

    together = total(given)
    gradients = torch.autograd.grad(together.sum(), list(given.values()))
    for first in range(0, examples, 100):
        part = {key: one[first : first + 3] for key, one in given.items()}
        alone = total(part)
        torch.testing.assert_close(alone, together[first : first + 3], rtol=1e-5, atol=1e-5)
        own = torch.autograd.grad(alone.sum(), list(given.values()))
        for found, expected in zip(own, gradients, strict=True):
            there = slice(first, first + 3)
            torch.testing.assert_close(found[there], expected[there], rtol=1e-4, atol=1e-5)


def test_ties_in_one_example_do_not_change_the_gradients_of_others():
    rule = rs.compile("forall a in d: P(a) -> Q(a)", "s-godel", domains={"d": 3}, reduction="none")
    p = torch.tensor([[2.0, 0.5, -1.0], [1.0, 1.0, -2.0]], requires_grad=True)
    q = torch.tensor([[-1.0, 0.2, 1.5], [-9.0, -9.0, 9.0]], requires_grad=True)
    found = torch.autograd.grad(rule(P=p, Q=q).sum(), (p, q))
    for example in range(2):
        alone = [one[example : example + 1].detach().requires_grad_() for one in (p, q)]
        gradients = torch.autograd.grad(rule(P=alone[0], Q=alone[1]).sum(), alone)
        for gradient, expected in zip(found, gradients, strict=True):
            torch.testing.assert_close(gradient[example : example + 1], expected)
    # In the second example P(0) and P(1) are both the minimum: each gets half of the gradient.
    truths = torch.softmax(p.detach()[1], 0)
    halves = torch.tensor([0.5, 0.5, 0.0])
    torch.testing.assert_close(found[0][1], truths * (halves - (truths * halves).sum()))


@named
def test_an_input_that_requires_no_gradient_gets_none_and_changes_no_other(name):
    rule = rs.compile("forall a in d: P(a) -> Q(a)", name, domains={"d": 3}, reduction="none")
    p, q = torch.tensor([[2.0, 0.5, -1.0]]), torch.tensor([[-1.0, 0.2, 1.5]])
    both = [one.clone().requires_grad_() for one in (p, q)]
    expected = torch.autograd.grad(rule(P=both[0], Q=both[1]).sum(), both)
    one = q.clone().requires_grad_()
    rule(P=p, Q=one).sum().backward()
    torch.testing.assert_close(one.grad, expected[1])
    assert p.grad is None
    assert not rule(P=p, Q=q).requires_grad
    with torch.no_grad():
        assert not rule(P=both[0], Q=both[1]).requires_grad


@named
def test_a_rule_on_untransformed_tensors_can_be_called_inside_torch_func(name):
    rule = rs.compile("forall a in d: P(a) -> Q(a)", name, domains={"d": 3}, reduction="none")
    outside = {"P": torch.tensor([[2.0, 0.5, -1.0]]), "Q": torch.tensor([[-1.0, 0.2, 1.5]])}
    for given in outside.values():
        given.requires_grad_()
    penalty = rule(outside).sum()
    gradient = torch.func.grad(lambda x: (x * rule(outside)).sum())(torch.tensor(2.0))
    torch.testing.assert_close(gradient, penalty)
    mapped = torch.func.vmap(lambda x: (x * rule(outside)).sum())(torch.tensor([1.0, 3.0]))
    torch.testing.assert_close(mapped, penalty * torch.tensor([1.0, 3.0]))
