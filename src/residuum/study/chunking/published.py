"""The figures that the paper printed for text chunking."""

from __future__ import annotations

from functools import cache

from residuum.study.common_settings import read_data


def published_f1(relaxation: str, train_percent: int, *, constraints: bool) -> float | None:
    """Return the printed F1 in percent, with or without constraints; None if the paper has none.

    >>> published_f1("r-product", 10, constraints=True)
    80.14
    """
    return _figures().get((relaxation, train_percent, constraints))


@cache
def _figures() -> dict[tuple[str, int, bool], float]:
    return {
        (relaxation, row["train_percent"], row["constraints"]): f1
        for row in read_data("chunking_published.json")["rows"]
        for relaxation, f1 in row["f1"].items()
    }
