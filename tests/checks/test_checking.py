from __future__ import annotations

import dataclasses
import itertools
import os
import subprocess
import sys
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_tables import assert_found

import residuum as rs
from residuum.checks import Contradiction, Entailed, RuleCheck, check, checking
from residuum.syntax import Rule, loads

# Rules without sequences: a softmax P of three classes, two independent Q, and a sigmoid R.

DECLARED = """
domain d = a, b, c
predicate P(d)
predicate Q(d) independent
predicate R
"""


class Prediction(NamedTuple):
    p: int
    q: tuple[bool, ...]
    r: bool


ATOMS = {
    "P(a)": lambda x: x.p == 0,
    "P(b)": lambda x: x.p == 1,
    "P(c)": lambda x: x.p == 2,
    "Q(a)": lambda x: x.q[0],
    "Q(b)": lambda x: x.q[1],
    "R": lambda x: x.r,
    "true": lambda _: True,
    "(forall x in d: P(x) -> Q(x))": lambda x: x.q[x.p],
    "(exists x in d where x != a: P(x) & Q(x))": lambda x: x.p > 0 and x.q[x.p],
    "(exactly 2 x in d: Q(x))": lambda x: sum(x.q) == 2,
    "(at most 1 x in d where x != a: P(x) | Q(x))": lambda x: (
        (x.p == 1 or x.q[1]) + (x.p == 2 or x.q[2]) <= 1
    ),
    "at least 2 of (P(a), Q(a), R)": lambda x: (x.p == 0) + x.q[0] + x.r >= 2,
}
CONNECTIVES = {
    "&": lambda left, right: left and right,
    "|": lambda left, right: left or right,
    "->": lambda left, right: not left or right,
    "<->": lambda left, right: bool(left) == bool(right),
}
EVERY = frozenset(
    Prediction(*parts)
    for parts in itertools.product(
        range(3), itertools.product([False, True], repeat=3), [False, True]
    )
)


def negated(formula):
    text, test = formula
    return f"~{text}", lambda x: not test(x)


def connected(parts):
    symbol, (left, holds_left), (right, holds_right) = parts
    connect = CONNECTIVES[symbol]
    return f"({left} {symbol} {right})", lambda x: connect(holds_left(x), holds_right(x))


formulas = st.recursive(
    st.sampled_from(sorted(ATOMS)).map(lambda text: (text, ATOMS[text])),
    lambda inner: st.one_of(
        inner.map(negated),
        st.tuples(st.sampled_from(sorted(CONNECTIVES)), inner, inner).map(connected),
    ),
    max_leaves=4,
)
"""A formula as text and as a Python function of a prediction."""


@given(st.lists(formulas, min_size=0, max_size=6))
@settings(deadline=None)
def test_findings_are_those_of_the_truth_tables(rules):
    text = "".join(f"rule r{k}: {spelt}\n" for k, (spelt, _) in enumerate(rules))
    found = check(loads(DECLARED + text))
    table = {f"r{k}": frozenset(p for p in EVERY if f(p)) for k, (_, f) in enumerate(rules)}
    assert_found(found, {0: table}, {0: EVERY})
    assert (found.lengths, dict(found.unchecked)) == ((), {})


# Rules about sequences: a tag of two classes at each position, and one position that is the head.

SEQUENCE = """
domain tag = B, I
domain position sequence
domain shift = 0..1
predicate Tag(position, tag)
predicate Head(position)
"""


class Sequence(NamedTuple):
    tags: str
    head: int


def all_of(test):
    return lambda s: all(test(s, i) for i in range(len(s.tags)))


def any_of(test):
    return lambda s: any(test(s, i) for i in range(len(s.tags)))


def tag(s, i):
    """Return the tag at a position, or None outside the sequence."""
    return s.tags[i] if 0 <= i < len(s.tags) else None


