"""A t-norm that a user registers gets every route that its properties allow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
import torch

import residuum as rs
from residuum.relaxations import Degree, Relaxation, catalogue
from residuum.relaxations.catalogue import register
from residuum.relaxations.expressions import Expressions
from residuum.relaxations.generated import Generated
from residuum.relaxations.minimum import Minimum
from residuum.relaxations.tnorms import Archimedean, Jump, TNorm

TEXT = Expressions(conjunction="x", disjunction="x", residuum="x", penalty="x")


@dataclass(frozen=True)
class OwnProduct(Archimedean):
    limit = math.inf
    expressions = TEXT
    is_steep: Mapping[str, bool | None] = None  # type: ignore[assignment]

    def penalty(self, x):
        return -x.log_true

    def degree(self, on, penalty):
        return Degree(on, log_true=-penalty)


@dataclass(frozen=True)
class OwnLukasiewicz(Archimedean):
    limit = 1
    expressions = TEXT
    is_steep: Mapping[str, bool | None] = None  # type: ignore[assignment]

    def penalty(self, x):
        return x.false

    def degree(self, on, penalty):
        return Degree(on, false=penalty)


@dataclass(frozen=True)
class OwnMinimum(TNorm):
    structure = "idempotent"
    expressions = TEXT
    is_steep: Mapping[str, bool | None] = None  # type: ignore[assignment]

    @property
    def jumps(self) -> Mapping[str, Jump]:
        return {}

    def conjoin(self, x, y):
        return Minimum().conjoin(x, y)

    def residuum(self, x, y):
        return Minimum().residuum(x, y)


OWN = {
    "product": OwnProduct(),
    "lukasiewicz": OwnLukasiewicz(),
    "godel": OwnMinimum(),
}
KNOWN = {
    "s-product": "s-product", "r-product": "r-product", "s-godel": "s-godel",
    "r-godel": "r-godel", "s-lukasiewicz": "lukasiewicz", "r-lukasiewicz": "lukasiewicz",
}  # fmt: skip


def compiled(name: str, size: int, text: str = "A(i) & B(j) -> C((i + j) mod {size})"):
    rule = f"forall i, j in d: {text.format(size=size)}"
    return rs.compile(rule, name, domains={"d": size}, reduction="none")


def outputs(size: int) -> dict[str, torch.Tensor]:
    source = torch.Generator().manual_seed(size)
    return {
        name: torch.randn(9, size, generator=source, dtype=torch.float64).requires_grad_()
        for name in "ABC"
    }


@pytest.fixture(autouse=True, scope="module")
def registered():
    for name, tnorm in OWN.items():
        register(f"own-{name}", tnorm)
    yield
    for name in OWN:
        del catalogue._registered[f"own-{name}"]


def route_of(rule, given):
    return rule.explain(given).splitlines()[-1]


@pytest.mark.parametrize("size", [5, 17, 61])
@pytest.mark.parametrize("name", KNOWN)
def test_a_registered_tnorm_takes_the_route_of_the_equal_built_in_one_and_costs_the_same(
    name, size
):
    kind, tnorm = name.split("-")
    mine, theirs = compiled(f"{kind}-own-{tnorm}", size), compiled(KNOWN[name], size)
    given = outputs(size)
    assert route_of(mine, given) == route_of(theirs, given)
    found, expected = mine(given), theirs(given)
    torch.testing.assert_close(found, expected)
    leaves = list(given.values())
    gradients = [torch.autograd.grad(one.sum(), leaves) for one in (found, expected)]
    torch.testing.assert_close(*gradients)


def test_a_tnorm_from_a_generator_function_is_evaluated_as_clauses():
    tnorm = Generated(
        generator=lambda x: -x.log_true,
        inverse=lambda on, penalty: Degree(on, log_true=-penalty),
        at_zero=math.inf,
    )
    assert tnorm.penalty_side == "log_true"
    logic = Relaxation("r-generated", tnorm, "R")
    rule = rs.compile("forall i in d: A(i) -> B(i)", logic, domains={"d": 5})
    given = {name: one for name, one in outputs(5).items() if name != "C"}
    assert route_of(rule, given) == "evaluated by clauses"


@pytest.mark.parametrize("name", rs.relaxation_names())
def test_only_the_basic_tnorms_have_bounded_gradients(name):
    tnorm = rs.relaxation(name).tnorm
    basic = any(word in name for word in ("product", "godel", "lukasiewicz", "own"))
    assert tnorm.has_bounded_gradients == (basic and "cubic" not in name)


def test_a_penalty_computed_from_sides_is_no_side_and_gives_no_clauses():
    tnorm = Generated(
        generator=lambda x: x.false * 1,
        inverse=lambda on, penalty: Degree(on, false=penalty),
        at_zero=1,
    )
    assert tnorm.penalty_side is None
    rule = rs.compile("P -> Q", Relaxation("r-plain", tnorm, "R"))
    assert "not by clauses: under `r-plain`" in rule.explain()
