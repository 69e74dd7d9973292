"""The table of what the advice says about the field's tasks is on the page, beside the results."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import field_advice  # noqa: E402
import residuum as rs  # noqa: E402

ROOT = Path(__file__).parents[1]
RECORD = json.loads((ROOT / "benchmarks/records/field-advice.json").read_text("utf-8"))
PAGE = (ROOT / "docs" / "studies" / "field.md").read_text("utf-8")


def test_the_page_shows_the_record_beside_the_results():
    assert [one["task"] for one in RECORD] == list(field_advice.TASKS)
    assert field_advice.markdown(RECORD) in PAGE


def test_what_was_reached_is_the_mean_of_the_task(monkeypatch):
    monkeypatch.setattr(field_advice, "reached", lambda _: {"exact": 90.0, "s-product": 88.5})
    table = field_advice.markdown([{"task": "t", "relaxation": "s-product"}])
    assert table.splitlines()[-1] == "| t | s-product | 88.5 | exact | 90.0 | 1.5 |"
    table = field_advice.markdown([{"task": "t", "relaxation": None}])
    assert table.splitlines()[-1] == "| t | no rule | – | exact | 90.0 | – |"


def test_rules_of_boards_are_those_of_the_page():
    """A valid board obeys both forms of the rule, one with equal digits in a row neither."""
    right = np.array([[0, 1, 2, 3], [2, 3, 0, 1], [1, 0, 3, 2], [3, 2, 1, 0]])
    wrong = right.copy()
    wrong[0, 0] = 1
    for form in ("exists!", "pairs"):
        text, _ = field_advice.sudoku(np.random.default_rng(0), form)
        rules = rs.compile(rs.loads(text), "s-product")
        shown = torch.tensor(np.stack([right, wrong]))
        for valid, expected in (([1, 0], True), ([0, 0], False), ([1, 1], False)):
            observed = {"Cell": shown, "Valid": torch.tensor(valid)}
            assert bool(rules.satisfied({}, observed=observed)["valid"].all()) == expected
