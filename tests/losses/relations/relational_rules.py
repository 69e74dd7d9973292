"""Random rules about members of open domains, and what they cost by nested loops.

The loops share no code with the library but the formulas. They compute with torch scalars, so that
autograd gives their gradients.
"""

from __future__ import annotations

import itertools
import operator
from functools import reduce

import torch
from hypothesis import assume
from hypothesis import strategies as st

from residuum import logic as lg

SIZES = {"person": 3, "place": 2, "mood": 2}
OPEN = ("person", "place")
PREDICATES = {
    "Smokes": ("person",),
    "Friends": ("person", "person"),
    "Between": ("person", "person", "person"),
    "Lives": ("person", "place"),
    "Feels": ("person", "mood"),
    "Big": ("place",),
    "Raining": (),
}
FUNCTIONS = {"boss": ("person", "person", [1, 2, 0]), "home": ("person", "place", [0, 1, 1])}
LINKS = {"Link": ("person", "person", [(0, 1), (1, 2), (1, 0), (2, 2)]),
         "Visits": ("person", "place", [(0, 0), (2, 1), (1, 1)])}  # fmt: skip
SHAPES = {name: tuple(SIZES[one] for one in domains) for name, domains in PREDICATES.items()}

DECLARED = """
    domain person
    domain place
    domain mood = 0..1
    function boss(person): person
    function home(person): place
    predicate Smokes(person)
    predicate Friends(person, person)
    predicate Between(person, person, person)
    predicate Lives(person, place)
    predicate Feels(person, mood)
    predicate Big(place)
    predicate Raining
    predicate Link(person, person)
    predicate Visits(person, place)
    rule said:
"""


# Rules


@st.composite
def rules(draw):
    """A rule with up to three rows, guards, relations, functions and inner quantifiers."""
    names = iter("xyzuvw")
    scope = {next(names): draw(domains) for domains in
             draw(st.lists(st.just(st.sampled_from(["person", "person", "place"])),
                           min_size=0, max_size=3))}  # fmt: skip
    scope |= {next(names): "mood"} if draw(st.booleans()) else {}
    body = draw(_formula(scope, tuple(names), draw(st.integers(1, 3))))
    if not scope:
        domain = draw(st.sampled_from(OPEN))
        name = "x_1"
        inner = draw(_formula({name: domain}, ("y_1", "z_1"), 1))
        return body & lg.Exists([(name, domain)], inner)
    guard = draw(st.none() | _guard(_opened(scope)))
    return lg.Forall(list(scope.items()), body, guard)


def _opened(scope):
    return {name: domain for name, domain in scope.items() if domain in OPEN}


@st.composite
def _formula(draw, scope, names, depth):
    kinds = ["~", "&", "|", "->", "->", "<->"] + ["exists", "forall", "count"] * bool(names)
    kind = draw(st.sampled_from(kinds)) if depth else "atom"
    if kind == "atom":
        return draw(_atom(scope))
    if kind in ("exists", "forall", "count"):
        domain = draw(st.sampled_from(["person", "place", "mood"]))
        inner = {**scope, names[0]: domain}
        body = draw(_formula(inner, names[1:], depth - 1))
        guard = draw(st.none() | _guard(_opened(inner))) if domain in OPEN else None
        if kind == "count":
            count = lg.Count(draw(st.sampled_from(["at least", "exactly"])), 1)
            return lg.CountQuantifier(count, [(names[0], domain)], body, guard)
        made = {"exists": lg.Exists, "forall": lg.Forall}[kind]
        return made([(names[0], domain)], body, guard)
    parts = [draw(_formula(scope, names, depth - 1)) for _ in range(1 if kind == "~" else 2)]
    made = {"~": lg.Not, "&": lg.And, "|": lg.Or, "->": lg.Implies, "<->": lg.Iff}[kind]
    return made(*parts)


@st.composite
def _atom(draw, scope):
    fitting = [name for name, domains in PREDICATES.items()
               if all(one in scope.values() or one == "mood" for one in domains)]  # fmt: skip
    name = draw(st.sampled_from(fitting))
    return lg.Atom(name, *(draw(_term(scope, domain)) for domain in PREDICATES[name]))


@st.composite
def _term(draw, scope, domain):
    choices = [lg.Variable(name) for name, where in scope.items() if where == domain]
    if domain == "mood":
        choices.append(lg.Constant(draw(st.integers(0, 1))))
    if domain == "person":
        choices += [lg.Application("boss", one) for one in choices]
        choices.append(lg.Constant(draw(st.integers(0, 2))))
    if domain == "place":
        people = [lg.Variable(name) for name, where in scope.items() if where == "person"]
        choices += [lg.Application("home", one) for one in people]
    return draw(st.sampled_from(choices))


@st.composite
def _guard(draw, scope):
    if not scope:
        return None
    parts = [draw(_guard_part(scope)) for _ in range(draw(st.integers(1, 2)))]
    if len(parts) == 2 and draw(st.booleans()):
        return lg.Or(*parts)
    return lg.And(*(lg.Not(one) if draw(st.integers(0, 4)) == 0 else one for one in parts))


@st.composite
def _guard_part(draw, scope):
    name = draw(st.sampled_from(sorted(scope)))
    same = [lg.Variable(one) for one, domain in scope.items() if domain == scope[name]]
    fitting = [one for one, (*of, _) in LINKS.items() if all(d in scope.values() for d in of)]
    if fitting and draw(st.booleans()):
        of = draw(st.sampled_from(fitting))
        return lg.Atom(of, *(draw(st.sampled_from([lg.Variable(n) for n, d in scope.items()
                                                   if d == domain]))
                             for domain in LINKS[of][:2]))  # fmt: skip
    other = draw(st.sampled_from([*same, lg.Constant(draw(st.integers(0, 1)))]))
    return lg.Comparison(draw(st.sampled_from(["=", "!=", "<", "<="])), lg.Variable(name), other)


