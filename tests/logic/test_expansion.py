from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import meaning, scattered

from residuum import compile as compile_rule
from residuum.errors import (
    EvaluationError,
    FormulaTooLargeError,
    GroundingError,
    ResiduumError,
)
from residuum.logic import (
    FALSE,
    TRUE,
    And,
    Arithmetic,
    Atom,
    Constant,
    Forall,
    Variable,
    atoms_of,
    compute,
    evaluate,
    expand,
    expansion,
    free_variables,
    quantifiers_of,
    questions,
)
from residuum.logic.expansion import product_of
from residuum.syntax import parse
from strategies import DOMAINS, FUNCTIONS, many, numeric_formulas

x = Variable("x")


def expanded(text: str, **domains) -> str:
    return str(expand(parse(text), domains, FUNCTIONS))


@many
@given(numeric_formulas, st.integers(0, 99))
def test_expansion_agrees_with_nested_loops(formula, seed):
    closed = Forall([("x", "Two"), ("y", "Odd"), ("z", "Two")], formula)
    result = expand(closed, DOMAINS, FUNCTIONS)
    assert not quantifiers_of(result)
    values = {
        atom: scattered(seed)(atom.predicate, tuple(term.value for term in atom.arguments))
        for atom in atoms_of(result)
    }
    assert evaluate(result, values) is meaning(closed, scattered(seed))


def test_a_universal_is_a_conjunction_and_an_existential_a_disjunction():
    assert expanded("forall x in D: P(x)", D=3) == "P(0) & P(1) & P(2)"
    assert expanded("exists x in D: P(x)", D=["NP", "VP"]) == 'P("NP") | P("VP")'


def test_several_variables_range_over_the_product_last_fastest():
    assert expanded("forall x, y in D: P(x, y)", D=2) == "P(0, 0) & P(0, 1) & P(1, 0) & P(1, 1)"


def test_guards_select_the_groundings():
    assert expanded("forall x, y in D where x < y: P(x, y)", D=3) == "P(0, 1) & P(0, 2) & P(1, 2)"
    assert expanded("exists x in D where ~(x = 1) | false: P(x)", D=3) == "P(0) | P(2)"


def test_guards_see_the_variables_bound_outside():
    assert expanded("forall x in D: exists y in D where y > x: P(x, y)", D=2) == "P(0, 1) & false"


def test_guards_compare_labels_for_equality():
    assert expanded('forall X in C where X != "VP": P(X)', C=["NP", "VP"]) == 'P("NP")'


def test_an_empty_domain_makes_forall_true_and_exists_false():
    assert expand(parse("forall x in D: P(x)"), {"D": 0}) is TRUE
    assert expand(parse("exists x in D: P(x)"), {"D": []}) is FALSE


def test_a_guard_that_admits_nothing_is_an_empty_domain():
    assert expand(parse("forall x in D where false: P(x)"), {"D": 9}) is TRUE


def test_a_domain_of_one_gives_the_body_itself():
    assert expand(parse("forall x in D: P(x)"), {"D": [7]}) is Atom("P", 7)


def test_free_variables_stay():
    assert expanded("forall x in D: P(x, y + x)", D=2) == "P(0, y + 0) & P(1, y + 1)"


def test_an_inner_quantifier_shadows_an_outer_one():
    assert expanded("forall x in D: P(x) & exists x in E: Q(x)", D=[1], E=[2, 3]) == (
        "P(1) & (Q(2) | Q(3))"
    )


def test_functions_are_applied_to_values():
    assert (
        expanded("forall x in D: P(double(x), least(x, 1))", D=3) == "P(0, 0) & P(2, 1) & P(4, 1)"
    )


def test_functions_that_are_not_given_stay():
    assert expanded("forall x in D: P(f(x + 1))", D=2) == "P(f(1)) & P(f(2))"


def test_functions_may_map_labels():
    begin = {"begin": {"NP": "B-NP", "VP": "B-VP"}.__getitem__}
    result = expand(parse("forall X in C: T(begin(X))"), {"C": ["NP", "VP"]}, begin)
    assert str(result) == 'T("B-NP") & T("B-VP")'


