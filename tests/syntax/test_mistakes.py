from __future__ import annotations

import pytest

from residuum.errors import FormulaSyntaxError, Problem, ResiduumError
from residuum.losses import compile as compile_rule
from residuum.relaxations import truth
from residuum.syntax import parse


def error_of(text: str) -> FormulaSyntaxError:
    with pytest.raises(FormulaSyntaxError) as caught:
        parse(text)
    return caught.value


def pointed_at(error: FormulaSyntaxError) -> str:
    """Return what stands above the caret, from there on."""
    line, caret = str(error).split("\n")[-2:]
    assert caret.strip() == "^"
    return line[caret.index("^") :]


CASES = [
    # text, line, column, above the caret, part of the message
    ("P & & Q", 1, 5, "& Q", "expected a formula, got `&`."),
    ("P Q", 1, 3, "Q", "expected a connective, `(` or the end, got `Q`."),
    ("P &", 1, 4, "", "expected a formula, got the end."),
    ("", 1, 1, "", "expected a formula, got the end."),
    ("  \n ", 1, 1, "", "expected a formula, got the end."),
    ("P\n  & Q\n  R", 3, 3, "R", "got `R`."),
    ("P(x,)", 1, 5, ")", "expected a term, got `)`."),
    ("P()", 1, 3, ")", "expected a term, got `)`."),
    ("P(x y)", 1, 5, "y)", "got `y`."),
    ("P(1.5.2)", 1, 6, ".2)", "`.` means nothing here."),
    ("forall x: P", 1, 9, ": P", "expected `,` or `in` with a domain, got `:`."),
    ("forall in D: P", 1, 8, "in D: P", "expected a name, got `in`."),
    ("forall x in D P", 1, 15, "P", "got `P`."),
    ("P & rule", 1, 5, "rule", "expected a formula, got `rule`."),
    ("P & 3", 1, 6, "", "expected a comparison, got the end."),
    ("forall x, x in D: P", 1, 11, "x in D: P", "variable `x` is bound twice"),
    ("P(x mod 0)", 1, 5, "mod 0)", "the right-hand side of `mod` is zero."),
    ("P & $", 1, 5, "$", "`$` means nothing here."),
    # brackets and quotes
    ("(P & Q", 1, 1, "(P & Q", "`(` is never closed."),
    ("P & (Q | (R)", 1, 5, "(Q | (R)", "`(` is never closed."),
    ("forall x in image: Digit(x -> Even(x)", 1, 25, "(x -> Even(x)", "`Digit(` is never closed."),
    ("P & Q)", 1, 6, ")", "this `)` closes nothing."),
    ('P(x) & Q("abc)', 1, 10, '"abc)', "never closed on its line"),
    ('P("a\nb")', 1, 3, '"a', "never closed on its line"),
    # line ends, tabs and other characters that are not shown as they are
    ("P\r\n& & Q\r\n", 2, 3, "& Q", "expected a formula, got `&`."),
    ("P &\r\n", 1, 4, "", "got the end."),
    ("\tP\t&\t& Q", 1, 6, "& Q", "expected a formula"),
    ("# 数\n数 数", 2, 3, "数", "got `数`."),
    ("P \0 Q", 1, 3, "\N{REPLACEMENT CHARACTER} Q", "the character U+0000 means nothing here."),
    ("P & \ud800", 1, 5, "\N{REPLACEMENT CHARACTER}", "the character U+D800 means nothing here."),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "above", "message"), CASES)
def test_errors_say_where_what_was_expected_and_what_was_found(text, line, column, above, message):
    error = error_of(text)
    assert (error.line, error.column) == (line, column)
    assert pointed_at(error).rstrip() == above
    assert message in error.problem.message
    assert str(error).startswith(f"line {line}, column {column}: ")


