"""Signs and slivers of functions on slabs against values on a grid."""

import itertools

import numpy as np
import pytest

from residuum.analysis.differences import fold_slivers
from residuum.analysis.expansions import exponents
from residuum.analysis.truncated import ORDER, Truncated

AXES = 3
LISTED = exponents(AXES, ORDER)


def monomials(line):
    """Return the values of every monomial on a grid, one row for each place, and the places."""
    grid = np.array(list(itertools.product(line, repeat=AXES)))
    return np.stack([np.prod(grid ** np.array(k), axis=1) for k in LISTED], axis=1), grid


AT_GRID, GRID = monomials(np.linspace(-1, 1, 17))
AT_MIDPOINTS, _ = monomials((np.arange(24) + 0.5) / 12 - 1)


def random_functions(seed, count, error=1e-3):
    """Return functions that mostly rise or fall with w, and often vanish at one end."""
    rng = np.random.default_rng(seed)
    sizes = np.array([0.1 ** sum(k) for k in LISTED])
    coefficients = rng.normal(size=(len(LISTED), count)) * sizes[:, None]
    coefficients[LISTED.index((0, 0, 2))] = rng.uniform(-0.2, 0.2, size=count)
    coefficients[AXES] = rng.choice([-1, 1], size=count)
    coefficients[0] = rng.choice([-1, 1], size=count) * rng.uniform(0.8, 1.6, size=count)
    return Truncated(AXES, coefficients, np.full(count, error))


def test_signs_and_least_values_hold_on_a_grid():
    functions = random_functions(0, 300)
    decided, least = functions.decided(), functions.least()
    plain = np.abs(functions.coefficients[0]) > functions.bulk()
    assert (decided[~plain] != 0).sum() > 10  # told by the ends alone
    for one in np.flatnonzero(decided):
        found = decided[one] * AT_GRID @ functions.coefficients[:, one]
        assert found.min() - functions.error[one] >= least[one] > 0


def test_a_function_that_is_positive_at_both_ends_only_is_not_decided():
    coefficients = np.zeros((len(LISTED), 1))
    coefficients[0], coefficients[LISTED.index((0, 0, 2))] = -0.2, 1.0
    assert Truncated(AXES, coefficients, np.zeros(1)).decided() == [0]


def test_a_sliver_holds_all_of_the_other_sign():
    functions = random_functions(1, 300)
    sliver = functions.sliver()
    thin = np.flatnonzero(sliver.sign)
    assert 20 < len(thin) < 300
    for one in thin:
        inside = np.abs(GRID[:, -1] - sliver.end[one]) <= sliver.thickness[one]
        found = sliver.sign[one] * AT_GRID @ functions.coefficients[:, one]
        assert found[~inside].min() > functions.error[one]


@pytest.mark.parametrize("seed", range(3))
def test_what_folding_slivers_misses_is_no_more_than_it_says(seed):
    guards = random_functions(seed, 150, error=0.0)
    rng = np.random.default_rng(seed)
    # About a multiple of the guard, as cases that fit together differ.
    delta = 0.7 * guards.coefficients + 1e-3 * rng.normal(size=guards.coefficients.shape)
    deltas = {(False,): np.zeros_like(delta), (True,): delta.copy()}
    missed = fold_slivers(deltas, [guards.sliver()], AXES, np.full(150, np.inf))
    folded = np.flatnonzero(~deltas[True,].any(axis=0))
    assert 5 < len(folded) < 150
    for one in folded:
        positive = AT_MIDPOINTS @ guards.coefficients[:, one] > 0
        shown = AT_MIDPOINTS @ delta[:, one] * positive
        taken = AT_MIDPOINTS @ deltas[False,][:, one]
        assert abs(shown.mean() - taken.mean()) <= missed[one] + 1e-9
    kept = np.setdiff1d(np.arange(150), folded)
    assert (missed[kept] == 0).all()
    assert (deltas[True,][:, kept] == delta[:, kept]).all()


def test_folding_a_sliver_across_which_cases_jump_misses_all_of_it():
    coefficients = np.zeros((len(LISTED), 1))
    coefficients[0], coefficients[AXES] = 0.9, 1.0  # positive but where w < −0.9: 1/20 of the slab
    deltas = {(False,): np.zeros_like(coefficients), (True,): np.eye(len(LISTED), 1)}
    guard = Truncated(AXES, coefficients, np.zeros(1))
    missed = fold_slivers(deltas, [guard.sliver()], AXES, np.ones(1))
    assert deltas[False,][0] == 1
    assert missed[0] == pytest.approx(1 / 20)
    assert missed[0] >= 1 / 20


def test_a_sliver_in_which_much_would_be_missed_is_left_to_be_cut():
    coefficients = np.zeros((len(LISTED), 2))
    coefficients[0], coefficients[AXES] = 0.9, 1.0
    deltas = {(False,): np.zeros_like(coefficients), (True,): np.zeros_like(coefficients)}
    deltas[True,][0] = 1.0
    guard = Truncated(AXES, coefficients, np.zeros(2))
    missed = fold_slivers(deltas, [guard.sliver()], AXES, np.array([0.06, 0.04]))
    assert missed == pytest.approx([1 / 20, 0])
    assert deltas[True,][0].tolist() == [0, 1]
    assert deltas[False,][0].tolist() == [1, 0]


def test_a_difference_for_two_guards_is_folded_unless_half_of_it_is_less():
    # 1 where w > −0.9, and u > 0 or anything else of which nothing is known.
    guards = np.zeros((len(LISTED), 1))
    guards[0], guards[AXES] = 0.9, 1.0
    along = np.zeros((len(LISTED), 1))
    along[1] = 1.0
    slivers = [Truncated(AXES, g, np.zeros(1)).sliver() for g in (guards, along)]
    every = itertools.product((False, True), repeat=2)
    deltas = {chosen: np.zeros_like(guards) for chosen in every}
    deltas[True, True][0] = 1.0
    missed = fold_slivers(deltas, slivers, AXES, np.zeros(1))
    assert missed == pytest.approx([1 / 20])
    assert deltas[False, True][0] == 1
    assert not deltas[True, True].any()
