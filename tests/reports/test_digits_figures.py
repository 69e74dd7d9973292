"""Pictures of the digits study show the numbers of its records."""

import math

from made_up_runs import run, runs
from residuum.reports.digits_figures import (
    draw_digits_learning,
    draw_digits_weights,
    measure_panel,
    scores_by_weight,
)
from residuum.reports.study_figures import draw_measures
from residuum.study.digits.findings import Findings
from residuum.study.digits.settings import TUNING
from residuum.study.digits.tables import tables


def test_measures_are_drawn_where_the_table_has_them():
    records = [*runs("r-product", 95), *runs("s-product", 80)]
    found = {table.measure: table for table in tables(Findings(records))}
    table = found["coherence"]
    figure = draw_measures(
        [measure_panel("kept", table), measure_panel("broken", table, lambda x: 100 - x)],
        [str(size) for size in table.digit_sizes], "images", "percent",
    )  # fmt: skip
    mean = table.rows["r-product"][0].summary.mean
    printed = table.rows["r-product"][0].printed.mean
    for place, value in zip(figure.axes, (lambda x: x, lambda x: 100 - x), strict=True):
        drawn = [float(y) for line in place.lines for y in line.get_ydata()]
        for expected in (value(mean), value(printed)):
            assert any(math.isclose(expected, y) for y in drawn)


def test_learning_curves_are_means_of_seeds_and_reach_from_the_lowest_to_the_highest():
    records = [
        run("r-product", seed, 90, curves={"joint: dev/digit_accuracy": [(10, low), (20, 90.0)]})
        for seed, low in ((0, 40.0), (20, 60.0))
    ]
    figure = draw_digits_learning({1000: {"r-product": records}}, "joint")
    digit = figure.axes[0]
    [line] = digit.lines
    assert [tuple(point) for point in line.get_xydata()] == [(10, 50), (20, 90)]
    band = digit.collections[0].get_paths()[0].vertices
    assert {(10, 40), (10, 60), (20, 90)} <= {tuple(map(float, corner)) for corner in band}


def test_weights_are_shown_with_the_best_score_of_each_run():
    curve = {"joint: dev/score": [(10, -math.inf), (20, 55.0), (30, 50.0)]}
    useless = {"joint: dev/score": [(10, -math.inf)]}
    records = [
        run("r-product", 0, 90, study=TUNING, weight=0.1, curves=curve),
        run("r-product", 20, 90, study=TUNING, weight=1.0, curves=useless),
        run("s-godel", 0, 90, study=TUNING, weight=0.5, curves=curve),
    ]
    scores = scores_by_weight(records)
    assert scores == {1000: {"r-product": [(0.1, 55), (1, 0)]}}  # s-godel has one weight only
    [place] = draw_digits_weights(scores).axes
    assert [tuple(point) for point in place.lines[0].get_xydata()] == [(0.1, 55), (1, 0)]
