"""Settings kept in files of data, by the sizes they were chosen for."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def read_data(name: str) -> dict[str, Any]:
    """Return the content of a JSON file of residuum's."""
    text = resources.files("residuum.data").joinpath(name).read_text("utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def nearest(by_size: dict[str, Any], size: float) -> Any:
    """Return the entry whose size is nearest in proportion.

    >>> nearest({"100": "few", "10000": "many"}, 999)
    'few'
    """
    return by_size[
        min(by_size, key=lambda known: max(float(known), size) / min(float(known), size))
    ]
