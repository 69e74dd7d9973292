"""Files of clauses as losses."""

from __future__ import annotations

import itertools
import math
import random

import pytest
import torch

import residuum as rs

CLAUSES = "y_0 or not y_2\nnot y_1 or y_2 or y_3\ny_3 :- y_0, not y_1\n:- y_1, y_3\n"


def obeys(a, b, c, d):
    return (a or not c, not b or c or d, not (a and not b) or d, not (b and d))


def test_the_exact_penalty_of_each_clause_is_that_of_all_predictions():
    compiled = rs.compile(rs.loads(CLAUSES), "exact", inputs="probs")
    probabilities = [0.3, 0.8, 0.45, 0.6]
    expected = [0.0] * 4
    for prediction in itertools.product([True, False], repeat=4):
        pairs = zip(probabilities, prediction, strict=True)
        likely = math.prod(p if value else 1 - p for p, value in pairs)
        expected = [e + likely * held for e, held in zip(expected, obeys(*prediction), strict=True)]
    found = compiled(Label=torch.tensor([probabilities], dtype=torch.float64))
    assert [*found] == ["line_1", "line_2", "line_3", "line_4"]
    for penalty, probability in zip(found.values(), expected, strict=True):
        assert penalty.item() == pytest.approx(-math.log(probability), rel=1e-12)


def test_an_output_has_the_place_of_its_number():
    compiled = rs.compile(rs.loads("y_3 or not y_1"), inputs="probs", reduction="none")
    crisp = torch.tensor([[0, 1, 0, 0], [0, 1, 0, 1], [1, 0, 1, 0]], dtype=torch.float64)
    assert compiled.satisfied(Label=crisp)["line_1"].tolist() == [False, True, True]


def test_hundreds_of_clauses_over_dozens_of_labels_compile_and_learn():
    chance = random.Random(1)
    lines = []
    for _ in range(243):
        chosen = chance.sample(range(41), chance.randint(2, 12))
        signs = (chance.choice(["", "not "]) for _ in chosen)
        lines.append(" or ".join(f"{sign}y_{k}" for sign, k in zip(signs, chosen, strict=True)))
    compiled = rs.compile(rs.loads("\n".join(lines)), "r-product")
    logits = torch.zeros(5, 41, requires_grad=True)
    total = compiled.total(Label=logits)
    total.backward()
    assert len(compiled(Label=logits)) == 243
    assert total > 0
    assert logits.grad is not None
    assert logits.grad.abs().sum() > 0


def test_a_theory_takes_a_network_for_the_labels():
    theory = rs.Theory(rs.loads("y_0 or not y_1"), Label=torch.nn.Linear(3, 2))
    assert theory(Label=torch.randn(4, 3)).total.isfinite()
