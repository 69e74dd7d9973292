"""Leading dimensions are the batch: they broadcast, may be missing, and may be empty."""

from __future__ import annotations

import pytest
import torch

import residuum as rs


def test_a_rule_about_single_numbers_has_one_penalty():
    rule = rs.compile("Rain -> Wet", "lukasiewicz", inputs="probs")
    penalty = rule(Rain=torch.tensor(0.75), Wet=torch.tensor(0.5))
    assert penalty.shape == ()
    assert penalty == 0.25


def test_a_rule_that_reads_nothing_still_has_a_value():
    assert rs.compile("true", "s-godel")() == 0
    assert rs.compile("forall x in three: false", "s-godel", domains={"three": 3})() == 1
