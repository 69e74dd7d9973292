"""What a rule file costs grows with its text and its domains, and no faster."""

from __future__ import annotations

import difflib
import sys
import tracemalloc

import pytest

from residuum.errors import MOST_PAIRS, KnowledgeError, suggest
from residuum.syntax import Domain, loads, parse


def problems_of(text: str):
    with pytest.raises(KnowledgeError) as caught:
        loads(text)
    assert len(str(caught.value)) < 50_000
    return caught.value.problems


def peak_of(read, text: str) -> int:
    """Return the bytes that reading a text takes at most."""
    read("true" if read is parse else "rule r: true")  # the grammar is made once
    tracemalloc.start()
    try:
        read(text)
    except ValueError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


@pytest.mark.parametrize(
    "listed",
    [
        lambda n: f"forall {', '.join(f'x{i}' for i in range(n))} in D: P",
        lambda n: "P" + " & P" * n,
        lambda n: "P(" + "x, " * n + "x)",
    ],
    ids=["variables", "conjunction", "atom"],
)
def test_ten_times_as_long_a_list_takes_ten_times_the_calls(listed):
    def calls(count):
        """Return how many functions are called, `isinstance` among them."""
        made = 0

        def counted(_frame, event, _argument):
            nonlocal made
            made += event in ("call", "c_call")

        before, text = sys.getprofile(), listed(count)
        sys.setprofile(counted)
        try:
            parse(text)
        finally:
            sys.setprofile(before)
        return made

    calls(2)  # the first text also builds the grammar
    assert calls(2_000) < 12 * calls(200)


def test_a_range_listed_again_counts_again():
    found = problems_of("domain d = " + ", ".join(["0..999998"] * 200))
    assert [problem.column for problem in found] == [23]
    assert "at most 1,000,000 labels; 999,999 are listed already, and 999,999 here" in str(found[0])


@pytest.mark.parametrize("last", [10**12, 2**63 - 1])
def test_a_range_beyond_the_limit_is_refused_before_it_is_spelt_out(last):
    text = f"domain d = -{last}..{last} predicate P(d) rule r: P({last // 2}) & P(x)"
    found = problems_of(text)
    assert f"{2 * last + 1:,} here. List fewer labels." in str(found[0])
    assert peak_of(loads, text) < 2_000_000


def test_a_large_range_takes_no_memory():
    text = "domain d = 0..999998 predicate P(d) rule r: (forall x in d: P(x)) & P(7)"
    assert loads(text).domains["d"].labels == range(999_999)
    assert peak_of(loads, text) < 1_000_000


def test_a_name_that_is_no_label_of_a_large_domain_takes_no_memory():
    text = "domain d = 0..999998 predicate P(d) rule r: P(q0) & P(q1)"
    assert peak_of(loads, text) < 2_000_000


@pytest.mark.parametrize("listing", ["0..8", "0, 2, 5"])
def test_domains_are_compared_once_however_many_terms_need_it(listing, monkeypatch):
    calls = []
    compare = Domain.is_part_of
    monkeypatch.setattr(
        Domain, "is_part_of", lambda one, other: calls.append(one) or compare(one, other)
    )
    atoms = " & ".join(f"(forall x{n} in s: P(x{n}))" for n in range(50))
    loads(f"domain s = {listing} domain d = 0..9 predicate P(d) rule r: {atoms}")
    assert len(calls) == 1


@pytest.mark.parametrize(
    "label", ["a" * 300_000, "\\n" * 150_000, '\\"' * 150_000], ids=["plain", "escapes", "quotes"]
)
@pytest.mark.parametrize("closing", ['"', ""])
def test_a_long_label_takes_memory_in_proportion(label, closing):
    text = f'"{label}{closing}'
    assert peak_of(parse, f"P({text})") < 12 * len(text)
    assert peak_of(loads, f"domain d = {text}") < 12 * len(text)


def test_nested_quantifiers_take_memory_in_proportion():
    def nested(levels: int) -> str:
        return "".join(f"forall x{n} in d: " for n in range(levels)) + "P(x0)"

    assert peak_of(parse, nested(6_000)) < 2.4 * peak_of(parse, nested(3_000))


def wide_arity(count: int) -> str:
    predicate = f"domain d = 0..9 predicate P({', '.join(['d'] * count)})"
    return f"{predicate} rule r: {' & '.join(['P'] * count)}"


def nested_functions(count: int) -> str:
    declared = "domain a = x, y domain b = u, v function f(a): b predicate P(b)"
    return f"{declared} rule r: P({'f(' * count}x{')' * count})"


def long_labels(count: int) -> str:
    declared = ", ".join(f'"{letter * 900}"' for letter in "abcdef")
    atoms = " & ".join(f"P({n})" for n in range(count))
    return f"domain a = {declared} predicate P(a) rule r: {atoms}"


def unknown_words(count: int) -> str:
    return "rule " * count


def unequal_tables(count: int) -> str:
    entries = ", ".join(f"{n}: {n}" for n in range(count))
    return f"domain d = 0..9 function f(d): d = {entries}"


@pytest.mark.parametrize(
    "text_of", [wide_arity, nested_functions, long_labels, unknown_words, unequal_tables]
)
def test_messages_grow_with_the_number_of_mistakes_only(text_of):
    def written(count: int) -> int:
        return sum(len(problem.message) for problem in problems_of(text_of(count)))

    assert written(600) < 2.1 * written(300) < 300 * 1_000


def test_a_long_line_is_shown_in_part():
    text = f"domain d = 0..9 {' ' * 300_000}predicate P(e) {'# x' * 100_000}"
    with pytest.raises(KnowledgeError) as caught:
        loads(text)
    assert caught.value.problems[0].column == 300_029
    assert len(str(caught.value)) < 300
    line, caret = str(caught.value).split("\n")[2:]
    assert line[caret.index("^")] == "e"


def test_only_a_few_long_names_are_compared(monkeypatch):
    compared = []

    def count(name, words, **_):
        compared.append(sum(len(name) * len(word) for word in words))
        return []

    monkeypatch.setattr(difflib, "get_close_matches", count)
    suggest("ab" * 30, (f"{'ba' * 28}{n:04}" for n in range(10**12)))
    assert 0 < sum(compared) <= MOST_PAIRS
    suggest("ab" * 31, (f"{'ba' * 28}{n:04}" for n in range(10**12)))
    assert len(compared) == 1


def test_the_values_that_a_table_lacks_are_found_without_spelling_out_its_domains():
    arguments = ", ".join(["d"] * 40)
    zeros = ", ".join(["0"] * 40)
    text = f"domain d = 0..999998 function f({arguments}): d = ({zeros}): 0"
    (problem,) = problems_of(text)
    assert problem.message.count("0, 0, 0, 0, 0, 0, …") == 3
    assert len(problem.message) < 200
    assert peak_of(loads, text) < 2_000_000
