"""Pictures of one or two atoms: the numbers drawn, against formulas written by hand."""

from fractions import Fraction

import numpy as np
import pytest
from matplotlib.quiver import Quiver

import residuum as rs
from residuum.errors import PictureError, ResiduumError
from residuum.relaxations import PAPER
from residuum.reports import draw_surfaces, picture
from residuum.reports.surface_figures import (
    ARROW_LENGTH,
    ARROWS,
    LARGEST_ARROW,
    LARGEST_ON_AXIS,
    cut_at_jumps,
)

# Worked out by hand from the definitions, for 0 < p, q < 1.
BY_HAND = {
    "P -> Q": {
        "s-product": lambda p, q: 1 - p + p * q,
        "r-product": lambda p, q: np.minimum(1, q / p),
        "s-godel": lambda p, q: np.maximum(1 - p, q),
        "r-godel": lambda p, q: np.where(p <= q, 1, q),
        "lukasiewicz": lambda p, q: np.minimum(1, 1 - p + q),
    },
    "P & Q": {
        "s-product": lambda p, q: p * q,
        "r-product": lambda p, q: p * q,
        "s-godel": np.minimum,
        "r-godel": np.minimum,
        "lukasiewicz": lambda p, q: np.maximum(0, p + q - 1),
    },
    "P <-> Q": {
        "s-product": lambda p, q: (1 - p + p * q) * (1 - q + p * q),
        "r-product": lambda p, q: np.minimum(p, q) / np.maximum(p, q),
        "s-godel": lambda p, q: np.minimum(np.maximum(1 - p, q), np.maximum(1 - q, p)),
        "r-godel": lambda p, q: np.where(p == q, 1, np.minimum(p, q)),
        "lukasiewicz": lambda p, q: 1 - abs(p - q),
    },
}
CASES = [(text, name) for text, by_name in BY_HAND.items() for name in by_name]


def only_panel(text, name):
    figure = draw_surfaces(text, [name])
    return figure.axes[0]


def arrows_and_dots(panel):
    arrows = next(artist for artist in panel.collections if isinstance(artist, Quiver))
    dots = next(artist for artist in panel.collections if not isinstance(artist, Quiver))
    return arrows, np.asarray(dots.get_offsets())


@pytest.mark.parametrize(("text", "name"), CASES)
def test_colours_are_degrees_at_the_middle_of_each_cell(text, name):
    image = only_panel(text, name).images[0]
    drawn = np.asarray(image.get_array())
    assert image.get_extent() == [0, 1, 0, 1]
    assert image.origin == "lower"
    rows, columns = drawn.shape
    q, p = (np.indices(drawn.shape) + 0.5) / [[[rows]], [[columns]]]
    assert np.allclose(drawn, BY_HAND[text][name](p, q), rtol=1e-14, atol=1e-14)
    for row, column in ((0, 0), (17, 200), (200, 17), (255, 3)):
        at = {"P": (column + 0.5) / columns, "Q": (row + 0.5) / rows}
        assert drawn[row, column] == pytest.approx(rs.truth(text, at, name), abs=1e-15)


@pytest.mark.parametrize(("text", "name"), CASES)
def test_arrows_are_gradients_and_dots_are_zero_gradients(text, name):
    degree, step = BY_HAND[text][name], 1e-6
    arrows, dots = arrows_and_dots(only_panel(text, name))

    def gradient(p, q):
        by_p = (degree(p + step, q) - degree(p - step, q)) / (2 * step)
        by_q = (degree(p, q + step) - degree(p, q - step)) / (2 * step)
        return np.array([by_p, by_q])

    expected = gradient(arrows.X, arrows.Y)
    sizes = np.hypot(*expected)
    assert (sizes > 1e-6).all()
    drawn = np.array([arrows.U, arrows.V])
    assert np.allclose(drawn, expected * np.minimum(1, LARGEST_ARROW / sizes), rtol=1e-6, atol=1e-6)
    assert np.abs(gradient(*dots.T)).max(initial=0) < 1e-8
    assert len(arrows.X) + len(dots) == ARROWS.shape[1]


def test_large_gradients_are_cut_and_zero_gradients_are_dots():
    arrows, dots = arrows_and_dots(only_panel("P -> Q", "r-product"))
    assert np.hypot(arrows.U, arrows.V).max() == pytest.approx(LARGEST_ARROW)
    assert LARGEST_ARROW / arrows.scale == pytest.approx(ARROW_LENGTH)
    assert {(p < q) for p, q in dots} == {True}