@pytest.mark.parametrize(
    ("term", "value"),
    [("7 mod 3", 1), ("-7 mod 3", 2), ("7 mod -3", -2), ("-7 mod -3", -1), ("2 - 5 * 3", -13),
     ("2 * 7 mod 4", 2), ("2 * (7 mod 4)", 6), ("--3", 3), ("9 - 3 - 2", 4)],
)  # fmt: skip
def test_terms_are_computed_with_floor_modulo(term, value):
    assert compute(parse(f"P({term})")) is Atom("P", value)


def test_modulo_by_zero_is_an_error():
    with pytest.raises(EvaluationError, match=r"3 mod 0.*zero"):
        expand(parse("forall x in D: P(3 mod x)"), {"D": 1})


def test_modulo_by_zero_in_a_guard_is_an_error():
    with pytest.raises(EvaluationError, match="zero"):
        expand(parse("forall x in D where 1 mod x = 0: P(x)"), {"D": 2})


def test_arithmetic_on_labels_is_an_error():
    with pytest.raises(EvaluationError, match='"NP" is a label, not an integer'):
        expand(parse("forall x in C: P(x + 1)"), {"C": ["NP"]})


def test_labels_and_numbers_have_no_order():
    with pytest.raises(EvaluationError, match="in order"):
        expand(parse('forall x in D where x < "NP": P(x)'), {"D": 2})


def test_labels_and_numbers_can_be_told_apart_where_a_domain_has_both():
    assert expanded('forall x in D where x != "1": P(x)', D=[1, "1", 2]) == "P(1) & P(2)"


@pytest.mark.parametrize("guard", ['x = "1"', 'x != "1"', '"1" = x', 'x + 0 = "1"', "f(x) = x"])
def test_a_guard_that_compares_text_with_numbers_is_refused_as_in_compiled_rules(guard):
    rule = f"forall x in D where x >= 0 & ~({guard}): P(x)"
    with pytest.raises(EvaluationError, match="compares text with numbers"):
        expand(parse(rule), {"D": 2}, {"f": str})
    with pytest.raises(GroundingError, match=r"compares text with numbers|no label of domain"):
        compile_rule(rule, domains={"D": 2}, functions={"f": str})


def test_an_equation_of_one_guard_does_not_excuse_that_of_another():
    rule = parse('(forall x in D where x = "a": P(x)) & (forall x in E where x = "a": P(x))')
    assert str(expand(rule, {"D": ["a"], "E": ["a"]}))
    with pytest.raises(EvaluationError, match="compares text with numbers"):
        expand(rule, {"D": ["a"], "E": 2})


def test_a_guard_over_a_free_variable_is_an_error():
    with pytest.raises(EvaluationError, match="needs a value for `y`"):
        expand(parse("forall x in D where x < y: P(x)"), {"D": 2})


def test_an_unknown_domain_is_an_error_with_the_nearest_name():
    with pytest.raises(EvaluationError, match=r"`digit` are not given.*Did you mean `digits`"):
        expand(parse("forall x in digit: P(x)"), {"digits": 3})


def test_results_beyond_64_bits_are_refused():
    with pytest.raises(ResiduumError, match="64 bits"):
        compute(parse(f"P({2**62} * 4)"))


def test_too_many_groundings_are_refused(monkeypatch):
    monkeypatch.setattr(expansion, "MOST_GROUNDINGS", 1_000)
    formula = parse("forall x, y in D: P(x, y)")
    assert len(atoms_of(expand(formula, {"D": 31}))) == 31**2
    with pytest.raises(FormulaTooLargeError, match="1,000 groundings"):
        expand(formula, {"D": 32})


def test_what_does_not_depend_on_a_variable_is_shared():
    result = expand(parse("forall x in D: Q & exists y in E: R(y)"), {"D": 3, "E": 2})
    assert len({id(operand) for operand in result.operands}) == 1


def test_formulas_without_quantifiers_are_unchanged():
    formula = parse("P(x) & ~Q -> R(NP)")
    assert expand(formula, {}) is formula
    assert compute(formula) is formula


def test_compute_leaves_quantifiers_and_unknown_functions():
    assert str(compute(parse("forall x in D where x < 1 + 1: P(f(2 * 3), x)"))) == (
        "forall x in D where x < 2: P(f(6), x)"
    )


def test_compute_applies_the_functions_it_is_given():
    assert compute(parse("P(double(3))"), FUNCTIONS) is Atom("P", 6)


