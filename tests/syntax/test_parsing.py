from __future__ import annotations

import pytest

from residuum.errors import FormulaSyntaxError, ResiduumError
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
    Variable,
    atoms,
)
from residuum.logic.terms import KEYWORDS, Number
from residuum.syntax import as_formula, parse

P, Q, R, S = atoms("P Q R S")
a, b, x, y = (Variable(name) for name in "abxy")

# Precedence and associativity

TIGHTEST_FIRST = ["&", "|", "->", "<->"]
BUILD = {"&": And, "|": Or, "->": Implies, "<->": Iff}


@pytest.mark.parametrize("tight", TIGHTEST_FIRST)
@pytest.mark.parametrize("loose", TIGHTEST_FIRST)
def test_connectives_bind_in_their_order(tight, loose):
    if TIGHTEST_FIRST.index(tight) >= TIGHTEST_FIRST.index(loose):
        return
    tightly, loosely = BUILD[tight], BUILD[loose]
    assert parse(f"P {tight} Q {loose} R") is loosely(tightly(P, Q), R)
    assert parse(f"P {loose} Q {tight} R") is loosely(P, tightly(Q, R))
    assert parse(f"P {tight} (Q {loose} R)") is tightly(P, loosely(Q, R))


@pytest.mark.parametrize("connective", TIGHTEST_FIRST)
def test_negation_binds_strongest(connective):
    assert parse(f"~P {connective} ~~Q") is BUILD[connective](Not(P), Not(Not(Q)))


def test_implication_associates_to_the_right():
    assert parse("P -> Q -> R") is Implies(P, Implies(Q, R))


def test_equivalence_associates_to_the_left():
    assert parse("P <-> Q <-> R") is Iff(Iff(P, Q), R)


def test_chains_of_and_and_or_are_one_node():
    assert parse("P & Q & R & S") is And(P, Q, R, S)
    assert parse("P | Q | R | S") is Or(P, Q, R, S)


def test_brackets_keep_nesting_on_both_sides():
    assert parse("(P & Q) & R") is And(And(P, Q), R)
    assert parse("P & (Q & R)") is And(P, And(Q, R))
    assert parse("(P | Q) | R | (S)") is Or(Or(P, Q), R, S)


def test_superfluous_brackets_mean_nothing():
    assert parse("(((P)) & ((Q)))") is And(P, Q)


# The three ways of writing

SPELLINGS = [
    ("~P & Q", "¬P ∧ Q", "not P and Q"),
    ("P | Q -> R", "P ∨ Q → R", "P or Q implies R"),
    ("P <-> true", "P ↔ ⊤", "P iff true"),
    ("false", "⊥", "false"),
    ("forall x in D: P(x)", "∀x ∈ D: P(x)", "∀ x in D : P ( x )"),
    ("exists x in D where x != 1: P", "∃x∈D where x ≠ 1: P", "exists x in D where x≠1:P"),
    ("forall x in D where x <= 1 & x >= 0: P", "∀x∈D where x≤1∧x≥0: P",
     "forall x in D where x <= 1 and x >= 0: P"),
    ("P(2 * x)", "P(2 · x)", "P(2 × x)"),
]  # fmt: skip


@pytest.mark.parametrize("spellings", SPELLINGS, ids=[ascii_ for ascii_, *_ in SPELLINGS])
def test_ascii_unicode_and_words_are_the_same_formula(spellings):
    assert len({parse(text) for text in spellings}) == 1


def test_white_space_means_nothing():
    assert parse("\tP\r\n\n &Q\u00a0|\u3000R\f") is Or(And(P, Q), R)
    assert parse("P->Q<->~R") is Iff(Implies(P, Q), Not(R))


def test_words_need_no_space_before_brackets_and_symbols():
    assert parse("not(P)and(Q)") is And(Not(P), Q)


def test_comments_run_to_the_end_of_the_line():
    assert parse('# "first\nP & # ( not closed\n Q # the end') is And(P, Q)


def test_a_hash_in_a_quoted_label_starts_no_comment():
    assert parse('P("#") & Q') is And(Atom("P", Constant("#")), Q)


def test_names_may_begin_with_keywords():
    assert parse("notP & inP | trueish") is Or(And(Atom("notP"), Atom("inP")), Atom("trueish"))


def test_names_are_case_sensitive_and_may_be_any_letters():
    assert parse("Not(forAll)") is Atom("Not", Variable("forAll"))
    assert parse("数_1 & é") is And(Atom("数_1"), Atom("é"))


