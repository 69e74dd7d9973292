"""Text → formula."""

from __future__ import annotations

from residuum.errors import FormulaSyntaxError, NotTextError
from residuum.logic import Formula
from residuum.syntax.excerpts import Misread, explain
from residuum.syntax.phrases import read_phrase
from residuum.syntax.reading import Reader


def parse(text: str) -> Formula:
    """Return the formula a text spells; FormulaSyntaxError says where it goes wrong.

    >>> parse("forall x in D: Cat(x) -> not Dog(x)")
    <Forall forall x in D: Cat(x) -> ~Dog(x)>
    """
    if not isinstance(text, str):
        raise NotTextError(f"expected a formula or its text, got {type(text).__name__}")
    reader = Reader(vocabulary=None)
    try:
        formula = reader.read(read_phrase(text, "formula"))
    except Misread as error:
        reader.mistakes.append(error.mistake)
    if reader.mistakes:
        raise FormulaSyntaxError(*explain(text, reader.mistakes)[0]) from None
    return formula


def as_formula(formula: str | Formula) -> Formula:
    """Return a formula given as itself or as text."""
    return formula if isinstance(formula, Formula) else parse(formula)
