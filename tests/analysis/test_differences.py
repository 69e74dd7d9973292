"""Which signs two guards never have at once, against exact values on a grid."""

import itertools
import random
from fractions import Fraction

import flint
import numpy as np
from test_expansions import exact_at, in_cube, random_boxes, random_polynomial

from residuum.analysis.differences import never_both
from residuum.analysis.expansions import Boxes, from_exact

SIGNS = list(itertools.product((-1, 1), repeat=2))
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
        expansions = [from_exact(guard).expand(boxes) for guard in guards]
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
    expansions = [from_exact(guard).expand(boxes) for guard in (left, right)]
    assert [bool(never_both(*expansions, signs)[0]) for signs in SIGNS] == [
        False,
        True,
        False,
        False,
    ]


def test_signs_that_exclude_each_other_on_a_box_do_so_on_its_halves():
    rng = random.Random(1)
    inherited = 0
    for _ in range(60):
        guards = [random_polynomial(rng, 3, 2) for _ in range(2)]
        guards[1] += rng.choice((-3, 3)) * guards[0]
        boxes = random_boxes(rng, 3, 40)
        for axis in range(3):
            step = np.zeros((3, 1))
            step[axis] = 0.5
            halves = boxes.halves * (1 - step)
            halved = [Boxes(boxes.centres + s * step * boxes.halves, halves) for s in (-1, 1)]
            for one in halved:
                expansions = [
                    [from_exact(guard).expand(place) for guard in guards] for place in (boxes, one)
                ]
                # Guards that are decided on a half are not asked about.
                open_ = np.all([np.abs(g.coefficients[0]) <= g.bulk() for g in expansions[1]], 0)
                for signs in SIGNS:
                    whole, half = (never_both(*pair, signs) for pair in expansions)
                    assert half[whole & open_].all()
                    inherited += (whole & open_).sum()
    assert inherited > 50
