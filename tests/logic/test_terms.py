"""Names, constants and other terms that Python can build, and those that are refused."""

from __future__ import annotations

import pytest

from residuum.errors import InvalidNameError
from residuum.logic import (
    Application,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Forall,
    Variable,
    atoms,
)
from residuum.logic.terms import KEYWORDS
from residuum.syntax import parse

P, Q, R = atoms("P Q R")
x, y = Variable("x"), Variable("y")

# Names


def test_atoms_are_separated_by_spaces_or_commas():
    assert atoms("P Q,R,  P") == (P, Q, R, P)


def test_no_names_give_no_atoms():
    assert atoms("") == ()


@pytest.mark.parametrize(
    "name", ["", "1P", "P Q", "P-Q", "P\n", " P", "P.", "é ", "\ud800", 3, None]
)
def test_names_that_text_cannot_write_are_refused(name):
    for build in (Atom, Variable, lambda n: Application(n, x), lambda n: Forall([(n, "D")], P)):
        with pytest.raises(InvalidNameError):
            build(name)
    with pytest.raises(InvalidNameError):
        Forall([("x", name)], P)


@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_keywords_are_refused_as_names(word):
    for build in (Atom, Variable, lambda n: Application(n, x), lambda n: Forall([("x", n)], P)):
        with pytest.raises(InvalidNameError, match="reserved"):
            build(word)


@pytest.mark.parametrize("name", ["Not", "forall_", "_", "é", "数", "x1", "In"])
def test_names_that_only_resemble_keywords_are_accepted(name):
    assert parse(name) is Atom(name)


# Terms


@pytest.mark.parametrize("value", [True, False, 1.5, None, b"NP", (1,)])
def test_constants_are_integers_or_text(value):
    with pytest.raises(InvalidNameError):
        Constant(value)


@pytest.mark.parametrize("value", [2**63, -(2**63), 10**400])
def test_constants_beyond_64_bits_are_refused(value):
    with pytest.raises(InvalidNameError, match="64 bits"):
        Constant(value)


def test_text_in_place_of_a_term_is_refused_with_both_remedies():
    with pytest.raises(InvalidNameError, match=r"Variable\('x'\) or Constant\('x'\)"):
        Atom("P", "x")


def test_a_truth_value_in_place_of_a_term_is_refused():
    with pytest.raises(InvalidNameError):
        Atom("P", True)


def test_plain_integers_stand_for_constants():
    assert Arithmetic("+", x, 1) is Arithmetic("+", x, Constant(1))


def test_a_function_needs_an_argument():
    with pytest.raises(InvalidNameError, match="one or more arguments"):
        Application("f")


def test_unknown_operators_are_refused_with_the_known_ones():
    with pytest.raises(InvalidNameError, match="mod"):
        Arithmetic("//", x, y)
    with pytest.raises(InvalidNameError, match="!="):
        Comparison("==", x, y)
