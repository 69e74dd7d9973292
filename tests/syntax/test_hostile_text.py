"""Whatever the text, the answer is a result or an error of our own, never anything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from residuum.errors import FormulaSyntaxError, KnowledgeError, Problem
from residuum.logic import Formula
from residuum.logic.terms import KEYWORDS
from residuum.syntax import Knowledge, loads, parse
from strategies import any_text, formulas, many

WORDS = [*sorted(KEYWORDS), *'P Q x y D 0 1 -1 99999999999999999999 1.5 1e9 "a" "'.split(" ")]  # noqa: SIM905
SYMBOLS = [*"~&|()=,:<>+-*.#'\n\t\0\\", "->", "<->", "!=", "<=", "..", "∀", "∃", "∈", "\ud800"]
soup = st.lists(st.sampled_from(WORDS + SYMBOLS), max_size=30).map(" ".join)
dense_soup = st.lists(st.sampled_from(WORDS + SYMBOLS), max_size=30).map("".join)


def lies_within(problem: Problem, text: str) -> bool:
    lines = text.split("\n")
    return problem.line <= len(lines) and 1 <= problem.column <= len(lines[problem.line - 1]) + 1


def is_parsed_or_refused(text: str) -> bool:
    try:
        return isinstance(parse(text), Formula)
    except FormulaSyntaxError as error:
        return lies_within(error.problem, text)


def is_loaded_or_refused(text: str) -> bool:
    try:
        return isinstance(loads(text), Knowledge)
    except KnowledgeError as error:
        return bool(error.problems) and all(lies_within(p, text) for p in error.problems)


@many
@given(any_text | soup | dense_soup)
def test_random_text_raises_syntax_errors_only(text):
    assert is_parsed_or_refused(text)


@many
@given(st.binary().map(lambda raw: raw.decode("latin-1")))
def test_random_bytes_raise_syntax_errors_only(text):
    assert is_parsed_or_refused(text)
    assert is_loaded_or_refused(text)


@many
@given(formulas, st.integers(0, 200), st.sampled_from(["", *SYMBOLS, *WORDS]))
def test_damaged_formulas_raise_syntax_errors_only(formula, place, damage):
    text = str(formula)
    assert is_parsed_or_refused(text[:place] + damage + text[place + 1 :])


@many
@given(any_text | soup | dense_soup)
def test_random_rule_files_raise_knowledge_errors_only(text):
    assert is_loaded_or_refused(text)


declarations = st.lists(
    st.sampled_from(
        ["domain d = 0..9", "domain c = NP, VP", "domain s sequence", "domain o", "rule r:",
         "function f(c): d = NP: 1, VP: 2", "function g(d): c", "predicate P(d)", "predicate Q",
         "predicate R(c, s)", "facts data: P", "rule q weight 0.5:", "forall x in d:", "P(x)",
         "where x < 3:", "& Q", "-> R(NP, i + 1)", "exists i in s, X in c where X != NP:",
         "R(g(f(X)), -1)", "P(f(NP) mod 0)", "~", "(", ")", '"', "P(a, b)", "= 1: 2"]
    ),
    max_size=12,
).map("\n".join)  # fmt: skip


@many
@given(declarations)
def test_shuffled_declarations_raise_knowledge_errors_only(text):
    assert is_loaded_or_refused(text)


MEGA = 1_000_000
REFUSED = {
    "opening brackets": "(" * MEGA,
    "closing brackets": ")" * MEGA,
    "unbalanced brackets": "(" * 100_000 + "P" + ")" * 99_999,
    "calls": "f(" * MEGA,
    "words": "P " * MEGA,
    "symbols": "&" * MEGA,
    "one wrong character": "P\0" * MEGA,
    "lone surrogates": "\ud800" * MEGA,
    "a huge integer": f"P({'9' * MEGA})",
    "a huge negative integer": f"P(-{'9' * MEGA})",
    "quotes": '"' * (MEGA + 1),
    "an unclosed label": '"' + "a" * MEGA,
    "escaped quotes": '"\\' * MEGA,
    "bad escapes": 'P("' + "\\q" * 100_000 + '")',
    "quantifiers without end": "forall x in D: " * 10_000,
    "quantifiers without domain": "forall x " * MEGA,
    "nested guards": "forall x in D where " + "(" * 100_000,
    "a long name misplaced": "P " + "Q" * MEGA,
    "a long name": "P" * MEGA,
    "a long label": f'P("{"a" * MEGA}")',
    "arrows": "P" + " ->" * 100_000,
    "lines": "\n" * MEGA + "P P",
}


@pytest.mark.parametrize("name", REFUSED)
def test_huge_nonsense_is_refused_with_a_short_message(name):
    with pytest.raises(FormulaSyntaxError) as caught:
        parse(REFUSED[name])
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "name", ["opening brackets", "words", "quotes", "lone surrogates", "lines"]
)
def test_huge_nonsense_in_a_rule_file_is_refused_with_a_short_message(name):
    with pytest.raises(KnowledgeError) as caught:
        loads("rule r: " + REFUSED[name])
    assert len(str(caught.value)) < 1000


ACCEPTED = {
    "nested brackets": "(" * 50_000 + "P" + ")" * 50_000,
    "nested quantifiers": "forall x in D: " * 10_000 + "P(x)",
    "different nested quantifiers": "".join(f"forall x{n} in D: " for n in range(10_000)) + "P",
    "a long name": "P" * 1000,
    "a long label": f'P("{"a" * 1000}")',
    "a long comment": "P #" + "(" * MEGA,
    "nested functions": "P(" + "f(" * 20_000 + "x" + ")" * 20_001,
    "minus signs": "P(" + "-" * 20_000 + "x)",
    "a wide conjunction": "P" + " & P" * 50_000,
    "a wide atom": "P(" + "x, " * 20_000 + "x)",
    "many bound variables": f"forall {', '.join(f'x{n}' for n in range(5_000))} in D: P",
    "a deep guard": "forall x in D where " + "~(" * 20_000 + "x = 1" + ")" * 20_000 + ": P",
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_huge_formulas_within_the_limits_are_read(name):
    assert isinstance(parse(ACCEPTED[name]), Formula)


def test_a_file_of_many_mistakes_reports_them_all():
    with pytest.raises(KnowledgeError) as caught:
        loads("domain d\n" * 3_000)
    assert len(caught.value.problems) == 2_999


def test_overlapping_ranges_are_reported_once_each_not_once_for_each_label():
    with pytest.raises(KnowledgeError) as caught:
        loads("domain d = 0..9999, 0..9999")
    assert len(caught.value.problems) < 10


def test_a_domain_of_too_many_labels_is_refused():
    with pytest.raises(KnowledgeError, match="at most 1,000,000 labels"):
        loads("domain d = 0..9999999999999")


def test_a_rule_of_many_nested_quantifiers_is_read():
    rule = "".join(f"forall x{n} in d: P(x0) & " for n in range(3_000)) + "P(x0)"
    assert loads(f"domain d = 0..9 predicate P(d) rule r: {rule}").rules["r"]


def test_unclosed_quotes_by_the_thousand_in_a_rule_file_are_refused():
    with pytest.raises(KnowledgeError, match="never closed"):
        loads("domain d = " + '"\\' * 5_000)


def test_a_long_unknown_name_is_refused_with_a_short_message():
    with pytest.raises(KnowledgeError) as caught:
        loads("predicate P rule r: " + "Q" * 100_000)
    assert len(str(caught.value)) < 1000


def test_a_long_label_in_no_domain_is_refused_with_a_short_message():
    with pytest.raises(KnowledgeError) as caught:
        loads(f'domain d = 1 predicate P(d) rule r: P("{"a" * 100_000}")')
    assert len(str(caught.value)) < 1000


def test_huge_weights_are_refused():
    for weight in ("9" * 400, "1e999"):
        with pytest.raises(KnowledgeError, match="finite"):
            loads(f"rule r weight {weight}: true")
