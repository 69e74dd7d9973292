"""Rules without quantifiers planned at once: each as it would be alone."""

from __future__ import annotations

import random

import pytest

import residuum as rs
from residuum.grounding import (
    lay_out,
    lay_out_parts,
    plan_rule,
    plan_together,
    signature_of_knowledge,
    without_quantifiers,
)

DECLARED = """
    domain animal = cat, dog, bird
    domain place sequence
    predicate Has(animal) independent
    predicate Is(animal)
    predicate Likes(animal, animal) independent
    predicate At(place, animal)
    predicate Wet
"""
ATOMS = ("Has(cat)", "Has(dog)", "Is(bird)", "Likes(cat, dog)", "Likes(dog, dog)", "Wet", "true")


def formula(draw: random.Random, depth: int) -> str:
    if depth == 0 or draw.random() < 0.2:
        return draw.choice(ATOMS)
    kind = draw.choice(("&", "|", "->", "<->", "~"))
    if kind == "~":
        return f"~({formula(draw, depth - 1)})"
    return f"({formula(draw, depth - 1)}) {kind} ({formula(draw, depth - 1)})"


def signature():
    return signature_of_knowledge(rs.loads(DECLARED), {})


@pytest.mark.parametrize("seed", range(30))
def test_each_is_planned_as_it_would_be_alone(seed):
    draw = random.Random(seed)
    formulas = [rs.parse(formula(draw, 3)) for _ in range(6)]
    formulas.append(formulas[0])  # two rules may say the same
    together = plan_together(formulas, signature())
    assert together is not None
    whole, parts = together
    assert whole == plan_rule(rs.And(*formulas), signature())
    assert parts == [plan_rule(one, signature()) for one in formulas]
    assert lay_out_parts(whole, parts) == [lay_out(part, {}) for part in parts]


def test_what_must_be_planned_alone_is_left_alone():
    plain = rs.parse("Has(cat) -> Has(dog)")
    for other in ("At(0, cat) -> At(1, dog)", "Has(cow)", "Unheard(cat)"):
        assert plan_together([plain, rs.parse(other)], signature()) is None


def test_quantifiers_are_found_at_any_depth():
    texts = ("Wet -> Has(cat)", "forall x in animal: Has(x)", "Wet & ~(exists x in animal: Is(x))")
    assert without_quantifiers([rs.parse(text) for text in texts]) == [True, False, False]


@pytest.mark.parametrize("wrong", ["Has(cat, dog) -> Wet", 'Has("cow") -> Wet'])
def test_a_mistake_in_one_rule_of_many_is_named_as_if_it_were_alone(wrong):
    rules = "\n".join(f"rule r{n}: Has(cat) -> Likes(cat, dog)" for n in range(5))
    knowledge = rs.loads(DECLARED + rules)
    with pytest.raises(rs.ResiduumError) as alone:
        rs.compile(wrong, knowledge=knowledge)
    broken = rs.Knowledge(
        knowledge.domains,
        knowledge.functions,
        knowledge.predicates,
        knowledge.facts,
        {
            **knowledge.rules,
            "r5": type(knowledge.rules["r0"])("r5", rs.parse(wrong)),
        },
    )
    with pytest.raises(rs.ResiduumError) as among_others:
        rs.compile(broken)
    assert str(among_others.value) == str(alone.value)
