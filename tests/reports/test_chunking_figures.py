"""Pictures of the weight of the rules: which runs are compared, and where they are drawn."""

import statistics

import pytest

from made_up_chunk_runs import run, runs
from residuum.reports.chunking_figures import draw_chunking_weights, weigh
from residuum.reports.colours import looks

WEIGHTS = (0.01, 0.1, 1.0)


def weighed(name, level=80, **others):
    return [
        one
        for weight in WEIGHTS
        for one in runs(name, level - weight, constraints=True, weight=weight, **others)
    ]


def weights_in(found):
    return {weight: len(of_seeds) for weight, of_seeds in found.items()}


def test_runs_that_differ_in_the_weight_alone_are_compared_with_those_without_rules():
    spread = runs("r-product", 81, constraints=True, unlabelled=True, weight=0.1)
    found = weigh([*weighed("r-product"), *runs("r-product", 80), *spread])
    assert set(found) == {"r-product"}
    assert weights_in(found["r-product"].labelled) == dict.fromkeys(WEIGHTS, 3)
    assert weights_in(found["r-product"].everywhere) == {0.1: 3}
    assert len(found["r-product"].without) == 3


def test_runs_with_other_settings_are_not_mixed_in():
    longer = {"epochs": 99}
    others = [
        *runs("r-product", 10, **longer),
        *runs("r-product", 10, constraints=True, weight=0.1, **longer),
        *runs("r-product", 10, constraints=True, weight=50.0, rules="all"),
    ]
    found = weigh([*others, *weighed("r-product"), *runs("r-product", 80)])["r-product"]
    assert weights_in(found.labelled) == dict.fromkeys(WEIGHTS, 3)
    used = [*found.without, *(one for of_seeds in found.labelled.values() for one in of_seeds)]
    assert min(one.measures["f1"] for one in used) > 50


def test_of_several_groups_the_one_with_the_settings_of_the_study_is_drawn():
    chosen = [*weighed("r-product")[:6], *runs("r-product", 80)]
    more = [*weighed("r-product", 30, layers=5), *runs("r-product", 30, layers=5)]
    for records in ([*chosen, *more], [*more, *chosen]):
        found = weigh(records)["r-product"]
        assert {one.configuration["layers"] for one in found.runs} == {2}
        assert len(found.runs) == len(chosen)


def test_a_warm_up_with_the_weight_of_the_rules_differs_in_nothing_else():
    together = [
        run("s-godel", 0, 80, constraints=True, weight=weight, warm_up_weight=weight)
        for weight in WEIGHTS
    ]
    apart = run("s-godel", 0, 80, constraints=True, weight=7.0, warm_up_weight=0.3)
    found = weigh([*together, apart, run("s-godel", 0, 80)])["s-godel"]
    assert weights_in(found.labelled) == dict.fromkeys(WEIGHTS, 1)
    assert len(found.without) == 1


def test_a_relaxation_with_one_weight_is_left_out():
    assert weigh([]) == {}
    assert weigh([*runs("r-product", 80), *runs("r-product", 80, constraints=True)]) == {}


def test_each_measure_is_drawn_by_its_mean_and_deviation():
    labelled = weighed("r-product", viterbi=3.0)
    everywhere = weighed("r-product", level=75, unlabelled=True, viterbi=1.0, violations=0.2)
    upper, lower = draw_chunking_weights(weigh([*labelled, *everywhere])).axes
    assert upper.get_title() == "r-product"
    for place, measures in ((upper, ("f1", "viterbi_f1")), (lower, ("violations",))):
        for style, records in (("-", labelled), ("--", everywhere)):
            drawn = [line for line in place.lines if is_curve(line, style)]
            expected = [means(records, measure) for measure in measures]
            assert len(drawn) == len(expected)
            for of_measure in expected:
                assert any(line.get_ydata() == pytest.approx(of_measure) for line in drawn)
    values = values_of(labelled, "violations", 0.01)
    middle, spread = statistics.mean(values), statistics.stdev(values)
    [band] = [one for one in corners(lower, 0.01) if max(one) > 0.4]  # of `labelled`
    assert (min(band), max(band)) == pytest.approx((middle - spread, middle + spread))


def test_both_decodings_differ_in_colour():
    upper, _ = draw_chunking_weights(weigh(weighed("r-product", viterbi=3.0))).axes
    by_colour = {line.get_color(): line for line in upper.lines if is_curve(line, "-")}
    plain = by_colour.pop(looks(["r-product"])["r-product"].colour)
    [obeying] = by_colour.values()
    assert all(obeying.get_ydata() > plain.get_ydata() + 1)


def test_the_axis_is_logarithmic_and_no_rules_stand_left_of_all_weights():
    figure = draw_chunking_weights(weigh([*weighed("s-product"), *runs("s-product", 82)]))
    for place in figure.axes:
        assert place.get_xscale() == "log"
        without, *named = place.get_xticks()
        assert without < min(WEIGHTS)
        assert set(named) <= set(WEIGHTS)
        drawn = [line.get_xdata()[0] for line in place.lines if len(line.get_xdata()) == 1]
        assert without in drawn
    labels = [label.get_text() for label in figure.axes[1].get_xticklabels()]
    assert labels == ["no\nrules", "10⁻²", "0.1", "1"]


def is_curve(line, style):
    return line.get_linestyle() == style and len(line.get_xdata()) == len(WEIGHTS)


def corners(place, weight):
    """The heights of each shaded band at a weight."""
    shapes = [band.get_paths()[0].vertices.tolist() for band in place.collections]
    return [[y for x, y in shape if x == weight] for shape in shapes]


def values_of(records, measure, weight):
    return [one.measures[measure] for one in records if one.configuration["weight"] == weight]


def means(records, measure):
    return [statistics.mean(values_of(records, measure, weight)) for weight in WEIGHTS]
