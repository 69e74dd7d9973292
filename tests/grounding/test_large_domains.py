"""What is too large to compile is refused in words, before the work begins."""

from __future__ import annotations

import itertools
import math
import re

import pytest

from residuum import compile as compile_rule
from residuum.errors import GroundingError
from residuum.grounding import layouts
from residuum.syntax import Domain, loads

HUGE = 10**12
RULE = "forall x in d: P(x)"


def refusal(rule: str, **options) -> str:
    with pytest.raises(GroundingError) as caught:
        compile_rule(rule, **options)
    assert len(str(caught.value)) < 400
    return str(caught.value)


@pytest.mark.parametrize(
    "given",
    [HUGE, 10**5000, range(HUGE), range(10**30), itertools.count(), itertools.repeat("a"),
     Domain("d", range(HUGE)), (f"l{n}" for n in itertools.count())],
    ids=["size", "digits", "range", "long range", "count", "repeat", "domain", "generator"],
)  # fmt: skip
def test_a_domain_of_too_many_members_is_refused(given):
    found = refusal(RULE, domains={"d": given})
    assert re.search(
        r"`d`: expected at most (10,000,000 members|1,000,000 listed labels), got ", found
    )


@pytest.mark.parametrize(
    ("given", "found"),
    [(HUGE, HUGE), (range(HUGE), HUGE), (range(1, HUGE, 2), HUGE // 2),
     (range(HUGE, 0, -3), HUGE // 3 + 1)],
)  # fmt: skip
def test_the_number_of_members_is_told(given, found):
    assert f"members, got {found};" in refusal(RULE, domains={"d": given})


UNFIT = {
    "below 0": (-1, "-1"),
    "thousands of digits below 0": (-(10**5000), "<integer of 16,610 bits>"),
    "a Boolean": (True, "True"),
    "a float": (3.0, "3.0"),
    "infinity": (math.inf, "inf"),
    "a label of thousands of digits": ([10**5000], "<integer of 16,610 bits>"),
    "labels of 65 bits": (range(2**63, 2**63 + 2), str(2**63)),
    "a Boolean label": ([True], "True"),
    "a float beside a long label": (["a" * 10**6, 1.5], "1.5"),
    "long text": ("x" * 10**6, "xxx"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_members_of_the_wrong_kind_are_refused(name):
    given, found = UNFIT[name]
    assert found in refusal(RULE, domains={"d": given})


def test_names_of_domains_without_end_are_refused():
    predicates = {"P": itertools.repeat("d")}
    assert "without end" in refusal(RULE, domains={"d": 3}, predicates=predicates)


def test_a_large_domain_is_compiled():
    compiled = compile_rule("forall x in d where x > 5: P(x)", domains={"d": 1_000_000})
    assert "axis x over d, 1000000 long" in compiled.explain()


@pytest.mark.parametrize("nested", [True, False])
def test_many_variables_around_an_atom_are_refused(nested):
    names = [f"x{n}" for n in range(31)]
    inner = " & ".join(f"P({name})" for name in names)
    bound = (
        (f"forall {name} in d" for name in names) if nested else [f"forall {', '.join(names)} in d"]
    )
    found = refusal(f"{': '.join(bound)}: {inner}", domains={"d": 1})
    assert re.search(r"at most 30 variables .* got 31", found)


def test_thirty_variables_are_compiled():
    names = ", ".join(f"x{n}" for n in range(30))
    assert compile_rule(f"forall {names} in d where x0 = x29: P(x0)", domains={"d": 1})


def test_thousands_of_variables_are_refused():
    names = ", ".join(f"x{n}" for n in range(20_000))
    assert "30 variables" in refusal(f"forall {names} in d: P(x0) & Q(x1)", domains={"d": 2})


@pytest.mark.parametrize(
    "rule",
    [
        "forall x, y in d where x != y: P(x) -> P(y)",
        "forall x, y in d: P((x + y) mod 7)",
        "forall x, y in d: Q(x, (x + y) mod 7)",
        "forall x in d where x > 1: forall y in d where y > 1: P(x) & P(y) & R(x, y)",
        f"forall {', '.join(f'x{n}' for n in range(10))} in d where x0 < x9: P(x0) & P(x9)",
    ],
)
def test_tables_over_large_domains_are_refused_before_they_are_made(rule):
    given = {"Q": ("d", "d"), "R": ("d", "d"), "P": ("d",)}
    used = {name: given[name] for name in "PQR" if f"{name}(" in rule}
    found = refusal(rule, domains={"d": 1_000_000}, predicates=used)
    assert "268,435,456 values" in found
    assert "x (1,000,000) × y (1,000,000)" in found or "x0 (1,000,000) × x9" in found


def test_large_rules_whose_tables_are_small_are_compiled():
    assert compile_rule("forall x, y in d: P(x) -> P(y)", domains={"d": 1_000_000})


def test_functions_are_not_asked_for_values_without_end(monkeypatch):
    asked = []
    monkeypatch.setattr(layouts, "MOST_CALLS", 100)

    def first(x: int, y: int) -> int:
        asked.append(x)
        return min(x, y)

    rule = "forall x, y in d: P(first(x, y))"
    options = {"predicates": {"P": ("d",)}, "functions": {"first": first}}
    assert compile_rule(rule, domains={"d": 10}, **options)
    assert len(asked) == 100
    assert "100 values of a function" in refusal(rule, domains={"d": 11}, **options)
    assert len(asked) == 100


def test_variables_of_a_rule_file_are_counted_as_well():
    names = ", ".join(f"x{n}" for n in range(31))
    knowledge = loads(f"domain d = 0..1 predicate P(d) rule r: forall {names} in d: P(x0)")
    with pytest.raises(GroundingError, match=r"at most 30 variables .* got 31"):
        compile_rule(knowledge)


def test_what_is_unknown_is_refused_with_a_short_message():
    rule = " & ".join(f"P{n}" for n in range(3_000))
    assert "Did you mean" in refusal(rule, predicates={"P30001": ()})
    functions = {"Q" * 10_000: {}}
    knowledge = loads("predicate P rule r: P")
    with pytest.raises(GroundingError, match="no function") as refused:
        compile_rule(knowledge, functions=functions)
    assert len(str(refused.value)) < 1_000
