"""Pictures that both studies have: measures beside those of the paper, and learning curves."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from residuum.reports.colours import Look, draw_legend, looks
from residuum.reports.figures import INK, caption, house_style, new_figure, settle
from residuum.results import Record, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = Sequence[tuple[float, float]]
"""The x and y of the points of a curve."""

Curves = Mapping[str, Sequence[Points]]
"""The curves of each relaxation, one for each seed."""


class Mark(NamedTuple):
    """A measure over seeds, and the figure printed in the paper; either may be missing."""

    summary: Summary | None
    printed: float | None


class MeasurePanel(NamedTuple):
    """One measure as it is drawn: its label, and for each relaxation a mark for each place."""

    label: str
    series: Mapping[str, Sequence[Mark]]


def width_of(panels: int) -> float:
    """Return the width in inches of a figure with this many panels side by side and a legend."""
    return max(2.6 * panels + 0.6, 5.6)


def draw_measures(
    panels: Sequence[MeasurePanel], places: Sequence[str], axis: str, unit: str
) -> Figure:
    """Draw measures at named places of an axis, with relaxations side by side at each place.

    Our means are filled and have their deviations. The figures of the paper are hollow.
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
                _draw_marks(place, row, shift, looked[name])
            place.set_title(panel.label)
            place.set_xticks(range(len(places)), places)
            place.set_xlim(-0.5, len(places) - 0.5)
            place.set_xlabel(axis)
            place.grid(axis="y", linewidth=0.3, color=INK, alpha=0.3)
        figure.axes[0].set_ylabel(unit)
        draw_legend(figure, {name: looked[name] for name in names})
        is_printed = any(mark.printed is not None for mark in marks)
        hollow = " Hollow: as printed in the paper." if is_printed else ""
        caption(figure, f"Filled: mean over seeds, with its deviation.{hollow}")
        return settle(figure)


def _draw_marks(place: Axes, marks: Sequence[Mark], shift: float, look: Look) -> None:
    for number, mark in enumerate(marks):
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


def draw_learning(columns: Mapping[str, Mapping[str, Curves]]) -> Figure:
    """Draw curves over epochs: the mean over seeds as a line, their range as a shade.

    `columns` holds panels by the title of their column, then by the label of their row.
    """
    rows = list(dict.fromkeys(label for column in columns.values() for label in column))
    panels = [panel for column in columns.values() for panel in column.values()]
    looked = looks(name for panel in panels for name in panel)
    with house_style():
        figure = new_figure(width_of(len(columns)), 1.8 * len(rows) + 1)
        for across, (title, column) in enumerate(columns.items(), 1):
            for label, curves in column.items():
                down = rows.index(label)
                place = figure.add_subplot(len(rows), len(columns), down * len(columns) + across)
                for name, of_seeds in curves.items():
                    _draw_curve(place, of_seeds, looked[name])
                place.grid(linewidth=0.3, color=INK, alpha=0.3)
                place.locator_params(axis="x", integer=True)
                if label == next(iter(column)):
                    place.set_title(title)
                if label == [*column][-1]:
                    place.set_xlabel("epochs")
                if across == 1:
                    place.set_ylabel(label)
        named = {name for panel in panels for name in panel}
        draw_legend(figure, {name: look for name, look in looked.items() if name in named})
        caption(figure, "Lines: the mean over seeds. Shaded: from the lowest seed to the highest.")
        return settle(figure)


def mean_curve(record: Record, names: Sequence[str]) -> Points:
    """Return the mean of some curves of a run as pairs of epoch and value.

    An epoch is left out if one of the curves lacks it or is not finite there.
    """
    values: defaultdict[int, list[float]] = defaultdict(list)
    for name in names:
        curve = record.curves.get(name)
        for epoch, value in zip(curve.epochs, curve.values, strict=True) if curve else ():
            values[epoch].append(value)
    return [
        (epoch, sum(found) / len(found))
        for epoch, found in sorted(values.items())
        if len(found) == len(names) and all(map(math.isfinite, found))
    ]


def _draw_curve(place: Axes, curves: Sequence[Points], look: Look) -> None:
    by_epoch: defaultdict[float, list[float]] = defaultdict(list)
    for curve in curves:
        for epoch, value in curve:
            by_epoch[epoch].append(value)
    epochs = sorted(by_epoch)
    if not epochs:
        return
    values = [by_epoch[epoch] for epoch in epochs]
    means = [sum(of_seeds) / len(of_seeds) for of_seeds in values]
    place.plot(epochs, means, color=look.colour, linewidth=1.2,
               marker=look.marker, markersize=3, markevery=max(1, len(epochs) // 6))  # fmt: skip
    low, high = [min(one) for one in values], [max(one) for one in values]
    place.fill_between(epochs, low, high, color=look.colour, alpha=0.2, linewidth=0)