def test_no_arrow_is_where_gradients_often_do_not_exist():
    p, q = ARROWS
    for kink in (p - q, p + q - 1, p - 1 / 2, q - 1 / 2, p - 2 * q, 2 * p - q):
        assert np.abs(kink).min() > 1e-3


def test_the_papers_five_are_drawn_side_by_side_by_default():
    figure = draw_surfaces("P -> Q")
    *panels, scale = figure.axes
    assert [panel.get_title() for panel in panels] == list(PAPER)
    assert len({panel.get_subplotspec().rowspan for panel in panels}) == 1
    assert {panel.images[0].get_clim() for panel in panels} == {(0, 1)}
    assert figure._suptitle.get_text() == "P → Q"
    assert (panels[0].get_ylabel(), scale.get_ylabel()) == ("Q", "degree")
    names, means = zip(*(panel.get_xlabel().split("\nmean ") for panel in panels), strict=True)
    assert set(names) == {"P"}
    # Integrals over the square, by hand.
    by_hand = [Fraction(3, 4), Fraction(3, 4), Fraction(2, 3), Fraction(2, 3), Fraction(5, 6)]
    assert [Fraction(mean.lstrip("≈")) for mean in means] == by_hand


def test_more_than_five_relaxations_continue_in_the_next_row():
    figure = draw_surfaces("P -> Q", ["s-godel"] * 7)
    rows = [panel.get_subplotspec().rowspan.start for panel in figure.axes[:-1]]
    assert rows == [0] * 5 + [1] * 2


def test_texts_and_formulas_give_the_same_picture():
    from_text = draw_surfaces("P -> Q", ["s-godel"])
    from_objects = draw_surfaces(rs.parse("P -> Q"), [rs.relaxation("s-godel")])
    assert picture(from_text, "png") == picture(from_objects, "png")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("P & Q -> R", r"one or two atoms.*got 3 \(`P`, `Q`, `R`\); put `true` or `false`"),
        (" & ".join("ABCDEFG"), r"got 7 \(`A`.*`F`, …\)"),
        ("true", "without atoms"),
        ("forall x in D: P(x)", "expand"),
    ],
)
def test_a_formula_without_one_or_two_atoms_is_refused(text, message):
    with pytest.raises(ResiduumError, match=message):
        draw_surfaces(text)


def test_an_empty_list_of_relaxations_is_refused():
    with pytest.raises(PictureError, match="at least one relaxation"):
        draw_surfaces("P", [])


# The degree and the gradient of a formula of one atom, by hand, for 0 < p < 1.
CURVES_BY_HAND = {
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


@pytest.mark.parametrize(("text", "name"), CURVES_BY_HAND)
def test_curves_and_gradients_are_those_worked_out_by_hand(text, name):
    for drawn, by_hand in zip(curves(text, name), CURVES_BY_HAND[text, name], strict=True):
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
    degree, gradient = curves("P -> ~P", "r-godel")
    assert gaps(degree) == gaps(gradient) == [pytest.approx(0.5, abs=0.01)]
    degree, gradient = curves("P | ~P", "s-godel")
    assert gaps(degree) == []
    assert gaps(gradient) == [pytest.approx(0.5, abs=0.01)]


def test_smooth_and_kinked_curves_are_not_cut():
    x = np.linspace(0, 1, 500)
    for values in (np.sqrt(x), x**3, np.abs(x - 0.3), np.sin(9 * x), np.maximum(0, 2 * x - 1)):
        assert not np.isnan(cut_at_jumps(values)).any()


def test_the_axis_of_gradients_is_shared_and_bounded():
    figure = draw_surfaces("P -> ~P", ["r-godel", "r-schweizer-sklar(-1)"])
    limits = {axes.get_ylim() for axes in figure.axes[1::2]}
    assert limits == {(-1.1 * LARGEST_ON_AXIS, 1.1 * LARGEST_ON_AXIS)}
    assert {axes.get_ylim() for axes in figure.axes[::2]} == {(-0.05, 1.05)}


def test_labels_name_the_atom_the_mean_and_the_curves():
    upper, lower = draw_surfaces("P | ~P", ["s-product"]).axes
    assert (upper.get_ylabel(), lower.get_ylabel()) == ("degree", "gradient")
    assert lower.get_xlabel() == "P\nmean 5/6"
