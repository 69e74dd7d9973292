"""Pictures of the digits study: measures, learning curves, and the weight of the rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from residuum.reports.colours import draw_legend, looks
from residuum.reports.figures import INK, caption, house_style, new_figure, settle
from residuum.reports.study_figures import (
    Mark,
    MeasurePanel,
    Points,
    draw_learning,
    mean_curve,
    width_of,
)
from residuum.results import Record
from residuum.study.digits.tables import DigitsTable as Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def measure_panel(
    label: str, table: Table, shown: Callable[[float], float] = lambda value: value
) -> MeasurePanel:
    """Return the panel of a table; `shown` maps each value to the one that is drawn."""
    return MeasurePanel(label, {
        name: [
            Mark(
                cell.summary and replace(cell.summary, mean=shown(cell.summary.mean)),
                None if cell.printed is None else shown(cell.printed.mean),
            )
            for cell in cells
        ]
        for name, cells in table.rows.items()
    })  # fmt: skip


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
"""The curves of a run whose mean is drawn, by protocol. A pipeline has one stage per network."""


def draw_digits_learning(
    runs: Mapping[int, Mapping[str, Sequence[Record]]], protocol: str
) -> Figure:
    """Draw learning curves: a column for each size of DIGIT, then each relaxation's runs."""
    return draw_learning({
        f"DIGIT {size:,}": {
            f"{label} on DEV, %": {
                name: [mean_curve(one, curves) for one in records]
                for name, records in by_name.items()
            }
            for label, curves in CURVES[protocol].items()
        }
        for size, by_name in runs.items()
    })  # fmt: skip


SCORE: Final = "joint: dev/score"


def scores_by_weight(records: Iterable[Record]) -> dict[int, dict[str, Points]]:
    """Return the weight of the rules and the best score on DEV of each joint run.

    The pairs are grouped by size of DIGIT and relaxation. A relaxation with fewer than two weights
    is left out. A run that diverged, or whose Digit was never usable, has the score 0.
    """
    found: defaultdict[int, defaultdict[str, list[tuple[float, float]]]]
    found = defaultdict(lambda: defaultdict(list))
    for record in records:
        known: Any = record.configuration
        if known["protocol"] == "joint" and known["weight"] > 0:
            reached = [] if record.diverged else mean_curve(record, [SCORE])
            score = max([0.0, *(value for _, value in reached)])
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


def draw_digits_weights(scores: Mapping[int, Mapping[str, Points]]) -> Figure:
    """Draw the score on DEV against the weight of the rules: all runs, and the best per weight."""
    from matplotlib.ticker import LogFormatter

    class PlainNumbers(LogFormatter):
        """Plain numbers. LogFormatter writes TeX formulas, and `text.parse_math` is off."""

        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:g}" if super().__call__(x, pos) else ""

    drawn = {name for by_name in scores.values() for name in by_name}
    looked = looks(drawn)
    names = [name for name in looked if name in drawn]
    with house_style():
        figure = new_figure(width_of(len(scores)), 3.1)
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
            place.xaxis.set_major_formatter(PlainNumbers())
            place.xaxis.set_minor_formatter(PlainNumbers())
            place.set_ylim(0, 100)
            place.set_title(f"DIGIT {size:,}")
            place.set_xlabel("weight of the rules, λ")
            place.grid(linewidth=0.3, color=INK, alpha=0.3)
        figure.axes[0].set_ylabel("score on DEV, %")
        draw_legend(figure, {name: looked[name] for name in names})
        caption(
            figure,
            "Small: single runs, which differ in other settings, too, such as rates and lengths. "
            "Lines: the best of each λ.",
        )
        return settle(figure)
