"""Colours: contrast against known values, and text and lines that WCAG calls readable."""

import numpy as np
import pytest

from residuum.reports.colours import DARK, LIGHT, SERIES, contrast, heat, looks


def by_hand(colour):
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))

    def linear(c):
        return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)


def test_contrast_is_that_of_known_pairs():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # just fails AA
    assert contrast("#ffffff", "#777777") == contrast("#777777", "#ffffff")


def test_every_cell_of_a_heat_map_can_be_read():
    for degree in np.linspace(0, 1, 257):
        cell, text = heat(float(degree))
        low, high = sorted((by_hand(cell), by_hand(text)))
        assert (high + 0.05) / (low + 0.05) >= 4.5


@pytest.mark.parametrize("page", [LIGHT, DARK])
def test_lines_have_contrast_on_light_and_dark_pages(page):
    assert [colour for colour in SERIES if contrast(colour, page) < 3] == []


def test_words_of_the_style_sheet_can_be_read_on_their_page():
    import re
    from importlib import resources

    sheet = resources.files("residuum.reports").joinpath("templates", "report.css").read_text()
    light, dark = (dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in
                   sheet.split("@media screen and (prefers-color-scheme: dark)")[:2])  # fmt: skip
    for colours, page in ((light, LIGHT), (dark, DARK)):
        for name in ("ink", "quiet", "link", "good", "bad", "unsure"):
            for ground in (page, colours["panel"]):
                assert contrast(colours[name], ground) >= 4.5, (name, ground)


def test_relaxations_look_the_same_in_every_picture():
    few, many = looks(["r-product"]), looks(["r-product", "s-yager(2)", "s-godel"])
    assert all(many[name] == look for name, look in few.items())
    assert len(set(many.values())) == len(many)
