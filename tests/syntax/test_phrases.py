"""Words are cut by one expression; the oracle is Lark's lexer, made of the grammar alone."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from lark.exceptions import UnexpectedCharacters

from residuum.logic.terms import KEYWORDS
from residuum.syntax.mistakes import NO_TERMINAL
from residuum.syntax.phrases import grammar, words_of
from strategies import any_text, formulas, many

NAMES_AND_NUMBERS = ["P", "x_1", "notx", "é", "0", "1.5", "1e9", "2E-3", "1e", "0..9", "²", "٣"]
SYMBOLS = [*"~&|()=,:<>+-*/.#'!\n\t \0\\\"", "->", "<->", "!=", "<=", ">=", "..", "∀", '"a\\"b"']
soup = st.lists(
    st.sampled_from([*sorted(KEYWORDS), *NAMES_AND_NUMBERS, *SYMBOLS]), max_size=20
).map("".join)


def cut_by_lark(text: str) -> tuple[list[tuple[str, str, int]], int | None]:
    """Return the words up to the first that the grammar does not have, and where that is."""
    found: list[tuple[str, str, int]] = []
    try:
        found.extend((token.type, str(token), token.start_pos) for token in grammar().lex(text))
    except UnexpectedCharacters as error:
        return found, error.pos_in_stream
    return found, None


def _by_itself(word) -> str:
    """Return the type that a word has without its neighbours."""
    if word == "(":
        return "LPAR"
    return "NAME" if word in ("exactly", "at", "least", "most", "of", "div") else word.type


@many
@given(any_text | soup | formulas.map(str))
@example('P & "open # no comment')
@example("1rule2.5.6e7<-->8")
def test_words_are_those_that_the_grammar_has(text):
    expected, wrong = cut_by_lark(text)
    words = [(_by_itself(word), str(word), word.start_pos) for word in words_of(text, 0, len(text))]
    assert words[: len(expected)] == expected
    rest = [(kind, place) for kind, _, place in words[len(expected) :]]
    assert rest[:1] == ([] if wrong is None else [(NO_TERMINAL, wrong)])


def test_a_part_of_a_text_has_its_words_at_their_places_in_the_whole():
    text = "rule a: P rule b: Q"
    whole = [(str(word), word.start_pos) for word in words_of(text, 0, len(text))]
    assert [(str(word), word.start_pos) for word in words_of(text, 10, len(text))] == whole[4:]
