"""The method "sobol": an estimate of the mean degree from scrambled Sobol points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from residuum.logic import Atom, Formula, distinct_nodes
from residuum.relaxations import Degree, Relaxation, interpret
from residuum.relaxations.arrays import ARRAYS, Array

REPLICATES = 16
"""The number of independently scrambled samples."""

FEWEST, MOST = 2**10, 2**16
"""The points of each replicate, at first and at most."""

MOST_WORK = 2**28
"""The most points times nodes of the formula: a few seconds."""

MOST_SOBOL_ATOMS = 21_201
"""The most atoms for Sobol points: SciPy has direction numbers for so many dimensions."""

# Student's t at 99.95% with 15 degrees of freedom: an interval that holds 99.9% of the time.
QUANTILE = 4.0728

# If all samples are equal, a small part of the cube may differ. With N samples a part of volume 7/N
# is missed with a probability of less than 0.001, because exp(−7) < 0.001.
UNSEEN = 7.0


def estimate(
    formula: Formula,
    atoms: Sequence[Atom],
    relaxation: Relaxation,
    *,
    tolerance: float,
    seed: int,
) -> tuple[float, float]:
    """Return the mean degree and the half-width of its 99.9% interval.

    The number of points is doubled until the half-width is within the tolerance, or up to `MOST`.
    """
    draws = [_draw(len(atoms), np.random.default_rng((seed, i))) for i in range(REPLICATES)]
    affordable = MOST_WORK // (REPLICATES * len(distinct_nodes(formula)))
    most = min(MOST, affordable)
    sums, count, step = np.zeros(REPLICATES), 0, FEWEST
    while True:
        sums += [_total(formula, atoms, relaxation, draw(step)) for draw in draws]
        count += step
        means = sums / count
        spread = float(means.std(ddof=1)) / math.sqrt(REPLICATES)
        half_width = QUANTILE * spread + UNSEEN / (count * REPLICATES)
        if half_width <= tolerance or 2 * count > most:
            return float(means.mean()), half_width
        step = count


def _draw(dimension: int, generator: np.random.Generator) -> Callable[[int], Array]:
    if dimension > MOST_SOBOL_ATOMS:
        return lambda count: generator.random((count, dimension))
    from scipy.stats import qmc

    draw: Callable[[int], Array] = qmc.Sobol(dimension, rng=generator).random
    return draw


def _total(formula: Formula, atoms: Sequence[Atom], relaxation: Relaxation, points: Array) -> float:
    known = {atom: Degree(ARRAYS, true=points[:, axis]) for axis, atom in enumerate(atoms)}
    degrees = interpret(formula, known, relaxation, ARRAYS).true
    return float(np.broadcast_to(degrees, len(points)).sum())
