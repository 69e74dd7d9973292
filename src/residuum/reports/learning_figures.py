"""Curves over training, the mean of seeds and their range."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from residuum.reports.figures import INK, caption, house_style, new_figure, settle
from residuum.reports.series import Look, Points, looks, name_series, width_of
from residuum.results import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curves = Mapping[str, Sequence[Points]]
"""By relaxation, a curve of each seed."""


def draw_learning(columns: Mapping[str, Mapping[str, Curves]]) -> Figure:
    """Draw panels of curves, by the title of their column and the label of their row."""
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
        name_series(figure, {name: look for name, look in looked.items() if name in named})
        caption(figure, "Lines: the mean over seeds. Shaded: from the lowest seed to the highest.")
        return settle(figure)


def points(record: Record, names: Sequence[str]) -> Points:
    """Return the mean of curves of a run as pairs of epoch and value.

    Epochs that one of them lacks, or where it is no finite number, are left out.
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
