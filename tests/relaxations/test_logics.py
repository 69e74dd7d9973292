"""What a relaxation says of itself, against what probing its truth functions finds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from specimens import MILD_LOGICS, both, every, named, resolved, value

from residuum.relaxations import relaxation

TEXTS = {"and": "P & Q", "or": "P | Q", "implies": "P -> Q", "iff": "P <-> Q"}
# Quarters are floats, so that `x == 1 - y` is decided exactly; every jump there is at least 1/4.
QUARTERS = [k / 4 for k in range(5)]
DIRECTIONS = [
    np.array(pair) for pair in itertools.product([-1.0, -0.5, 0.0, 0.5, 1.0], repeat=2)
    if pair != (0, 0)
]  # fmt: skip
TINY = 2.0**-45


def holds(condition: str, x: float, y: float) -> bool:
    return eval(condition, {"__builtins__": {}}, {"min": min, "max": max, "x": x, "y": y})


def oscillation(text, logic, x, y):
    here = value(text, logic, x, y)
    around = [np.array([x, y]) + TINY * direction for direction in DIRECTIONS]
    inside = np.array([point for point in around if np.all((point >= 0) & (point <= 1))])
    return np.abs(value(text, logic, *inside.T) - here).max()


# A continuous connective with a root or logarithm may still move by 0.05 over 1e-14.
@every(MILD_LOGICS)
@pytest.mark.parametrize("connective", TEXTS)
def test_a_connective_jumps_exactly_where_it_is_said_to(logic, connective):
    condition = logic.discontinuities.get(connective, "x != x")
    for x, y in itertools.product(QUARTERS, repeat=2):
        jump = oscillation(TEXTS[connective], logic, x, y)
        assert (jump > 0.12) == holds(condition, x, y), (x, y, jump)


@pytest.mark.parametrize(
    ("name", "connectives"),
    [
        ("s-product", set()),
        ("r-product", {"implies", "iff"}),
        ("s-godel", set()),
        ("r-godel", {"implies", "iff"}),
        ("lukasiewicz", set()),
        ("r-yager(2)", set()),
        ("r-dombi(2)", {"implies", "iff"}),
        ("s-nilpotent-minimum", {"and", "or", "implies", "iff"}),
        ("r-nilpotent-minimum", {"and", "or", "implies", "iff"}),
        ("s-drastic", {"and", "or", "implies", "iff"}),
    ],
)
def test_the_discontinuous_connectives_are_listed(name, connectives):
    assert set(relaxation(name).discontinuities) == connectives


def slope(text, logic, points, step):
    """Return the steepest difference quotient over steps of this size at the points."""
    found = 0.0
    here = value(text, logic, *points.T)
    for direction in DIRECTIONS:
        there = points + step * direction
        found = max(found, np.abs(value(text, logic, *there.T) - here).max() / step)
    return found


def critical_points(parameter: float) -> np.ndarray:
    """Return inner points: a grid, both diagonals, and the curves where T or S reach 0 or 1."""
    t = np.arange(1, 16) / 16
    lines = [np.stack(pair, axis=-1) for pair in ((t, t), (t, 1 - t))]
    grid = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
    curves = []
    if parameter > 0:
        curve = (1 - t**parameter) ** (1 / parameter)
        for x, y in itertools.product((t, 1 - t), (curve, 1 - curve)):
            curves.append(np.stack((x, y), axis=-1))
    points = np.concatenate([grid, *lines, *curves])
    return points[np.all((points > 0.01) & (points < 0.99), axis=1)]


@every([logic for logic in MILD_LOGICS if "own" not in logic.name])
@pytest.mark.parametrize("connective", TEXTS)
def test_slopes_explode_inside_exactly_where_sub_differentiability_is_denied(logic, connective):
    parameter = float(next(iter(logic.parameters.values()), 1))
    points = critical_points(parameter)
    coarse, fine = (slope(TEXTS[connective], logic, points, step) for step in (1e-6, 1e-9))
    assert (fine < 2 * coarse + 1e-3) == logic.is_subdifferentiable[connective], (coarse, fine)


def test_sub_differentiability_of_an_own_generator_is_unknown():
    own = [logic for logic in MILD_LOGICS if "own" in logic.name]
    for logic in own:
        assert logic.is_subdifferentiable["not"] is True
        assert logic.is_subdifferentiable["and"] is None


STRUCTURES = resolved(
    [
        *named("s", {
            "hamacher": ("0", "1", "10"), "frank": (".001", "1", "1e5", "inf"),
            "yager": (".3", "1", "5", "100", "inf"), "dombi": (".5", "1", "5", "inf"),
            "aczel-alsina": (".5", "1", "5", "inf"),
            "schweizer-sklar": ("-inf", "-5", "-1", "0", ".5", "1", "5"),
            "sugeno-weber": ("-.999", "0", "2", "1e9", "inf"),
        }),
        *both(("product", "godel", "nilpotent-minimum")), "s-drastic", "lukasiewicz",
    ],
    [],
)  # fmt: skip


@every(STRUCTURES)
def test_structure_is_as_defined(logic):
    inner = [0.1, 0.9]
    squares = [value("P & P", logic, x) for x in inner]
    idempotent = squares == inner
    archimedean = all(square < x for square, x in zip(squares, inner, strict=True))
    repeated = np.array(inner)
    for _ in range(350):  # the conjunction of 2^350 copies
        repeated = value("P & P", logic, repeated)
    small = value("P & P", logic, np.geomspace(1e-6, 0.5, 40))
    nilpotent = bool(np.all(repeated == 0) and np.any(small == 0))
    if logic.discontinuities.get("and"):
        assert logic.structure in ("left-continuous", "discontinuous")
    elif idempotent:
        assert logic.structure == "idempotent"
    else:
        assert archimedean
        assert logic.structure == ("nilpotent" if nilpotent else "strict")


def test_only_the_drastic_t_norm_is_not_left_continuous():
    assert relaxation("s-nilpotent-minimum").structure == "left-continuous"
    assert relaxation("s-drastic").structure == "discontinuous"
    below = 1 - 2.0**-53
    assert value("P & Q", "s-drastic", below, below) == 0
    assert value("P & Q", "s-nilpotent-minimum", 0.25, 0.75) == 0
    assert value("P & Q", "s-nilpotent-minimum", 0.25, 0.75 - 2.0**-53) == 0


@pytest.mark.parametrize(
    ("name", "kind", "source"),
    [("s-product", "S", "Goguen"), ("r-godel", "R", "Gödel"),
     ("lukasiewicz", "S and R", "Łukasiewicz"), ("r-yager(2)", "R", "Yager"),
     ("s-frank(2)", "S", "Frank"), ("r-nilpotent-minimum", "R", "Fodor")],
)  # fmt: skip
def test_kind_and_source_are_reported(name, kind, source):
    assert relaxation(name).kind == kind
    assert source in relaxation(name).source
    assert str(relaxation(name)) == name
