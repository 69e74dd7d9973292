"""The heat map of the tautologies: every cell in its place, marks that are explained."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from residuum.analysis import Cell, Consistency, catalogue
from residuum.relaxations import relaxation
from residuum.reports import draw_tautologies

ROWS = {row.name: row for row in catalogue()}


def cell(row, name, value, *, spread=0.0):
    exact = None if spread else Fraction(value)
    low, high = float(value) - spread, float(value) + spread
    found = Consistency(float(value), "exact", exact, low, high, "laws", 0.0)
    return Cell(ROWS[row], relaxation(name), found, ROWS[row].printed.get(name))


# Integrals by hand: A1 under s-godel is 19/24; LEM is 5/6 and 3/4; DM2 is no tautology.
TABLE = [
    [cell("A1", "s-godel", Fraction(19, 24)), cell("A1", "r-product", 1)],
    [cell("A3", "s-godel", Fraction(3, 4)), cell("A3", "r-product", 0.8977, spread=1e-6)],
    [cell("LEM", "s-godel", Fraction(3, 4)), cell("LEM", "r-product", 0.83, spread=0.02)],
    [cell("DM2", "s-godel", Fraction(1, 4)), cell("DM2", "r-product", 0.303, spread=1e-6)],
]


def cells_of(figure):
    return [t for t in figure.axes[0].texts if t.get_position()[0] > 0]


def meshes(figure):
    return figure.axes[0].collections


def legend(figure):
    return figure._supxlabel.get_text()


def test_every_cell_shows_its_value_in_figures_and_in_colour():
    figure = draw_tautologies(TABLE)
    shown = [text.get_text() for text in cells_of(figure)]
    assert shown == [
        "0.792", "1", "0.750", "0.898 ≠ 0.88", "0.750", "≈0.83", "0.250 ≠ 0.75", "0.303 ≠ 1",
    ]  # fmt: skip
    for text in cells_of(figure):
        x, y = text.get_position()
        coloured = [
            mesh.get_array()[int(y - top)][int(x)]
            for mesh in meshes(figure)
            for top, bottom in [mesh.get_coordinates()[[0, -1], 0, 1]]
            if top < y < bottom
        ]
        number = float(text.get_text().lstrip("≈").split()[0])
        assert coloured == [pytest.approx(number, abs=5e-4)]
    assert {mesh.get_clim() for mesh in meshes(figure)} == {(0, 1)}


def test_sections_are_apart_and_named_above_their_rows():
    figure = draw_tautologies(TABLE)
    spans = [tuple(mesh.get_coordinates()[[0, -1], 0, 1]) for mesh in meshes(figure)]
    assert [bottom - top for top, bottom in spans] == [2, 1, 1]
    assert all(above[1] + 1 == below[0] for above, below in pairwise(spans))
    bold = {t.get_text(): t.get_position()[1] for t in figure.axes[0].texts
            if t.get_weight() == "bold" and t.get_position()[0] < 0}  # fmt: skip
    names = ["Axiom Schemata", "Law of excluded middle", "De Morgan's laws"]
    assert list(bold) == names
    for (top, _), y in zip(spans, bold.values(), strict=True):
        assert top - 1 < y < top


def test_rows_and_columns_are_named():
    figure = draw_tautologies(TABLE)
    heads = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert heads == ["s-godel", "r-product"]
    left = [t.get_text() for t in figure.axes[0].texts if t.get_position()[0] < 0]
    assert {"A1", "P → Q → P", "DM2", "¬(P ∧ Q) ↔ ¬(¬P ∨ ¬Q) †"} <= set(left)


def test_marks_are_explained_where_they_occur_and_only_there():
    full = legend(draw_tautologies(TABLE))
    assert [line[0] for line in full.splitlines()] == ["≠", "†", "≈"]
    assert "printed in the paper" in full
    assert legend(draw_tautologies(TABLE[:1])) == ""
    assert [line[0] for line in legend(draw_tautologies(TABLE[1:2])).splitlines()] == ["≠"]


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def test_colours_brighten_with_the_degree_and_figures_stand_out():
    from matplotlib import colormaps

    scale = colormaps[meshes(draw_tautologies(TABLE))[0].get_cmap().name]
    brightness = [luminance(scale(value)) for value in np.linspace(0, 1, 101)]
    assert all(a < b for a, b in pairwise(brightness))
    for number, background in enumerate(brightness):
        table = [[cell("A1", "s-godel", Fraction(number, 100))]]
        if number % 10 == 9 or number in (0, 50, 100):
            (text,) = cells_of(draw_tautologies(table))
            ink = {"white": 1, "black": 0}[text.get_color()]
            light, dark = max(ink, background), min(ink, background)
            assert (light + 0.05) / (dark + 0.05) > 4  # the ratio of contrast of WCAG


@pytest.mark.parametrize("names", [["s-godel"], ["r-nilpotent-minimum", "s-schweizer-sklar(2)"]])
def test_no_text_overlaps_another(names):
    table = [[cell(row, name, Fraction(1, 3)) for name in names] for row in ROWS]
    figure = draw_tautologies(table)
    inside = [t.get_window_extent() for t in figure.axes[0].texts]
    assert all(not a.overlaps(b) for n, a in enumerate(inside) for b in inside[:n])
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in inside)
