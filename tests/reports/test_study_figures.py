"""Pictures that both studies have: what is drawn of a run."""

import math

from made_up_runs import run
from residuum.reports.study_figures import mean_curve


def test_a_curve_is_the_mean_of_its_parts_where_all_are_finite():
    record = run(
        "r-product", 0, 90,
        curves={"a": [(1, 10.0), (2, math.nan), (3, 30.0)], "b": [(1, 20.0), (2, 5.0), (4, 7.0)]},
    )  # fmt: skip
    assert mean_curve(record, ["a"]) == [(1, 10), (3, 30)]
    assert mean_curve(record, ["a", "b"]) == [(1, 15)]
    assert mean_curve(record, ["a", "missing"]) == []
