"""What the names in a rule stand for: variables, labels, or nothing, which is said in words."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError
from residuum.logic import Count, CountOf, CountQuantifier

TAGS = {"domains": {"tag": ("O", "B", "I")}, "inputs": "probs"}


def test_a_name_in_a_guard_that_nothing_binds_is_a_label():
    bare, quoted = (
        rs.compile(f"forall t in tag where t != {label}: P(t)", "lukasiewicz-maxsat", **TAGS)
        for label in ("O", '"O"')
    )
    given = torch.tensor([0.0, 0.5, 0.75])
    assert bare(P=given) == quoted(P=given) == 0.75


def test_a_name_in_a_guard_that_is_no_label_is_refused():
    with pytest.raises(GroundingError, match=r"`Z` is neither a variable .* nor a label"):
        rs.compile("forall t in tag where t != Z: P(t)", **TAGS)


def test_a_name_in_an_atom_is_a_label_unless_bound():
    rule = rs.compile("forall t in tag: P(B) -> P(t)", "lukasiewicz-maxsat", **TAGS)
    assert rule(P=torch.tensor([0.0, 0.5, 0.25])) == 0.75
    shadowing = rs.compile("forall B in tag: P(B)", "lukasiewicz-maxsat", **TAGS)
    assert shadowing(P=torch.tensor([0.0, 0.5, 0.25])) == 2.25


def test_a_free_variable_that_is_no_label_is_refused():
    with pytest.raises(GroundingError, match=r"`BB` is neither .* nor a label of domain `tag`"):
        rs.compile("forall t in tag: P(BB) -> P(t)", **TAGS)


def test_a_free_variable_over_an_open_domain_is_refused():
    with pytest.raises(GroundingError, match="`photo` is neither a variable"):
        rs.compile(
            "forall m in image, a in digit: Digit(m, a) -> Digit(photo, a)",
            domains={"digit": 10, "image": "open"},
            predicates={"Digit": ("image", "digit")},
        )


@pytest.mark.parametrize(
    "labels", [np.arange(3), list(np.arange(3)), torch.arange(3), list(torch.arange(3))]
)
def test_labels_may_be_integers_of_numpy_and_pytorch(labels):
    rule = rs.compile(
        "forall x in d where x < 2: P(x + 1)",
        "lukasiewicz-maxsat",
        domains={"d": labels},
        inputs="probs",
    )
    given = torch.tensor([0.0, 0.5, 0.25])
    assert rule(P=given) == 0.5 + 0.75
    assert str(rule.violations(P=given)[0].grounding) == "P(2)"


@pytest.mark.parametrize(
    ("guard", "message"),
    [
        ('x = "1"', r'`x = "1"`: "1" is no label .* "1" is text, and the label 1 is a number'),
        ('"1" != x', '"1" is text, and the label 1 is a number'),
        ('x = 2 | x != "1"', '"1" is text, and the label 1 is a number'),
        ("w = 1", '1 is a number, and the label "1" is text'),
        ('w = "tow"', r'"tow" is no label of domain `word` \(1, two\)\. Did you mean `two`'),
        ('i = "0"', '"0" is text, and the label 0 is a number'),
        ("x = w", "`x = w` compares text with numbers, which are never equal"),
        ("size(w) = w", "compares text with numbers"),
        ('x + 1 != "2"', "compares text with numbers"),
    ],
)
def test_a_guard_that_compares_in_vain_is_refused(guard, message):
    with pytest.raises(GroundingError, match=message):
        rs.compile(
            f"forall x in number, w in word, i in s where {guard}: P(x, w) -> Q(i)",
            domains={"number": 3, "word": ("1", "two"), "s": "sequence"},
            functions={"size": {"1": 1, "two": 3}},
        )(P=torch.zeros(3, 2), Q=torch.zeros(4))


@pytest.mark.parametrize(
    ("guard", "members", "counted"),
    [("x = 7", 3, 0), ("x != 7", 3, 3), ('x = "1"', (1, "1", "b"), 1), ("x = 1", (1, "1", "b"), 1),
     ("x = b", (1, "1", "b"), 1), ('x = "b"', (), 0)],
)  # fmt: skip
def test_a_guard_may_tell_members_from_each_other(guard, members, counted):
    rule = rs.compile(
        f"forall x in d where {guard}: P(x)",
        "lukasiewicz-maxsat",
        domains={"d": members},
        inputs="probs",
    )
    size = members if isinstance(members, int) else len(members)
    assert rule(P=torch.zeros(size)) == counted


def test_counts_stand_in_the_steps_of_a_plan():
    rule = rs.compile(
        "forall x in d: at least 2 of (P(x), Q, exactly 1 y in d where y != x: P(y))",
        domains={"d": 3},
        outputs={"P": "independent"},
    )
    outer, count, inner = (step for step in reversed(rule.plan.steps) if not hasattr(step, "slot"))
    assert (outer.kind, outer.count) == (rs.Forall, None)
    assert (count.kind, count.count) == (CountOf, Count("at least", 2))
    assert len(count.operands) == 3
    assert (inner.kind, inner.count) == (CountQuantifier, Count("exactly", 1))
    assert [axis.variable for axis in inner.axes] == ["y"]
    assert rule.plan.counts == (Count("exactly", 1), Count("at least", 2))


def test_a_guard_may_count():
    text = "forall x, y in d where exactly 1 of (x = 0, y = 0, x = y): P(x, y)"
    rule = rs.compile(text, "lukasiewicz-maxsat", domains={"d": 3}, inputs="probs")
    expected = sum([x == 0, y == 0, x == y].count(True) == 1 for x in range(3) for y in range(3))
    assert rule(P=torch.zeros(3, 3)) == expected


def test_a_guard_about_another_quantifiers_variable_is_refused():
    with pytest.raises(GroundingError, match="variables of another quantifier"):
        rs.compile(
            "forall a in d: forall m in image where a != 0: P(m, a)",
            domains={"d": 3, "image": "open"},
            predicates={"P": ("image", "d")},
        )


def test_a_guard_over_labels_reads_no_atoms():
    with pytest.raises(GroundingError, match="guards read relations of open domains only"):
        rs.compile("forall x in d where P(x): Q(x)", domains={"d": 3})


def test_a_label_that_reads_like_a_difference_is_to_be_quoted():
    with pytest.raises(GroundingError, match=r'Write the label in quotes: "B-NP"'):
        rs.compile("P(B-NP)", domains={"tag": ["B-NP", "O"]}, predicates={"P": ("tag",)})
