"""The figures are those of the paper; these were typed from it."""

import pytest

from residuum.study.chunking.published import published_f1


@pytest.mark.parametrize(
    ("relaxation", "percent", "without", "with_constraints"),
    [
        ("s-godel", 10, 70.29, 70.81),
        ("s-product", 10, 79.46, 79.71),
        ("r-product", 10, 79.46, 80.14),
        ("lukasiewicz", 10, 76.50, 76.80),
        ("s-godel", 100, 85.33, 85.49),
        ("s-product", 100, 89.18, 89.19),
        ("r-product", 100, 89.18, 89.75),
        ("lukasiewicz", 100, 87.25, 87.59),
    ],
)
def test_figures_are_those_that_were_printed(relaxation, percent, without, with_constraints):
    assert published_f1(relaxation, percent, constraints=False) == without
    assert published_f1(relaxation, percent, constraints=True) == with_constraints


def test_what_was_not_printed_is_none():
    assert published_f1("r-godel", 10, constraints=True) is None
    assert published_f1("r-product", 50, constraints=False) is None
