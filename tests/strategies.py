"""Hypothesis strategies for random terms, guards and formulas."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from residuum.logic import (
    FALSE,
    TRUE,
    And,
    Application,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Count,
    CountOf,
    CountQuantifier,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Term,
    Variable,
)
from residuum.logic.terms import Number

few = settings(derandomize=True, deadline=None, max_examples=100)
many = settings(derandomize=True, deadline=None, max_examples=200)

any_text = st.text(st.characters(exclude_categories=()))
variable_names = st.sampled_from(
    ["x", "y", "z", "i", "x_1", "_", "forall_", "In", "mod2", "é", "数",
     "at", "of", "div", "exactly", "least", "most", "scale", "ramp", "logistic", "abs"]
)  # fmt: skip
predicate_names = st.sampled_from(
    ["P", "Q", "Near", "Tag", "notP", "P_0", "Σ", "exactly", "at", "least", "of", "div"]
)
function_names = st.sampled_from(["f", "begin", "order", "イ", "div", "exactly", "most"])
domain_names = st.sampled_from(["D", "E", "digit", "ドメイン", "of", "div"])

LARGEST = 2**63 - 1
integers = st.integers(-12, 12) | st.sampled_from([LARGEST, -LARGEST])
labels = (
    st.sampled_from(["NP", "B-NP", "", '"', "\\", "a\nb", "π", "true", "# no comment"]) | any_text
)
variables = st.builds(Variable, variable_names)
constants = st.builds(Constant, integers | labels)
numbers = st.builds(Number, st.floats(allow_nan=False, allow_infinity=False))


def _terms(leaves: st.SearchStrategy[Term], max_leaves: int) -> st.SearchStrategy[Term]:
    def extend(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
        applied = st.lists(inner, min_size=1, max_size=3)
        return st.builds(Arithmetic, st.sampled_from(["+", "-", "*"]), inner, inner) | st.builds(
            lambda name, parts: Application(name, *parts), function_names, applied
        )

    def with_modulo(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
        # A literal zero on the right of `mod` and `div` is refused.
        moduli = inner.filter(lambda term: term != Constant(0))
        divisions = st.sampled_from(["mod", "div", "/"])
        return extend(inner) | st.builds(Arithmetic, divisions, inner, moduli)

    return st.recursive(leaves, with_modulo, max_leaves=max_leaves)


terms = _terms(variables | constants | numbers, 5)
plain_terms = _terms(variables | st.builds(Constant, integers), 4)


counts = st.builds(
    Count, st.sampled_from(["at least", "at most", "exactly"]), st.integers(0, 3) | st.just(LARGEST)
)


def connected(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    """Return the connectives over some strategy's formulas."""
    several = st.lists(inner, min_size=2, max_size=4)
    return st.one_of(
        st.builds(Not, inner),
        st.builds(lambda parts: And(*parts), several),
        st.builds(lambda parts: Or(*parts), several),
        st.builds(Implies, inner, inner),
        st.builds(Iff, inner, inner),
        st.builds(CountOf, counts, st.lists(inner, min_size=1, max_size=4)),
    )


truths = st.sampled_from([TRUE, FALSE])


def _guards(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Formula]:
    operators = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
    return st.recursive(
        st.builds(Comparison, operators, inner, inner) | truths, connected, max_leaves=4
    )


def _formulas(inner: st.SearchStrategy[Term], max_leaves: int) -> st.SearchStrategy[Formula]:
    arguments = st.lists(inner, max_size=3)
    atom = st.builds(lambda name, parts: Atom(name, *parts), predicate_names, arguments)
    bindings = st.lists(
        st.tuples(variable_names, domain_names), min_size=1, max_size=3, unique_by=lambda b: b[0]
    )
    guard = st.none() | _guards(inner)
    operators = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
    compared = st.builds(Comparison, operators, inner, inner)

    def extend(below: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        quantified = st.one_of(
            st.builds(Forall, bindings, below, guard),
            st.builds(Exists, bindings, below, guard),
            st.builds(CountQuantifier, counts, bindings, below, guard),
        )
        return connected(below) | quantified

    return st.recursive(atom | truths | compared, extend, max_leaves=max_leaves)


guards = _guards(terms)
formulas = _formulas(terms, 8)
# Without quoted labels, every bracket in the text is a bracket of the syntax.
plain_formulas = _formulas(plain_terms, 8)

propositions = st.builds(Atom, st.sampled_from(["P", "Q", "R", "S"]))
propositional_formulas = st.recursive(propositions | truths, connected, max_leaves=12)


# Formulas that can be spelt out over numeric domains: see `DOMAINS` for what each name stands for.

DOMAINS = {"Two": 2, "Odd": (1, 3), "None_at_all": ()}
FUNCTIONS = {"double": lambda n: 2 * n, "least": min}

numeric_leaves = st.builds(Variable, st.sampled_from("xyz")) | st.builds(
    Constant, st.integers(-3, 3)
)


def _numeric(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    moduli = st.builds(Constant, st.sampled_from([-3, -2, 2, 3]))
    return st.one_of(
        st.builds(Arithmetic, st.sampled_from(["+", "-", "*"]), inner, inner),
        st.builds(Arithmetic, st.sampled_from(["mod", "div"]), inner, moduli),
        st.builds(Application, st.just("double"), inner),
        st.builds(Application, st.just("least"), inner, inner),
    )


numeric_terms = st.recursive(numeric_leaves, _numeric, max_leaves=3)
_numeric_guards = _guards(numeric_terms)
_numeric_atoms = st.builds(
    lambda name, parts: Atom(name, *parts),
    st.sampled_from(["P", "Q"]),
    st.lists(numeric_terms, max_size=2),
)
_numeric_bindings = st.lists(
    st.tuples(st.sampled_from("xyz"), st.sampled_from(sorted(DOMAINS))),
    min_size=1,
    max_size=2,
    unique_by=lambda binding: binding[0],
)


def _numeric_quantified(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    guard = st.none() | _numeric_guards
    return st.one_of(
        connected(inner),
        st.builds(Forall, _numeric_bindings, inner, guard),
        st.builds(Exists, _numeric_bindings, inner, guard),
        st.builds(CountQuantifier, counts, _numeric_bindings, inner, guard),
    )


numeric_formulas = st.recursive(_numeric_atoms | truths, _numeric_quantified, max_leaves=5)