POOL = {
    "forall i in position: Tag(i, B) -> Tag(i + 1, I)": all_of(
        lambda s, i: tag(s, i) != "B" or tag(s, i + 1) != "B"
    ),
    "forall i in position: Tag(i, I) -> Tag(i - 1, B)": all_of(
        lambda s, i: tag(s, i) != "I" or tag(s, i - 1) != "I"
    ),
    "exists i in position: Tag(i, B) & Tag(i + 2, B)": any_of(
        lambda s, i: tag(s, i) == tag(s, i + 2) == "B"
    ),
    # A position outside drops the grounding, even where the rest of it is true.
    "exists i in position: Tag(i, B) | Tag(i + 1, B)": any_of(
        lambda s, i: i + 1 < len(s.tags) and "B" in s.tags[i : i + 2]
    ),
    "forall x in tag where x != B: ~Tag(0, x)": lambda s: s.tags[0] == "B",
    "exists x in tag: Tag(2, x)": lambda s: len(s.tags) > 2,
    "Tag(1, B)": lambda s: s.tags[1] == "B",
    "Tag(2, I) -> Head(2)": lambda s: s.tags[2] != "I" or s.head == 2,
    "forall i in position: Head(i) -> Tag(i, I)": lambda s: s.tags[s.head] == "I",
    "forall i in position: ~Head(i)": lambda _: False,
    "forall i in position where i > 0: ~Head(i)": lambda s: s.head == 0,
    "exists i in position: Tag(i, I)": lambda s: "I" in s.tags,
    "forall i in position: exists s in shift: Tag(i + s, I)": all_of(
        lambda s, i: "I" in s.tags[i : i + 2]
    ),
    "forall i in position: exists j in position where j != i: Tag(i, B) <-> Tag(j, I)": all_of(
        lambda s, i: any(tag(s, i) != tag(s, j) for j in range(len(s.tags)) if j != i)
    ),
    "forall i in position: Tag(i + 9, B)": lambda _: True,
    "forall s in shift: Tag(s + 0, I)": lambda s: "B" not in s.tags[:2],
    "forall i in position: (forall i in position: Tag(i + 1, B)) | Tag(i + 1, I)": all_of(
        lambda s, i: i + 1 >= len(s.tags) or "I" not in s.tags[1:] or tag(s, i + 1) == "I"
    ),
    "forall i in position: Tag(i, B) | Tag(i, I)": lambda _: True,
}
# These positions stand under no quantifier, so that shorter sequences cannot be read.
SHORTEST = {"Tag(1, B)": 2, "Tag(2, I) -> Head(2)": 3}
BY_LENGTH = {
    n: frozenset(
        Sequence("".join(t), h) for t in itertools.product("BI", repeat=n) for h in range(n)
    )
    for n in (1, 2, 3, 4)
}


@given(st.sets(st.sampled_from(sorted(POOL)), min_size=1, max_size=6))
@settings(deadline=None)
def test_findings_about_sequences_are_those_of_nested_loops(chosen):
    rules = dict(enumerate(sorted(chosen)))
    found = check(loads(SEQUENCE + "".join(f"rule r{k}: {r}\n" for k, r in rules.items())))
    table = {
        n: {
            f"r{k}": frozenset(p for p in every if POOL[rule](p))
            for k, rule in rules.items()
            if n >= SHORTEST.get(rule, 1)
        }
        for n, every in BY_LENGTH.items()
    }
    assert_found(found, table, BY_LENGTH)
    assert (found.lengths, dict(found.unchecked)) == ((1, 2, 3, 4), {})


# Open domains: one pair of images

PAIRS = """
domain digit = 0..2
domain image
domain pair
function left(pair): image
function right(pair): image
predicate Digit(image, digit)
predicate Sum(pair, digit)
rule sum: forall p in pair, a, b in digit:
    Digit(left(p), a) & Digit(right(p), b) -> Sum(p, (a + b) mod 3)
"""


DIFFERENCE = """
    forall q in pair, a, b in digit:
        Sum(q, a) & Digit(right(q), b) -> Digit(left(q), (a - b) mod 3)
"""  # the same rule the other way round: the left digit follows from the sum and the right one