@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_keywords_are_reserved(word):
    for text in (
        f"{word}(x) & P",
        f"P({word}) & Q",
        f"forall {word} in D: P",
        f"forall x in {word}: P",
    ):
        if (word, text) != ("not", "not(x) & P"):
            with pytest.raises(FormulaSyntaxError):
                parse(text)


# Quantifiers


def test_a_list_of_names_shares_the_domain_that_follows():
    bindings = [("x", "D"), ("y", "E"), ("z", "E"), ("w", "D")]
    assert parse("forall x in D, y, z in E, w in D: P") is Forall(bindings, P)


def test_a_quantifier_reaches_as_far_right_as_it_can():
    for body in ("P & Q", "P | Q", "P -> Q", "P <-> Q", "P <-> Q -> R & S"):
        assert parse(f"forall x in D: {body}") is Forall([("x", "D")], parse(body))


@pytest.mark.parametrize("connective", TIGHTEST_FIRST)
def test_a_quantifier_may_be_the_last_operand_of_any_connective(connective):
    for body in ("Q", "Q & R", "Q | R", "Q -> R", "Q <-> R"):
        quantified = Exists([("x", "D")], parse(body))
        assert parse(f"P {connective} exists x in D: {body}") is BUILD[connective](P, quantified)


def test_a_quantifier_under_negation_takes_all_that_follows():
    assert parse("~forall x in D: P & Q") is Not(Forall([("x", "D")], And(P, Q)))


def test_a_quantifier_in_a_chain_ends_the_chain():
    assert parse("P & Q & forall x in D: R & S") is And(P, Q, Forall([("x", "D")], And(R, S)))


def test_brackets_end_the_reach_of_a_quantifier():
    assert parse("(forall x in D: P) -> Q") is Implies(Forall([("x", "D")], P), Q)


def test_quantifiers_nest():
    assert parse("forall x in D: exists y in E: P(x, y)") is Forall(
        [("x", "D")], Exists([("y", "E")], Atom("P", x, y))
    )


def test_an_inner_quantifier_may_bind_the_same_name():
    assert parse("forall x in D: exists x in E: P(x)").body is Exists([("x", "E")], Atom("P", x))


# Guards


def guard_of(text: str):
    return parse(f"forall x, y in D where {text}: P").guard


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
def test_guards_compare_terms(operator):
    assert guard_of(f"x {operator} y + 1") is Comparison(operator, x, Arithmetic("+", y, 1))


def test_guards_are_boolean_combinations_with_the_same_precedence():
    equal, below = Comparison("=", x, y), Comparison("<", x, Constant(3))
    assert guard_of("~x = y & x < 3") is And(Not(equal), below)
    assert guard_of("x = y | x < 3 -> true <-> false") is Iff(
        Implies(Or(equal, below), TRUE), FALSE
    )
    assert guard_of("~(x = y & x < 3)") is Not(And(equal, below))


def test_brackets_in_guards_group_terms_and_comparisons():
    total = Arithmetic("*", Arithmetic("+", x, y), Constant(2))
    assert guard_of("((x + y) * 2) = (3) & ((x = y))") is And(
        Comparison("=", total, 3), Comparison("=", x, y)
    )


@pytest.mark.parametrize("text", ["P", "x = y = 1", "x", "P & x = y", "forall z in D: x = z"])
def test_guards_hold_comparisons_only(text):
    with pytest.raises(FormulaSyntaxError):
        guard_of(text)


def test_brackets_outside_guards_group_terms_or_formulas():
    total = Arithmetic("*", Arithmetic("+", x, y), Constant(2))
    assert parse("((x + y) * 2) < (3) & ((P)) & ((x = -(y)))") is And(
        Comparison("<", total, 3),
        Atom("P"),
        Comparison("=", x, Arithmetic("-", Constant(0), y)),
    )
    assert parse("(f(x)) >= 1.5 -> (P(x))") is Comparison(
        ">=", Application("f", x), Number(1.5)
    ) >> Atom("P", x)


@pytest.mark.parametrize(
    ("text", "value"),
    [("3.5", 3.5), ("1e-3", 0.001), ("-2.0", -2.0), ("-0.0", 0.0), ("1E2", 100.0)],
)
def test_numbers_with_decimals_are_terms(text, value):
    read = parse(f"x < {text}")
    assert read is Comparison("<", x, Number(value))
    assert parse(str(read)) is read


