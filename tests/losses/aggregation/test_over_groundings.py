"""Rules whose groundings are aggregated, against loops over the groundings."""

from __future__ import annotations

import loops_over_groundings as loops
import pytest
import torch
from brute_force import TEXTBOOK, CornerError, World
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from random_rules import DOMAINS, PREDICATES, SHAPES, TABLES, rules

import residuum as rs
from residuum.errors import GroundingError

OVERS = [
    ("mean", None), ("p-mean", 2), ("p-mean", 1), ("p-mean", 1.5), ("p-mean", 7),
    ("log-mean-exp", 0.1), ("log-mean-exp", 1), ("log-mean-exp", 1000),
    ("worst", 10), ("worst", 34), ("worst", 100),
]  # fmt: skip
LOGICS = [
    "s-product", "r-product", "s-godel", "r-godel", "lukasiewicz", "lukasiewicz-maxsat",
    "r-hamacher(2)", "s-yager(2)", "s-nilpotent-minimum",
]  # fmt: skip
MEMBERS = {name: range(d) if isinstance(d, int) else d for name, d in DOMAINS.items()}
FUNCTIONS = {
    name: table if callable(table) else table.__getitem__ for name, table in TABLES.items()
}


def spelt(name, number):
    unit = "%" if name == "worst" else ""
    return name if number is None else f"{name}({number}{unit})"


def world_of(tensors, example):
    def reading(name, listed):
        def read(*values):
            found = listed
            for value, domain in zip(values, PREDICATES[name], strict=True):
                found = found[list(MEMBERS[domain]).index(value)]
            return found

        return read

    atoms = {name: reading(name, given[example].tolist()) for name, given in tensors.items()}
    return World(MEMBERS, FUNCTIONS, atoms, {})


def compiled(rule, name, over, **options):
    used = {node.predicate for node in rs.logic.distinct_nodes(rule) if isinstance(node, rs.Atom)}
    predicates = {one: domains for one, domains in PREDICATES.items() if one in used}
    return rs.compile(
        rule, name, domains=DOMAINS, predicates=predicates, functions=TABLES, inputs="probs",
        over=over, reduction="none", **options,
    )  # fmt: skip


def compare(rule, name, over, seed, block=None):
    module = compiled(rule, name, spelt(*over), block=block)
    source = torch.Generator().manual_seed(seed)
    tensors = {
        slot.name: torch.randint(0, 65, (2, *SHAPES[slot.name]), generator=source).double() / 64
        for slot in module.plan.slots
    }
    logic = TEXTBOOK[name]
    close = {"rel": 1e-6, "abs": 1e-7} if "yager" in name else {"rel": 1e-9, "abs": 1e-10}
    found, degrees = (one.expand(2).tolist() for one in (module(tensors), module.truth(tensors)))
    for example in range(2):
        expected = loops.penalty(rule, world_of(tensors, example), logic, *over)
        assert found[example] == pytest.approx(expected, **close)
        if "nilpotent" in name:  # where a conjunction costs less than its degree
            continue
        most = 1.0 if logic.limit is None else logic.limit
        assert logic.penalty(degrees[example]) == pytest.approx(min(expected, most), abs=1e-6)


@pytest.mark.parametrize("name", LOGICS)
@settings(derandomize=True, deadline=None, max_examples=10, phases=[Phase.generate])
@given(rules(), st.sampled_from(OVERS), st.integers(0, 2**32 - 1), st.sampled_from([None, None, 2]))
def test_penalties_are_those_of_loops_over_groundings(name, rule, over, seed, block):
    assume(any(isinstance(node, rs.Atom) for node in rs.logic.distinct_nodes(rule)))
    try:
        compare(rule, name, over, seed, block)
    except CornerError:
        assume(False)
    except GroundingError as error:
        assume("shadows" not in str(error))
        raise


RULES = [
    "forall x in three, w in word: P(x) & Q(x, w) -> P((x + 1) mod 3)",
    "forall x in three: forall y in three where x < y: N(x, y) -> P(y)",
    "forall x in three: exists y in three where y > x: N(x, y)",
    "forall x in three: P(x) & (forall y in three where x <= y: N(x, y))",
    "(forall x in three: P(x)) & (forall y in three: N(y, 0) | S)",
    "(exists x in three: P(x) & S) & ~(forall x in three: N(x, x))",
    "S -> (forall x in three: P(x))",
    "forall x in none: P(0)",
    "forall x in three where x > 5: P(x)",
]