@pytest.mark.parametrize(
    ("rule", "test"),
    [
        (
            DIFFERENCE,
            lambda left, right, total: left == (total - right) % 3,
        ),
        ("forall p in pair: ~Sum(p, 0)", lambda *p: p[2] != 0),
        (
            "forall p in pair, a in digit: Digit(left(p), a) -> ~Digit(right(p), (0 - a) mod 3)",
            lambda *p: (p[0] + p[1]) % 3 != 0,
        ),
        ("forall x in image: exists d in digit: Digit(x, d)", lambda *_: True),
    ],
)
def test_an_open_variable_is_one_example_and_functions_give_different_members(rule, test):
    every = frozenset(itertools.product(range(3), repeat=3))
    table = {
        "sum": frozenset(p for p in every if (p[0] + p[1]) % 3 == p[2]),
        "other": frozenset(p for p in every if test(*p)),
    }
    found = check(loads(f"{PAIRS}rule other: {rule}"))
    assert_found(found, {0: table}, {0: every})
    assert set(found.open_domains) == {"pair"} | ({"image"} if "image" in rule else set())
    assert (found.lengths, dict(found.unchecked)) == ((), {})


# Words and corners


def test_one_rule_that_cannot_hold_is_a_contradiction_by_itself():
    found = check(loads(DECLARED + "rule both: P(a) & P(b)\nrule other: Q(a)"))
    assert found.contradictions == (Contradiction(("both",)),)
    assert not found.is_consistent


def test_independent_contradictions_are_found_together():
    text = "rule a: R\nrule b: Q(a)\nrule c: ~R\nrule d: ~Q(a)\nrule e: Q(b)\nrule f: Q(b) | R"
    found = check(loads(DECLARED + text))
    assert {one.rules for one in found.contradictions} == {("a", "c"), ("b", "d")}
    assert found.entailed == ()


def test_a_contradiction_of_short_sequences_alone_leaves_the_rules_consistent():
    text = "rule some: exists i in position: Tag(i, I)\nrule first: forall x in tag: ~Tag(0, I)"
    found = check(loads(SEQUENCE + text))
    assert found.contradictions == (
        Contradiction(("some", "first"), lengths=(1,), at_every_length=False),
    )
    assert found.is_consistent


def test_equal_rules_follow_from_each_other():
    found = check(loads(DECLARED + "rule a: R\nrule b: R\nrule c: true"))
    assert found.entailed == (Entailed("a", ("b",)), Entailed("b", ("a",)), Entailed("c", ()))


def test_a_domain_of_one_label_leaves_no_choice():
    text = "domain one = a\npredicate P(one)\nrule r: P(a)\nrule s: ~P(a)"
    found = check(loads(text))
    assert (found.contradictions, found.entailed) == (
        (Contradiction(("s",)),),
        (Entailed("r", ()),),
    )


def test_a_huge_softmax_costs_no_more_than_the_classes_that_rules_name():
    text = "domain n = 0..999998\npredicate P(n)\nrule a: P(1) | P(5)\nrule b: ~P(999998)"
    found = check(loads(text))
    assert found.entailed == (Entailed("b", ("a",)),)


def test_knowledge_without_rules_is_consistent():
    assert check(loads("predicate P")) == RuleCheck()


def test_clauses_are_checked_like_rules():
    found = check(loads("p cnf 3 4\n1 -2 0\n-1 3 0\n-2 3 0\n2 -2 0\n"))
    assert found.entailed == (Entailed("line_4", ("line_2", "line_3")), Entailed("line_5", ()))
    assert check(loads("p cnf 1 1\n0")).contradictions == (Contradiction(("line_2",)),)


