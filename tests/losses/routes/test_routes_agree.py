"""Every route gives the penalties and gradients of the steps, on random rules and tensors.

A route that is added to `choosing.routes_of` is tested here without a change.
"""

from __future__ import annotations

import pytest
import torch
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from random_rules import DOMAINS, PREDICATES, SHAPES, TABLES, clauses, rules

import residuum as rs
from residuum.errors import GroundingError
from residuum.losses.routes.route import ORDINARY
from residuum.losses.routes.steps import StepsRoute
from residuum.losses.routes.thresholds import RECORDED_AT

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
LOGICS = [
    "r-product", "s-product", "lukasiewicz", "lukasiewicz-maxsat", "s-godel", "r-godel",
    "s-hamacher(2)", "r-yager(2)", "s-nilpotent-minimum",
]  # fmt: skip
TOLERANCE = {
    torch.float64: {"rtol": 1e-8, "atol": 1e-9},
    torch.float32: {"rtol": 2e-4, "atol": 2e-5},
    torch.bfloat16: {"rtol": 2e-2, "atol": 1e-3},
}

cases = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "batch": st.sampled_from([(), (1,), (5,), (2, 3), (40,)]),
        "dtype": st.sampled_from([torch.float64, torch.float64, torch.float32, torch.bfloat16]),
        "scale": st.sampled_from([0.5, 3.0, 3.0, 20.0]),
        "block": st.sampled_from([None, None, 4, 30]),
        "masked": st.sampled_from([False, False, False, True]),
        "over": st.sampled_from([None, None, "mean", "p-mean(2)", "log-mean-exp(1)", "worst(30%)"]),
    }
)
often = settings(derandomize=True, deadline=None, phases=[Phase.generate], max_examples=12)
seldom = settings(derandomize=True, deadline=None, phases=[Phase.generate], max_examples=8)


def drawn(rule, shapes, case, device):
    """Return logits for a rule, some of which may be masked."""
    source = torch.Generator().manual_seed(case["seed"])
    scale = min(case["scale"], 3.0) if case["dtype"] != torch.float64 else case["scale"]
    found = {}
    for name in rule.forms:
        logits = scale * torch.randn((*case["batch"], *shapes[name]), generator=source).double()
        if case["masked"] and logits.dim() and logits.shape[-1] > 1:
            logits[..., 0] = -torch.inf
        found[name] = logits.to(device, case["dtype"]).requires_grad_()
    return found


def with_gradients(evaluate, tensors, call):
    """Return penalties, and gradients of a sum in which each penalty has its own weight."""
    value = evaluate(call)
    if value is None:
        return None
    shares = torch.linspace(1, 2, value.numel(), dtype=value.dtype, device=value.device)
    if not value.requires_grad:
        return [value]
    found = torch.autograd.grad(
        value,
        list(tensors.values()),
        shares.reshape(value.shape),
        allow_unused=True,
        retain_graph=True,  # all routes share the graph of the cleared padding
    )
    pairs = zip(found, tensors.values(), strict=True)
    return [value, *(torch.zeros_like(one) if own is None else own for own, one in pairs)]


def routes_of(rule):
    choosers = [rule.routes] + ([rule.routes_of_several] if rule.routes_of_several else [])
    for chooser in choosers:
        steps = StepsRoute(chooser.definition)
        yield from ((route, steps) for route in chooser.routes)


def check(rule, tensors, tolerance, **more):
    """Compare all routes that evaluate these tensors with the steps; return their names."""
    call = rule.receive(tensors, more.get("lengths"))
    names = []
    for route, steps in routes_of(rule):
        decided = route.prepare(call.case, ORDINARY)
        if isinstance(decided, str):
            assert decided
            continue
        calls = 1 + RECORDED_AT * (route.name == "CUDA graphs")
        for _ in range(calls):
            found = with_gradients(decided, tensors, call)
        if found is None:
            continue
        names.append(route.name)
        expected = with_gradients(steps.evaluate, tensors, call)
        for mine, theirs in zip(found, expected, strict=True):
            assert mine.dtype == theirs.dtype
            scale = max(1.0, float(theirs.detach().abs().amax()) if theirs.numel() else 1.0)
            close = {"rtol": tolerance["rtol"], "atol": tolerance["atol"] * scale}
            torch.testing.assert_close(mine, theirs, **close, msg=lambda m, r=route: r.name + m)
    assert names[-1] == "steps"
    return names


def compiled(rule, name, block, over):
    used = {node.predicate for node in rs.logic.distinct_nodes(rule) if isinstance(node, rs.Atom)}
    assume(used)
    predicates = {one: domains for one, domains in PREDICATES.items() if one in used}
    options = {"domains": DOMAINS, "predicates": predicates, "functions": TABLES, "block": block}
    try:
        return rs.compile(rule, name, **options, over=over)
    except GroundingError as error:  # over= needs outermost variables of different names
        assume("shadows" not in str(error))
        raise


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", LOGICS)
@seldom
@given(rules(), cases)
def test_on_any_rule(device, name, rule, case):
    module = compiled(rule, name, case["block"], case["over"])
    check(module, drawn(module, SHAPES, case, device), TOLERANCE[case["dtype"]])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", LOGICS)
@often
@given(clauses(), cases)
def test_on_rules_made_of_clauses(device, name, rule, case):
    module = compiled(rule, name, case["block"], case["over"])
    check(module, drawn(module, SHAPES, case, device), TOLERANCE[case["dtype"]])


