"""The figures that the paper printed for the digits study."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from residuum.study.common_settings import check_choice, read_data
from residuum.study.digits.settings import Protocol

Metric = Literal[
    "digit_accuracy",
    "operator_accuracy",
    "coherence",
    "commutativity",
    "associativity",
    "distributivity",
]


@dataclass(frozen=True)
class Published:
    """A printed mean in percent, its standard deviation over runs, and whether it was in bold.

    The paper says that bold figures are significantly better than those of other relaxations.
    """

    mean: float
    std: float
    bold: bool


def published(
    protocol: Protocol, metric: Metric, relaxation: str, digit_size: int, pair_size: int
) -> Published | None:
    """Return the printed figure of a setting; None if the paper has none.

    A pipeline has the same figures for `s-product` and `r-product`, because it has only
    conjunctions, and its accuracy on digits does not depend on the pairs.

    >>> published("joint", "coherence", "r-product", digit_size=1000, pair_size=5000)
    Published(mean=89.1, std=0.3, bold=True)
    """
    check_choice("protocol", protocol, Protocol)
    check_choice("metric", metric, Metric)
    return _figures().get((protocol, metric, relaxation, digit_size, pair_size))


@cache
def _figures() -> dict[tuple[str, str, str, int, int], Published]:
    content = read_data("digits_published.json")
    return {
        (table["protocol"], table["metric"], relaxation, digit_size, pair_size): Published(*figure)
        for table in content["tables"]
        for pair_size in table["pair_sizes"]
        for row in table["rows"]
        for relaxation in row["relaxations"]
        for digit_size, *figure in zip(
            content["digit_sizes"], row["mean"], row["std"], row["bold"], strict=True
        )
    }
