"""The record as pictures: a curve for each family, and predictions beside what was reached."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final

from family_contest.contest import EXACT, PARAMETERS, SIZES, SPECIAL
from family_contest.fits import held_out
from family_contest.predictors import NAMES
from family_contest.tables import SETS, Record, accuracies, cases, kind_of
from residuum.relaxations import relaxation
from residuum.reports.colours import SERIES
from residuum.reports.figures import INK, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Final = {"s": SERIES[1], "r": SERIES[0], "": SERIES[2]}
WORDS: Final = {"s": "S-logics", "r": "R-logics", "": "both at once"}
LINES: Final = {"few": "--", "many": "-"}
FAR: Final = 10
"""Points: what is predicted worse than this is named."""

HEIGHT: Final = 0.034
"""The height of a name, as a share of that of its picture."""

SHADES: Final = 128
"""How many colours a picture keeps, so that its file is small."""

BRIEF: Final = {
    "product": "product", "lukasiewicz": "Łukas.", "godel": "Gödel", "hamacher(0)": "Ham. 0",
}  # fmt: skip
"""What stands below the parameters at which a family is a t-norm with another name."""


def draw(record: Record, folder: Path) -> None:
    """Draw all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with house_style():
        for name, figure in (
            ("families-curves.png", curves(record)),
            ("families-predictors.png", each_predictor(record)),
            ("families-predicted.png", predictions(record)),
        ):
            _save(figure, folder / name)


def _save(figure: Figure, path: Path) -> None:
    """Write a picture with few colours."""
    from PIL import Image

    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=150)
    with Image.open(drawn) as picture:
        picture.convert("RGB").quantize(SHADES).save(path, optimize=True)


def stations(family: str, kind: str) -> list[tuple[str, str]]:
    """Return the parameters of a family in their order, each with the name of its relaxation."""
    special = SPECIAL[family]
    found = [(value, f"{kind}-{family}({value})") for value in PARAMETERS[family]]
    found += [(value, _named(kind, tnorm)) for value, tnorm in special.items()]
    return sorted(((value, relaxation(name).name) for value, name in found), key=_number)


def _named(kind: str, tnorm: str) -> str:
    return tnorm if tnorm == "lukasiewicz" else f"{kind}-{tnorm}"


def _number(station: tuple[str, str]) -> float:
    over, _, under = station[0].partition("/")
    return float(over) / float(under or 1)


def curves(record: Record) -> Figure:
    """Draw the accuracy over the parameter of each family, at both sizes."""
    figure = new_figure(9.5, 5.4)
    reached = {size.name: accuracies(record, size.name) for size in SIZES}
    first: Axes | None = None
    for number, family in enumerate(PARAMETERS, 1):
        place = figure.add_subplot(2, 4, number, sharey=first)
        first = first or place
        for kind in "sr":
            for size in LINES:
                _draw_curve(place, family, kind, size, reached[size])
        for size, found in reached.items():
            if EXACT in found:
                place.axhline(
                    fmean(found[EXACT]), color=SERIES[6], linestyle=LINES[size], linewidth=0.8
                )
        place.set_title(family)
        _grid(place)
    for number in (0, 4):
        figure.axes[number].set_ylabel("Sum and Product, % of TEST")
    _draw_keys(figure)
    return figure


def _draw_curve(
    place: Axes, family: str, kind: str, size: str, reached: dict[str, list[float]]
) -> None:
    known = stations(family, kind)
    shown = [(at, reached[name]) for at, (_, name) in enumerate(known) if name in reached]
    place.errorbar(
        [at for at, _ in shown],
        [fmean(values) for _, values in shown],
        yerr=[stdev(values) for _, values in shown],
        color=COLOURS[kind], linestyle=LINES[size], marker="o", markersize=3, linewidth=1,
        capsize=1.5,
    )  # fmt: skip
    labels = [
        f"{value}\n{BRIEF[SPECIAL[family][value]]}" if value in SPECIAL[family] else value
        for value, _ in known
    ]
    place.set_xticks(range(len(known)), labels, fontsize=6)


