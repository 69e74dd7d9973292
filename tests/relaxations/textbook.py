"""T-norms, their duals and residua, typed from Klement, Mesiar and Pap (2000), in mpmath.

Each function takes the parameter and two mpf degrees; nothing here shares code with the package.
The residuum of a family is written out for x > y; it is 1 elsewhere.
"""

from __future__ import annotations

from mpmath import exp, inf, log, mpf

ONE = mpf(1)


def hamacher_and(g, x, y):
    return mpf(0) if x == y == 0 else x * y / (g + (1 - g) * (x + y - x * y))


def hamacher_or(g, x, y):
    return ONE if x == y == 1 else (x + y - x * y - (1 - g) * x * y) / (1 - (1 - g) * x * y)


def hamacher_residuum(g, x, y):
    return y * (g + (1 - g) * x) / (x - (1 - g) * (y - x * y))


def frank_and(s, x, y):
    return log(1 + (s**x - 1) * (s**y - 1) / (s - 1)) / log(s)


def frank_or(s, x, y):
    return 1 - log(1 + (s ** (1 - x) - 1) * (s ** (1 - y) - 1) / (s - 1)) / log(s)


def frank_residuum(s, x, y):
    return log(1 + (s - 1) * (s**y - 1) / (s**x - 1)) / log(s)


def yager_and(p, x, y):
    return max(mpf(0), 1 - ((1 - x) ** p + (1 - y) ** p) ** (1 / p))


def yager_or(p, x, y):
    return min(ONE, (x**p + y**p) ** (1 / p))


def yager_residuum(p, x, y):
    return 1 - ((1 - y) ** p - (1 - x) ** p) ** (1 / p)


def dombi_and(a, x, y):
    if 0 in (x, y):
        return mpf(0)
    return 1 / (1 + (((1 - x) / x) ** a + ((1 - y) / y) ** a) ** (1 / a))


def dombi_or(a, x, y):
    if 1 in (x, y):
        return ONE
    return 1 - 1 / (1 + ((x / (1 - x)) ** a + (y / (1 - y)) ** a) ** (1 / a))


def dombi_residuum(a, x, y):
    if y == 0:
        return mpf(0)
    return 1 / (1 + (((1 - y) / y) ** a - ((1 - x) / x) ** a) ** (1 / a))


def aczel_alsina_and(a, x, y):
    if 0 in (x, y):
        return mpf(0)
    return exp(-(((-log(x)) ** a + (-log(y)) ** a) ** (1 / a)))


def aczel_alsina_or(a, x, y):
    if 1 in (x, y):
        return ONE
    return 1 - exp(-(((-log(1 - x)) ** a + (-log(1 - y)) ** a) ** (1 / a)))


def aczel_alsina_residuum(a, x, y):
    if y == 0:
        return mpf(0)
    return exp(-(((-log(y)) ** a - (-log(x)) ** a) ** (1 / a)))


def schweizer_sklar_and(p, x, y):
    if p < 0 and 0 in (x, y):
        return mpf(0)
    return max(mpf(0), x**p + y**p - 1) ** (1 / p)


def schweizer_sklar_or(p, x, y):
    if p < 0 and 1 in (x, y):
        return ONE
    return 1 - max(mpf(0), (1 - x) ** p + (1 - y) ** p - 1) ** (1 / p)


def schweizer_sklar_residuum(p, x, y):
    if p < 0 and y == 0:
        return mpf(0)
    return (1 - x**p + y**p) ** (1 / p)


def sugeno_weber_and(a, x, y):
    return max(mpf(0), (x + y - 1 + a * x * y) / (1 + a))


def sugeno_weber_or(a, x, y):
    return min(ONE, x + y - a / (1 + a) * x * y)


def sugeno_weber_residuum(a, x, y):
    return (1 - x + (1 + a) * y) / (1 + a * x)


def product(_, x, y):
    return x * y


def product_or(_, x, y):
    return x + y - x * y


def quotient(_, x, y):
    return y / x


def minimum(_, x, y):
    return min(x, y)


def maximum(_, x, y):
    return max(x, y)


def consequent(_, _x, y):
    return y


def lukasiewicz(_, x, y):
    return max(mpf(0), x + y - 1)


def lukasiewicz_or(_, x, y):
    return min(ONE, x + y)


def lukasiewicz_residuum(_, x, y):
    return 1 - x + y


PRODUCT = (product, product_or, quotient)
GODEL = (minimum, maximum, consequent)
LUKASIEWICZ = (lukasiewicz, lukasiewicz_or, lukasiewicz_residuum)
FAMILIES = {
    "hamacher": (hamacher_and, hamacher_or, hamacher_residuum),
    "frank": (frank_and, frank_or, frank_residuum),
    "yager": (yager_and, yager_or, yager_residuum),
    "dombi": (dombi_and, dombi_or, dombi_residuum),
    "aczel-alsina": (aczel_alsina_and, aczel_alsina_or, aczel_alsina_residuum),
    "schweizer-sklar": (schweizer_sklar_and, schweizer_sklar_or, schweizer_sklar_residuum),
    "sugeno-weber": (sugeno_weber_and, sugeno_weber_or, sugeno_weber_residuum),
}
LIMITS = {
    ("frank", mpf(1)): PRODUCT,
    ("frank", inf): LUKASIEWICZ,
    ("yager", inf): GODEL,
    ("dombi", inf): GODEL,
    ("aczel-alsina", inf): GODEL,
    ("schweizer-sklar", -inf): GODEL,
    ("schweizer-sklar", mpf(0)): PRODUCT,
    ("sugeno-weber", inf): PRODUCT,
}


def forms(family, parameter):
    """Return T, its dual and its residuum as functions of x and y alone."""
    conjunction, disjunction, below = LIMITS.get((family, parameter), FAMILIES[family])
    return {
        "P & Q": lambda x, y: conjunction(parameter, x, y),
        "P | Q": lambda x, y: disjunction(parameter, x, y),
        "P -> Q": lambda x, y: ONE if x <= y else below(parameter, x, y),
    }