@pytest.mark.parametrize("over", OVERS)
@pytest.mark.parametrize("text", RULES)
def test_each_kind_of_rule_is_that_of_loops(text, over):
    first = RULES.index(text) + OVERS.index(over)  # each pair meets other logics
    for seed in range(first, first + 2):
        try:
            compare(rs.parse(text), LOGICS[seed % len(LOGICS)], over, seed, [None, 2][seed % 2])
        except CornerError:
            continue


SEQUENCE = "forall i in position, t in tag where t != 2: Tag(i, t) & Sure(i) -> Tag(i + 1, t)"
PAIRS = "forall i, j in position where i < j: Sure(i) -> Sure(j)"


@pytest.mark.parametrize("over", [OVERS[0], OVERS[1], OVERS[6], OVERS[9]])
@pytest.mark.parametrize("name", ["r-product", "lukasiewicz", "s-godel"])
@pytest.mark.parametrize("text", [SEQUENCE, PAIRS])
@pytest.mark.parametrize("block", [None, 3])
def test_padding_and_guards_do_not_count(text, name, over, block):
    torch.manual_seed(0)
    predicates = {"Tag": ("position", "tag"), "Sure": ("position",)}
    used = {one: own for one, own in predicates.items() if f"{one}(" in text}
    module = rs.compile(
        text, name, domains={"position": "sequence", "tag": 3}, predicates=used, inputs="probs",
        outputs=dict.fromkeys(used, "independent"), over=spelt(*over), block=block,
        reduction="none",
    )  # fmt: skip
    shapes = {"Tag": (5, 7, 3), "Sure": (5, 7)}
    tensors = {one: torch.rand(shapes[one]).double() for one in used}
    lengths = [0, 1, 2, 6, 7]
    found = module(tensors, lengths=torch.tensor(lengths)).tolist()
    for example, length in enumerate(lengths):
        own = {one: given[example].tolist() for one, given in tensors.items()}
        atoms = {
            "Tag": lambda i, t, own=own: own["Tag"][i][t],
            "Sure": lambda i, own=own: own["Sure"][i],
        }
        members = {"position": range(length), "tag": range(3)}
        world = World(members, {}, atoms, {"Tag": (0,), "Sure": (0,)}, length)
        expected = loops.penalty(rs.parse(text), world, TEXTBOOK[name], *over)
        assert found[example] == pytest.approx(expected, rel=1e-9, abs=1e-12)


BOTH = {"A": "independent", "B": "independent"}
SMOOTH = ["mean", "p-mean(2)", "p-mean(1.5)", "log-mean-exp(0.5)", "worst(40%)"]


@pytest.mark.parametrize("over", SMOOTH)
@pytest.mark.parametrize("block", [None, 3])
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("forall a, b in d where a != b: A(a) -> B(b)", "r-product"),
        ("forall a in d: exists b in d where b != a: A(a) & B(b)", "s-product"),
        ("(forall a in d: A(a)) & (forall b in d: B(b))", "s-godel"),
    ],
)
def test_gradients_are_those_of_finite_differences(text, name, block, over):
    torch.manual_seed(1)
    module = rs.compile(
        text, name, domains={"d": 3}, over=over, reduction="none", block=block, outputs=BOTH
    )
    given = [torch.randn(3, dtype=torch.float64, requires_grad=True) for _ in "AB"]
    torch.autograd.gradcheck(lambda a, b: module(A=a, B=b), given)
    if block is None and name == "s-product":
        torch.autograd.gradgradcheck(lambda a, b: module(A=a, B=b), given)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("over", [*SMOOTH, "p-mean(30)", "log-mean-exp(1000000)"])
@pytest.mark.parametrize("text", ["forall a in d: A(a)", "exists a in d: A(a)"])
@pytest.mark.parametrize("name", ["s-product", "lukasiewicz", "s-dombi(2)"])
def test_values_and_gradients_are_finite_at_the_corners(name, text, over, dtype):
    rows = [[0.0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 1, 0], [1e-35, 0, 0], [1, 1, 1 - 1e-7]]
    for inputs in ("probs", "logits"):
        given = torch.tensor(rows, dtype=dtype)
        given = given if inputs == "probs" else (given - 0.5) * 4e4
        given.requires_grad_()
        module = rs.compile(
            text, name, domains={"d": 3}, over=over, reduction="none", inputs=inputs,
            outputs={"A": "independent"},
        )  # fmt: skip
        penalty = module(A=given)
        penalty.sum().backward()
        assert bool(penalty.isfinite().all() & given.grad.isfinite().all())
        assert bool((penalty >= 0).all())
        assert penalty[1] == 0  # all groundings are true
        assert module.truth(A=given)[1] == 1


