from __future__ import annotations

import copy
import enum
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given

from residuum.errors import InvalidNameError
from residuum.logic import (
    FALSE,
    TRUE,
    And,
    Application,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Exists,
    Forall,
    Iff,
    Implies,
    Not,
    Or,
    Truth,
    Variable,
    atoms,
)
from residuum.logic.terms import KEYWORDS
from residuum.syntax import parse
from strategies import few, formulas

P, Q, R = atoms("P Q R")
x, y = Variable("x"), Variable("y")
different = Comparison("!=", x, y)

# Identity


def test_equal_content_is_the_same_object():
    assert And(Atom("P"), Not(Atom("Near", x, 3))) is And(P, ~Atom("Near", x, Constant(3)))


def test_quantifiers_with_equal_content_are_the_same_object():
    assert Forall([("x", "D")], P) is Forall((("x", "D"),), P)


def test_different_kinds_with_equal_fields_differ():
    assert And(P, Q) is not Or(P, Q)
    assert Forall([("x", "D")], P) is not Exists([("x", "D")], P)


def test_an_integer_and_its_digits_are_different_constants():
    assert Constant(1) is not Constant("1")


def test_true_is_not_the_constant_one():
    assert Truth(True) is TRUE
    assert Constant(1) != TRUE


def test_order_of_operands_matters():
    assert And(P, Q) is not And(Q, P)


def test_formulas_are_dictionary_keys():
    assert {P & Q: 1}[And(Atom("P"), Atom("Q"))] == 1


def test_threads_share_one_copy():
    def build(_: int) -> list[Atom]:
        return [Atom(f"Threaded_{number}") for number in range(200)]

    with ThreadPoolExecutor(8) as pool:
        first, *others = pool.map(build, range(8))
    assert all(a is b for other in others for a, b in zip(first, other, strict=True))


def test_unused_formulas_are_forgotten():
    from residuum.logic.nodes import _table

    kept = [Atom(f"Forgotten_{number}") for number in range(1000)]
    before = len(_table)
    del kept
    gc.collect()
    assert len(_table) <= before - 1000


def test_a_constant_from_an_enumeration_is_the_plain_integer():
    class Colour(int, enum.Enum):
        RED = 1_234_567

    assert str(Atom("P", Constant(Colour.RED))) == "P(1234567)"
    assert type(Constant(1_234_567).value) is int


# Immutability, copies and pickles


@pytest.mark.parametrize("node", [P, P & Q, Forall([("x", "D")], P), x, Constant(1), TRUE])
def test_nodes_cannot_be_changed(node):
    field = (*node.__match_args__, "children")[0]
    with pytest.raises(AttributeError, match="immutable"):
        setattr(node, field, None)
    with pytest.raises(AttributeError, match="immutable"):
        delattr(node, field)
    with pytest.raises(AttributeError):
        node.something_new = 1


def test_copies_are_the_same_object():
    formula = Forall([("x", "D")], Atom("P", x) >> Q, different)
    assert copy.copy(formula) is formula
    assert copy.deepcopy({"rule": [formula]})["rule"][0] is formula


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_unpickling_gives_the_same_object_in_every_protocol(protocol):
    formula = Forall([("x", "D"), ("y", "E")], Atom("P", x, 0, 1, -1, "NP" and x) >> Q, different)
    assert pickle.loads(pickle.dumps(formula, protocol)) is formula


@few
@given(formulas)
def test_unpickling_any_formula_gives_the_same_object(formula):
    assert pickle.loads(pickle.dumps(formula)) is formula


def test_fields_can_be_matched_by_position():
    match Forall([("x", "D")], P >> Q, different):
        case Forall(
            ((variable, domain),), Comparison("!=", _, Variable(other)), Implies(_, Atom(q))
        ):
            assert (variable, domain, other, q) == ("x", "D", "y", "Q")
        case _:
            pytest.fail("did not match")


# Operators


