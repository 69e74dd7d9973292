"""Clauses by one matrix product equal loops, mpmath and finite differences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import mpmath
import pytest
import torch
from torch.autograd import forward_ad

import residuum as rs
from residuum.losses.routes.choosing import surroundings_of

NAMES = ("r-product", "s-product", "lukasiewicz-maxsat", "s-godel")
SUM = "forall a, b in d: P(a) & Q(b) -> S((a + b) mod 3)"
WITH_GENERATOR = NAMES[:3]
named = pytest.mark.parametrize("name", NAMES)


def cost(name: str, body: Sequence[Any], head: Any, log: Callable[[Any], Any]) -> Any:
    """Return the penalty of body -> head; degrees are pairs of truth and falsity."""
    if name == "r-product":
        gap = sum(log(true) for true, _ in body) - log(head[0])
        return max(gap, 0)
    if name == "s-product":
        return -log(1 - math.prod([true for true, _ in body]) * head[1])
    if name == "s-godel":
        return min(*(true for true, _ in body), head[1])
    return max(head[1] - sum(false for _, false in body), 0)


def together(name: str, costs: Iterable[Any]) -> Any:
    return max(costs) if name == "s-godel" else sum(costs)


def softmax(logits: Sequence[Any]) -> list[tuple[Any, Any]]:
    parts = [mpmath.exp(z) for z in logits]
    total = sum(parts)
    return [(p / total, (total - p) / total) for p in parts]


def sum_rule(name: str, logits: Sequence[Any]) -> Any:
    p, q, s = (softmax(logits[n : n + 3]) for n in (0, 3, 6))
    pairs = itertools.product(range(3), repeat=2)
    return together(name, (cost(name, (p[a], q[b]), s[(a + b) % 3], mpmath.log) for a, b in pairs))


def derivative(function: Callable[[list[Any]], Any], at: list[Any], place: int) -> Any:
    step = mpmath.mpf(10) ** -60
    moved = [[z + sign * step * (n == place) for n, z in enumerate(at)] for sign in (1, -1)]
    return (function(moved[0]) - function(moved[1])) / (2 * step)


@pytest.mark.parametrize("name", WITH_GENERATOR)  # the minimum cannot order degrees that round to 1
@pytest.mark.parametrize("gap", [1.0, 5.0, 15.0, 40.0, 66.0, 75.0, 200.0])
@pytest.mark.parametrize("wrong", [(0, 0, 1), (1, 2, 0), (2, 1, 2)])
def test_penalties_and_gradients_of_saturated_softmaxes_equal_those_of_mpmath(name, gap, wrong):
    logits = [0.1, 0.5, -0.2, -0.3, 0.2, 0.4, 0.3, -0.1, 0.0]
    for slot, label in enumerate(wrong):
        logits[3 * slot + label] += gap
    given = torch.tensor(logits).reshape(3, 1, 3).requires_grad_()
    rule = rs.compile(SUM, name, domains={"d": 3}, reduction="none")
    assert rule.is_made_of_clauses
    penalty = rule(P=given[0], Q=given[1], S=given[2])
    penalty.sum().backward()
    with mpmath.workdps(400):
        exact = [mpmath.mpf(float(z)) for z in given.detach().flatten()]
        value = sum_rule(name, exact)
        gradients = [derivative(lambda at: sum_rule(name, at), exact, n) for n in range(9)]
    # A residuum is a difference, and rounds like its larger term: a logarithm, or 1.
    scale = {"r-product": 4 * (gap + 2), "lukasiewicz-maxsat": 4.0}.get(name, value)
    smallest = 1e-37  # the smallest number of single precision
    assert abs(float(penalty.detach()) - value) <= 3e-6 * scale + smallest
    largest = max(abs(gradient) for gradient in gradients)
    for found, expected in zip(given.grad.flatten().tolist(), gradients, strict=True):
        assert abs(found - expected) <= 2e-5 * abs(expected) + 2e-6 * largest + smallest


BIO = """
    domain kind = K, L, M
    domain tag = BK, BL, BM, IK, IL, IM, O
    domain position sequence
    function begin(kind): tag = K: BK, L: BL, M: BM
    function inside(kind): tag = K: IK, L: IL, M: IM
    predicate Tag(position, tag)
    rule after_begin: forall i in position, X, Y in kind where X != Y:
        Tag(i, begin(X)) -> ~Tag(i + 1, inside(Y))
    rule after_inside weight 0.5: forall i in position, X, Y in kind where X != Y:
        Tag(i, inside(X)) -> ~Tag(i + 1, inside(Y))
    rule not_twice: forall i in position, X in kind: ~(Tag(i, begin(X)) & Tag(i + 1, begin(X)))
