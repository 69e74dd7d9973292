"""Evaluating block by block gives what one evaluation gives, in value and gradient."""

from __future__ import annotations

import torch

import residuum as rs


def test_a_block_does_not_cut_an_inner_quantifier_over_the_same_dimension():
    text = "forall x in four: P(x) & (exists x in four: Q(x))"
    half = torch.full((1, 4), 0.5)
    for block in (1, 2, 64):
        rule = rs.compile(text, "s-godel", domains={"four": 4}, inputs="probs", block=block)
        mixed = torch.tensor([[0.0, 0.0, 0.0, 1.0]])
        assert rule(P=half, Q=mixed) == 0.5
