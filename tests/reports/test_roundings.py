"""Figures in pictures claim no more than is known."""

from fractions import Fraction

import pytest

from residuum.analysis import Consistency
from residuum.reports.roundings import rounded


def known(low, value, high, exact=None):
    return Consistency(value, "certified", exact, low, high, "boxes", 0.0)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (known(1, 1, 1, Fraction(1)), "1"),
        (known(0, 0, 0, Fraction(0)), "0"),
        (known(11 / 12, 11 / 12, 11 / 12, Fraction(11, 12)), "0.917"),
        (known(0.89771, 0.89772, 0.89773), "0.898"),
        (known(0.89, 0.904, 0.91), "≈0.90"),
        (known(0.43749, 0.4375, 0.43751), "≈0.44"),
        (known(0.9996, 0.9999, 1), "1.000"),
    ],
)
def test_only_certain_decimals_are_shown(result, text):
    assert rounded(result) == text