def test_a_number_beyond_the_range_of_floats_is_refused():
    with pytest.raises(FormulaSyntaxError, match="below 1e308"):
        parse("x < 1e999")


# Terms


def term_of(text: str):
    return parse(f"P({text})").arguments[0]


def test_names_are_free_variables_where_nothing_is_declared():
    assert term_of("NP") is Variable("NP")


def test_integers_and_strings_are_constants():
    assert term_of("42") is Constant(42)
    assert term_of('"NP"') is Constant("NP")


def test_modulo_and_times_bind_alike_and_tighter_than_plus():
    assert term_of("a + b mod 2") is Arithmetic("+", a, Arithmetic("mod", b, 2))
    assert term_of("a * b mod 2") is Arithmetic("mod", Arithmetic("*", a, b), 2)
    assert term_of("a mod 2 * b") is Arithmetic("*", Arithmetic("mod", a, 2), b)


def test_arithmetic_associates_to_the_left():
    assert term_of("a - b - 1") is Arithmetic("-", Arithmetic("-", a, b), 1)
    assert term_of("a - (b - 1)") is Arithmetic("-", a, Arithmetic("-", b, 1))


def test_a_minus_before_an_integer_makes_it_negative():
    assert term_of("-3") is Constant(-3)
    assert term_of("a - -3") is Arithmetic("-", a, -3)
    assert term_of("-3 * a") is Arithmetic("*", -3, a)


def test_a_minus_before_anything_else_subtracts_it_from_zero():
    assert term_of("-a") is Arithmetic("-", 0, a)
    assert term_of("-(a + b)") is Arithmetic("-", 0, Arithmetic("+", a, b))


def test_functions_take_terms():
    assert term_of("f(a + 1, g(b))") is Application("f", Arithmetic("+", a, 1), Application("g", b))


def test_a_name_may_be_predicate_function_and_variable_at_once():
    assert parse("P(P(P))") is Atom("P", Application("P", Variable("P")))


@pytest.mark.parametrize(
    ("quoted", "label"),
    [('""', ""), (r'"a\"b"', 'a"b'), (r'"\\"', "\\"), (r'"\n\t\/"', "\n\t/"), (r'"\u00e9"', "é"),
     (r'"\ud83d\ude00"', "😀"), ('"é ( # ~"', "é ( # ~"), ("\"'\"", "'"), ('"a\tb"', "a\tb")],
)  # fmt: skip
def test_quoted_labels_have_the_escapes_of_json(quoted, label):
    assert term_of(quoted) is Constant(label)


@pytest.mark.parametrize("quoted", [r'"\q"', r'"\u12"', r'"\x41"'])
def test_other_escapes_are_refused(quoted):
    with pytest.raises(FormulaSyntaxError, match="escapes of JSON"):
        term_of(quoted)


def test_integers_of_64_bits_are_read_and_larger_ones_refused():
    largest = 2**63 - 1
    assert term_of(str(largest)) is Constant(largest)
    assert term_of(str(-largest)) is Constant(-largest)
    with pytest.raises(FormulaSyntaxError, match="64 bits"):
        term_of(str(largest + 1))


def test_leading_zeros_do_not_make_a_number_large():
    assert term_of("0" * 30 + "7") is Constant(7)


def test_modulo_by_a_literal_zero_is_refused():
    with pytest.raises(FormulaSyntaxError, match="`mod` is zero"):
        term_of("a mod 0")


# The door


def test_parse_wants_text():
    for value in (None, b"P", 3, P):
        with pytest.raises(TypeError, match="expected a formula or its text"):
            parse(value)


def test_what_is_no_text_is_an_error_of_the_family():
    for value in (None, b"P", 3):
        with pytest.raises(ResiduumError, match="expected a formula or its text"):
            parse(value)


def test_as_formula_takes_formulas_and_text():
    assert as_formula(P) is as_formula("P") is P


@pytest.mark.parametrize("name", ["rules.rsd", "data/my rules.rsd", "road.cnf", "clauses.txt"])
def test_the_name_of_a_file_is_no_formula(name):
    with pytest.raises(FormulaSyntaxError, match="the name of a file") as caught:
        parse(name)
    assert f"rs.load({name!r})" in str(caught.value)


@pytest.mark.parametrize("text", ["P & Q.rsd.", "P &\nQ.rsd", ".rsd"])
def test_other_mistakes_with_a_dot_are_named_where_they_are(text):
    with pytest.raises(FormulaSyntaxError) as caught:
        parse(text)
    assert "rs.load" not in str(caught.value)
