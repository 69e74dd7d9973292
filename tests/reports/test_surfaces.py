"""Pictures of two atoms: the numbers drawn, against formulas written by hand."""

from fractions import Fraction

import numpy as np
import pytest
from matplotlib.quiver import Quiver

import residuum as rs
from residuum.errors import PictureError, ResiduumError
from residuum.relaxations import PAPER
from residuum.reports import draw_surfaces, picture
from residuum.reports.panels import ARROWS
from residuum.reports.surfaces import LONGEST, STEEPEST

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
def test_arrows_are_gradients_and_dots_stand_where_they_vanish(text, name):
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
    assert np.allclose(drawn, expected * np.minimum(1, STEEPEST / sizes), rtol=1e-6, atol=1e-6)
    assert np.abs(gradient(*dots.T)).max(initial=0) < 1e-8
    assert len(arrows.X) + len(dots) == ARROWS.shape[1]


def test_steep_arrows_are_cut_and_flat_places_dotted():
    arrows, dots = arrows_and_dots(only_panel("P -> Q", "r-product"))
    assert np.hypot(arrows.U, arrows.V).max() == pytest.approx(STEEPEST)
    assert STEEPEST / arrows.scale == pytest.approx(LONGEST)
    assert {(p < q) for p, q in dots} == {True}


def test_no_arrow_stands_on_a_usual_kink():
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


def test_more_than_five_go_on_in_the_next_row():
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
def test_what_has_no_two_axes_is_refused(text, message):
    with pytest.raises(ResiduumError, match=message):
        draw_surfaces(text)


def test_no_relaxation_is_no_picture():
    with pytest.raises(PictureError, match="at least one relaxation"):
        draw_surfaces("P", [])
