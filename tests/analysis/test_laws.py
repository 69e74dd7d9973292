"""Rewriting never changes a degree, and `true` is reached only where the value is 1."""

import pytest
from hypothesis import given, settings

from integration_oracles import GRID, formulas
from residuum.analysis.exact.modules import modules_of
from residuum.analysis.laws import rewrite
from residuum.logic import TRUE, And, Atom, Iff, Or, Truth, atoms_of
from residuum.relaxations import truth
from residuum.syntax import parse

NAMES = [
    "s-product",
    "r-product",
    "s-godel",
    "r-godel",
    "lukasiewicz",
    "r-hamacher(2)",
    "s-hamacher(0)",
]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(formula=formulas())
def test_rewriting_keeps_every_degree(formula, name):
    rewritten = rewrite(formula, residuated=not name.startswith("s-"))
    for point in GRID:
        assert truth(rewritten, point, name) == truth(formula, point, name)


@pytest.mark.parametrize(
    "text",
    [
        "P -> (Q -> P)", "P & Q -> P", "Q -> P | Q", "P | Q -> Q | P", "P <-> ~~P",
        "P & (Q & R) <-> (R & Q) & P", "P & Q <-> ~(~P | ~Q)", "Q -> (P <-> P & Q)",
        "P & (P -> Q) -> Q", "(P -> Q) | (Q -> P)", "P -> ((P -> Q) -> Q)",
        "(P -> Q) & (Q -> R) & P -> R", "P & Q -> P | R", "P & (P -> Q) & S -> R | Q",
        "(P & Q -> R) -> (P -> (Q -> S | R))", "~(P | Q) -> ~(P & R)",
    ],
)  # fmt: skip
def test_laws_of_residuated_logics_are_proved(text):
    assert rewrite(parse(text), residuated=True) is TRUE


@pytest.mark.parametrize("text", ["P & (P -> Q)", "~(P & (P -> Q))", "~(P & (P -> Q)) & R"])
def test_what_could_be_detached_implies_itself(text):
    assert rewrite(parse(f"({text}) -> ({text})"), residuated=True) is TRUE


@pytest.mark.parametrize(
    "text", ["P -> P & P", "P | P -> P", "P & (P -> Q) -> P & Q & Q", "P | Q -> P & (P -> Q) | Q"]
)
def test_an_operand_is_used_no_more_often_than_it_stands(text):
    assert not isinstance(rewrite(parse(text), residuated=True), Truth)


@pytest.mark.parametrize("text", ["P -> P", "P | ~P", "P -> (Q -> P)"])
def test_nothing_is_proved_where_it_does_not_hold(text):
    assert not isinstance(rewrite(parse(text), residuated=False), Truth)


def test_a_shared_part_is_one_module():
    part = parse("A & B -> C")
    whole = Iff(part, Or(part, Atom("D")))
    found = modules_of(whole)
    assert set(found) == {part, parse("A & B"), whole}
    assert len(atoms_of(found[whole].core)) == 2


def test_a_part_whose_atoms_occur_elsewhere_is_no_module():
    part = parse("A & B")
    assert part not in modules_of(And(part, Or(Atom("A"), Atom("C"))))
