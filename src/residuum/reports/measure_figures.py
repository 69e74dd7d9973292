"""Measures beside the printed ones, a panel for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from residuum.reports.figures import INK, caption, house_style, new_figure, settle
from residuum.reports.series import Look, looks, name_series, width_of
from residuum.results import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Mark(NamedTuple):
    """What was found over seeds, and what was printed; either may be missing."""

    summary: Summary | None
    printed: float | None


class Panel(NamedTuple):
    """One measure as it is drawn: its name, and of each relaxation a mark for each place."""

    label: str
    series: Mapping[str, Sequence[Mark]]


def draw_beside(panels: Sequence[Panel], places: Sequence[str], axis: str, unit: str) -> Figure:
    """Draw measures over named places: ours filled with their deviations, the printed ones hollow.

    Relaxations stand side by side at each place.
    """
    names = list(panels[0].series)
    looked = looks(names)
    marks = [mark for panel in panels for row in panel.series.values() for mark in row]
    with house_style():
        figure = new_figure(width_of(len(panels)), 3.1)
        for number, panel in enumerate(panels, 1):
            place = figure.add_subplot(1, len(panels), number)
            for order, (name, row) in enumerate(panel.series.items()):
                shift = (order - (len(names) - 1) / 2) * 0.8 / len(names)
                _draw_row(place, row, shift, looked[name])
            place.set_title(panel.label)
            place.set_xticks(range(len(places)), places)
            place.set_xlim(-0.5, len(places) - 0.5)
            place.set_xlabel(axis)
            place.grid(axis="y", linewidth=0.3, color=INK, alpha=0.3)
        figure.axes[0].set_ylabel(unit)
        name_series(figure, {name: looked[name] for name in names})
        is_printed = any(mark.printed is not None for mark in marks)
        hollow = " Hollow: as printed in the paper." if is_printed else ""
        caption(figure, f"Filled: mean over seeds, with its deviation.{hollow}")
        return settle(figure)


def _draw_row(place: Axes, row: Sequence[Mark], shift: float, look: Look) -> None:
    for number, mark in enumerate(row):
        if mark.summary is not None:
            place.errorbar(
                number + shift,
                mark.summary.mean,
                yerr=mark.summary.deviation,
                marker=look.marker,
                color=look.colour,
                markersize=5,
                capsize=2,
                linewidth=1,
            )
        if mark.printed is not None:
            place.plot(
                number + shift,
                mark.printed,
                marker=look.marker,
                markersize=6,
                markerfacecolor="none",
                markeredgecolor=look.colour,
                linestyle="none",
            )
