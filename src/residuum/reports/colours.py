"""Colours and markers: those of the page, of degrees, and of each relaxation in every picture.

All colours can be read on a light and on a dark page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from residuum.reports.figures import COLOUR_MAP, short
from residuum.study.common_settings import PAPER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIGHT: Final = "#ffffff"
DARK: Final = "#15171c"
"""The backgrounds of the page, light and dark. `templates/report.css` gets them from here."""

SERIES: Final = ("#c2410c", "#2b7bd1", "#1f8f57", "#a04fc4", "#8a7a12", "#d1366f", "#7a7f87")
"""Colours of lines. Each has a contrast of at least 3 with both backgrounds, as WCAG asks."""

MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")


class Look(NamedTuple):
    """How a relaxation is drawn."""

    colour: str
    marker: str


def looks(relaxations: Iterable[str]) -> dict[str, Look]:
    """Return a look for each relaxation, and for the paper's relaxations in any case.

    The paper's come first, so that each of them looks the same in every picture.
    """
    others = sorted(set(relaxations) - {*PAPER})
    return {
        name: Look(SERIES[number % len(SERIES)], MARKERS[number % len(MARKERS)])
        for number, name in enumerate([*PAPER, *others])
    }


def draw_legend(figure: Figure, looked: Mapping[str, Look]) -> None:
    """Write the names of relaxations above a figure, each with its colour and marker."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look.colour, marker=look.marker, markersize=5, linewidth=1.2)
        for look in looked.values()
    ]
    legend = figure.legend(
        handles, ["name"] * len(looked), loc="outside upper center", ncols=min(len(looked), 5),
        frameon=False,
    )  # fmt: skip
    for text, name in zip(legend.get_texts(), looked, strict=True):
        text.set_text(short(name))  # Matplotlib leaves out a label that begins with _


def luminance(colour: str) -> float:
    """Return the relative luminance of `#rrggbb` as WCAG defines it."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21.

    >>> round(contrast("#ffffff", "#000000"))
    21
    """
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def heat(degree: float) -> tuple[str, str]:
    """Return the colours of a cell and of its text, for a degree from 0 to 1.

    Black or white, one of them has a contrast of at least √21 ≈ 4.58 with any colour.
    """
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    cell = to_hex(colormaps[COLOUR_MAP](degree))
    text = max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, cell))
    return cell, text