"""


def transitions(name: str, logits: Sequence[Sequence[float]], first: int) -> float:
    tags = [softmax(row) for row in logits]
    costs = []
    for before, after in itertools.pairwise(tags):
        for x, y in itertools.permutations(range(3), 2):
            true, false = after[3 + y]
            costs.append(cost(name, [before[first + x]], (false, true), mpmath.log))
    return together(name, costs)


@named
@pytest.mark.parametrize("block", [None, 50])  # all together, or one rule and example at a time
def test_rules_over_sequences_are_evaluated_together_up_to_their_lengths(name, block):
    knowledge = rs.compile(rs.loads(BIO), name, block=block, reduction="none")
    logits = 3 * torch.randn(2, 5, 7, generator=torch.Generator().manual_seed(1))
    for lengths in (None, torch.tensor([5, 3])):
        found = knowledge(Tag=logits, lengths=lengths)
        for example, length in enumerate([5, 5] if lengths is None else lengths.tolist()):
            rows = logits[example, :length].double().tolist()
            for rule, first in (("after_begin", 0), ("after_inside", 3)):
                expected = transitions(name, rows, first)
                assert float(found[rule][example]) == pytest.approx(float(expected), rel=1e-5)


@named
def test_padding_has_no_gradient(name):
    knowledge = rs.compile(rs.loads(BIO), name, reduction="none")
    logits = 5 * torch.randn(2, 5, 7, generator=torch.Generator().manual_seed(1))
    logits[1, 3:] = math.nan
    logits.requires_grad_()
    sum(knowledge(Tag=logits, lengths=torch.tensor([5, 3])).values()).sum().backward()
    assert torch.equal(logits.grad[1, 3:], torch.zeros(2, 7))
    assert logits.grad[:, :3].abs().sum() > 0


SHAPES: Mapping[str, tuple[tuple[int, ...], ...]] = {
    "forall a, b in d: P(a) & ~Q(b, a) -> ~S((a + 1) mod 3)": ((3,), (3, 3), (3,)),
    "(forall a in d: P(a) -> S(a)) & (forall a in d: Q(a, 1) & S(0) -> P(a))": ((3,), (3, 3), (3,)),
    "forall a in d: P(a) & P(a) & S(2) -> Q(2, a)": ((3,), (3, 3), (3,)),
}


@named
@pytest.mark.parametrize("text", SHAPES)
@pytest.mark.parametrize("outputs", [{}, {"P": "independent", "Q": "independent"}], ids=str)
def test_first_and_second_derivatives_equal_finite_differences(name, text, outputs):
    rule = rs.compile(
        text,
        name,
        domains={"d": 3},
        predicates={"P": ("d",), "Q": ("d", "d"), "S": ("d",)},
        outputs=outputs,
        reduction="none",
    )
    assert rule.is_made_of_clauses
    generator = torch.Generator().manual_seed(2)
    given = [
        (2 * torch.randn(2, *shape, generator=generator, dtype=torch.float64)).requires_grad_()
        for shape in SHAPES[text]
    ]

    def penalty(p: torch.Tensor, q: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        return rule(P=p, Q=q, S=s)

    torch.autograd.gradcheck(penalty, given)
    torch.autograd.gradgradcheck(penalty, given)


def leaves() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(4, 3, generator=generator).requires_grad_() for _ in "PQS"]


@named
def test_a_backward_pass_under_autocast_has_full_precision(name):
    rule = rs.compile(SUM, name, domains={"d": 3}, reduction="none")
    found = []
    for is_enabled in (False, True):
        given = leaves()
        loss = rule(dict(zip("PQS", given, strict=True))).sum()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_enabled):
            loss.backward()
        found.append([leaf.grad for leaf in given])
    torch.testing.assert_close(found[1], found[0], rtol=0, atol=0)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # PyTorch's own use of it
@named
def test_forward_mode_derivatives_equal_those_of_backward(name):
    rule = rs.compile(SUM, name, domains={"d": 3}, reduction="none")
    given = leaves()
    rule(dict(zip("PQS", given, strict=True))).sum().backward()
    direction = torch.arange(12.0).reshape(4, 3)
    gradients = [torch.zeros(4, 3) if leaf.grad is None else leaf.grad for leaf in given]
    expected = sum((gradient * direction).sum() for gradient in gradients)
    with forward_ad.dual_level():
        moved = [forward_ad.make_dual(leaf.detach(), direction) for leaf in given]
        penalty = rule(dict(zip("PQS", moved, strict=True))).sum()
        torch.testing.assert_close(forward_ad.unpack_dual(penalty).tangent, expected)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@named
def test_a_vectorised_jacobian_equals_one_computed_row_by_row(name):
    rule = rs.compile(SUM, name, domains={"d": 3}, reduction="none")

    def penalties(*given):
        return rule(dict(zip("PQS", given, strict=True)))

    given = tuple(leaves())
    at_once = torch.autograd.functional.jacobian(penalties, given, vectorize=True)
    one_by_one = torch.autograd.functional.jacobian(penalties, given)
    torch.testing.assert_close(at_once, one_by_one)


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_matrix_products_of_reduced_precision_are_not_used(precision):
    before = torch.get_float32_matmul_precision()
    assert surroundings_of(leaves()).why_not_multiplied is None
    try:
        torch.set_float32_matmul_precision(precision)
        assert surroundings_of(leaves()).why_not_multiplied is not None
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("forall a, b in d where a < b: P(a) & Q(b) -> S((a + b) mod 100)", 100),
        ("forall a in d: P(a) -> exists b in d: Q(b)", 3),
        ("forall a in d: (P(a) -> Q(a)) -> S(a)", 3),
    ],
)
def test_rules_that_are_too_large_or_no_clauses_are_not_made_of_clauses(text, size):
    for name in WITH_GENERATOR:
        assert not rs.compile(text, name, domains={"d": size}).is_made_of_clauses


@named
def test_literals_that_depend_on_some_of_the_variables_are_read_in_all_groundings(name):
    rule = rs.compile(
        "forall a, b in d, c in two: P(a) & Q(b) & R(c) -> S((a + b) mod 96)",
        name,
        domains={"d": 96, "two": 2},
        reduction="none",
    )
    assert rule.is_made_of_clauses
    source = torch.Generator().manual_seed(0)
    sizes = {"P": 96, "Q": 96, "R": 2, "S": 96}
    given = {
        slot: 3 * torch.randn(5, size, generator=source, dtype=torch.float64)
        for slot, size in sizes.items()
    }
    for slot in "PQR":
        given[slot][:, -1] += 9  # so that the last groundings have the largest penalties
    logs = {slot: torch.log_softmax(logits, -1) for slot, logits in given.items()}
    each = torch.arange(96)
    body = (logs["P"][:, :, None, None], logs["Q"][:, None, :, None], logs["R"][:, None, None, :])
    head = logs["S"][:, (each[:, None] + each) % 96, None]
    if name == "r-product":
        costs = torch.relu(sum(body) - head)
    elif name == "s-product":
        costs = -torch.log1p(-sum(body).exp() * -torch.expm1(head))
    elif name == "s-godel":
        least = torch.minimum(torch.minimum(body[0].exp(), body[1].exp()), body[2].exp())
        costs = torch.minimum(least, -torch.expm1(head))
    else:
        costs = torch.relu(torch.expm1(body[0]) + torch.expm1(body[1]) + body[2].exp() - head.exp())
    flat = costs.flatten(1)
    torch.testing.assert_close(rule(given), flat.amax(1) if name == "s-godel" else flat.sum(1))


@pytest.mark.parametrize("form", ["one formula", "rules"])
def test_under_the_minimum_equal_groundings_and_equal_literals_share_the_gradient(form):
    texts = ["P(0) & Q(0) -> S(0)", "P(1) & Q(1) -> S(1)", "P(2) & Q(2) -> S(2)", "P(0) -> S(1)"]
    declared = "domain d = 0..2\n" + "".join(f"predicate {n}(d) independent\n" for n in "PQS")
    given = {"P": [2.0, 2.0, 0.0], "Q": [1.0, 1.0, 3.0], "S": [-1.0, -3.0, -1.0]}
    leaves = {name: torch.tensor([row], requires_grad=True) for name, row in given.items()}
    if form == "one formula":
        knowledge = rs.loads(declared)
        formula = rs.And(*(rs.parse(text) for text in texts[:3]))
        rs.compile(formula, "s-godel", knowledge=knowledge, reduction="none")(
            leaves
        ).sum().backward()
        # The penalty is max min(P, Q, ¬S): Q(0) ties with ¬S(0) and with Q(1); P(2) is smaller.
        shares = {"P": [0, 0, 0], "Q": [1 / 4, 1 / 2, 0], "S": [-1 / 4, 0, 0]}
    else:
        rules = "".join(f"rule r{n}: {text}\n" for n, text in enumerate(texts))
        penalties = rs.compile(rs.loads(declared + rules), "s-godel", reduction="none")(leaves)
        sum(penalties.values()).sum().backward()
        # Each rule has its own penalty: the last is min(P(0), ¬S(1)) = P(0).
        shares = {"P": [1, 0, 1], "Q": [1 / 2, 1, 0], "S": [-1 / 2, 0, 0]}
    for name, leaf in leaves.items():
        p = torch.sigmoid(leaf.detach()[0])
        expected = torch.tensor(shares[name]) * p * (1 - p)
        torch.testing.assert_close(leaf.grad[0], expected)


@named
def test_a_part_whose_groundings_a_guard_excludes_costs_nothing(name):
    nothing = "forall x in d where x != x: P(x) -> Q(x)"
    something = "forall x in d: P(x) -> S((x + 1) mod 3)"
    given = dict(zip("PQS", leaves(), strict=True))
    domains = {"domains": {"d": 3}, "predicates": dict.fromkeys("PQS", ("d",))}
    both = rs.compile(f"({nothing}) & ({something})", name, **domains, reduction="none")(given)
    del given["Q"], domains["predicates"]["Q"]
    torch.testing.assert_close(
        both, rs.compile(something, name, **domains, reduction="none")(given)
    )
