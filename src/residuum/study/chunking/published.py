"""What the paper printed of text chunking, to stand beside figures of one's own."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources


def published_f1(relaxation: str, train_percent: int, *, constraints: bool) -> float | None:
    """Return the printed F1, in percent, with or without constraints; None if there was none.

    >>> published_f1("r-product", 10, constraints=True)
    80.14
    """
    return _figures().get((relaxation, train_percent, constraints))


@cache
def _figures() -> dict[tuple[str, int, bool], float]:
    text = resources.files("residuum.data").joinpath("chunking_published.json").read_text("utf-8")
    return {
        (relaxation, row["train_percent"], row["constraints"]): f1
        for row in json.loads(text)["rows"]
        for relaxation, f1 in row["f1"].items()
    }
