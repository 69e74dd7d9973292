"""Operators that published libraries got wrong, one claim each."""

from __future__ import annotations

import numpy as np
import pytest
from specimens import LOGICS, RESIDUA, STEP, every, value


@every(LOGICS)
def test_false_implies_false(logic):
    assert value("P -> Q", logic, 0.0, 0.0) == 1
    assert value("P <-> Q", logic, 0.0, 0.0) == 1


@every(LOGICS)
def test_truth_is_not_shifted_by_an_epsilon(logic):
    ends = {"~P": (1, 0), "P & P & P": (0, 1), "P | P | P": (0, 1), "P -> P": (1, 1)}
    for text, expected in ends.items():
        assert (value(text, logic, 0.0), value(text, logic, 1.0)) == expected


@every(LOGICS)
def test_three_true_disjuncts_are_true_and_not_two(logic):
    assert value("P | Q | R", logic, 1.0, 1.0, 1.0) == 1


@every(LOGICS)
def test_three_true_conjuncts_are_true_and_not_infinite(logic):
    assert value("P & Q & R", logic, 1.0, 1.0, 1.0) == 1


@every(LOGICS)
def test_true_and_true_is_true(logic):
    assert value("P & Q", logic, 1.0, 1.0) == 1


@every(RESIDUA)
def test_a_degree_implies_itself_in_an_r_logic(logic):
    assert value("P -> Q", logic, 0.5, 0.5) == 1


def test_the_residua_of_lukasiewicz_and_godel_are_not_swapped():
    assert value("P -> Q", "lukasiewicz", 0.75, 0.5) == 0.75
    assert value("P -> Q", "r-godel", 0.75, 0.5) == 0.5
    assert value("P -> Q", "r-product", 0.75, 0.375) == 0.5
    assert value("P -> Q", "s-godel", 0.75, 0.5) == 0.5
    assert value("P -> Q", "s-godel", 0.75, 0.125) == 0.25


@pytest.mark.parametrize("gamma", ["0", "0.5", "1", "2", "10"])
def test_hamachers_disjunction_is_not_constant(gamma):
    found = value("P | Q", f"s-hamacher({gamma})", np.array([0.0, 0.25, 0.5]), 0.25)
    assert found[0] == pytest.approx(0.25, abs=STEP)
    assert np.all(np.diff(found) > 0.1)
    assert np.all(found < 1)


@pytest.mark.parametrize("p", ["0.3", "0.5", "2", "3", "5", "100"])
def test_yagers_operators_are_right_at_the_corners_and_finite(p):
    assert value("P & Q", f"r-yager({p})", 1.0, 1.0) == 1
    assert value("P | Q", f"r-yager({p})", 0.0, 0.0) == 0
    grid = np.linspace(0, 1, 33)
    x, y = np.meshgrid(grid, grid)
    assert np.all(np.isfinite(value("P -> Q", f"r-yager({p})", x, y)))


@pytest.mark.parametrize("p", ["0.5", "2", "3"])
def test_yagers_conjunction_has_a_neutral_element(p):
    grid = np.linspace(0, 1, 33)
    np.testing.assert_allclose(value("P & Q", f"s-yager({p})", grid, 1.0), grid, atol=STEP)


@every(LOGICS)
def test_connectives_work_row_by_row(logic):
    batch = np.array([[0.1, 0.9], [0.4, 0.2], [1.0, 0.0]])
    for text in ("P | Q", "P & Q", "P -> Q"):
        found = value(text, logic, batch, batch[:, ::-1])
        for row in range(3):
            alone = value(text, logic, batch[row], batch[row, ::-1])
            np.testing.assert_allclose(found[row], alone, rtol=1e-9, atol=STEP)


@every(LOGICS)
def test_evaluating_does_not_change_its_input(logic):
    given = np.array([0.25, 0.5, 1.0])
    before = given.copy()
    for text in ("P & P", "P | P", "P -> P", "P <-> ~P"):
        value(text, logic, given)
    np.testing.assert_array_equal(given, before)


def test_a_batch_of_one_row_keeps_its_shape():
    assert value("P & Q", "r-product", np.full((1, 4), 0.5), np.full((1, 4), 0.5)).shape == (1, 4)


def test_small_degrees_are_not_dropped():
    for tiny in (1e-6, 1e-12, 1e-300):
        assert value("P & Q", "s-product", tiny, 0.5) == tiny / 2
        assert value("P -> Q", "r-product", tiny, tiny / 4) == 0.25