def test_no_gradient_is_lost_where_all_groundings_are_false_or_true():
    # Łukasiewicz penalties are 1 − x. At equal degrees every mean has the gradient of the mean.
    for over in ("mean", "p-mean(2)", "log-mean-exp(1)", "worst(100%)"):
        for value in (0.0, 0.3, 1.0):
            given = torch.full((4,), value, dtype=torch.float64, requires_grad=True)
            rule = rs.compile(
                "forall a in d: A(a)", "lukasiewicz", domains={"d": 4}, over=over, inputs="probs",
                outputs={"A": "independent"},
            )  # fmt: skip
            rule(A=given).backward()
            torch.testing.assert_close(given.grad, torch.full_like(given, -0.25))


@pytest.mark.parametrize("p", [1, 2, 5])
def test_p_means_of_hopeless_groundings_keep_their_logarithms(p):
    # 1 − (mean of (1 − x)^p)^(1/p) is the mean of x for tiny x; with all digits: −log of it.
    logits = torch.tensor([-200.0, -150.0, -149.0], requires_grad=True)
    rule = rs.compile(
        "forall a in d: A(a)", "s-product", domains={"d": 3}, over=f"p-mean({p})",
        outputs={"A": "independent"},
    )  # fmt: skip
    penalty = rule(A=logits)
    [gradient] = torch.autograd.grad(penalty, logits)
    x = logits.detach().double()
    torch.testing.assert_close(penalty.double(), -(x.logsumexp(0) - torch.tensor(3.0).log()))
    torch.testing.assert_close(gradient.double(), -x.softmax(0), rtol=1e-5, atol=1e-6)


def test_equal_penalties_share_the_gradient_of_the_worst():
    given = torch.tensor([0.1, 0.5, 0.5, 0.5], dtype=torch.float64, requires_grad=True)
    rule = rs.compile(
        "forall a in d: A(a)", "lukasiewicz", domains={"d": 4}, over="worst(50%)", inputs="probs",
        outputs={"A": "independent"},
    )  # fmt: skip
    rule(A=given).backward()
    expected = torch.tensor([-1 / 2, -1 / 6, -1 / 6, -1 / 6], dtype=torch.float64)
    torch.testing.assert_close(given.grad, expected)


def costs(text, name, over, given):
    outputs = {"A": "independent", "B": "independent"}
    used = {one: kind for one, kind in outputs.items() if f"{one}(" in text}
    rule = rs.compile(
        text, name, domains={"d": 4}, over=over, inputs="probs", outputs=used, reduction="none"
    )
    return rule({one: given[one] for one in used})


@pytest.mark.parametrize("over", [*SMOOTH[:-1], "worst(30%)"])
def test_laws_hold_and_fail_as_the_documentation_says(over):
    torch.manual_seed(3)
    given = {one: torch.rand(5, 4, dtype=torch.float64) for one in "AB"}
    both = costs("forall x in d: A(x) & B(x)", "s-product", over, given)
    apart = costs("(forall x in d: A(x)) & (forall x in d: B(x))", "s-product", over, given)
    assert torch.allclose(both, apart) == (over == "mean")
    true = {**given, "A": given["A"].clone()}
    true["A"][:, 3] = 1
    fewer = costs("forall x in d where x < 3: A(x)", "s-product", over, true)
    more = costs("forall x in d: A(x)", "s-product", over, true)
    assert bool((more < fewer).any())  # a grounding that holds makes the rule cheaper
    better = {**given, "A": (given["A"] + 0.1).clamp(max=1)}
    one, other = (costs("forall x in d: A(x)", "s-product", over, at) for at in (better, given))
    assert bool((one <= other).all())


def test_exists_and_forall_of_a_p_mean_are_dual_outermost():
    given = {"A": torch.rand(5, 4, dtype=torch.float64)}
    one, other = (
        costs(text, "s-product", "p-mean(3)", given)
        for text in ("~(exists x in d: A(x))", "forall x in d: ~A(x)")
    )
    torch.testing.assert_close(one, other)
