"""What the names in a rule stand for: variables, labels, or nothing, which is said in words."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError

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
