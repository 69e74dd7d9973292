"""The figures are those of the paper; these were typed from it."""

import itertools

import pytest

from residuum.errors import DataError
from residuum.study.digits.published import Published, published

SIZES = (1_000, 5_000, 25_000)
JOINT = ("s-godel", "s-product", "r-product", "lukasiewicz")


@pytest.mark.parametrize(
    ("setting", "mean", "std", "bold"),
    [
        (("joint", "digit_accuracy", "s-godel", 1_000, 5_000), 95.0, 0.3, False),
        (("joint", "digit_accuracy", "r-product", 25_000, 5_000), 99.2, 0.0, True),
        (("joint", "operator_accuracy", "lukasiewicz", 1_000, 5_000), 75.9, 3.1, False),
        (("joint", "operator_accuracy", "s-godel", 1_000, 1_000), 62.7, 0.9, True),
        (("joint", "operator_accuracy", "s-godel", 25_000, 25_000), 95.9, 0.0, False),
        (("joint", "coherence", "s-product", 5_000, 5_000), 89.3, 0.5, False),
        (("joint", "commutativity", "lukasiewicz", 5_000, 1_000), 43.8, 6.0, False),
        (("joint", "associativity", "r-product", 1_000, 5_000), 87.0, 0.9, True),
        (("joint", "distributivity", "s-godel", 25_000, 25_000), 94.5, 0.0, True),
        (("pipeline", "digit_accuracy", "s-godel", 25_000, 1_000), 97.59, 0.0, False),
        (("pipeline", "operator_accuracy", "r-product", 5_000, 5_000), 92.2, 0.0, True),
        (("pipeline", "operator_accuracy", "lukasiewicz", 5_000, 1_000), 55.5, 6.7, False),
        (("pipeline", "coherence", "s-product", 25_000, 25_000), 96.9, 0.0, True),
        (("pipeline", "associativity", "lukasiewicz", 5_000, 1_000), 74.1, 9.1, False),
        (("pipeline", "distributivity", "lukasiewicz", 25_000, 25_000), 92.9, 3.1, False),
    ],
)
def test_figures_are_those_that_were_printed(setting, mean, std, bold):
    assert published(*setting) == Published(mean, std, bold)


METRICS = (
    "digit_accuracy",
    "operator_accuracy",
    "coherence",
    "commutativity",
    "associativity",
    "distributivity",
)


@pytest.mark.parametrize("protocol", ["joint", "pipeline"])
def test_every_setting_of_the_paper_has_a_figure(protocol):
    for setting in itertools.product(METRICS, JOINT, SIZES, SIZES):
        figure = published(protocol, *setting)
        assert 20 < figure.mean < 100
        assert 0 <= figure.std < 10


def test_the_pipeline_has_one_product():
    for metric, digit_size, pair_size in itertools.product(METRICS, SIZES, SIZES):
        both = {
            published("pipeline", metric, name, digit_size, pair_size)
            for name in ("s-product", "r-product")
        }
        assert len(both) == 1


def test_pairs_do_not_change_the_pipelines_digits():
    figures = {published("pipeline", "digit_accuracy", "s-godel", 1_000, size) for size in SIZES}
    assert figures == {Published(95.2, 0.0, False)}


def test_what_was_not_printed_is_none():
    assert published("joint", "coherence", "r-godel", 1_000, 1_000) is None
    assert published("joint", "coherence", "r-product", 2_000, 1_000) is None


def test_misspelt_questions_are_refused():
    with pytest.raises(DataError, match="protocol: expected joint or pipeline, got 'jiont'"):
        published("jiont", "coherence", "r-product", 1_000, 1_000)
    with pytest.raises(DataError, match=r"got 'coherance'\. Did you mean `coherence`"):
        published("joint", "coherance", "r-product", 1_000, 1_000)
