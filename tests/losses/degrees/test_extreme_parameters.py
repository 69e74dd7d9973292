"""Relaxations with extreme parameters are finite and right, or refused with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from mpmath import exp, expm1, inf, log, log1p, mp, mpf
from test_safety import refuse_what_is_not_finite

import residuum as rs
from residuum.errors import UnknownRelaxationError
from residuum.relaxations import relaxation

CASES = [
    (family, value)
    for family, values in {
        "hamacher": ("1e-299", "1e-38", "1e-29", "1e300"),
        "frank": ("1e-30", "1e38", "1e300"),
        "yager": ("1e-300", "1e31", "1e100"),
        "dombi": ("1e-300", "1e31", "1e100"),
        "aczel-alsina": ("1e-300", "1e31", "1e100"),
        "schweizer-sklar": ("1e-300", "1e-38", "1e-20", "1e100", "-1e-38", "-1e-20", "-1e-9"),
        "sugeno-weber": ("1e-38", "-1e-300", "-.9999999999999999999999", "1e31", "1e300"),
    }.items()
    for value in values
]
BOTH = pytest.mark.parametrize("kind", ["s", "r"])


@BOTH
@pytest.mark.parametrize(("family", "value"), CASES)
def test_penalties_and_gradients_are_finite(family: str, value: str, kind: str):
    both = (torch.float64, torch.float32)
    refuse_what_is_not_finite(relaxation(f"{kind}-{family}({value})"), both)


class Generator(NamedTuple):
    """A textbook generator, its inverse, and its value at 0, in mpmath."""

    penalty: Callable[[mpf], mpf]
    degree: Callable[[mpf], mpf]
    limit: mpf


def generator(family: str, a: mpf) -> Generator:
    if family == "hamacher":
        return Generator(
            lambda x: log1p(a * (1 - x) / x) / a, lambda t: 1 / (1 + expm1(a * t) / a), inf
        )
    if family == "frank":
        scale = (1 - 1 / a) / log(a)
        return Generator(
            lambda x: scale * log((a - 1) / expm1(x * log(a))),
            lambda t: log1p((a - 1) * exp(-t / scale)) / log(a),
            inf,
        )
    if family == "yager":
        return Generator(lambda x: (1 - x) ** a, lambda t: 1 - t ** (1 / a), mpf(1))
    if family == "schweizer-sklar":
        limit = 1 / a if a > 0 else inf
        return Generator(lambda x: (1 - x**a) / a, lambda t: (1 - a * t) ** (1 / a), limit)
    kappa = a / (1 + a)
    return Generator(
        lambda x: log((1 + a) / (1 + a * x)) / kappa,
        lambda t: (exp(log1p(a) - kappa * t) - 1) / a,
        log1p(a) / kappa,
    )


POINTS = ((0.3, 0.6), (0.9, 0.2), (0.5, 0.75), (0.999, 0.01), (0.01, 0.02))


def expected(kind: str, g: Generator, p: mpf, q: mpf) -> tuple[mpf, mpf, mpf]:
    """Return the penalty of P & Q, that of P -> Q, and the truth of P -> Q."""

    def conjoin(x: mpf, y: mpf) -> mpf:
        total = g.penalty(x) + g.penalty(y)
        return mpf(0) if total >= g.limit else g.degree(total)

    both = min(g.penalty(p) + g.penalty(q), g.limit)
    if kind == "s":
        truth = 1 - conjoin(p, 1 - q)
        return both, g.penalty(truth) if truth else g.limit, truth
    short = max(mpf(0), g.penalty(q) - g.penalty(p))
    return both, short, g.degree(short)


# Left out: mpmath would need as many digits as the exponents 1e100 are large, and at exponents like
# 1e-300 the textbook degrees are 0 and 1 to a thousand digits.
RIGHT = [
    (family, value)
    for family, value in CASES
    if family not in ("yager", "dombi", "aczel-alsina") and not value.endswith(("e100", "99999"))
] + [("yager", "1e31"), ("frank", "1e100"), ("sugeno-weber", "-.999")]


@BOTH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("family", "value"), RIGHT)
def test_penalties_and_truths_are_those_of_the_textbook(
    family: str, value: str, dtype: torch.dtype, kind: str
):
    name = f"{kind}-{family}({value})"
    given = dict(zip("PQ", torch.tensor(POINTS, dtype=dtype).T, strict=True))
    both, implication = (
        rs.compile(t, name, inputs="probs", reduction="none") for t in ("P & Q", "P -> Q")
    )
    found = torch.stack([both(given), implication(given), implication.truth(given)], 1)
    tolerance = 2e-6 if dtype == torch.float32 else 1e-12
    with mp.workdps(700):
        g = generator(family, mpf(value))
        for row, p, q in zip(found.tolist(), given["P"].tolist(), given["Q"].tolist(), strict=True):
            for value_found, one in zip(row, expected(kind, g, mpf(p), mpf(q)), strict=True):
                if one < 1e30:  # larger penalties grow only like their logarithm
                    assert abs(value_found - one) <= tolerance * max(1, one), (name, p, q)


@pytest.mark.parametrize("name", ["s-yager(1e100)", "r-dombi(1e300)", "s-aczel-alsina(1e100)"])
def test_with_a_huge_exponent_truths_are_those_of_the_minimum(name: str):
    given = dict(zip("PQ", torch.tensor(POINTS).T, strict=True))
    truth = rs.compile("P & Q", name, inputs="probs").truth(given)
    torch.testing.assert_close(truth, torch.tensor(POINTS).amin(1))


@BOTH
def test_frank_with_a_parameter_near_0_is_refused_and_godel_is_suggested(kind: str):
    with pytest.raises(UnknownRelaxationError, match=f"expected s >= 1e-30.*`{kind}-godel`"):
        rs.compile("P -> Q", f"{kind}-frank(1e-31)")
    with pytest.raises(UnknownRelaxationError, match="1e-30"):
        rs.facts(torch.zeros(2, 3), torch.zeros(2).long(), f"{kind}-frank(1e-300)")


def test_facts_with_a_tiny_hamacher_parameter_cost_their_odds():
    outputs = torch.tensor([[0.25, 0.75]], requires_grad=True)
    penalty = rs.facts(outputs, torch.tensor([0]), "s-hamacher(1e-299)", inputs="probs")
    penalty.backward()
    assert penalty.item() == pytest.approx(3.0)
    assert bool(torch.isfinite(outputs.grad).all())