# What they cost


class Loops:
    """Evaluates formulas for tables of degrees, one grounding after the other."""

    def __init__(self, relaxation, degrees):
        self.kind, self.degrees = relaxation, degrees

    def conjoin(self, parts):
        one = torch.ones((), dtype=torch.float64)
        if self.kind == "s-godel":
            return torch.stack([*parts, one]).min()
        if self.kind == "lukasiewicz":
            return torch.relu(1 - sum((1 - part for part in parts), 0 * one))
        return reduce(operator.mul, parts, one)

    def disjoin(self, parts):
        return 1 - self.conjoin([1 - part for part in parts])

    def imply(self, x, y):
        if self.kind == "r-product":
            # Penalties of what is exactly false are capped. Caps of several parts of an antecedent
            # add up, so that they differ from the cap of the consequent by a log 2, say.
            assume(x > 0 or y > 0)
            return torch.where(x <= y, torch.ones_like(x), y / torch.where(x > 0, x, 1.0))
        return self.disjoin([1 - x, y])

    def at_least_one(self, parts):
        return self.disjoin(parts)

    def exactly_one(self, parts):
        at_most = self.at_most_one(parts)
        return self.conjoin([self.at_least_one(parts), at_most])

    def at_most_one(self, parts):
        if self.kind in ("s-product", "r-product"):  # the probability of independent events
            return 1 - self._two_or_more(parts)
        if self.kind == "lukasiewicz":
            total = sum(parts, torch.zeros((), dtype=torch.float64))
            return 1 - torch.clamp(total - 1, 0, 1)
        ordered = sorted(parts, key=torch.Tensor.item, reverse=True)
        return 1 - ordered[1] if len(ordered) > 1 else torch.ones((), dtype=torch.float64)

    def _two_or_more(self, parts):
        one = torch.ones((), dtype=torch.float64)
        none = reduce(operator.mul, [1 - part for part in parts], one)
        single = sum(
            (reduce(operator.mul, [1 - other for j, other in enumerate(parts) if j != i], part)
             for i, part in enumerate(parts)),
            0 * one,
        )  # fmt: skip
        return 1 - none - single

    def term(self, term, at):
        if isinstance(term, lg.Variable):
            return at[term.name]
        if isinstance(term, lg.Constant):
            return term.value
        return FUNCTIONS[term.function][2][self.term(term.arguments[0], at)]

    def holds(self, guard, at):
        match guard:
            case None:
                return True
            case lg.Atom(name, arguments):
                return tuple(self.term(one, at) for one in arguments) in LINKS[name][2]
            case lg.Comparison(symbol, left, right):
                compare = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le}
                return compare[symbol](self.term(left, at), self.term(right, at))
            case lg.Not(part):
                return not self.holds(part, at)
            case lg.And(parts):
                return all(self.holds(part, at) for part in parts)
            case lg.Or(parts):
                return any(self.holds(part, at) for part in parts)
        raise AssertionError(guard)

    def groundings(self, node, at):
        names = [name for name, _ in node.bindings]
        for values in itertools.product(*(range(SIZES[domain]) for _, domain in node.bindings)):
            inner = {**at, **dict(zip(names, values, strict=True))}
            if self.holds(node.guard, inner):
                yield inner

    def degree(self, node, at):
        match node:
            case lg.Atom(name, arguments):
                return self.degrees[name][tuple(self.term(one, at) for one in arguments)]
            case lg.Not(part):
                return 1 - self.degree(part, at)
            case lg.And(parts):
                return self.conjoin([self.degree(part, at) for part in parts])
            case lg.Or(parts):
                return self.disjoin([self.degree(part, at) for part in parts])
            case lg.Implies(left, right):
                return self.imply(self.degree(left, at), self.degree(right, at))
            case lg.Iff(left, right):
                x, y = self.degree(left, at), self.degree(right, at)
                return self.conjoin([self.imply(x, y), self.imply(y, x)])
            case lg.Quantifier():
                parts = [self.degree(node.body, inner) for inner in self.groundings(node, at)]
                if isinstance(node, lg.CountQuantifier):
                    is_exact = node.count.relation == "exactly"
                    return self.exactly_one(parts) if is_exact else self.at_least_one(parts)
                return (self.conjoin if isinstance(node, lg.Forall) else self.disjoin)(parts)
        raise AssertionError(node)

    def penalty(self, degree):
        return -degree.log() if "product" in self.kind else 1 - degree

    def rows(self, rule):
        """Return the penalty of each row: of each choice of members for its outermost variables."""
        rows = {}
        stack = [(rule, {}, ())]
        while stack:
            node, at, row = stack.pop()
            if isinstance(node, lg.Forall):  # of the chain of outermost ones
                opened = [name for name, domain in node.bindings if domain in OPEN]
                stack += [
                    (node.body, inner, row + tuple(inner[name] for name in opened))
                    for inner in self.groundings(node, at)
                ]
            else:
                rows.setdefault(row, []).append(self.penalty(self.degree(node, at)))
        found = rows
        zero = torch.zeros((), dtype=torch.float64)
        if self.kind == "s-godel":
            return [torch.stack(one).max() for one in found.values()]
        totals = [sum(one, zero) for one in found.values()]
        return [total.clamp(max=1) for total in totals] if self.kind == "lukasiewicz" else totals
