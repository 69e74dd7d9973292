"""Leading dimensions are the batch: they broadcast, may be missing, and may be empty."""

from __future__ import annotations

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


def test_a_rule_about_one_named_member_works_without_a_batch():
    rule = rs.compile(
        "P(1)", "lukasiewicz", domains={"d": 3}, predicates={"P": ("d",)}, inputs="probs"
    )
    assert rule(P=torch.tensor([0.0, 0.75, 0.0])) == 0.25
