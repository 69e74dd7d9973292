"""What is recommended, of measurements that are made up."""

import pytest

from made_up_advice import measured
from made_up_chunk_runs import runs as chunk_runs
from made_up_runs import runs
from residuum.advice import Rehearsed, Trap, recommend, what_studies_found
from residuum.advice.traps import as_lines, traps_of_measurements
from residuum.study.chunking.published import published_f1
from residuum.study.digits.published import published


def rehearsed(**points):
    names = {"none": None, "s": "s-product", "r": "r-product", "godel": "s-godel", "own": "own"}
    return [Rehearsed(names.get(name, name), one, 0.3, (one,)) for name, one in points.items()]


def test_the_relaxation_that_is_learnt_best_is_recommended_with_its_reason():
    advice = recommend(rehearsed(none=50, s=60, exact=80, r=70), remarks=["The study."])
    assert advice.relaxation == "exact"
    first, last = advice.reasons
    assert "reach 80 points under exact, and 50 without the rules, with the weight 0.3" in first
    assert last == "The study."


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ({"s": 78, "exact": 80, "r": 81}, "s-product"),  # as good as the best: the usual one
        ({"s": 77.9, "exact": 80, "r": 81}, "exact"),
        ({"own": 81, "godel": 80}, "s-godel"),  # others than the contest's come last
        ({"own": 84, "godel": 80}, "own"),
    ],
)
def test_among_equals_the_order_of_preference_decides(points, expected):
    assert recommend(rehearsed(none=10, **points)).relaxation == expected


def test_where_nothing_is_gained_nothing_is_recommended():
    advice = recommend(rehearsed(none=70, s=70.4, exact=60))
    assert advice.relaxation is None
    assert "No relaxation adds to the 70 points" in advice.reasons[0]
    assert recommend(rehearsed(none=70)).reasons == ("Nothing was rehearsed to the end",)
    assert recommend(rehearsed(none=70, s=70.6)).relaxation == "s-product"


def test_another_form_is_recommended_only_where_it_is_clearly_better():
    forms = {"sum": "exists a in digit: A(a) & S(a)"}
    before = rehearsed(none=10, s=20)
    assert recommend(before, rehearsed(s=40), forms).forms == forms
    assert recommend(before, rehearsed(s=22), forms).forms == {}
    worse = recommend(before, rehearsed(s=12), forms)
    assert "Written with `exists` the rules reach 12 points" in worse.reasons[1]


@pytest.mark.parametrize(("points", "word"), [(20, "as good"), (30, "better"), (10, "worse")])
def test_the_best_aggregator_over_groundings_is_compared(points, word):
    [mean], [worst] = rehearsed(s=points), rehearsed(s=points - 4)
    advice = recommend(rehearsed(none=5, s=20), aggregated={"worst(10%)": worst, "mean": mean})
    said = f'over="mean" instead of the conjunction of groundings is {word} under s-product'
    assert f"{said}: {points} points for 20" in advice.reasons[1]
    assert advice.over == ("mean" if word == "better" else None)


def test_of_aggregators_that_are_as_good_the_first_is_taken():
    [mean], [worst] = rehearsed(s=29), rehearsed(s=31)
    tried = {"mean": mean, "worst(10%)": worst}
    assert recommend(rehearsed(none=5, s=20), aggregated=tried).over == "mean"
    under_another = recommend(rehearsed(none=5, s=20, exact=60), aggregated=tried)
    assert (under_another.relaxation, under_another.over) == ("exact", None)


def test_traps_of_measurements_are_the_worst_of_each_rule():
    found = list(
        traps_of_measurements(
            [
                measured("r-product", stuck=0.3),
                measured("r-product", stuck=0.6, sample="t"),
                measured("lukasiewicz", stuck=1.0),  # flat, but not satisfied by half
                measured("s-product", 0.2, evaded=0.5),
                measured("s-product", 0.5, evaded=0.4, rule="q"),
            ]
        )
    )
    assert [(one.kind, one.rule) for one in found] == [
        ("satisfied by half", "r"),
        ("trivial solution", "r"),
    ]
    assert "60% of the violated groundings teach nothing (t)" in found[0].text
    [first, second] = as_lines([*found, Trap("trivial solution", "z", "other")])
    assert first.startswith("satisfied by half (r): r: under r-product")
    assert second.startswith("trivial solution (r, z): r: under s-product")


def test_studies_are_quoted_as_printed_where_nothing_was_run():
    of_digits, of_chunking = what_studies_found([])
    figure = published("joint", "operator_accuracy", "r-product", 1000, 5000)
    assert f"r-product {figure.mean:.1f}%" in of_digits
    assert (
        f"F1 was r-product {published_f1('r-product', 10, constraints=True):.1f}%, " in of_chunking
    )
    assert all(told.endswith("as printed in the paper") for told in (of_digits, of_chunking))


def test_studies_are_quoted_by_their_records_where_there_are_any():
    records = [*runs("r-product", 95), *runs("s-godel", 60)]
    ruled = [*chunk_runs("r-product", 80, constraints=True), *chunk_runs("r-product", 99)]
    means = [
        sum(one.measures[measure] for one in some[:3]) / 3
        for some, measure in ((records, "operator_accuracy"), (ruled, "f1"))
    ]
    of_digits, of_chunking = what_studies_found([*records, *ruled])
    assert f"to r-product {means[0]:.1f}%, s-godel " in of_digits
    assert f"F1 was r-product {means[1]:.1f}%, by" in of_chunking
    assert all(told.endswith("by the runs recorded here") for told in (of_digits, of_chunking))
