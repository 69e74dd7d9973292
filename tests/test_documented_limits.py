"""The page on the language lists every limit with its value."""

from __future__ import annotations

from pathlib import Path

import pytest

from residuum import limits

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "language.md"
WRITTEN = {"LARGEST_INTEGER": "64 bits"}  # the others as decimal numbers


@pytest.mark.parametrize("name", [name for name in vars(limits) if name.isupper()])
def test_a_limit_stands_in_the_docs_with_its_value(name):
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if f"(`{name}`)" in line]
    value = WRITTEN.get(name) or f"{getattr(limits, name):,}"
    assert rows
    assert all(row.endswith(f"| {value} |") for row in rows)