def test_python_conjunction_of_three_is_the_parsed_ternary():
    assert (P & Q & R) is And(P, Q, R) is parse("P & Q & R")


def test_python_disjunction_of_three_is_the_parsed_ternary():
    assert (P | Q | R) is Or(P, Q, R) is parse("P | Q | R")


def test_brackets_on_the_right_keep_nesting():
    assert (P & (Q & R)) is And(P, And(Q, R)) is parse("P & (Q & R)")
    assert (P | (Q | R)) is Or(P, Or(Q, R)) is parse("P | (Q | R)")


def test_constructors_nest_on_the_left():
    assert And(And(P, Q), R) is parse("(P & Q) & R") is not And(P, Q, R)


def test_other_operators_build_what_they_say():
    assert ~P is Not(P)
    assert (P >> Q) is Implies(P, Q)
    assert P.iff(Q) is Iff(P, Q)


def test_python_shift_associates_to_the_left_as_in_python():
    assert (P >> Q >> R) is Implies(Implies(P, Q), R)


def test_conjunction_of_nothing_is_true_and_of_one_is_itself():
    assert And() is TRUE
    assert And(P) is P


def test_disjunction_of_nothing_is_false_and_of_one_is_itself():
    assert Or() is FALSE
    assert Or(P) is P


def test_repeated_operands_are_kept():
    assert And(P, P).operands == (P, P)


@pytest.mark.parametrize("formula", [P, TRUE, FALSE, P & Q])
def test_a_formula_is_not_a_python_truth_value(formula):
    with pytest.raises(TypeError, match="not a Python truth value"):
        bool(formula)


def test_python_and_between_formulas_is_refused():
    with pytest.raises(TypeError):
        P and Q  # noqa: B018


@pytest.mark.parametrize("other", [1, True, "Q", None, Variable("x")])
def test_operators_refuse_what_is_no_formula(other):
    for operation in ("__and__", "__or__", "__rshift__"):
        assert getattr(P, operation)(other) is NotImplemented
    with pytest.raises(TypeError):
        P & other
    with pytest.raises(InvalidNameError, match="expected a formula"):
        P.iff(other)
    with pytest.raises(InvalidNameError, match="expected a formula"):
        And(P, other)


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
    with pytest.raises(InvalidNameError, match="at least one argument"):
        Application("f")


def test_unknown_operators_are_refused_with_the_known_ones():
    with pytest.raises(InvalidNameError, match="mod"):
        Arithmetic("/", x, y)
    with pytest.raises(InvalidNameError, match="!="):
        Comparison("==", x, y)


# Comparisons and quantifiers


def test_comparisons_stand_in_guards():
    assert Forall([("x", "D")], P, ~different & TRUE).guard is And(Not(different), TRUE)


@pytest.mark.parametrize(
    "build",
    [
        lambda: P & different,
        lambda: different >> P,
        lambda: different.iff(~P),
        lambda: Or(~different, TRUE, P),
        lambda: Forall([("x", "D")], different),
        lambda: Forall([("x", "D")], P, different & P),
        lambda: Forall([("x", "D")], P, Q),
        lambda: Exists([("x", "D")], P, Forall([("y", "D")], Q)),
    ],
)
def test_comparisons_mix_with_atoms_nowhere(build):
    with pytest.raises(InvalidNameError, match=r"guard"):
        build()


def test_a_quantifier_binds_at_least_one_variable():
    with pytest.raises(InvalidNameError, match="at least one"):
        Forall([], P)


def test_a_quantifier_binds_a_variable_once():
    with pytest.raises(InvalidNameError, match="`x` is bound twice"):
        Exists([("x", "D"), ("y", "D"), ("x", "E")], P)


def test_a_quantifier_needs_a_formula_as_body_and_guard():
    with pytest.raises(InvalidNameError, match="expected a formula"):
        Forall([("x", "D")], x)
    with pytest.raises(InvalidNameError, match="expected a formula"):
        Forall([("x", "D")], P, guard=True)