def table(size, factor, negation):
    text = f"forall a, b in d: P(a) & Q(b) -> {negation}S(({factor} * a + b) mod {size})"
    return text, {"domains": {"d": size}}, dict.fromkeys("PQS", (size,))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", LOGICS)
@pytest.mark.parametrize("size", [17, 61])  # a matrix with a cross, and a table
@settings(derandomize=True, deadline=None, phases=[Phase.generate], max_examples=6)
@given(st.sampled_from([1, 2, 5]), st.sampled_from(["", "~"]), cases)
def test_on_tables(device, name, size, factor, negation, case):
    text, options, shapes = table(size, factor, negation)
    blocks = {None: None, 4: 3 * size * size, 30: 2 * size * size}
    module = rs.compile(text, name, **options, block=blocks[case["block"]], over=case["over"])
    check(module, drawn(module, shapes, case, device), TOLERANCE[case["dtype"]])


SEQUENCES = [
    "forall i in position: Tag(i, B) -> ~Tag(i + 1, I)",
    "forall i in position, t in tag where t != O: Tag(i, t) & Sure(i) -> Tag(i + 1, t)",
    "forall i in position: ~(Tag(i, B) & Tag(i + 2, I))",
    "forall i in position: Tag(i, B) -> (exists t in tag: Tag(i + 1, t))",
    "at most 2 i in position: Tag(i, B) & Tag(i + 1, I)",
    "forall i in position: Sure(i) -> exactly 1 j in position where j > i: Tag(j, B)",
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", LOGICS)
@pytest.mark.parametrize("text", SEQUENCES)
@settings(derandomize=True, deadline=None, phases=[Phase.generate], max_examples=5)
@given(cases, st.booleans())
def test_on_sequences_of_unequal_lengths(device, name, text, case, is_padded):
    predicates = {"Tag": ("position", "tag"), "Sure": ("position",)}
    module = rs.compile(
        text,
        name,
        domains={"position": "sequence", "tag": ("B", "I", "O")},
        predicates={one: own for one, own in predicates.items() if one in text},
        outputs={"Sure": "independent"} if "Sure" in text else {},
        block=case["block"],
        over=case["over"],
    )
    tensors = drawn(module, {"Tag": (7, 3), "Sure": (7,)}, {**case, "masked": False}, device)
    lengths = None
    if is_padded:
        source = torch.Generator().manual_seed(case["seed"])
        lengths = torch.randint(0, 8, case["batch"], generator=source)
    check(module, tensors, TOLERANCE[case["dtype"]], lengths=lengths)


COUNTS = [
    "forall a in d: P(a) -> at least 2 of (Q(a), Q((a + 1) mod 6), S(a))",
    "forall a in d: exactly 2 b in d where b != a: P(b) & Q((a + b) mod 6)",
    "(forall a, b in d: P(a) & Q(b) -> S((a + b) mod 6)) & (at most 3 a in d: S(a))",
    "exists! a in d: forall b in d: P(a) | Q(b)",
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", LOGICS)
@pytest.mark.parametrize("text", COUNTS)
@settings(derandomize=True, deadline=None, phases=[Phase.generate], max_examples=5)
@given(cases)
def test_on_counts(device, name, text, case):
    used = [predicate for predicate in "PQS" if f"{predicate}(" in text]
    outputs = dict.fromkeys(used, "independent")
    options = {"outputs": outputs, "block": case["block"], "over": case["over"]}
    module = rs.compile(text, name, domains={"d": 6}, **options)
    names = check(module, drawn(module, dict.fromkeys("PQS", (6,)), case, device),
                  TOLERANCE[case["dtype"]])  # fmt: skip
    assert {"tables", "minima", "clauses"}.isdisjoint(names)


MANY = "domain f = 0..5\npredicate Has(f) independent\npredicate Kind(f)\n" + "\n".join(
    f"rule r{n}: Has({n}) & Kind({(n + 1) % 6}) -> {'~' * (n % 2)}Has({(n + 2) % 6})"
    for n in range(6)
)
MANY_COUNTS = "domain f = 0..5\npredicate Has(f) independent\npredicate Kind(f)\n" + "\n".join(
    f"rule r{n}: at least {1 + n % 3} of (Has({n}), Kind({(n + 1) % 6}), ~Has({(n + 2) % 6}))"
    for n in range(6)
)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", LOGICS)
@settings(derandomize=True, deadline=None, phases=[Phase.generate], max_examples=5)
@given(cases, st.sampled_from([MANY, MANY_COUNTS]))
def test_on_several_rules_at_once(device, name, case, text):
    [bundle] = rs.compile(rs.loads(text), name).bundles.values()
    tensors = drawn(bundle, {"Has": (6,), "Kind": (6,)}, case, device)
    check(bundle, tensors, TOLERANCE[case["dtype"]])


USUAL = {"seed": 1, "batch": (5,), "dtype": torch.float64, "scale": 1.0, "masked": False}


@pytest.mark.parametrize(
    ("name", "size", "block", "expected"),
    [
        ("r-product", 10, None, ["clauses", "steps"]),
        ("r-product", 10, 200, ["blocks", "steps"]),
        ("r-product", 61, None, ["tables", "steps"]),
        ("lukasiewicz", 17, None, ["tables", "steps"]),
        ("s-godel", 10, None, ["minima", "steps"]),
        ("r-godel", 10, None, ["steps"]),
    ],
)
def test_each_case_is_evaluated_by_the_expected_routes(name, size, block, expected):
    text, options, shapes = table(size, 1, "")
    module = rs.compile(text, name, **options, block=block)
    assert check(module, drawn(module, shapes, USUAL, "cpu"), TOLERANCE[torch.float64]) == expected