def test_arity_of_a_conjunction_is_kept():
    formula = And(And(Atom("P", x), Atom("Q")), Atom("R"))
    assert expand(Forall([("x", "D")], formula), {"D": [1]}) is And(
        And(Atom("P", Constant(1)), Atom("Q")), Atom("R")
    )


def test_ground_arithmetic_is_the_same_atom_as_its_value():
    assert compute(Atom("P", Arithmetic("+", 1, 1))) is Atom("P", 2)


@pytest.mark.parametrize("members", [np.arange(3), list(np.arange(3)), np.int64(3)])
def test_members_may_be_integers_of_numpy(members):
    assert expand(parse("forall x in d: P(x)"), {"d": members}) == parse("P(0) & P(1) & P(2)")


# What would never end, or fill the memory, is refused before it begins.

HUGE = 10**12


UNFIT = {
    "a range": range(HUGE), "a long range": range(10**30), "a count": itertools.count(),
    "a repetition": itertools.repeat("a"), "a size": HUGE, "thousands of digits": 10**5000,
    "as many below 0": -(10**5000), "below 0": -1, "a Boolean": True, "a float": 2.0,
    "infinity": math.inf, "text": "ab", "nothing": None, "far away": range(HUGE, HUGE + 10**7),
}  # fmt: skip


@pytest.mark.parametrize("name", UNFIT)
def test_members_without_end_or_of_the_wrong_kind_are_refused(name):
    with pytest.raises((FormulaTooLargeError, EvaluationError), match="`D`") as caught:
        expand(parse("forall x in D: P(x)"), {"D": UNFIT[name]})
    assert len(str(caught.value)) < 300


def test_domains_are_a_mapping():
    with pytest.raises(EvaluationError, match="expected a mapping"):
        expand(parse("forall x in D: P(x)"), 3)


def test_a_range_of_members_may_start_anywhere():
    members = range(HUGE, HUGE + 4, 3)
    assert str(expand(parse("forall x in D: P(x)"), {"D": members})) == (
        f"P({HUGE}) & P({HUGE + 3})"
    )


def test_a_product_of_many_domains_is_refused():
    names = ", ".join(f"x{n}" for n in range(20_000))
    with pytest.raises(FormulaTooLargeError, match="1,000,000 groundings"):
        expand(parse(f"forall {names} in D: P(x0)"), {"D": 1_000_000})


def test_domains_beside_an_empty_one_are_not_spelt_out():
    names = ", ".join(f"x{n}" for n in range(20))
    rule = parse(f"forall {names} in D, y in E: P(y)")
    tracemalloc.start()
    try:
        assert expand(rule, {"D": 1_000_000, "E": 0}) is TRUE
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "rule",
    [
        f"forall x in D: {' & '.join(f'P{n}(x)' for n in range(100))}",
        f"forall x in D where {' & '.join(f'x != {n}' for n in range(100))}: P(x)",
        f"forall x in D: P({' + '.join(['x'] * 100)})",
    ],
    ids=["body", "guard", "term"],
)
def test_few_groundings_of_much_are_refused(rule, monkeypatch):
    monkeypatch.setattr(expansion, "MOST_PARTS", 10_000)
    expand(parse(rule), {"D": 10})
    with pytest.raises(FormulaTooLargeError, match="10,000 terms, atoms"):
        expand(parse(rule), {"D": 100})


@pytest.mark.parametrize("question", [free_variables, lambda formula: expand(formula, {"D": 1})])
def test_many_variables_used_far_below_are_refused(question, monkeypatch):
    monkeypatch.setattr(questions, "MOST_FREE", 10_000)

    def nested(count: int) -> str:
        names = [f"x{n}" for n in range(count)]
        return f"{''.join(f'forall {name} in D: ' for name in names)}P({', '.join(names)})"

    question(parse(nested(100)))
    with pytest.raises(FormulaTooLargeError, match="10,000 free variables"):
        question(parse(nested(200)))


@many
@given(st.lists(st.integers(0, 9), max_size=8), st.integers(0, 10_000))
def test_products_are_exact_up_to_a_limit(sizes, most):
    product = math.prod(sizes)
    found = product_of(sizes, most)
    assert found == product if product <= most else found > most
