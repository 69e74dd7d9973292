"""Signs inside the cube against exact values at samples, and weights that are known."""

import itertools
import random
from fractions import Fraction

import flint
import pytest

from polynomial_oracles import exact_at, random_polynomial
from residuum.analysis.cases.signs import definite_sign, exclusions


def variables():
    return flint.fmpq_mpoly_ctx.get(("x0", "x1"), "lex").gens()


def weighted(weights, above, right):
    """Return the sum of weights times what is positive inside the square."""
    p, q = variables()
    return sum(
        flint.fmpq(*Fraction(w).as_integer_ratio())
        * (p**i * (1 - p) ** (above - i) * q**j * (1 - q) ** (right - j))
        for (i, j), w in weights.items()
    )


def test_definite_signs_are_those_inside_the_cube():
    p, q = variables()
    assert definite_sign(p + q - p * q) is True
    assert definite_sign(p * q - 1) is False
    assert definite_sign(p - q) is None
    assert definite_sign(1 - p) is True  # although 0 at the border


@pytest.mark.parametrize("size", [Fraction(1, 7), 10**30])
def test_definite_signs_are_those_of_weights_of_what_is_positive(size):
    rng = random.Random(3)
    for _ in range(20):
        above, right = rng.randint(1, 5), rng.randint(0, 4)
        places = itertools.product(range(above + 1), range(right + 1))
        weights = {place: rng.randint(1, 9) * size for place in places}
        assert definite_sign(weighted(weights, above, right)) is True
        assert definite_sign(-weighted(weights, above, right)) is False
        corner = rng.choice([0, above]), rng.choice([0, right])  # where no other weight counts
        assert definite_sign(weighted({**weights, corner: -size}, above, right)) is None


def test_both_ends_of_a_ramp_exclude_each_other():
    x, y, z = flint.fmpq_mpoly_ctx.get(("x0", "x1", "x2"), "lex").gens()
    # With r = −a (1 − yz) / (xz (1 − y)) these are positive where r < 0 and where r > 1.
    a = x * y - z**2
    b = -a * (1 - y * z) - x * z * (1 - y)
    assert exclusions(a, b) == {(1, 1)}
    assert exclusions(b, -a) == {(1, -1)}
    assert exclusions(-b, a) == {(-1, 1)}


def test_signs_said_to_exclude_each_other_never_meet():
    rng = random.Random(0)
    points = [[Fraction(rng.randint(1, 96), 97) for _ in range(2)] for _ in range(60)]
    excluded = set()
    for _ in range(300):
        a = random_polynomial(rng, 2, 2)
        q, r = (random_polynomial(rng, 2, 1) for _ in range(2))
        b = q * a + r
        if a.is_zero() or b.is_zero():
            continue
        found = exclusions(a, b)
        excluded |= {(signs, definite_sign(a) is None) for signs in found}
        for point in points if found else ():
            values = exact_at(a, point), exact_at(b, point)
            assert not any(i * values[0] > 0 and j * values[1] > 0 for i, j in found)
    assert {signs for signs, is_open in excluded if is_open} == {
        *itertools.product((-1, 1), repeat=2)
    }
