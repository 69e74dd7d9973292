from __future__ import annotations

import re

import pytest
from hypothesis import given

from residuum.errors import FormulaSyntaxError, ResiduumError
from residuum.logic import (
    FALSE,
    TRUE,
    And,
    Arithmetic,
    Atom,
    Constant,
    Exists,
    Forall,
    Iff,
    Implies,
    Not,
    Or,
    Variable,
    atoms,
    render,
)
from residuum.logic.printing import count_in_words
from residuum.syntax import parse
from strategies import few, formulas, plain_formulas

P, Q, R = atoms("P Q R")
x, y = Variable("x"), Variable("y")

TEXTS = [
    (P & Q & R, "P & Q & R"),
    (And(And(P, Q), R), "(P & Q) & R"),
    (P & (Q & R), "P & (Q & R)"),
    (P | (Q & R), "P | Q & R"),
    ((P | Q) & R, "(P | Q) & R"),
    (~(P & Q), "~(P & Q)"),
    (~~P, "~~P"),
    (P >> (Q >> R), "P -> Q -> R"),
    ((P >> Q) >> R, "(P -> Q) -> R"),
    (Iff(Iff(P, Q), R), "P <-> Q <-> R"),
    (Iff(P, Iff(Q, R)), "P <-> (Q <-> R)"),
    (Iff(P >> Q, R), "P -> Q <-> R"),
    (Implies(P, Iff(Q, R)), "P -> (Q <-> R)"),
    (TRUE & FALSE, "true & false"),
    (Forall([("x", "D")], P) & Q, "(forall x in D: P) & Q"),
    (Q & Forall([("x", "D")], P), "Q & forall x in D: P"),
    (Forall([("x", "D")], P & Q), "forall x in D: P & Q"),
    (~Exists([("x", "D")], P), "~exists x in D: P"),
    (And(~Forall([("x", "D")], P), Q), "(~forall x in D: P) & Q"),
    (Or(P >> Forall([("x", "D")], Q), R), "(P -> forall x in D: Q) | R"),
    (
        Forall([("x", "D"), ("y", "D"), ("z", "E"), ("w", "D")], P),
        "forall x, y in D, z in E, w in D: P",
    ),
    (Atom("P", Arithmetic("-", x, Arithmetic("-", y, 1))), "P(x - (y - 1))"),
    (Atom("P", Arithmetic("-", Arithmetic("-", x, y), 1)), "P(x - y - 1)"),
    (Atom("P", Arithmetic("mod", Arithmetic("+", x, y), 10)), "P((x + y) mod 10)"),
    (Atom("P", Arithmetic("*", x, Arithmetic("mod", y, 2))), "P(x * (y mod 2))"),
    (Atom("P", Arithmetic("-", x, -1)), "P(x - -1)"),
    (Atom("P", Constant("B-NP"), Constant("NP"), x), 'P("B-NP", "NP", x)'),
    (Atom("P", Constant('a"\\\n')), 'P("a\\"\\\\\\n")'),
]


@pytest.mark.parametrize(("formula", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_ascii_text_has_the_brackets_it_needs(formula, text):
    assert str(formula) == text


def test_unicode_text_uses_the_symbols():
    formula = parse(
        "forall x in D where x != 1 & x <= 3: ~P(x) & Q -> exists y in D: R | true <-> false"
    )
    assert f"{formula:unicode}" == "∀x ∈ D where x ≠ 1 ∧ x ≤ 3: ¬P(x) ∧ Q → ∃y ∈ D: R ∨ ⊤ ↔ ⊥"


def test_unicode_keeps_readable_labels_and_escapes_the_rest():
    assert render(Atom("P", Constant("π")), "unicode") == 'P("π")'
    assert render(Atom("P", Constant("a\u2028")), "unicode") == 'P("a\\u2028")'
    assert str(Atom("P", Constant("π"))) == 'P("\\u03c0")'


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("P & ~Q -> R | true", r"P \land \lnot Q \rightarrow R \lor \top"),
        ("P <-> false", r"P \leftrightarrow \bot"),
        (
            "forall x, y in D where x != y: Near(x, y)",
            r"\forall x, y \in D \text{ where } x \neq y \colon \mathit{Near}(x, y)",
        ),
        ("exists a in digit: Sum((a + 1) mod 10)",
         r"\exists a \in \mathit{digit} \colon \mathit{Sum}((a + 1) \bmod 10)"),
        ('Tag(i, "B_NP")', r"\mathit{Tag}(i, \text{B\_NP})"),
        ("P(2 * x_1)", r"P(2 \cdot \mathit{x\_1})"),
        ("forall x in D where x <= 1 | x >= 2: P",
         r"\forall x \in D \text{ where } x \leq 1 \lor x \geq 2 \colon P"),
    ],
)  # fmt: skip
def test_latex_text_is_as_expected(text, latex):
    assert render(parse(text), "latex") == latex


