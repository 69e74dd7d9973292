"""What is recommended, of measurements that are made up."""

import pytest

from made_up_chunk_runs import runs as chunk_runs
from made_up_runs import runs
from residuum.advice import Measured, recommend, what_studies_found
from residuum.study.chunking.published import published_f1
from residuum.study.digits.published import published


def measured(relaxation, mended=0.5, **others):
    usual = {
        "rule": "r", "sample": "s", "examples": 1, "groundings": 1, "bytes": 4, "violated": 0.1,
        "stuck": 0.0, "raising": 0.5, "evaded": 0.0, "disagreement": 0.0, "self_consistency": 1.0,
        "seconds": 1.0, "cost": 1.0,
    }  # fmt: skip
    return Measured(relaxation=relaxation, mended=mended, **{**usual, **others})


def test_what_mends_most_is_recommended_with_reasons():
    advice = recommend(
        [
            measured("a", 0.9, stuck=0.2, raising=0.7),
            measured("b", 0.1, evaded=0.8),
            measured("c", 0.3, stuck=0.75, self_consistency=0.8),
        ],
        ["The study."],
    )
    assert advice.relaxation == "a"
    first, second, third, study, limits = advice.reasons
    assert "a mends 90%" in first
    assert "20% without a gradient" in first
    assert "70% of its pull is on consequents" in first
    assert second == "b mends 10%; making antecedents false is its easy way out (80%)"
    assert third == (
        "c mends 30%; 75% have no gradient; a grounding is equivalent to itself only to 0.80"
    )
    assert study == "The study."
    assert "labels" in limits


@pytest.mark.parametrize("better", [{"stuck": 0.1}, {"self_consistency": 1.0}, {"cost": 1.0}])
def test_among_equals_gradients_then_consistency_then_cost_decide(better):
    worse = {"stuck": 0.2, "self_consistency": 0.9, "cost": 2.0}
    found = [measured("a", 0.50, **worse), measured("b", 0.49, **{**worse, **better})]
    assert recommend(found, []).relaxation == "b"
    assert recommend([found[0], measured("b", 0.4, **{**worse, **better})], []).relaxation == "a"


def test_rules_and_samples_count_alike():
    found = [measured("a", 1.0), measured("a", 0.0), measured("b", 0.6), measured("b", 0.6)]
    assert recommend(found, []).relaxation == "b"


def test_without_violations_none_is_recommended():
    nothing = {"violated": 0.0, "stuck": None, "raising": None, "evaded": None}
    advice = recommend([measured("a", None, **nothing)], ["The study."])
    assert advice.relaxation is None
    assert advice.reasons[0].startswith("No grounding is violated")


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
