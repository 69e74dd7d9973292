"""Rules that count, as losses: gradients, corners, padding and questions."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

import residuum as rs
from residuum.errors import FormulaTooLargeError
from residuum.losses.degrees import logits as logits_module
from residuum.relaxations import relaxation_names

NAMES = [name for name in relaxation_names() if "cubic" not in name]
SMOOTH = [name for name in NAMES if "drastic" not in name and "nilpotent" not in name]


def counting(text, name="s-product", size=4, **options):
    known = {"predicates": {"P": ("d",)}, "outputs": {"P": "independent"}, "reduction": "none"}
    return rs.compile(text, name, domains={"d": size}, **known, **options)


def of_each(rule, logits):
    """Return the penalties and their gradients."""
    given = logits.clone().requires_grad_()
    penalty = rule(P=given)
    (gradient,) = torch.autograd.grad(penalty.sum(), given)
    return penalty.detach(), gradient


TEXTS = [
    "at least 2 x in d: P(x)",
    "at most 1 x in d: P(x)",
    "exactly 2 x in d where x != 3: P(x)",
    "at least 3 of (P(0), P(1), ~P(2), P(0) & P(3))",
    "exactly 3 x, y in d where x < y: P(x) | P(y)",
]


# Gradients


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("text", TEXTS)
def test_gradients_are_those_of_finite_differences(text, name):
    rule = counting(text, name)
    source = torch.Generator().manual_seed(3)
    logits = 2 * torch.randn(3, 4, generator=source, dtype=torch.float64)
    _, gradient = of_each(rule, logits)
    step = 1e-6
    for place in range(4):
        moved = step * torch.eye(4, dtype=torch.float64)[place]
        expected = (rule(P=logits + moved) - rule(P=logits - moved)) / (2 * step)
        torch.testing.assert_close(gradient[:, place], expected, rtol=1e-5, atol=1e-7)


@staticmethod
def _without_nan(ctx, gradient):
    """Assert that the gate of steep relaxations, which turns NaN to 0, meets none."""
    assert not torch.isnan(gradient).any()
    return logits_module._Gate.backward(ctx, gradient)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", TEXTS)
def test_penalties_and_gradients_are_finite_everywhere(text, name, monkeypatch):
    monkeypatch.setattr(logits_module._GateBothWays, "backward", _without_nan)
    rule = counting(text, name)
    levels = torch.tensor([-1e30, -1e4, -90.0, -20.0, 0.0, 20.0, 90.0, 1e4, 1e30])
    alike = levels[:, None].expand(-1, 4)
    for logits in (alike, alike * torch.tensor([1.0, -1.0, 1.0, -1.0])):
        for found in of_each(rule, logits):
            assert torch.isfinite(found).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", TEXTS)
def test_probabilities_of_zero_and_one_give_finite_gradients(text, name):
    rule = counting(text, name, inputs="probs")
    rows = torch.tensor(list(itertools.product([0.0, 1.0], repeat=4)))
    for found in of_each(rule, rows):
        assert torch.isfinite(found).all()


def test_hopeless_counts_keep_their_gradient_in_log_space():
    # Each of six pairs has the probability exp(−1000), which is no float.
    logits = torch.full((1, 4), 500.0, dtype=torch.float64)
    for text, sign in {"at least 2 x in d: P(x)": -1, "at most 2 x in d: P(x)": 1}.items():
        penalty, gradient = of_each(counting(text), sign * logits)
        assert penalty.item() == pytest.approx(1000 - math.log(6), rel=1e-12)
        assert gradient.tolist() == [pytest.approx([sign / 2] * 4, rel=1e-12)]
        penalty, gradient = of_each(counting(text), sign * logits.float())
        assert penalty.item() == pytest.approx(1000 - math.log(6), rel=1e-6)
        assert gradient.tolist() == [pytest.approx([sign / 2] * 4, rel=1e-4)]


def test_penalties_of_counts_that_nearly_hold_keep_their_digits():
    # It fails if three of four do not hold: 4 exp(−30).
    penalty, gradient = of_each(counting("at least 2 x in d: P(x)"), torch.full((1, 4), 10.0))
    assert penalty.item() == pytest.approx(4 * math.exp(-30), rel=1e-3)
    assert gradient.tolist() == [pytest.approx([-3 * math.exp(-30)] * 4, rel=1e-3)]


def test_equal_degrees_share_the_gradient_of_godel():
    logits = torch.tensor([[1.0, 0.0, 0.0, -1.0]])
    _, gradient = of_each(counting("at least 2 x in d: P(x)", "s-godel"), logits)
    assert gradient.tolist() == [pytest.approx([0.0, -0.125, -0.125, 0.0])]


# Corners


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [0, 1, 4])
def test_counts_that_are_always_true_cost_nothing(size, name):
    logits = torch.linspace(-3, 3, size).expand(2, size)
    for text in ("at least 0 x in d: P(x)", f"at most {size} x in d: P(x)"):
        penalty, gradient = of_each(counting(text, name, size), logits)
        assert penalty.tolist() == [0.0, 0.0]
        assert gradient.abs().sum() == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [0, 1, 4])
def test_counts_beyond_the_domain_cost_as_much_as_exists_over_nothing(size, name):
    logits = torch.linspace(-3, 3, size).expand(2, size)
    nothing = counting("exists x in d where x < 0: P(x)", name, size)(P=logits)
    for text in (f"at least {size + 1} x in d: P(x)", f"exactly {size + 9} x in d: P(x)"):
        penalty, _ = of_each(counting(text, name, size), logits)
        torch.testing.assert_close(penalty, nothing)


@pytest.mark.parametrize("name", NAMES)
def test_counts_of_constants_are_settled(name):
    logits = torch.tensor([[0.5, -1.0, 2.0, 0.0]])
    for text, plainer in {
        "at least 3 of (true, P(0), false, P(1), P(2))": "at least 2 of (P(0), P(1), P(2))",
        "exactly 1 of (true, P(0), P(1))": "exactly 0 of (P(0), P(1))",
        "P(0) & at least 1 of (true, P(1))": "P(0)",
        "P(0) | at most 0 of (true, P(1))": "P(0)",
        "P(0) | at least 1 x in d: false": "P(0)",
    }.items():
        found, expected = (counting(one, name)(P=logits) for one in (text, plainer))
        torch.testing.assert_close(found, expected)
    many = counting("(at most 1 x in d: true) & P(0)", name)(P=logits)
    assert torch.isfinite(many).all()


def test_operands_beside_constants_that_decide_are_still_read():
    logits = torch.tensor([[0.5, -1.0, 2.0, 0.0]], requires_grad=True)
    always, never = (counting(f"{one} of (true, P(1))") for one in ("at least 0", "at most 0"))
    assert always(P=logits).tolist() == [0.0]
    assert never.truth(P=logits).tolist() == [0.0]


def test_a_guard_may_leave_too_few():
    for name in NAMES:
        rule = counting("at least 2 x in d where x < 1: P(x)", name)
        nothing = counting("exists x in d where x < 0: P(x)", name)
        zeros = torch.zeros(1, 4)
        assert rule.truth(P=zeros).item() == 0
        torch.testing.assert_close(rule(P=zeros), nothing(P=zeros))


def test_a_count_of_too_many_steps_is_refused():
    rule = counting("at least 5000 x in d: P(x)", "s-product", 10_000)
    with pytest.raises(FormulaTooLargeError, match="got 5,000 of 10,000; ask for a smaller number"):
        rule(P=torch.zeros(1, 10_000))
    nearly_all = counting("at least 9999 x in d: P(x)", "s-product", 10_000)
    assert nearly_all(P=torch.full((1, 10_000), 20.0)).item() < 1e-6


# Sequences


@pytest.mark.parametrize(
    "name", ["s-product", "lukasiewicz", "s-godel", "s-hamacher(2)", "s-yager(2)"]
)
@pytest.mark.parametrize(
    "text",
    ["at least 2 i in position: Tag(i)", "exactly 1 i in position: Tag(i) & ~Tag(i + 1)",
     "forall i in position: at most 1 j in position where j >= i: Tag(j)"],
)  # fmt: skip
def test_padding_counts_as_nothing(text, name):
    rule = rs.compile(
        text,
        name,
        domains={"position": "sequence"},
        predicates={"Tag": ("position",)},
        outputs={"Tag": "independent"},
        reduction="none",
    )
    source = torch.Generator().manual_seed(1)
    tags = torch.randn(8, 7, generator=source, dtype=torch.float64)
    lengths = torch.arange(8)
    together = rule(Tag=tags, lengths=lengths)
    for number, length in enumerate(lengths.tolist()):
        alone = rule(Tag=tags[number : number + 1, :length])
        torch.testing.assert_close(together[number : number + 1], alone)


# Questions, and other ways to evaluate


def test_satisfaction_counts_predictions():
    rule = counting("exactly 2 x in d where x != 0: P(x)")
    rows = list(itertools.product([-1.0, 1.0], repeat=4))
    expected = [sum(one > 0 for one in row[1:]) == 2 for row in rows]
    assert rule.satisfied(P=torch.tensor(rows)).tolist() == expected


def test_violations_and_groundings_show_the_count():
    rule = rs.compile(
        "forall y in e: at least 2 of (P(y), Q(y), R(y)) -> exists! x in d: S(x, y)",
        domains={"d": 3, "e": 2},
        outputs=dict.fromkeys("PQRS", "independent"),
    )
    given = {name: torch.full((1, 2), 1.0) for name in "PQR"}
    given["P"][0, 1] = given["Q"][0, 1] = -1.0
    given["S"] = torch.ones(1, 3, 2)
    [violation] = rule.violations(given)
    text = "at least 2 of (P(0), Q(0), R(0)) -> exists! x in d: S(x, 0)"
    assert str(violation.grounding) == text
    assert rule.coverage(given).tolist() == [0.5]
    assert str(rule.each(given).formula) == "at least 2 of (P0, P1, P2) -> P3"
    assert "no gradient where `exactly` is pulled up and down evenly" in rule.explain()


@pytest.mark.parametrize("relation", ["at least", "at most", "exactly"])
@pytest.mark.parametrize("number", range(5))
def test_the_exact_probability_is_a_sum_over_outcomes(relation, number):
    rule = counting(f"{relation} {number} x in d: P(x)", "exact")
    p = torch.tensor([0.2, 0.9, 0.5, 0.7], dtype=torch.float64)
    wanted = {"at least": int.__ge__, "at most": int.__le__, "exactly": int.__eq__}[relation]
    expected = sum(
        math.prod(x if won else 1 - x for x, won in zip(p.tolist(), row, strict=True))
        for row in itertools.product([False, True], repeat=4)
        if wanted(sum(row), number)
    )
    assert math.exp(-rule(P=torch.logit(p))) == pytest.approx(expected, rel=1e-9)


def test_s_product_counts_independent_outputs_exactly():
    logits = torch.linspace(-2, 3, 6, dtype=torch.float64)[None]
    for number in range(1, 7):
        text = f"at least {number} x in d: P(x)"
        found, exact = (counting(text, name, 6)(P=logits) for name in ("s-product", "exact"))
        torch.testing.assert_close(found, exact)


@pytest.mark.parametrize(
    "name", ["s-product", "r-product", "lukasiewicz", "s-godel", "s-hamacher(2)"]
)
def test_counts_can_be_transformed_and_compiled(name):
    rule = counting("exactly 2 x in d: P(x)", name)
    logits = torch.linspace(-2, 2, 12, dtype=torch.float64).reshape(3, 4)
    penalty, gradient = of_each(rule, logits)
    torch.testing.assert_close(torch.vmap(lambda one: rule(P=one))(logits), penalty)
    torch.testing.assert_close(torch.func.grad(lambda one: rule(P=one).sum())(logits), gradient)
    exported = torch.export.export(_Module(rule), (logits,)).module()
    torch.testing.assert_close(exported(logits), penalty)


class _Module(torch.nn.Module):
    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    def forward(self, logits):
        return self.rule(P=logits)


def test_a_count_is_never_split_into_blocks():
    logits = torch.randn(7, 40, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    text = "at least 3 x in d: P(x)"
    whole = counting(text, size=40)
    small = counting(text, size=40, block=8)
    for found, expected in zip(of_each(small, logits), of_each(whole, logits), strict=True):
        torch.testing.assert_close(found, expected)
    torch.testing.assert_close(small.truth(P=logits), whole.truth(P=logits))
    assert torch.equal(small.satisfied(P=logits), whole.satisfied(P=logits))


def test_counts_in_rule_files_become_losses():
    knowledge = rs.loads("""
        domain digit = 0..9
        predicate Even(digit) independent
        rule half: exactly 5 d in digit: Even(d)
        rule pairs: forall d in digit: Even(d) <-> ~Even(d div 2 * 2 + (d + 1) mod 2)
    """)
    rules = rs.compile(knowledge, "s-product")
    even = torch.tensor([[9.0, -9.0] * 5])
    penalties = rules(Even=even)
    assert penalties["half"].item() < 0.01
    assert penalties["pairs"].item() < 0.01
    assert rules(Even=-even.abs())["half"].item() > 30
