"""Integrals against oracles that share no code with them: hand derivations, grids, other laws."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from integration_oracles import P, Q, R, formulas, textbook
from residuum.analysis import consistency, gradients, self_consistency
from residuum.errors import EvaluationError
from residuum.logic import FALSE, TRUE, And, Atom, Iff, Implies, Not, Or, atoms_of, substitute
from residuum.relaxations import PAPER
from residuum.syntax import parse

F = Fraction

RNG = np.random.default_rng(7)
# Dyadic points with few bits: 1 - (1 - x) and comparisons are exact, so that rounding cannot
# carry the discontinuous logics across a jump; they lie off the ties of the dyadic grid.
SAMPLE = (RNG.integers(0, 2**20, size=(3, 200_000)) * 2 + 1) / 2**21


@pytest.mark.parametrize("name", PAPER)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(formula=formulas())
def test_values_agree_with_a_sample_of_textbook_values(formula, name):
    values = dict(zip((P, Q, R), SAMPLE, strict=True))
    sampled = np.broadcast_to(textbook(formula, values, name), SAMPLE.shape[1])
    error = sampled.std() / math.sqrt(SAMPLE.shape[1])
    method = "sobol" if name == "r-product" else None
    result = consistency(formula, name, tolerance=1e-3, method=method)
    assert abs(result.value - sampled.mean()) <= 6 * error + (result.high - result.low) + 1e-5
    if name in ("s-product", "s-godel", "r-godel", "lukasiewicz"):
        assert result.kind == "exact"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("P -> (Q -> P)", "s-product", F(11, 12)),  # 1 - p q + p² q
        ("P -> (Q -> P)", "s-godel", F(19, 24)),  # appendix of the paper
        ("P -> P", "s-product", F(5, 6)),  # 1 - p + p²
        ("P -> P", "s-godel", F(3, 4)),
        ("P | P -> P", "lukasiewicz", F(3, 4)),
        ("P | ~P", "r-product", F(5, 6)),
        ("P -> Q", "lukasiewicz", F(5, 6)),
        ("P -> Q", "r-godel", F(2, 3)),  # 1/2 + ∫ y (1 - y)
        ("P & Q", "lukasiewicz", F(1, 6)),
        ("P & Q & R", "lukasiewicz", F(1, 24)),  # the corner simplex
        ("P & Q", "s-nilpotent-minimum", F(1, 4)),
        ("P | Q", "s-drastic", F(1)),
        ("P", "r-product", F(1, 2)),
        ("true", "s-product", F(1)),
        ("false & P", "s-godel", F(0)),
    ],
)
def test_integrals_derived_by_hand(text, name, value):
    result = consistency(text, name)
    assert (result.exact, result.kind) == (value, "exact")
    assert result.low == result.high == result.value == float(value)


@pytest.mark.parametrize("name", ["s-product", "s-godel", "r-godel", "lukasiewicz"])
@settings(max_examples=25, deadline=None, derandomize=True)
@given(formula=formulas())
def test_renaming_and_complementing_atoms_changes_nothing(formula, name):
    value = consistency(formula, name).exact
    assert consistency(substitute(formula, {P: R, R: P}), name).exact == value
    assert consistency(substitute(formula, {P: ~P}), name).exact == value


@pytest.mark.parametrize("name", ["s-product", "s-godel", "r-godel", "lukasiewicz"])
@settings(max_examples=25, deadline=None, derandomize=True)
@given(left=formulas(), right=formulas())
def test_commutative_arguments_may_be_swapped(left, right, name):
    for kind in (And, Or, Iff):
        assert (
            consistency(kind(left, right), name).exact == consistency(kind(right, left), name).exact
        )


@pytest.mark.parametrize("name", ["r-product", "r-godel", "lukasiewicz", "r-yager(2)"])
@settings(max_examples=30, deadline=None, derandomize=True)
@given(formula=formulas())
def test_every_formula_is_self_consistent_in_an_r_logic(formula, name):
    assert self_consistency(formula, name).exact == 1


def conjunction(n):
    return And(*(Atom(f"A{i}") for i in range(n)))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 10, 100, 1_000, 10_000])
def test_proposition_2_comes_out_for_every_size(n):
    expected = 1 - F(2, 2**n) + F(3, 3**n) - F(2, 4**n) + F(1, 5**n)
    assert self_consistency(conjunction(n), "s-product").exact == expected


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 10, 100, 1_000, 10_000])
def test_the_law_of_s_godel_comes_out_for_every_size(n):
    # F <-> F is max(f, 1 - f), and f = min of n atoms has P(f > t) = (1 - t)^n.
    assert self_consistency(conjunction(n), "s-godel").exact == 1 - (1 - F(1, 2**n)) / (n + 1)


def read_once(size, kinds=(And, Or, Implies)):
    rng = np.random.default_rng(size)
    parts = [Atom(f"A{i}") if rng.random() < 0.6 else ~Atom(f"A{i}") for i in range(size)]
    while len(parts) > 1:
        left, right = parts.pop(int(rng.integers(len(parts)))), parts.pop(0)
        parts.append(kinds[int(rng.integers(len(kinds)))](left, right))
    return parts[0]


def test_read_once_formulas_of_thousands_of_atoms_are_exact():
    formula = read_once(3_000)
    mean = {}  # under the product, the mean of independent parts follows the truth functions

    def expected(root):
        stack = [root]
        while stack:
            node = stack[-1]
            below = [child for child in node.children if child not in mean]
            if below and not isinstance(node, Atom):
                stack.extend(below)
                continue
            stack.pop()
            values = [mean[child] for child in node.children if not isinstance(node, Atom)]
            match node:
                case Atom():
                    mean[node] = 0.5
                case Not():
                    mean[node] = 1 - values[0]
                case And():
                    mean[node] = values[0] * values[1]
                case Or():
                    mean[node] = 1 - (1 - values[0]) * (1 - values[1])
                case Implies():
                    mean[node] = 1 - values[0] * (1 - values[1])
        return mean[root]

    result = consistency(formula, "s-product")
    assert result.kind == "exact"
    assert result.value == pytest.approx(expected(formula), rel=1e-9)
    assert consistency(formula, "s-godel").kind == "exact"


@pytest.mark.parametrize("name", ["s-product", "s-godel"])
@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_modules_agree_with_the_whole_formula(name, size):
    formula = read_once(size, kinds=(And, Or, Implies, Iff))
    doubled = Iff(formula, Or(formula, Atom("B")))
    by_modules = consistency(doubled, name)
    assert by_modules.method in ("moments", "three-valued")
    whole = "polynomial" if name == "s-product" else "simplices"
    if len(atoms_of(doubled)) <= 5:
        assert consistency(doubled, name, method=whole).exact == by_modules.exact


@settings(max_examples=60, deadline=None, derandomize=True)
@given(formula=formulas())
def test_two_exact_methods_agree_on_s_godel(formula):
    three = consistency(formula, "s-godel")
    assert three.method in ("three-valued", "laws")
    if three.method != "laws":
        assert consistency(formula, "s-godel", method="simplices").exact == three.exact


@settings(max_examples=60, deadline=None, derandomize=True)
@given(formula=formulas())
def test_two_exact_methods_agree_on_s_product(formula):
    moments = consistency(formula, "s-product")
    if moments.method != "laws":
        assert consistency(formula, "s-product", method="polynomial").exact == moments.exact


@pytest.mark.parametrize("name", ["s-product", "s-godel", "r-godel", "lukasiewicz", "s-drastic"])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(formula=formulas(leaves=(P, Q, TRUE, FALSE)))
def test_constants_inside_a_formula_are_integrated_too(formula, name):
    expected = consistency(formula, name, method="sobol", tolerance=1e-3)
    found = consistency(formula, name)
    assert found.kind == "exact"
    assert expected.low - 1e-3 <= found.value <= expected.high + 1e-3


def test_a_value_of_1_is_never_claimed_by_sampling():
    result = consistency("(P -> Q) | (Q -> P)", "r-product", method="sobol")
    assert (result.kind, result.exact) == ("estimate", None)
    assert result.low < 1 <= result.high + 1e-12


def test_estimates_shrink_as_asked_and_say_why():
    wide = consistency("P <-> Q", "r-yager(2)", tolerance=1e-2)
    narrow = consistency("P <-> Q", "r-yager(2)", tolerance=1e-4)
    assert wide.high - wide.low <= 2e-2
    assert narrow.high - narrow.low <= 2e-4
    assert "not polynomials" in narrow.note


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("P -> Q", 0.75),
        ("P | P -> P", math.log(2)),  # ∫ p / (2p - p²)
        ("P <-> P & P", 0.5),  # ∫ p² / p
        ("P <-> Q", 0.5),
    ],
)
def test_intervals_of_estimates_hold_the_known_value(text, value):
    held = [
        result.low <= value <= result.high
        for seed in range(20)
        for result in [consistency(text, "r-product", method="sobol", tolerance=1e-3, seed=seed)]
    ]
    assert all(held)


def test_formulas_that_share_their_parts_are_not_unfolded():
    formula = P
    for _ in range(60):
        formula = And(formula, formula)
    for name in PAPER:
        assert 0 <= consistency(formula, name, tolerance=1e-2).value <= 1
    deep = P
    for number in range(3000):
        deep = And(Atom(f"A{number}"), deep)
    assert consistency(deep, "s-godel").kind == "exact"


def test_user_registered_logics_are_exact_where_they_can_be():
    from residuum.relaxations import Degree, Generated, register

    register(
        "halving",
        Generated(lambda x: x.false + x.false, lambda on, g: Degree(on, false=g * 0.5), 2),
    )
    # Łukasiewicz by another generator: the generic machinery finds it piecewise linear.
    assert consistency("P & Q", "s-halving").exact == F(1, 6)
    register(
        "square",
        Generated(lambda x: x.false**2, lambda on, g: Degree(on, false=on.power(g, 0.5)), 1),
    )
    result = consistency("P & Q", "s-square")  # Yager's with p = 2: 1 - sqrt((1-p)² + (1-q)²)
    assert result.kind == "estimate"
    assert result.low <= math.pi / 12 <= result.high


def test_limits_of_families_are_exact_too():
    assert consistency("P -> (Q -> P)", "s-yager(inf)").exact == F(19, 24)
    assert consistency("P -> P", "s-sugeno-weber(inf)").exact == F(5, 6)


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("forall x in D: P(x)", "s-godel", "expand"),
        ("P", "s-prodct", "Did you mean"),
    ],
)
def test_what_has_no_integral_is_explained(text, name, message):
    with pytest.raises(ValueError, match=message):
        consistency(text, name)


def test_a_method_that_does_not_apply_is_refused():
    with pytest.raises(EvaluationError, match="not polynomials"):
        consistency("P & Q", "lukasiewicz", method="polynomial")
    with pytest.raises(EvaluationError, match="expected a method"):
        consistency("P", "lukasiewicz", method="magic")


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None])
def test_what_is_no_seed_is_refused_in_words(seed):
    with pytest.raises(EvaluationError, match="integer and not negative"):
        consistency("P & Q", "r-yager(2)", seed=seed)
    with pytest.raises(EvaluationError, match="integer and not negative"):
        gradients("P & Q", "r-yager(2)", seed=seed)


def test_sixty_entangled_atoms_get_an_answer():
    names = [Atom(f"A{i}") for i in range(60)]
    tangled = And(*(a | ~b for a, b in itertools.pairwise([*names, names[0]])))
    for name in PAPER:
        result = consistency(tangled, name, tolerance=1e-2)
        assert 0 <= result.low <= result.high <= 1


def test_text_and_formula_give_the_same():
    assert (
        consistency(parse("P -> Q"), "s-product").exact == consistency("P -> Q", "s-product").exact
    )
