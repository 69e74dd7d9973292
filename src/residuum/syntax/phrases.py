"""Text → phrases: a concrete syntax tree whose words know where they stand."""

from __future__ import annotations

from lark.exceptions import UnexpectedToken

from residuum.limits import LONGEST_WORD
from residuum.syntax.diagnosis import diagnose
from residuum.syntax.excerpts import Misread
from residuum.syntax.grammar import Phrase, grammar
from residuum.syntax.words import place_of, refuse_excess, words_of


def read_phrase(text: str, symbol: str, start: int = 0, end: int | None = None) -> Phrase:
    """Return the phrase that a part of a text spells, or raise Misread."""
    end = len(text) if end is None else end
    words = words_of(text, start, end)
    if end - start > LONGEST_WORD:  # fewer characters exceed no limit
        refuse_excess(text, words)
    parser = grammar().parse_interactive(start=symbol)
    feed = parser.parser_state.feed_token
    try:
        for word in words:
            feed(word)
        phrase = parser.feed_eof()  # type: ignore[no-untyped-call]
    except UnexpectedToken as error:
        refuse_excess(text, words)  # its messages say more
        part, at_fault = text[start:end], error.token
        is_end = at_fault.type == "$END"
        offset = len(part.rstrip()) if is_end else place_of(at_fault) - start
        accepted = parser.accepts() or error.expected  # type: ignore[no-untyped-call]
        message = diagnose(part, offset, at_fault, accepted)
        raise Misread(start + offset, message) from None
    assert isinstance(phrase, Phrase)
    return phrase
