"""Series of pictures: how relaxations look, and what is drawn of a run."""

import math

from made_up_runs import run
from residuum.reports.learning_figures import points
from residuum.reports.series import looks


def test_a_curve_is_the_mean_of_its_parts_where_all_are_finite():
    record = run(
        "r-product", 0, 90,
        curves={"a": [(1, 10.0), (2, math.nan), (3, 30.0)], "b": [(1, 20.0), (2, 5.0), (4, 7.0)]},
    )  # fmt: skip
    assert points(record, ["a"]) == [(1, 10), (3, 30)]
    assert points(record, ["a", "b"]) == [(1, 15)]
    assert points(record, ["a", "missing"]) == []


def test_relaxations_look_the_same_in_every_picture():
    few, many = looks(["r-product"]), looks(["r-product", "s-yager(2)", "s-godel"])
    assert all(many[name] == look for name, look in few.items())
    assert len(set(many.values())) == len(many)
