"""The method "boxes": certified bounds of the mean degree in rational logics such as R-Product.

The cube is covered by boxes, and bounds of the mean degree over each are added up. Several
coordinates are tried with a few boxes each; the better half goes on with twice as many, until one
is left. Work is counted in boxes, so that the same call gives the same bounds on every machine.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction

from residuum.analysis.bounds.covering import Cover
from residuum.analysis.bounds.means import ORDERS, Evaluator
from residuum.analysis.cases.charts import atlases
from residuum.analysis.cases.tree import OutOfTime, Tree
from residuum.analysis.methods import NotThisWay
from residuum.logic import Atom, Formula
from residuum.relaxations import Relaxation

FIRST_WORK = 4_000
"""The boxes that are bounded in each atlas at first."""

MOST_WORK = {1: 10**6, 2: 10**6, 3: 10**6, 4: 300_000, 5: 60_000, 6: 20_000, 7: 20_000, 8: 20_000}
"""The most boxes in the best atlas, by the number of atoms: up to about half a minute."""

HOPELESS = 10
"""The work ends after a tenth of it if bounds are this many times wider than useful ones."""


def enclose(
    formula: Formula,
    atoms: Sequence[Atom],
    relaxation: Relaxation,
    *,
    width: float,
    seconds: float = math.inf,
    useful: float = 1.0,
) -> Fraction | tuple[float, float]:
    """Return bounds of the mean degree that are `width` apart, or wider after `MOST_WORK`.

    If the degree is one polynomial almost everywhere, its exact integral is returned. If the bounds
    would stay much wider than `useful`, `NotThisWay` is raised. The work ends after `seconds`.
    """
    if len(atoms) > max(ORDERS):
        raise NotThisWay(f"bounding the cube of more than {max(ORDERS)} atoms takes too long")
    deadline = time.perf_counter() + seconds
    covers = list(_tried(formula, atoms, relaxation, width, deadline))
    running, work = covers, FIRST_WORK
    while len(running) > 1 and not running[-1].is_done():
        running = sorted(running, key=Cover.width)[: math.ceil(len(running) / 2)]
        work *= 2
        for cover in running:
            _refine(cover, work, deadline)
        running.sort(key=Cover.is_done)
    work = MOST_WORK[len(atoms)]
    for cover in running[-1:]:
        _refine(cover, work // 10, deadline)
        if cover.width() > HOPELESS * useful and not cover.is_done():
            raise NotThisWay(f"its certified bounds would stay wider than {useful:g}")
        _refine(cover, work, deadline)
    exact = [value for cover in covers if (value := cover.exact()) is not None]
    if exact:
        return exact[0]
    bounds = [(0.0, 1.0), *(cover.bounds() for cover in covers)]
    return max(low for low, _ in bounds), min(high for _, high in bounds)


def _tried(
    formula: Formula,
    atoms: Sequence[Atom],
    relaxation: Relaxation,
    width: float,
    deadline: float,
) -> Iterator[Cover]:
    """Yield covers of the cube after their first work, until one of them is done."""
    axes, found = len(atoms), False
    for atlas in atlases(axes):
        try:
            trees = [Tree(formula, atoms, relaxation, one, deadline=deadline) for one in atlas]
            cover = Cover([Evaluator(tree, axes) for tree in trees], width)
        except OutOfTime:
            return
        except NotThisWay:
            if not found:
                raise
            continue
        found = True
        _refine(cover, FIRST_WORK, deadline)
        yield cover
        if cover.is_done():
            return


def _refine(cover: Cover, work: int, deadline: float) -> None:
    # A tree with too many cases ends the work; the bounds found so far hold.
    with suppress(NotThisWay):
        cover.refine(work, deadline)
