"""Random formulas over discrete variables, and their truth in a state, without our own code."""

import itertools
import random

from residuum.circuits.propositions import Propositions


def random_formula(draw: random.Random, sizes, depth):
    """Return a formula as nested tuples."""
    kind = draw.choice(["is", "is", "not", "and", "or", "iff", "count"]) if depth else "is"
    if kind == "is":
        variable = draw.randrange(len(sizes))
        values = [v for v in range(sizes[variable]) if draw.random() < 0.5]
        return "is", variable, frozenset(values)
    parts = [random_formula(draw, sizes, depth - 1) for _ in range(draw.randint(1, 4))]
    if kind == "not":
        return "not", parts[0]
    if kind == "iff":
        return "iff", parts[0], parts[-1]
    if kind == "count":
        return "count", frozenset(n for n in range(6) if draw.random() < 0.5), *parts
    return kind, *parts


def holds(formula, state):
    match formula:
        case "is", variable, values:
            return state[variable] in values
        case "not", part:
            return not holds(part, state)
        case "iff", left, right:
            return holds(left, state) == holds(right, state)
        case "count", allowed, *parts:
            return sum(holds(part, state) for part in parts) in allowed
        case "and", *parts:
            return all(holds(part, state) for part in parts)
        case "or", *parts:
            return any(holds(part, state) for part in parts)
    raise AssertionError(formula)


def stated(formula, of: Propositions) -> int:
    match formula:
        case "is", variable, values:
            return of.literal(variable, sum(1 << value for value in values))
        case "not", part:
            return of.negation(stated(part, of))
        case "iff", left, right:
            return of.equivalence(stated(left, of), stated(right, of))
        case "count", allowed, *parts:
            counts = sum(1 << count for count in allowed)
            return of.count_of(counts, [stated(part, of) for part in parts])
        case "and", *parts:
            return of.all_of([stated(part, of) for part in parts])
        case "or", *parts:
            return of.any_of([stated(part, of) for part in parts])
    raise AssertionError(formula)


def models(formula, sizes):
    """Return all states that obey a formula."""
    return [state for state in itertools.product(*map(range, sizes)) if holds(formula, state)]


def random_case(seed, binary=10, categorical=6):
    """Return sizes and a formula over some binary or categorical variables, at most so many."""
    draw = random.Random(seed)
    if draw.random() < 0.5:
        sizes = [2] * draw.randint(1, binary)
    else:
        sizes = [draw.randint(1, 4) for _ in range(draw.randint(1, categorical))]
    return sizes, random_formula(draw, sizes, draw.randint(1, 4))
