from __future__ import annotations

import pytest
from hypothesis import given, settings

from residuum.logic import Atom, Constant
from residuum.syntax import parse
from strategies import formulas, labels

thorough = settings(derandomize=True, deadline=None, max_examples=300)


@thorough
@given(formulas)
def test_ascii_text_parses_back_to_the_same_formula(formula):
    text = str(formula)
    assert text.isascii() or not all(map(str.isascii, _names(formula)))
    assert parse(text) is formula


@thorough
@given(formulas)
def test_unicode_text_parses_back_to_the_same_formula(formula):
    assert parse(f"{formula:unicode}") is formula


def _names(formula) -> list[str]:
    found, waiting = [], [formula]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        for field in node.__match_args__:
            value = getattr(node, field)
            if isinstance(value, str) and not isinstance(node, Constant):
                found.append(value)
        for binding in getattr(node, "bindings", ()):
            found += binding
    return found


@thorough
@given(labels)
def test_every_label_survives_both_styles(label):
    atom = Atom("P", Constant(label))
    assert parse(str(atom)) is parse(f"{atom:unicode}") is atom


HIGH, LOW = chr(0xD83D), chr(0xDE00)


@pytest.mark.parametrize(
    "label",
    [HIGH, LOW, LOW + HIGH, HIGH + LOW, "a\0", "\u2028"],
    ids=["high", "low", "low high", "a pair", "nul", "separator"],
)
def test_labels_with_surrogates_and_controls_survive(label):
    atom = Atom("P", Constant(label))
    assert parse(str(atom)) is atom
    assert parse(f"{atom:unicode}") is atom


@pytest.mark.parametrize(
    "text",
    [
        "forall x in D, y, z in E where x != y: P(x) -> Q(y, z)",
        "(forall x in D: P(x)) & exists y in D where ~(y = 1 & true): Q(y)",
        "P <-> Q <-> (R <-> S) -> T",
        'Tag(i + 1, "B-NP") | ~Tag(i - -1 mod 3, begin(X))',
        "forall x in D: P -> (exists x in D: Q) & R",
    ],
)
def test_canonical_text_prints_back_unchanged(text):
    assert str(parse(text)) == text
