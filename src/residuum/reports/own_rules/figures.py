"""The picture of a training log: curves of the metrics of rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from residuum.reports.colours import MARKERS, SERIES, Look, draw_legend
from residuum.reports.figures import INK, caption, house_style, new_figure, settle, short
from residuum.reports.own_rules.training_log import Curve, TrainingLog

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS: Final = 6
"""The most rules whose curves are drawn."""

MOST_POINTS: Final = 300
"""The most points of a curve that are drawn."""

SHARES: Final = {
    "satisfied": "examples that obey",
    "truth": "truth",
    "coverage": "coverage",
    "without_gradient": "without a gradient",
}
"""The metrics that are drawn beside the penalty, and their names in the legend."""

_LOOKS: Final = {
    "satisfied": Look(SERIES[2], MARKERS[0]),
    "truth": Look(SERIES[1], MARKERS[1]),
    "coverage": Look(SERIES[6], MARKERS[2]),
    "without_gradient": Look(SERIES[0], MARKERS[3]),
}


def draw_curves(log: TrainingLog, rules: Sequence[str]) -> Figure:
    """Draw a row for each rule: its penalty on the left, and the shares on the right."""
    shares = [name for name in SHARES if any((rule, name) in log.curves for rule in rules)]
    with house_style():
        figure = new_figure(6.4, 1.55 * len(rules) + 0.9)
        for row, rule in enumerate(rules):
            left = figure.add_subplot(len(rules), 2, 2 * row + 1)
            right = figure.add_subplot(len(rules), 2, 2 * row + 2, ylim=(-0.03, 1.03))
            _draw_curve(left, log.curves.get((rule, "penalty"), {}), Look(INK, "o"))
            for name in shares:
                _draw_curve(right, log.curves.get((rule, name), {}), _LOOKS[name])
            left.set_title(f"{short(rule)}: penalty")
            left.set_ylim(bottom=0)
            right.set_title(f"{short(rule)}: shares")
            right.set_yticks((0, 0.5, 1), ("0", "50%", "100%"))
            for place in (left, right):
                place.grid(linewidth=0.3, color=INK, alpha=0.3)
                place.locator_params(axis="x", nbins=5, integer=True)
                if row == len(rules) - 1:
                    place.set_xlabel(log.axis)
        if shares:
            draw_legend(figure, {SHARES[name]: _LOOKS[name] for name in shares})
        caption(figure, "Marks: the first and the last value of each curve.")
        return settle(figure)


def _draw_curve(place: Axes, curve: Curve, look: Look) -> None:
    points = thinned(curve)
    if points:
        places, values = zip(*points, strict=True)
        marked = [0, len(points) - 1] if len(points) > 12 else range(len(points))
        place.plot(places, values, color=look.colour, linewidth=1.2, marker=look.marker,
                   markersize=3, markevery=list(marked))  # fmt: skip


def thinned(curve: Curve) -> list[tuple[float, float]]:
    """Return at most `MOST_POINTS` points of a curve: the ends, and the extremes between them.

    Of each stretch of steps the lowest and the highest value stay, so that no peak is lost. NaN
    stays where a stretch has nothing else, and leaves a gap.
    """
    points = list(curve.items())
    if len(points) <= MOST_POINTS:
        return points
    inner = points[1:-1]
    size = -(-len(inner) // ((MOST_POINTS - 2) // 2))
    kept = [points[0]]
    for start in range(0, len(inner), size):
        stretch = inner[start : start + size]
        finite = [one for one in stretch if math.isfinite(one[1])] or stretch[:1]
        extremes = {min(finite, key=_value), max(finite, key=_value)}
        kept += sorted(extremes)
    return [*kept, points[-1]]


def _value(point: tuple[float, float]) -> float:
    return point[1]
