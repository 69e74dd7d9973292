"""`true` and `false` inside rules, where numbers stand beside tensors."""

from __future__ import annotations

import itertools

import pytest
import torch

import residuum as rs
from residuum.relaxations import relaxation_names

BOOLEAN = {
    "{p} & {q}": lambda p, q: p and q,
    "{p} | {q}": lambda p, q: p or q,
    "{p} -> {q}": lambda p, q: not p or q,
    "{p} <-> {q}": lambda p, q: p == q,
    "~({p} & {q}) & ~~({p} | {q})": lambda p, q: p != q,
}
QUANTIFIED = {
    "(forall x in d: {p}) -> (exists x in d: {q})": lambda p, q: not p or q,
}
PAPER = ["s-product", "r-product", "s-godel", "r-godel", "lukasiewicz", "lukasiewicz-maxsat"]


def check(text, name, meaning):
    for p, q in itertools.product((False, True), repeat=2):
        filled = text.format(p=str(p).lower(), q=str(q).lower())
        rule = rs.compile(filled, name, domains={"d": 3})
        expected = meaning(p, q)
        assert float(rule.truth()) == pytest.approx(float(expected), abs=1e-6)
        assert rule.satisfied() == expected
        penalty = float(rule())
        assert penalty == pytest.approx(0, abs=1e-6) if expected else penalty >= 0.5


@pytest.mark.parametrize("name", relaxation_names())
@pytest.mark.parametrize("text", BOOLEAN)
def test_constants_obey_boolean_logic(name, text):
    check(text, name, BOOLEAN[text])


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("text", QUANTIFIED)
def test_quantified_constants_obey_boolean_logic(name, text):
    check(text, name, QUANTIFIED[text])


@pytest.mark.parametrize("name", relaxation_names())
def test_constants_are_neutral_beside_atoms(name):
    given = torch.tensor([0.25, 0.5, 0.875])
    alone = rs.compile("P", name, inputs="probs").truth(P=given)
    for text in ("P & true", "false | P", "true -> P", "(true -> true) -> P", "P | ~true"):
        found = rs.compile(text, name, inputs="probs").truth(P=given)
        torch.testing.assert_close(found, alone, msg=text)