SUGGESTIONS = [
    ("P ==> Q", "->"),
    ("P ⇒ Q", "->"),
    ("P <==> Q", "<->"),
    ("P /\\ Q", "&"),
    ("P ^ Q", "&"),
    ("P \\/ Q", "|"),
    ("forall x in D where x == y: P", "="),
    ("P AND Q", "and"),
    ("P Or Q", "or"),
    ("P IMPLIES Q", "implies"),
    ("P xor Q", "~(P <-> Q)"),
    ("forall x in D. P", ":"),
    ("forall x in D such x = 1: P", "where"),
    ("P('NP')", '"'),
    ("P[x]", "("),
    ("P(x % 2)", "mod"),
    ("P(x // 2)", "div"),
]


@pytest.mark.parametrize(("text", "ours"), SUGGESTIONS)
def test_foreign_ways_of_writing_get_a_suggestion(text, ours):
    assert f"Did you mean `{ours}`?" in error_of(text).problem.message


@pytest.mark.parametrize(
    "text",
    ["exactly x in D: P(x)", "at least two of (P, Q)", "at most 1.5 x in D: P(x)", "exactly -1 x",
     "P & at least & (P, Q)", "at 2 of (P, Q)"],
)  # fmt: skip
def test_a_count_without_a_whole_number_is_told_how_counts_are_written(text):
    assert "Counts are written `at least 2 x in D: P(x)`" in error_of(text).problem.message


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [("∃<2 x in D: P(x)", 2, "expected `=`, `>=` or `<=` before a number, got `<`"),
     ("at least 2 of ()", 16, "expected a formula, got `)`"),
     ("at least 2 of (P, )", 19, "expected a formula, got `)`"),
     ("exactly 2 (P, Q)", 11, "expected `of` or a name, got `(`"),
     ("exactly 9223372036854775808 of (P)", 9, "at most 64 bits"),
     ("P(x div 0)", 5, "the right-hand side of `div` is zero")],
)  # fmt: skip
def test_mistakes_in_counts_and_divisions_are_shown_at_their_place(text, column, message):
    error = error_of(text)
    assert error.column == column
    assert message in error.problem.message


def test_an_equation_of_equations_is_refused():
    assert (
        "Only quantities are compared outside a `where` guard" in error_of("x=1=1").problem.message
    )


@pytest.mark.parametrize("text", ["P = Q", "P != Q", "~(P = Q) & R"])
def test_comparing_formulas_is_answered_with_an_equivalence_and_a_guard(text):
    for question in (lambda: truth(text, {}, "s-product"), lambda: compile_rule(text)):
        with pytest.raises(ResiduumError, match="<->"):
            question()
    assert "equivalent by `<->`" in error_of("P == Q").problem.message


@pytest.mark.parametrize(("text", "ours"), [("Not P", "not"), ("FORALL x in D: P", "forall")])
def test_a_capitalised_keyword_before_its_operand_gets_a_suggestion(text, ours):
    assert f"Did you mean `{ours}`?" in error_of(text).problem.message


@pytest.mark.parametrize("text", ["P Q", "P & & Q", "P(x,)", "(P"])
def test_no_suggestion_is_made_where_none_helps(text):
    assert "Did you mean" not in error_of(text).problem.message


def test_a_word_before_an_unclosed_bracket_is_named_only_if_it_is_a_name():
    assert "`(` is never closed" in error_of("P and (Q").problem.message


def test_a_long_line_is_cut_around_the_caret():
    error = error_of("P & " * 100 + "& Q" + " & P" * 100)
    assert error.column == 401
    assert pointed_at(error).startswith("& Q & P")
    assert max(map(len, str(error).split("\n")[-2:])) < 90


def test_a_long_word_is_shortened_in_the_message():
    assert len(error_of("P " + "Q" * 5000).problem.message) < 200


def test_syntax_errors_belong_to_the_family_and_to_value_error():
    error = error_of("P &")
    assert isinstance(error, ResiduumError)
    assert isinstance(error, ValueError)
    assert error.problem == Problem(1, 4, "expected a formula, got the end.")
    assert str(error.problem) == "line 1, column 4: expected a formula, got the end."


def test_nothing_of_the_parser_shows_in_the_traceback():
    error = error_of("P & & Q")
    assert error.__cause__ is None
    assert error.__suppress_context__


def test_the_first_of_several_problems_is_reported():
    assert error_of("P(x mod 0) & Q(y mod 0)").column == 5
