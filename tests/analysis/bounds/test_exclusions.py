"""Which signs two guards never have at once, against exact values on a grid."""

import itertools
import random
from fractions import Fraction

import flint
import numpy as np

from polynomial_oracles import exact_at, in_cube, random_boxes, random_polynomial
from residuum.analysis.bounds.cuts import guard_of
from residuum.analysis.bounds.expansions import Boxes, in_floats
from residuum.analysis.bounds.means import never_both

SIGNS = list(itertools.product((-1, 1), repeat=2))


def guard_on(exact, boxes):
    return guard_of(in_floats(exact)[0].expand(boxes), 5)


GRID = [Fraction(n, 2) for n in range(-2, 3)]


def test_signs_said_to_exclude_each_other_never_meet_on_a_grid():
    rng = random.Random(0)
    excluded = 0
    for _ in range(40):
        guards = [random_polynomial(rng, 2, 2) for _ in range(2)]
        guards[1] += rng.randint(-1, 1) * 3 * guards[0]  # half of them nearly parallel
        if any(guard.is_zero() for guard in guards):
            continue
        boxes = random_boxes(rng, 2, 6)
        expansions = [guard_on(guard, boxes) for guard in guards]
        for signs in SIGNS:
            for box in np.flatnonzero(never_both(*expansions, signs)):
                excluded += 1
                for u in itertools.product(GRID, repeat=2):
                    point = in_cube(boxes, box, u)
                    values = [exact_at(guard, point) for guard in guards]
                    assert not all(s * v > 0 for s, v in zip(signs, values, strict=True))
    assert excluded > 50


def test_parallel_guards_of_unlike_scale_are_told_apart():
    x, y = flint.fmpq_mpoly_ctx.get(("x0", "x1"), "lex").gens()
    # Around x + y = 1, and around three fifths of x + y = 1.1, with a little curvature.
    left, right = x + y - 1, (6 * x + 6 * y) / 10 - flint.fmpq(66, 100) + x * y / 1000
    boxes = Boxes(np.array([[0.5], [0.5]]), np.array([[0.25], [0.25]]))
    expansions = [guard_on(guard, boxes) for guard in (left, right)]
    assert [bool(never_both(*expansions, signs)[0]) for signs in SIGNS] == [
        False,
        True,
        False,
        False,
    ]
