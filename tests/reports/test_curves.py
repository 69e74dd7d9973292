"""Pictures of one atom: a curve, its slope, and gaps where it jumps."""

import numpy as np
import pytest

import residuum as rs
from residuum.reports import draw_surfaces
from residuum.reports.curves import STEEPEST, cut_at_jumps

# The degree and the slope of a formula of one atom, by hand, for 0 < p < 1.
BY_HAND = {
    ("P | ~P", "s-product"): (lambda p: 1 - p + p * p, lambda p: 2 * p - 1),
    ("P | ~P", "s-godel"): (lambda p: np.maximum(p, 1 - p), lambda p: np.sign(p - 0.5)),
    ("P | ~P", "lukasiewicz"): (np.ones_like, np.zeros_like),
    ("P -> ~P", "r-product"): (
        lambda p: np.minimum(1, (1 - p) / p),
        lambda p: np.where(p < 0.5, 0, -1 / p**2),
    ),
    ("P -> ~P", "r-godel"): (
        lambda p: np.where(p <= 0.5, 1, 1 - p),
        lambda p: np.where(p < 0.5, 0, -1),
    ),
}


def curves(text, name):
    upper, lower = draw_surfaces(text, [name]).axes
    return upper.lines[-1].get_xydata(), lower.lines[-1].get_xydata()


@pytest.mark.parametrize(("text", "name"), BY_HAND)
def test_curves_and_slopes_are_those_worked_out_by_hand(text, name):
    for drawn, by_hand in zip(curves(text, name), BY_HAND[text, name], strict=True):
        kept = drawn[~np.isnan(drawn[:, 1])]
        assert len(kept) >= len(drawn) - 1
        assert np.allclose(kept[:, 1], by_hand(kept[:, 0]), rtol=1e-12, atol=1e-12)
        assert kept[[0, -1], 0] == pytest.approx([0, 1], abs=0.01)


def gaps(drawn):
    return list(drawn[np.isnan(drawn[:, 1]), 0])


@pytest.mark.parametrize("name", rs.relaxation_names())
def test_only_jumps_leave_gaps(name):
    # The nilpotent minimum of p and p is 0 up to 1/2, and p from there on.
    at = [pytest.approx(0.5, abs=0.01)] if "nilpotent" in name else []
    assert gaps(curves("P & P", name)[0]) == at


def test_a_jump_and_a_kink_leave_gaps_where_they_are():
    degree, slope = curves("P -> ~P", "r-godel")
    assert gaps(degree) == gaps(slope) == [pytest.approx(0.5, abs=0.01)]
    degree, slope = curves("P | ~P", "s-godel")
    assert gaps(degree) == []
    assert gaps(slope) == [pytest.approx(0.5, abs=0.01)]


def test_smooth_and_kinked_curves_are_not_cut():
    x = np.linspace(0, 1, 500)
    for values in (np.sqrt(x), x**3, np.abs(x - 0.3), np.sin(9 * x), np.maximum(0, 2 * x - 1)):
        assert not np.isnan(cut_at_jumps(values)).any()


def test_the_axis_of_slopes_is_shared_and_bounded():
    figure = draw_surfaces("P -> ~P", ["r-godel", "r-schweizer-sklar(-1)"])
    limits = {axes.get_ylim() for axes in figure.axes[1::2]}
    assert limits == {(-1.1 * STEEPEST, 1.1 * STEEPEST)}
    assert {axes.get_ylim() for axes in figure.axes[::2]} == {(-0.05, 1.05)}


def test_labels_name_the_atom_the_mean_and_the_curves():
    upper, lower = draw_surfaces("P | ~P", ["s-product"]).axes
    assert (upper.get_ylabel(), lower.get_ylabel()) == ("degree", "slope")
    assert lower.get_xlabel() == "P\nmean 5/6"
