"""Random closed rules over small domains, and tensors for their predicates."""

from __future__ import annotations

from functools import partial

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
    Iff,
    Implies,
    Not,
    Or,
    Variable,
)

DOMAINS = {"three": 3, "word": ("u", "v"), "one": ("only",), "none": ()}
PREDICATES = {
    "P": ("three",),
    "Q": ("three", "word"),
    "N": ("three", "three"),
    "R": ("word", "one"),
    "S": (),
}
TABLES = {
    "turn": {0: 2, 1: 0, 2: 1},
    "length": {"u": 1, "v": 2},
    "spell": {0: "v", 1: "u", 2: "u"},
    "least": min,
}
SHAPES = {
    name: tuple(len(range(3)) if d == "three" else len(DOMAINS[d]) for d in domains)
    for name, domains in PREDICATES.items()
}
COUNTS = st.builds(
    Count, st.sampled_from(["at least", "at most", "exactly"]), st.sampled_from([0, 1, 1, 2, 2, 3])
)
_TWO_OPERANDS = {"->": Implies, "<->": Iff}


@st.composite
def rules(draw, depth=4):
    """A closed rule."""
    return draw(_formula({}, draw(st.integers(1, depth))))


@st.composite
def _formula(draw, scope, depth):
    kinds = ["forall"] * 4 + ["exists"] * 2 + list("~&|#") + ["->"] * 3 + ["count"] * 2
    kinds = kinds if depth else ["atom"]
    kind = draw(st.sampled_from([*kinds, "atom", "<->", "truth"] if depth else kinds))
    if kind == "atom":
        name = draw(st.sampled_from(sorted(PREDICATES)))
        return Atom(name, *(draw(_term(scope, domain)) for domain in PREDICATES[name]))
    if kind == "truth":
        return draw(st.sampled_from([TRUE, FALSE]))
    if kind in ("forall", "exists", "count"):
        kinds = {"forall": Forall, "exists": Exists}
        built = kinds[kind] if kind in kinds else partial(CountQuantifier, draw(COUNTS))
        return _quantified(draw, scope, depth, built)
    below = _formula(scope, depth - 1)
    if kind == "~":
        return Not(draw(below))
    if kind == "#":
        return CountOf(draw(COUNTS), draw(st.lists(below, min_size=1, max_size=3)))
    if kind in "&|":
        parts = draw(st.lists(below, min_size=2, max_size=3))
        return (And if kind == "&" else Or)(*parts)
    return _TWO_OPERANDS[kind](draw(below), draw(below))


def _quantified(draw, scope, depth, kind):
    # Few names, so that variables are shadowed; `none` rarely, for it makes most rules trivial.
    domains = st.sampled_from(["three"] * 6 + ["word"] * 4 + ["one", "none"])
    bindings = draw(
        st.lists(
            st.tuples(st.sampled_from("xyz"), domains),
            min_size=1,
            max_size=2,
            unique_by=lambda binding: binding[0],
        )
    )
    inner = {**scope, **dict(bindings)}
    guard = draw(st.none() | _guard(inner))
    return kind(bindings, draw(_formula(inner, depth - 1)), guard)


@st.composite
def _term(draw, scope, domain):
    """A term whose values are all in the domain."""
    choices = [Variable(name) for name, where in scope.items() if where == domain]
    choices += [Constant(label) for label in (range(3) if domain == "three" else DOMAINS[domain])]
    first = draw(st.sampled_from(choices))
    if domain == "one" or draw(st.booleans()):
        return first
    if domain == "word":
        return Application("spell", draw(_term(scope, "three")))
    other = draw(_term(scope, "three"))
    return draw(
        st.sampled_from(
            [
                Arithmetic("mod", Arithmetic("+", first, other), Constant(3)),
                Arithmetic("mod", Arithmetic("-", Arithmetic("*", Constant(2), first), other),
                           Constant(3)),
                Arithmetic("div", Arithmetic("+", first, other), Constant(2)),
                Application("turn", other),
                Application("least", first, other),
                Application("length", draw(_term(scope, "word"))),
            ]
        )
    )  # fmt: skip


@st.composite
def _guard(draw, scope):
    if draw(st.booleans()):
        words = _term(scope, "word")
        operator = draw(st.sampled_from(["=", "!="]))
        one = Comparison(operator, draw(words), draw(words))
    else:
        numbers = _term(scope, "three")
        operator = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">="]))
        one = Comparison(operator, draw(numbers), draw(numbers))
    return draw(st.sampled_from([one, Not(one), Or(one, FALSE), And(one, TRUE)]))


@st.composite
def clauses(draw):
    """A closed rule whose groundings are clauses, perhaps a conjunction of several such rules."""
    return And(*draw(st.lists(_quantified_clause(), min_size=1, max_size=2)))


@st.composite
def _quantified_clause(draw):
    domains = st.sampled_from(["three", "three", "word"])
    names = draw(st.lists(st.sampled_from("xyz"), min_size=1, max_size=2, unique=True))
    bindings = [(name, draw(domains)) for name in names]
    scope = dict(bindings)

    def literal():
        name = draw(st.sampled_from(sorted(PREDICATES)))
        atom = Atom(name, *(draw(_term(scope, domain)) for domain in PREDICATES[name]))
        return draw(st.sampled_from([atom, atom, Not(atom)]))

    first, *others = (literal() for _ in range(draw(st.integers(2, 4))))
    body = And(*others) if len(others) > 1 else others[0]
    clause = draw(
        st.sampled_from([Implies(body, first), Implies(body, first), Or(first, *others), Not(body)])
    )
    return Forall(bindings, clause, draw(st.none() | _guard(scope)))
