"""What the tests of analysis share: random formulas, textbook truth functions, an exact grid."""

import itertools
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from residuum.logic import And, Atom, Iff, Implies, Not, Or

P, Q, R = Atom("P"), Atom("Q"), Atom("R")


def formulas(leaves=(P, Q, R)):
    return st.recursive(
        st.sampled_from(leaves),
        lambda below: st.one_of(
            below.map(Not),
            st.lists(below, min_size=2, max_size=3).map(lambda parts: And(*parts)),
            st.lists(below, min_size=2, max_size=3).map(lambda parts: Or(*parts)),
            st.builds(Implies, below, below),
            st.builds(Iff, below, below),
        ),
        max_leaves=7,
    )


KINDS = (Not, And, Or, Implies, Implies, Iff, Iff)


def random_formula(rng, leaves, connectives):
    if connectives == 0:
        return rng.choice(leaves)
    kind = rng.choice(KINDS)
    if kind is Not:
        return Not(random_formula(rng, leaves, connectives - 1))
    left = rng.randrange(connectives)
    return kind(
        random_formula(rng, leaves, left), random_formula(rng, leaves, connectives - 1 - left)
    )


# An independent evaluator: textbook truth functions on arrays, by plain recursion.
TEXTBOOK = {
    "s-product": (lambda x, y: x * y, lambda x, y: 1 - x + x * y),
    "r-product": (
        lambda x, y: x * y,
        lambda x, y: np.where(x <= y, 1, y / np.where(x == 0, 1, x)),
    ),
    "s-godel": (np.minimum, lambda x, y: np.maximum(1 - x, y)),
    "r-godel": (np.minimum, lambda x, y: np.where(x <= y, 1, y)),
    "lukasiewicz": (lambda x, y: np.maximum(0, x + y - 1), lambda x, y: np.minimum(1, 1 - x + y)),
}


def textbook(formula, values, name):
    conjoin, imply = TEXTBOOK[name]

    def degree(node):
        match node:
            case Atom():
                return values[node]
            case Not(operand):
                return 1 - degree(operand)
            case And(operands):
                result = degree(operands[0])
                for operand in operands[1:]:
                    result = conjoin(result, degree(operand))
                return result
            case Or(operands):
                return degree(Not(And(*map(Not, operands))))
            case Implies(antecedent, consequent):
                return imply(degree(antecedent), degree(consequent))
            case Iff(left, right):
                return conjoin(degree(Implies(left, right)), degree(Implies(right, left)))

    return degree(formula)


# Points with 0, 1, 1/2 and ties among the atoms and their complements.
GRID = [
    dict(zip((P, Q, R), point, strict=True))
    for point in itertools.product([Fraction(n, 4) for n in range(5)], repeat=3)
]