def test_latex_escapes_what_tex_would_read():
    latex = render(Constant("50% {a}_b^~#$&\\"), "latex")
    assert latex == (
        r"\text{50\% \{a\}\_b\textasciicircum{}\textasciitilde{}\#\$\&\textbackslash{}}"
    )


def test_latex_escapes_a_name_that_is_one_underscore():
    assert r"\_" in f"{Variable('_'):latex}"


@few
@given(formulas)
def test_latex_braces_balance(formula):
    depth = 0
    for brace in re.findall(r"[{}]", re.sub(r"\\[{}]", "", f"{formula:latex}")):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0


def bracket_pairs(text: str) -> list[tuple[int, int]]:
    """Return the brackets that group, not those that follow a name."""
    opened, pairs = [], []
    for offset, character in enumerate(text):
        if character == "(":
            opened.append(offset)
        elif character == ")":
            start = opened.pop()
            if not re.match(r"\w", text[start - 1 : start]):
                pairs.append((start, offset))
    return pairs


@few
@given(plain_formulas)
def test_no_bracket_can_be_left_out(formula):
    text = str(formula)
    for start, end in bracket_pairs(text):
        without = f"{text[:start]} {text[start + 1 : end]} {text[end + 1 :]}"
        try:
            assert parse(without) is not formula
        except FormulaSyntaxError:
            continue


def test_str_and_an_empty_format_are_ascii():
    assert f"{P & Q}" == str(P & Q) == format(P & Q, "ascii") == render(P & Q)


def test_terms_and_guards_are_printed_too():
    assert str(Arithmetic("mod", x, 2)) == "x mod 2"


def test_an_unknown_style_is_refused_with_the_known_ones():
    with pytest.raises(ResiduumError, match="ascii, unicode, latex, got 'html'"):
        format(P, "html")


def test_text_up_to_the_limit_is_written_and_refused_beyond(monkeypatch):
    longest = 100_000
    monkeypatch.setattr("residuum.logic.printing.LONGEST_TEXT", longest)
    # n operands of three characters with " & " between them take 6n - 3 characters.
    operands = [Atom("PQR")] * (longest // 6)
    fits = And(*operands, Atom("P" * (longest % 6)))
    assert len(str(fits)) == longest
    with pytest.raises(ResiduumError, match="100,001 characters"):
        str(And(*operands, Atom("P" * (longest % 6 + 1))))


def test_counts_stay_short():
    assert count_in_words(12_345) == "12,345"
    assert count_in_words(10**5000) == "about 10^5000"


def test_repr_never_fails_even_where_the_text_is_refused():
    formula = Atom("P")
    for _ in range(200):
        formula = And(formula, formula)
    assert len(repr(formula)) < 700


def test_repr_of_a_long_label_does_not_claim_many_nodes():
    assert "nodes" not in repr(Constant("a" * 1000))


def test_repr_escapes_what_a_terminal_could_not_show():
    assert repr(Constant("\ud800\n")).isascii()


def test_not_of_everything_keeps_the_reading():
    for operand in (P & Q, P >> Q, P.iff(Q), P | Q):
        assert parse(str(Not(operand))) is Not(operand)
