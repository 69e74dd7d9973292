"""Pictures of the digits study: measures beside the printed ones, learning curves, weights."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from residuum.reports.colours import MARKERS, SERIES
from residuum.reports.figures import INK, caption, house_style, new_figure, settle, short
from residuum.results import Record
from residuum.study.digits.planning import PAPER
from residuum.study.digits.tables import Cell, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = Sequence[tuple[float, float]]


class Panel(NamedTuple):
    """One measure of a table as it is drawn: its name, and how each value is shown."""

    label: str
    table: Table
    shown: Callable[[float], float] = lambda value: value


class Look(NamedTuple):
    """How a relaxation is drawn, the same in every picture."""

    colour: str
    marker: str


def looks(relaxations: Iterable[str]) -> dict[str, Look]:
    """Return a look for each relaxation, the paper's first, so that they keep theirs."""
    usual = PAPER["joint"]
    others = sorted(set(relaxations) - {*usual})
    return {
        name: Look(SERIES[number % len(SERIES)], MARKERS[number % len(MARKERS)])
        for number, name in enumerate([*usual, *others])
    }


def draw_beside(panels: Sequence[Panel]) -> Figure:
    """Draw measures by size of DIGIT: ours filled with their deviations, the printed ones hollow.

    Relaxations stand side by side at each size.
    """
    rows = panels[0].table.rows
    looked = looks(rows)
    is_printed = any(
        cell.printed for panel in panels for row in panel.table.rows.values() for cell in row
    )
    with house_style():
        figure = new_figure(_width(len(panels)), 3.1)
        for number, panel in enumerate(panels, 1):
            place = figure.add_subplot(1, len(panels), number)
            sizes = panel.table.digit_sizes
            for order, (name, cells) in enumerate(panel.table.rows.items()):
                shift = (order - (len(rows) - 1) / 2) * 0.8 / len(rows)
                _draw_row(place, cells, shift, looked[name], panel.shown)
            place.set_title(panel.label, parse_math=False)
            place.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
            place.set_xlim(-0.5, len(sizes) - 0.5)
            place.set_xlabel("labelled images (DIGIT)")
            place.grid(axis="y", linewidth=0.3, color=INK, alpha=0.3)
        figure.axes[0].set_ylabel("percent of test examples")
        _name_series(figure, {name: looked[name] for name in rows})
        hollow = " Hollow: as printed in the paper." if is_printed else ""
        caption(figure, f"Filled: mean over seeds, with its deviation.{hollow}")
        return settle(figure)


def _draw_row(
    place: Axes, cells: Sequence[Cell], shift: float, look: Look, shown: Callable[[float], float]
) -> None:
    for number, cell in enumerate(cells):
        if cell.summary is not None:
            place.errorbar(
                number + shift,
                shown(cell.summary.mean),
                yerr=cell.summary.deviation,
                marker=look.marker,
                color=look.colour,
                markersize=5,
                capsize=2,
                linewidth=1,
            )
        if cell.printed is not None:
            place.plot(
                number + shift,
                shown(cell.printed.mean),
                marker=look.marker,
                markersize=6,
                markerfacecolor="none",
                markeredgecolor=look.colour,
                linestyle="none",
            )


# Curves of a run whose mean is drawn, by protocol: a pipeline has a stage for each network.
CURVES: Final = {
    "joint": {
        "Digit": ("joint: dev/digit_accuracy",),
        "Coherence": ("joint: dev/sum_coherence", "joint: dev/product_coherence"),
    },
    "pipeline": {
        "Digit": ("Digit: dev/digit_accuracy",),
        "Coherence": ("Sum: dev/coherence", "Product: dev/coherence"),
    },
}


