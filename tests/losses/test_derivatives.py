"""Forward derivatives and Hessians against finite differences."""

from __future__ import annotations

import pytest
import torch

import residuum as rs
from residuum.relaxations.catalogue import PAPER

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch warns of its own parts

SUM = "forall a, b in d: P(a) & Q(b) -> S((a + b) mod 3)"
NESTED = "forall a in d: P(a) <-> (exists b in d where b != a: Q(b) | ~S(b))"
STEP = 1e-6


def setting(name, text, form):
    """Return a penalty as a function of all outputs, a point off its kinks, and a direction."""
    rule = rs.compile(text, name, domains={"d": 3}, inputs=form)
    generator = torch.Generator().manual_seed(0)
    logits, direction = torch.randn(2, 3, 3, generator=generator, dtype=torch.float64)
    read = {"logits": logits, "probs": logits.softmax(-1), "log_probs": logits.log_softmax(-1)}
    return lambda x: rule(P=x[0], Q=x[1], S=x[2]), read[form], direction


def difference(function, point, direction):
    ahead, behind = point + STEP * direction, point - STEP * direction
    return (function(ahead) - function(behind)) / (2 * STEP)


@pytest.mark.parametrize("form", ["logits", "probs", "log_probs"])
@pytest.mark.parametrize("text", [SUM, NESTED])
@pytest.mark.parametrize("name", [*PAPER, "exact", "s-hamacher(2)", "r-yager(3)"])
def test_forward_derivatives_are_gradients(name, text, form):
    penalty, point, direction = setting(name, text, form)
    slope = torch.func.jvp(penalty, (point,), (direction,))[1]
    torch.testing.assert_close(slope, difference(penalty, point, direction), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("form", ["logits", "probs"])
@pytest.mark.parametrize("text", [SUM, NESTED])
@pytest.mark.parametrize("name", PAPER)
def test_hessians_are_derivatives_of_gradients(name, text, form):
    penalty, point, direction = setting(name, text, form)
    hessian = torch.func.hessian(penalty)(point)
    torch.testing.assert_close(hessian, torch.autograd.functional.hessian(penalty, point))
    along = difference(torch.func.grad(penalty), point, direction)
    product = torch.einsum("abcd,cd->ab", hessian, direction)
    torch.testing.assert_close(product, along, rtol=1e-6, atol=1e-7)


def test_forward_derivatives_of_half_precision_are_in_single():
    rule = rs.compile("P -> Q", "s-product", inputs="probs", reduction="none")
    half = torch.tensor([0.25, 0.75], dtype=torch.float16)
    given, ones = {"P": half, "Q": half}, {"P": torch.ones_like(half), "Q": torch.zeros_like(half)}
    slope = torch.func.jvp(rule, (given,), (ones,))[1]
    expected = (1 - half.float()) / (1 - half.float() * (1 - half.float()))
    torch.testing.assert_close(slope, expected)