def _draw_keys(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=COLOURS[kind], linestyle=LINES[size.name], marker="o", markersize=3,
               label=f"{WORDS[kind]}, {size.name}: {size.digit_size:,} labels, "
                     f"{size.pair_size:,} pairs")
        for kind in "sr" for size in SIZES
    ]  # fmt: skip
    handles += [
        Line2D([], [], color=SERIES[6], linestyle=LINES[size.name], label=f"exact, {size.name}")
        for size in SIZES
    ]
    place = figure.add_subplot(2, 4, 8)
    place.axis("off")
    # Long enough that dashes show beside the markers.
    place.legend(handles=handles, loc="center", frameon=False, fontsize=7, handlelength=4)


def each_predictor(record: Record) -> Figure:
    """Draw the accuracy with many examples over each predictor."""
    figure = new_figure(9.5, 7.0)
    first: Axes | None = None
    for number, name in enumerate(NAMES, 1):
        place = figure.add_subplot(3, 3, number, sharey=first)
        first = first or place
        for one in cases(record, "many", [name]):
            place.plot(
                one.predictors[0], one.reached, "o", markersize=3.5,
                color=COLOURS[kind_of(one.name)],
            )  # fmt: skip
        place.set_title(name.replace("_", " "))
        _grid(place)
    for number in (0, 3, 6):
        figure.axes[number].set_ylabel("Sum and Product, %")
    _draw_kinds(figure)
    return figure


def predictions(record: Record) -> Figure:
    """Draw what each relaxation reached over what is predicted without its family."""
    figure = new_figure(9.0, 4.4)
    for number, size in enumerate(SIZES, 1):
        place = figure.add_subplot(1, 2, number)
        known = cases(record, size.name, SETS["all"])
        predicted = held_out(known).predicted
        reached = [one.reached for one in known]
        ends = [min(reached), max(reached)]
        place.plot(ends, ends, color=INK, linewidth=0.5)
        for one, guess in zip(known, predicted, strict=True):
            place.plot(guess, one.reached, "o", markersize=3.5, color=COLOURS[kind_of(one.name)])
        far = [
            (guess, one.reached, one.name)
            for one, guess in zip(known, predicted, strict=True)
            if abs(guess - one.reached) > FAR
        ]
        _name(place, [one for one in far if one[0] < one[1]], "right")
        _name(place, [one for one in far if one[0] > one[1]], "left")
        place.set_title(f"{size.name}: {size.digit_size:,} labels, {size.pair_size:,} pairs")
        place.set_xlabel("predicted from other families")
        place.set_ylabel("reached, % of TEST")
        _grid(place)
    _draw_kinds(figure)
    return figure


def _name(place: Axes, points: Sequence[tuple[float, float, str]], side: str) -> None:
    """Write the names of points in a column beside them, none on top of another.

    `side` is the end of a name at which the column is straight, and that a line leads to. A point
    that lies far from all others has its name beside it.
    """
    low, high = place.get_ylim()
    gap, level = HEIGHT * (high - low), low
    near = [x for x, _, _ in points if x > 0]
    edge = min(near) - 3 if side == "right" else max(near) + 3
    for x, y, name in sorted(points, key=lambda point: point[1]):
        if x < 0:
            place.text(x + 2, y, name, fontsize=6, va="center")
            continue
        level = max(y, level + gap)
        place.plot([x, edge], [y, level], color=INK, linewidth=0.3, zorder=1)
        place.annotate(name, (edge, level), xytext=(-2 if side == "right" else 2, 0), fontsize=6,
                       textcoords="offset points", va="center", ha=side)  # fmt: skip
    if side == "left":  # room for the names
        place.set_xlim(right=edge + 0.34 * (edge - place.get_xlim()[0]))


def _draw_kinds(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=COLOURS[kind], marker="o", markersize=4, linestyle="", label=words)
        for kind, words in WORDS.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, frameon=False)


def _grid(place: Axes) -> None:
    place.grid(linewidth=0.3, color=INK, alpha=0.3)
