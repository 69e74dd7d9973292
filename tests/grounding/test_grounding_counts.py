"""Groundings are counted as nested loops over the domains count them."""

import pytest

import residuum as rs
from residuum.errors import GroundingError
from residuum.grounding import grounding_counts, plan_rule, signature_of_knowledge
from residuum.grounding.grounding_counts import count_groundings

DECLARED = """
    domain d = 0..4
    domain e = a, b, c
    domain position sequence
    domain image
    predicate P(d, e) independent
    predicate Q
    predicate Tag(position, e)
    predicate Shows(image, d)
"""


def count(rule, length=None):
    knowledge = rs.loads(f"{DECLARED} rule r: {rule}")
    plan = plan_rule(knowledge.rules["r"].formula, signature_of_knowledge(knowledge, {}))
    return count_groundings(plan, {} if length is None else {"position": length})


D, E = range(5), range(3)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("Q", 1),
        ("exists x in d: P(x, a)", 1),
        ("forall x in d: P(x, a)", 5),
        ("forall x in d, y in e: P(x, y)", 15),
        ("forall x in d, y in e: exists z in d where z < x: P(z, y)", 15),
        ("forall x in d where x < 3: P(x, a)", 3),
        ("forall x, z in d where x != z: P(x, a) -> P(z, b)", sum(x != z for x in D for z in D)),
        (
            "forall x in d where x < 3: forall y in e: forall z in d where z > x: P(x, y)",
            sum(x < 3 and z > x for x in D for _ in E for z in D),
        ),
        (
            "forall x in d: forall z in d where z > x: forall w in d where w != x: P(w, a)",
            sum(z > x and w != x for x in D for z in D for w in D),
        ),
        ("forall x in d where x > 9: P(x, a)", 0),
        ("forall i in image, x in d: Shows(i, x)", 5),  # the batch is not counted
    ],
)
def test_guards_and_nested_quantifiers_are_counted_as_loops_count_them(rule, expected):
    assert count(rule) == expected


@pytest.mark.parametrize("length", [0, 1, 2, 7])
def test_positions_outside_of_the_sequence_are_not_counted(length):
    pairs = "forall i in position, y in e: Tag(i, y) -> ~Tag(i + 2, y)"
    inside = sum(i + 2 < length for i in range(length) for _ in E)
    assert count(pairs, length) == inside
    assert count("forall i in position: Tag(i, a)", length) == length


def test_too_large_a_table_of_guards_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(grounding_counts, "MOST_ENTRIES", 100)
    rule = "forall x in d: forall z in d where z > x: forall w in d where w != x: P(w, a)"
    with pytest.raises(GroundingError, match=r"at most 100 groundings .* got 125"):
        count(rule)