def draw_learning(runs: Mapping[int, Mapping[str, Sequence[Record]]], protocol: str) -> Figure:
    """Draw curves over training: for each size of DIGIT, the mean of seeds and their range."""
    names = [name for by_name in runs.values() for name in by_name]
    looked = looks(names)
    with house_style():
        figure = new_figure(_width(len(runs)), 4.6)
        for column, (size, by_name) in enumerate(runs.items()):
            for row, (label, curves) in enumerate(CURVES[protocol].items()):
                place = figure.add_subplot(2, len(runs), row * len(runs) + column + 1)
                for name, records in by_name.items():
                    _draw_curve(place, [points(one, curves) for one in records], looked[name])
                place.grid(linewidth=0.3, color=INK, alpha=0.3)
                place.locator_params(axis="x", integer=True)
                if row == 0:
                    place.set_title(f"DIGIT {size:,}")
                else:
                    place.set_xlabel("epochs")
                if column == 0:
                    place.set_ylabel(f"{label} on DEV, %")
        _name_series(figure, {name: looked[name] for name in dict.fromkeys(names)})
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


SCORE: Final = "joint: dev/score"


def scores_by_weight(records: Iterable[Record]) -> dict[int, dict[str, Points]]:
    """Return the best score on DEV and the weight of the rules of each joint run.

    They are by size of DIGIT and relaxation, for relaxations with two weights or more. A run whose
    Digit was never usable has the score 0.
    """
    found: defaultdict[int, defaultdict[str, list[tuple[float, float]]]]
    found = defaultdict(lambda: defaultdict(list))
    for record in records:
        known: Any = record.configuration
        if SCORE in record.curves and known["weight"] > 0:
            score = max([0.0, *(value for _, value in points(record, [SCORE]))])
            found[known["digit_size"]][known["relaxation"]].append((known["weight"], score))
    kept: dict[int, dict[str, Points]] = {
        size: {
            name: sorted(runs)
            for name, runs in by_name.items()
            if len({weight for weight, _ in runs}) > 1
        }
        for size, by_name in sorted(found.items())
    }
    return {size: by_name for size, by_name in kept.items() if by_name}


def draw_weights(scores: Mapping[int, Mapping[str, Points]]) -> Figure:
    """Draw the score on DEV against the weight of the rules: each run, and the best at a weight."""
    drawn = {name for by_name in scores.values() for name in by_name}
    looked = looks(drawn)
    names = [name for name in looked if name in drawn]
    with house_style():
        figure = new_figure(_width(len(scores)), 3.1)
        for number, (size, by_name) in enumerate(scores.items(), 1):
            place = figure.add_subplot(1, len(scores), number)
            for name, runs in by_name.items():
                best: dict[float, float] = {}
                for weight, score in runs:
                    best[weight] = max(score, best.get(weight, 0.0))
                place.plot(
                    list(best), list(best.values()), color=looked[name].colour,
                    marker=looked[name].marker, markersize=4, linewidth=1.2,
                )  # fmt: skip
                place.plot(
                    *zip(*runs, strict=True), color=looked[name].colour,
                    marker=looked[name].marker, markersize=2.5, linestyle="none", alpha=0.4,
                )  # fmt: skip
            place.set_xscale("log")
            place.set_ylim(0, 100)
            place.set_title(f"DIGIT {size:,}")
            place.set_xlabel("weight of the rules, λ")
            place.grid(linewidth=0.3, color=INK, alpha=0.3)
        figure.axes[0].set_ylabel("score on DEV, %")
        _name_series(figure, {name: looked[name] for name in names})
        caption(figure, "Small: single runs, which differ in rates too. Lines: the best of each λ.")
        return settle(figure)


def _width(panels: int) -> float:
    """Return inches for so many panels side by side, and for the legend above them."""
    return max(2.6 * panels + 0.6, 5.6)


def _name_series(figure: Figure, looked: Mapping[str, Look]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look.colour, marker=look.marker, markersize=5, linewidth=1.2)
        for look in looked.values()
    ]
    figure.legend(
        handles, [short(name) for name in looked], loc="outside upper center",
        ncols=min(len(looked), 5), frameon=False,
    )  # fmt: skip
