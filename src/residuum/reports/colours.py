"""Colours that can be read on light and on dark pages."""

from __future__ import annotations

from typing import Final

from residuum.reports.figures import COLOURS

LIGHT: Final = "#ffffff"
DARK: Final = "#15171c"
"""The backgrounds of the page; its style sheet has the same."""

SERIES: Final = ("#c2410c", "#2b7bd1", "#1f8f57", "#a04fc4", "#8a7a12", "#d1366f", "#7a7f87")
"""Lines that differ: each has a contrast of 3 or more with either page, as WCAG asks."""

MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")


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

    cell = to_hex(colormaps[COLOURS](degree))
    text = max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, cell))
    return cell, text
