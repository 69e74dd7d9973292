"""The first paragraph of the report of the studies: its figures are means of the records."""

from statistics import fmean

from hostile_records import hostile
from made_up_chunk_runs import runs as chunk_runs
from made_up_runs import runs
from reports.made_up_report import some_records
from residuum.reports.page import render_page
from residuum.reports.studies_answer import answer_of_studies
from residuum.reports.theory_sections import question_section


def mean(records, measure="operator_accuracy"):
    return fmean(one.measures[measure] for one in records)


def test_the_best_relaxation_and_the_next_are_named_with_their_means():
    by_name = {
        "r-product": [*runs("r-product", 90), *runs("r-product", 80, digit_size=5000)],
        "s-product": [*runs("s-product", 85), *runs("s-product", 82, digit_size=5000)],
        "s-godel": runs("s-godel", 10, pair_size=1000),
    }
    words = answer_of_studies([one for own in by_name.values() for one in own])
    best, other = (mean(by_name[name]) for name in ("r-product", "s-product"))
    assert "best in 1 of 2 sizes of the data" in words
    assert words.startswith("r-product learns best from rules alone: for images of digits (mnist)")
    assert (
        f"with {best:.1f}% right in the mean where the next, s-product, has {other:.1f}%" in words
    )
    assert "s-godel" not in words  # it is compared with no other


def test_the_next_relaxation_is_compared_where_both_were_run():
    near, far = runs("s-product", 60), runs("lukasiewicz-maxsat", 95, pair_size=1000)
    best = [*runs("r-product", 90), *runs("r-product", 99, pair_size=1000)]
    words = answer_of_studies([*best, *near, *far])
    assert f"the next, lukasiewicz-maxsat, has {mean(far):.1f}%" in words
    assert f"with {mean(best[3:]):.1f}% right" in words


def test_other_pools_protocols_and_images_count_only_where_nothing_else_was_run():
    small = {"images": "embedded", "digit_size": 200, "pair_size": 4000, "precision": "float32"}
    words = answer_of_studies([*runs("s-product", 70, **small), *runs("r-product", 60, **small)])
    assert words.startswith("s-product learns best from rules alone: for images of digits (embed")
    assert "best in the one size of the data" in words
    both = [*runs("s-product", 70, **small), *runs("r-product", 60, **small),
            *runs("r-product", 90), *runs("s-product", 80),
            *runs("s-godel", 99, protocol="pipeline")]  # fmt: skip
    assert answer_of_studies(both).startswith("r-product learns best from rules alone: for images")


def test_what_rules_change_in_chunking_is_a_difference_of_means():
    without, ruled = (
        chunk_runs("r-product", 80, viterbi=2.0),
        chunk_runs("r-product", 77, constraints=True),
    )
    gained = [*chunk_runs("s-product", 70), *chunk_runs("s-product", 71, constraints=True)]
    words = answer_of_studies([*without, *ruled, *gained])
    lost = mean(ruled, "f1") - mean(without, "f1")
    won = mean(gained[3:], "f1") - mean(gained[:3], "f1")
    told = f"rules in the loss change F1 by −{-lost:.1f} to +{won:.1f} points"
    assert f"{told}, significantly in 2 of 2 cases;" in words
    decoded = mean(without, "viterbi_f1") - mean(without, "f1")
    told = f"only obeyed in decoding, by +0.0 to +{decoded:.1f} points"
    assert f"{told}, significantly in 1 of 2 cases." in words  # one gains nothing at all


def test_without_two_relaxations_the_question_is_open():
    for records in ([], runs("r-product", 90), [hostile(one, 0) for one in runs("r-product", 9)]):
        assert answer_of_studies(records).startswith("Which relaxation learns best is open")


def test_the_page_opens_with_the_answer():
    records = some_records()
    page = render_page([question_section(records)])
    answer = answer_of_studies(records)
    assert answer.split(":")[0] in page
    assert page.index('class="answer"') < page.index("A network can learn from rules")
