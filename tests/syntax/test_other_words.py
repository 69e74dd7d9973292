"""Words and symbols that users of other languages type."""

import pytest

import residuum as rs


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("P && Q", "P & Q"),
        ("P || Q", "P | Q"),
        ("!P", "~P"),
        ("!!P & !(Q)", "~~P & ~Q"),
        ("P => Q => R", "P -> Q -> R"),
        ("P <=> Q", "P <-> Q"),
        ("P&&Q||!R=>S<=>T", "P & Q | ~R -> S <-> T"),
        ("forall x in D where x<=3 && x!=1: !P(x)", "forall x in D where x <= 3 & x != 1: ~P(x)"),
        ("exists! x in D: !P(x)", "exists! x in D: ~P(x)"),
    ],
)
def test_symbols_of_programming_languages_are_connectives(text, ours):
    assert rs.parse(text) == rs.parse(ours)


def test_outputs_are_called_what_pytorch_calls_them():
    knowledge = rs.loads("domain d = 0, 1\npredicate A(d) sigmoid\npredicate B(d) softmax\n"
                         "predicate C(d) exclusive hidden\npredicate softmax(d)")  # fmt: skip
    found = {name: (p.is_independent, p.is_hidden) for name, p in knowledge.predicates.items()}
    assert found == {"A": (True, False), "B": (False, False), "C": (False, True),
                     "softmax": (False, False)}  # fmt: skip
