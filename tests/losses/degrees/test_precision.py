"""Penalties and gradients of the paper's relaxations equal textbook formulas with many digits."""

from __future__ import annotations

import itertools
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from corners import PAPER
from textbook_losses import SHAPES, largest_term, penalty

import residuum as rs

paper = pytest.mark.parametrize("name", PAPER)
ROUNDINGS = 16
GAPS = (30.0, 100.0, 1e4)


def compiled(text: str, name: str, form: str, given: dict[str, torch.Tensor]) -> torch.Tensor:
    return rs.compile(text, name, inputs=form, reduction="none")(
        {n: x for n, x in given.items() if n in text}
    )


@paper
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("form", ["logits", "probs"])
def test_penalties_are_within_a_few_roundings(name: str, dtype: torch.dtype, form: str):
    generator = torch.Generator().manual_seed(7)
    reach = 6 if dtype == torch.float64 else 14  # inside this range a long double has enough digits
    logits = (torch.rand(3, 20_000, generator=generator, dtype=dtype) * 2 - 1) * reach
    values = logits if form == "logits" else torch.sigmoid(logits)
    given = dict(zip("PQR", values, strict=True))
    wide = {n: x.numpy().astype(np.longdouble) for n, x in given.items()}
    degrees = wide if form == "probs" else {n: 1 / (1 + np.exp(-x)) for n, x in wide.items()}
    for text, shape in SHAPES.items():
        with np.errstate(invalid="ignore"):  # 0 / 0 in a branch that is not chosen
            exact = penalty(shape, name, degrees, np.where, np.log)
            term = largest_term(shape, name, degrees, np.where, np.log)
        found = compiled(text, name, form, given).numpy().astype(np.longdouble)
        error = np.abs(found - exact)
        if name == "r-godel":  # discontinuous where antecedent and consequent are equal
            error[close_to_a_jump(degrees, dtype)] = 0
        allowed = ROUNDINGS * torch.finfo(dtype).eps * term + 64 * np.finfo(np.longdouble).eps
        worst = int(np.argmax(error - allowed))
        assert error[worst] <= allowed[worst], (text, degrees["P"][worst], error[worst])


def close_to_a_jump(degrees: dict[str, Any], dtype: torch.dtype) -> Any:
    pairs = itertools.combinations(degrees.values(), 2)
    return np.any([abs(x - y) < torch.finfo(dtype).eps for x, y in pairs], axis=0)


def pick(condition: bool, then: Any, otherwise: Any) -> Any:
    return then if condition else otherwise


def probability(logit: Any) -> Any:
    return 1 / (1 + mpmath.exp(-logit))


@paper
@pytest.mark.parametrize("gap", GAPS)
def test_penalties_and_gradients_of_saturated_networks_equal_those_of_mpmath(name: str, gap: float):
    many = gap < 1e3
    with mpmath.workdps(150 if many else 9000):
        for text in ("P", "~P", "P | Q", "P -> Q", "P -> Q | R") if many else ("~P", "P -> Q"):
            for signs in ((1, -1, -1), (-1, -1, 1), (-1, 1, -1)):
                logits = [sign * gap + small for sign, small in zip(signs, (0, 1, 2), strict=True)]
                compare_with_mpmath(text, name, logits)


def compare_with_mpmath(text: str, name: str, logits: list[float]) -> None:
    leaves = {n: torch.tensor([z], requires_grad=True) for n, z in zip("PQR", logits, strict=True)}

    def exact(values: dict[str, Any]) -> Any:
        degrees = {n: probability(mpmath.mpf(z)) for n, z in values.items()}
        return penalty(SHAPES[text], name, degrees, pick, mpmath.log)

    read = {n: leaf for n, leaf in leaves.items() if n in text}
    found = compiled(text, name, "logits", leaves)
    gradients = torch.autograd.grad(found.sum(), list(read.values()), allow_unused=True)
    point = {n: mpmath.mpf(leaf.item()) for n, leaf in leaves.items()}
    step = mpmath.mpf(10) ** -15
    assert found.item() == pytest.approx(float(exact(point)), rel=1e-6, abs=1e-37), text
    # a few roundings of a logarithm
    rounding = 4 * torch.finfo(torch.float32).eps * max(map(abs, logits))
    for n, gradient in zip(read, gradients, strict=True):
        ahead, behind = exact({**point, n: point[n] + step}), exact({**point, n: point[n] - step})
        expected = float((ahead - behind) / (2 * step))
        value = 0.0 if gradient is None else gradient.item()
        # 2e-7 is one rounding of the truth 1, by which saturated gradients are multiplied
        assert value == pytest.approx(expected, rel=rounding, abs=2e-7), (text, logits, n)


@pytest.mark.parametrize("name", ["s-product", "r-product"])
@pytest.mark.parametrize("gap", GAPS)
def test_a_saturated_and_violated_rule_keeps_its_gradient(name: str, gap: float):
    antecedent = torch.tensor([gap], requires_grad=True)
    consequent = torch.tensor([-gap], requires_grad=True)
    rs.compile("P -> Q", name, reduction="none")(P=antecedent, Q=consequent).sum().backward()
    assert consequent.grad is not None
    assert abs(consequent.grad.item()) >= 0.49


@paper
def test_gradients_agree_with_finite_differences(name: str):
    generator = torch.Generator().manual_seed(3)
    for text, form in itertools.product(SHAPES, ("logits", "probs")):
        given = {
            n: torch.rand(3, generator=generator, dtype=torch.float64).requires_grad_()
            for n in "PQR"
            if n in text
        }
        rule = rs.compile(text, name, inputs=form, reduction="none")
        names, leaves = list(given), tuple(given.values())
        assert torch.autograd.gradcheck(
            lambda *xs, rule=rule, names=names: rule(dict(zip(names, xs, strict=True))), leaves
        ), text
