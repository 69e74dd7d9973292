"""Invisible characters in text become escapes."""

import sys
import unicodedata

from residuum.printable import printable, printable_lines


def test_every_invisible_character_of_unicode_is_escaped():
    for number in range(sys.maxunicode + 1):
        shown = printable(chr(number))
        assert shown == chr(number) or shown.startswith("\\")
        kinds = {unicodedata.category(one) for one in shown}
        assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}, hex(number)


def test_words_of_any_language_stay_as_they_are():
    for text in ("", "r-product", "Łukasiewicz, λ ≤ ½", "日本語", "שלום", "a  b\\n"):
        assert printable(text) == text


def test_line_breaks_stay_only_where_they_are_asked_for():
    assert printable("a\nb\r\x1b[2J") == "a\\nb\\r\\x1b[2J"
    assert printable_lines("a\nb\r\x1b[2J") == "a\nb\\r\\x1b[2J"
