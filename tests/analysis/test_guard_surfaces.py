"""Where slabs are cut, against roots that are known."""

import flint
import numpy as np
import pytest

from residuum.analysis.expansions import Boxes, from_exact
from residuum.analysis.slabs import is_above, over
from residuum.analysis.surfaces import advise

X, Y, Z = flint.fmpq_mpoly_ctx.get(("x0", "x1", "x2"), "lex").gens()
BOX = Boxes(np.array([[0.5], [0.25], [0.5]]), np.array([[0.125], [0.125], [0.5]]))


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_curved_guard_is_followed_and_decided_on_the_side_that_is_asked_for(sign, positive):
    guard = from_exact(sign * (2 * Z - X * X - Y))
    slabs = over(BOX, 2)
    advice = advise(slabs, slabs.expand(guard), positive)
    assert advice.cuts.all()
    parts = slabs.cut(advice.surface)
    assert all(is_above(part.half, part.off).all() for part in (parts.of([0]), parts.of([1])))
    root = (0.5**2 + 0.25) / 2
    assert advice.surface[0, 0] == pytest.approx(root, abs=1e-11)
    signs = parts.expand(guard).decided()
    assert [signs[int(sign < 0)], signs[int(sign > 0)]] == ([0, 1] if positive else [-1, 0])


def test_a_guard_that_leaves_through_an_end_is_cut_off_or_halved_along_the_base():
    slabs = over(BOX, 2)
    # From 0.9 to 1.1, and from 0.3 to 1.3.
    near, steep = (from_exact(5 * Z - 4 * X - 3), from_exact(Z - 4 * X + flint.fmpq(12, 10)))
    cut_off, halved = (advise(slabs, slabs.expand(one), False) for one in (near, steep))
    assert cut_off.cuts.all()
    assert 0.7 < cut_off.surface[0, 0] < 0.9
    assert not halved.cuts.any()
    assert halved.exits.all()
    assert halved.tilt[0, 0] > halved.tilt[1, 0]
