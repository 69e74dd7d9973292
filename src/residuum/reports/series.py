"""Relaxations as series of a picture: each looks the same in every one, and is named above it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from residuum.reports.colours import MARKERS, SERIES
from residuum.reports.figures import short
from residuum.study.common_settings import PAPER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Points = Sequence[tuple[float, float]]


class Look(NamedTuple):
    """How a relaxation is drawn, the same in every picture."""

    colour: str
    marker: str


def looks(relaxations: Iterable[str]) -> dict[str, Look]:
    """Return a look for each relaxation, the paper's first, so that they keep theirs."""
    others = sorted(set(relaxations) - {*PAPER})
    return {
        name: Look(SERIES[number % len(SERIES)], MARKERS[number % len(MARKERS)])
        for number, name in enumerate([*PAPER, *others])
    }


def width_of(panels: int) -> float:
    """Return inches for so many panels side by side, and for the legend above them."""
    return max(2.6 * panels + 0.6, 5.6)


def name_series(figure: Figure, looked: Mapping[str, Look]) -> None:
    """Name the relaxations above a figure."""
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
        text.set_text(short(name))  # as a label, a name that begins with _ would be left out
