"""P1, P2 and P3 of the paper's relaxations."""

import pytest

from residuum.analysis import catalogue, properties

TAUTOLOGIES = {row.name for row in catalogue() if row.is_tautology}


@pytest.mark.parametrize("name", ["s-product", "s-godel", "r-godel", "lukasiewicz", "s-drastic"])
def test_every_tautology_is_decided_where_integrals_are_exact(name):
    found = properties(name)
    assert set(found.preserved) | set(found.not_preserved) == TAUTOLOGIES
    assert found.undecided == ()


def test_s_logics_of_the_paper_preserve_none():
    assert properties("s-product").preserved == ()
    assert properties("s-godel").preserved == ()


def test_lukasiewicz_preserves_what_the_paper_prints_as_one():
    printed = {row.name for row in catalogue() if row.printed["lukasiewicz"] == 1}
    assert set(properties("lukasiewicz").preserved) == printed & TAUTOLOGIES


@pytest.mark.parametrize("name", ["r-godel", "lukasiewicz"])
def test_r_logics_are_self_consistent(name):
    found = properties(name)
    assert found.self_consistent is True
    assert found.self_consistency.exact == 1


def test_s_logics_are_not():
    found = properties("s-product")
    assert found.self_consistent is False
    assert float(found.self_consistency.exact) == pytest.approx(0.7)  # ∫ (1 - p + p²)²


def test_where_a_relaxation_is_not_smooth_is_told():
    assert properties("r-godel").subdifferentiable["implies"] is False
    assert properties("r-godel").discontinuities["implies"] == "x == y < 1"
