"""A picture of a small circuit: the root above, children below, a leaf below each of its parents.

Inner nodes that have several parents are drawn once, so that the picture shows what is shared.
Leaves are drawn for each parent, because lines to a common row of leaves would cross everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from residuum.circuits.checking import check_structure, children_of
from residuum.circuits.circuit import Circuit, Kind
from residuum.errors import PictureError
from residuum.reports.colours import SERIES
from residuum.reports.figures import house_style, new_figure, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NODES: Final = 60
"""The most nodes of a circuit that is drawn; larger pictures cannot be read."""

SWEEPS: Final = 24
"""How often the rows are ordered by their neighbours, downwards and upwards in turn."""

_PRODUCT, _SUM, _LEAF, _BEND = SERIES[1], SERIES[0], "#eef0f3", "none"
_ROW: Final = 0.62  # inches between rows
_LETTER: Final = 0.075  # inches, the width of a letter


@dataclass
class _Mark:
    """What is drawn at one place: a node, or a bend of a line if it has no text."""

    text: str
    colour: str
    row: int
    above: list[_Mark] = field(default_factory=list)
    below: list[_Mark] = field(default_factory=list)
    x: float = 0.0

    @property
    def width(self) -> float:
        return 0.3 + _LETTER * (len(self.text) - 1) if self.text else 0.1


def draw_circuit(circuit: Circuit, labels: Sequence[str] | None = None) -> Figure:
    """Return a figure of a circuit: × is a product, + a sum, a box the value of a variable.

    `labels` has a text for each value of each variable, variable by variable. Without it, the
    variables are x1, x2, and so on, and ¬x1 is the value 0 of a binary variable.
    """
    check_structure(circuit)
    texts = _texts(circuit) if labels is None else [short(label) for label in labels]
    if len(circuit) > MOST_NODES:
        raise PictureError(
            f"expected a circuit of at most {MOST_NODES} nodes, found {len(circuit):,}; "
            "draw one for a smaller domain"
        )
    if len(texts) != circuit.offsets[-1]:
        raise PictureError(
            f"expected {circuit.offsets[-1]} labels, one for each value, found {len(texts)}; "
            "list them variable by variable"
        )
    rows = _arranged(_marks(circuit, texts))
    with house_style():
        return _draw(rows)


def _texts(circuit: Circuit) -> list[str]:
    texts: list[str] = []
    for number, size in enumerate(circuit.sizes, 1):
        several = [f"x{number} = {value}" for value in range(size)]
        texts += [f"¬x{number}", f"x{number}"] if size == 2 else several
    return texts


def _marks(circuit: Circuit, texts: Sequence[str]) -> list[_Mark]:
    """Return the marks of a circuit, each joined to those in the rows above and below."""
    groups = children_of(circuit)
    rows = [0] * len(circuit)
    for node in reversed(range(len(circuit))):
        for child in groups[node]:
            rows[child] = max(rows[child], rows[node] + 1)
    nodes = [_new_mark(circuit, node, texts, rows[node]) for node in range(len(circuit))]
    marks = [nodes[-1]]
    for node in reversed(range(len(circuit))):  # parents first
        for child in groups[node]:
            if circuit.kinds[child] == Kind.LEAF:
                below = _new_mark(circuit, child, texts, rows[node] + 1)
                marks.append(below)
            else:
                below = nodes[child]
                marks += [below] * (not below.above)
            marks += _join(nodes[node], below)
    return marks


def _join(mark: _Mark, below: _Mark) -> list[_Mark]:
    """Join two marks, and return the bends of their line: one in each row between them."""
    bends = [_Mark("", _BEND, row) for row in range(mark.row + 1, below.row)]
    for upper, lower in pairwise([mark, *bends, below]):
        upper.below.append(lower)
        lower.above.append(upper)
    return bends


def _new_mark(circuit: Circuit, node: int, texts: Sequence[str], row: int) -> _Mark:
    if circuit.kinds[node] == Kind.LEAF:
        return _Mark(texts[circuit.leaves[node]], _LEAF, row)
    is_product = circuit.kinds[node] == Kind.PRODUCT
    if circuit.starts[node] == circuit.starts[node + 1]:
        return _Mark("true" if is_product else "false", _LEAF, row)
    return _Mark("×", _PRODUCT, row) if is_product else _Mark("+", _SUM, row)


def _arranged(marks: Sequence[_Mark]) -> list[list[_Mark]]:
    """Return the rows of marks, with places such that few lines cross and most are short."""
    last = max(mark.row for mark in marks)
    rows = [[mark for mark in marks if mark.row == row] for row in range(last + 1)]
    for row in rows:
        _place(row, [float(place) for place in range(len(row))])
    for sweep in range(SWEEPS):
        is_down = sweep % 2 == 0
        for row in rows if is_down else rows[::-1]:
            wanted = [_mean(mark.above if is_down else mark.below, mark.x) for mark in row]
            if sweep < SWEEPS // 2:  # first the order, then the places
                row[:] = [row[place] for place in np.argsort(wanted, kind="stable")]
                wanted.sort()
            _place(row, wanted)
    return rows


def _mean(marks: Sequence[_Mark], otherwise: float) -> float:
    return sum(mark.x for mark in marks) / len(marks) if marks else otherwise


def _place(row: Sequence[_Mark], wanted: Sequence[float]) -> None:
    """Move marks as near as possible, in squares, to where they should be, without overlap.

    Without the gaps between them this is isotonic regression: neighbours in the wrong order are
    joined to blocks, which stand at their mean.
    """
    gaps = np.cumsum([0.0, *((a.width + b.width) / 2 + 0.14 for a, b in pairwise(row))])
    blocks: list[tuple[float, int]] = []
    for place, gap in zip(wanted, gaps.tolist(), strict=True):
        mean, size = place - gap, 1
        while blocks and blocks[-1][0] > mean:
            before, many = blocks.pop()
            mean, size = (before * many + mean * size) / (many + size), many + size
        blocks.append((mean, size))
    means = [mean for mean, size in blocks for _ in range(size)]
    for mark, mean, gap in zip(row, means, gaps.tolist(), strict=True):
        mark.x = mean + gap


def _draw(rows: Sequence[Sequence[_Mark]]) -> Figure:
    marks = [mark for row in rows for mark in row]
    left = min(mark.x - mark.width / 2 for mark in marks) - 0.1
    right = max(mark.x + mark.width / 2 for mark in marks) + 0.1
    height = _ROW * len(rows)
    figure = new_figure(max(right - left, 1.0), height)
    figure.set_layout_engine("none")  # everything has its place already
    place = figure.add_axes((0, 0, 1, 1), xlim=(left, right), ylim=(-height, 0))
    place.set_axis_off()
    for mark in marks:
        for child in mark.below:
            ends = [mark.x, child.x], [_y(mark), _y(child)]
            place.plot(*ends, color=SERIES[-1], linewidth=0.9, zorder=1)
        if mark.text:
            _draw_mark(place, mark)
    return figure


def _draw_mark(place: Axes, mark: _Mark) -> None:
    from matplotlib.patches import Circle, FancyBboxPatch, Patch

    is_box = mark.colour == _LEAF
    shape: Patch = Circle((mark.x, _y(mark)), 0.14)
    if is_box:
        corner = (mark.x - mark.width / 2 + 0.04, _y(mark) - 0.08)
        shape = FancyBboxPatch(corner, mark.width - 0.08, 0.16, boxstyle="round,pad=0.03")
    shape.set(facecolor=mark.colour, edgecolor=SERIES[-1] if is_box else "none", zorder=2)
    place.add_patch(shape)
    place.text(
        mark.x, _y(mark), mark.text, ha="center", va="center_baseline" if is_box else "center",
        color="#000000" if is_box else "#ffffff", fontsize=8 if is_box else 12, zorder=3,
    )  # fmt: skip


def _y(mark: _Mark) -> float:
    return -_ROW * (mark.row + 0.5)