def test_functions_from_python_can_be_given():
    text = "domain d = 0..2\nfunction f(d): d\npredicate P(d)\nrule r: forall x in d: ~P(f(x))"
    left = check(loads(text))
    assert "function `f`" in left.unchecked["r"]
    assert left.contradictions == left.entailed == ()
    given_all = check(loads(text), functions={"f": lambda x: (x + 1) % 3})
    assert given_all.contradictions == (Contradiction(("r",)),)
    given_one = check(loads(text), functions={"f": {0: 1, 1: 1, 2: 1}})
    assert given_one == RuleCheck()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("domain d = 0..2 predicate P(d) rule r: forall x in d: P(x + 1)", "`x + 1` is 3"),
        ("domain d predicate P(d) rule r: exists x in d: P(x)", "relates members of open"),
        ("domain s sequence predicate P(s) rule r: P(9)", "is no position of `s`"),
        (
            "domain d = 0..999 predicate P(d) rule r: forall x, y in d: P(x) | P(y)",
            "expected at most 200,000 atoms in the groundings",
        ),
        (
            "domain d = 0..999998 predicate P(d) rule r: forall a, b, c, e, f in d: P(a)",
            "expected at most 200,000 atoms in the groundings",
        ),
    ],
)
def test_what_cannot_be_checked_is_listed_with_its_reason(text, reason):
    found = check(loads(f"{text} predicate Q rule a: Q rule b: Q | ~Q"))
    assert [*found.unchecked] == ["r"]
    assert reason in found.unchecked["r"]
    assert found.entailed == (Entailed("b", ()),)


def pigeons(count):
    """Return clauses by which pigeons have holes of their own, of which there is one too few."""
    holes = range(count - 1)
    somewhere = [" or ".join(f"p{k}h{h}" for h in holes) for k in range(count)]
    apart = [f"not p{k}h{h} or not p{j}h{h}" for h in holes for k in range(count) for j in range(k)]
    return "\n".join(somewhere + apart)


def test_a_question_that_is_too_hard_is_given_up(monkeypatch):
    monkeypatch.setattr(checking, "MOST_STEPS", 100_000)
    knowledge = loads(pigeons(11))
    found = check(knowledge)
    assert found.contradictions == found.entailed == ()
    assert set(found.unchecked) == set(knowledge.rules)
    assert all("gave up after 100,000 steps" in reason for reason in found.unchecked.values())
    assert check(knowledge) == found


def test_a_set_that_may_not_be_minimal_is_marked(monkeypatch):
    knowledge = loads(pigeons(6) + "\n" + "\n".join(f"q{k}" for k in range(50)))
    assert check(knowledge).contradictions[0].is_minimal
    monkeypatch.setattr(checking, "MOST_STEPS", 4_000)
    [found] = check(knowledge).contradictions
    assert not found.is_minimal


def test_only_knowledge_is_checked():
    with pytest.raises(
        rs.ResiduumError, match=r"expected a Knowledge, as rs\.load returns, got str"
    ):
        check("rules.rsd")


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_the_answer_does_not_depend_on_the_order_of_sets(seed):
    code = f"""
from residuum.checks import check
from residuum.syntax import Rule, loads
print(check(loads({pigeons(4) + chr(10) + pigeons(4).replace("p", "q")!r})))
"""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    words = [sys.executable, "-c", code]
    result = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    expected = check(loads(pigeons(4) + "\n" + pigeons(4).replace("p", "q")))
    assert result.stdout == f"{expected}\n"


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        ("forall x in d: Q(x) -> P(a)", "expected a rule without free variables, got a free"),
        ("P(a)", "expected a rule without free variables, got a free"),
        ("forall x in e: P(x)", "nothing is known of domain `e`"),
        ("S(0)", "predicate `S` is not declared"),
        ("P(0, 1)", "takes 1 arguments"),
        ('P("z")', "is not in domain"),
    ],
)
def test_a_wrong_rule_that_was_built_in_python_is_not_checked(formula, reason):
    knowledge = loads(DECLARED + "rule r: R\nrule s: P(a) & P(b)")
    wrong = Rule("r", rs.parse(formula))
    built = dataclasses.replace(knowledge, rules={**knowledge.rules, "r": wrong})
    found = check(built)
    assert [*found.unchecked] == ["r"]
    assert reason in found.unchecked["r"]
    assert found.contradictions == (Contradiction(("s",)),)
