"""The picture of advice: what becomes of violated groundings under each relaxation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from residuum.errors import PictureError
from residuum.reports.figures import INK, caption, house_style, new_figure, settle, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from residuum.advice import Measured

PANELS_IN_A_ROW: Final = 2
BAR_COLOURS: Final = {"mended": "#1f8f57", "evaded": "#c2410c", "still violated": "#b9bdc4"}
BAR_HATCHES: Final = {"mended": "", "evaded": "////", "still violated": ""}


def draw_advice(measured: Sequence[Measured]) -> Figure:
    """Draw the shares of violated groundings that are mended, evaded, or still violated.

    Each rule and sample with a violated grounding has a panel.
    """
    panels: dict[tuple[str, str], list[Measured]] = {}
    for one in measured:
        if one.mended is not None:
            panels.setdefault((one.rule, one.sample), []).append(one)
    if not panels:
        raise PictureError(
            "expected a violated grounding to draw, got none; leave out --output, or give "
            "predictions that break a rule"
        )
    columns = min(len(panels), PANELS_IN_A_ROW)
    rows = -(-len(panels) // columns)
    height = 0.22 * max(map(len, panels.values())) + 0.75
    with house_style():
        figure = new_figure(3 * columns + 1.2, height * rows + 0.7)
        for number, ((rule, sample), found) in enumerate(panels.items()):
            place = figure.add_subplot(rows, columns, number + 1, xlim=(0, 1))
            _draw(place, found)
            place.set_title(f"{short(rule)}\n{short(sample)}")
            names = [short(one.relaxation) for one in found] if number % columns == 0 else []
            place.set_yticks(range(len(found)), names or [""] * len(found))
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center",
                      ncols=len(BAR_COLOURS), frameon=False)  # fmt: skip
        caption(figure, "Violated groundings, after the logits followed the rule's gradient.")
        return settle(figure)


def _draw(place: Axes, found: Sequence[Measured]) -> None:
    lefts = [0.0] * len(found)
    for label, colour in BAR_COLOURS.items():
        widths = [_share(one, label) for one in found]
        place.barh(
            range(len(found)), widths, left=lefts, color=colour, label=label, height=0.75,
            hatch=BAR_HATCHES[label], edgecolor=INK, linewidth=0.4,
        )  # fmt: skip
        lefts = [left + width for left, width in zip(lefts, widths, strict=True)]
    place.invert_yaxis()
    place.set_xticks((0, 0.5, 1), ("0", "50%", "100%"))


def _share(one: Measured, label: str) -> float:
    mended, evaded = one.mended or 0.0, one.evaded or 0.0
    shares = {"mended": mended, "evaded": evaded, "still violated": max(0.0, 1 - mended - evaded)}
    return shares[label]
