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


@pytest.mark.parametrize("name", relaxation_names())
def test_what_constants_make_false_costs_what_false_does(name):
    costs = {
        text: float(rs.compile(text, name)())
        for text in ("false", "~true", "true -> false", "true <-> false", "true & ~true")
    }
    assert len(set(costs.values())) == 1, costs


@pytest.mark.parametrize("name", relaxation_names())
def test_to_be_as_true_as_false_is_to_imply_it(name):
    given = torch.tensor([0.0, 0.25, 0.5, 1.0])
    implied = rs.compile("P -> false", name, inputs="probs", reduction="none")
    for text in ("P <-> false", "false <-> P", "P <-> ~true"):
        equal = rs.compile(text, name, inputs="probs", reduction="none")
        torch.testing.assert_close(equal(P=given), implied(P=given), msg=text)
        torch.testing.assert_close(equal.truth(P=given), implied.truth(P=given), msg=text)
    for degree in (0.25, 0.5):  # by the evaluation of single numbers, which knows nothing of plans
        expected = float(rs.truth("P <-> false", {"P": degree}, name))
        assert float(implied.truth(P=torch.tensor(degree))) == pytest.approx(expected, abs=1e-6)
