"""The exact probability of a rule equals a sum over all states."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import residuum as rs
from residuum.circuits import compiling

TAGS = ["B-NP", "I-NP", "B-VP", "I-VP", "O"]
CHUNKS = """
    domain chunk = NP, VP
    domain tag = "B-NP", "I-NP", "B-VP", "I-VP", O
    domain position sequence
    function begin(chunk): tag = NP: "B-NP", VP: "B-VP"
    function inside(chunk): tag = NP: "I-NP", VP: "I-VP"
    predicate Tag(position, tag)
    rule no_jump: forall i in position, X, Y in chunk where X != Y:
        Tag(i, begin(X)) -> ~Tag(i + 1, inside(Y))
"""


def test_the_digit_sum_rule_is_the_sum_over_both_digits():
    rule = rs.compile(
        "forall a, b in digit: Left(a) & Right(b) -> Sum((a + b) mod 10)",
        "exact",
        domains={"digit": 10},
        reduction="none",
    )
    torch.manual_seed(0)
    logits = {name: torch.randn(4, 10, dtype=torch.float64) for name in ("Left", "Right", "Sum")}
    p, q, s = (one.softmax(-1) for one in logits.values())
    expected = sum(p[:, a] * q[:, b] * s[:, (a + b) % 10] for a in range(10) for b in range(10))
    torch.testing.assert_close(rule.truth(logits), expected)
    torch.testing.assert_close(rule(logits), -torch.log(expected))


def _chance_of_no_jump(chances):
    """Sum the probabilities of all tag sequences without a jump."""
    length = len(chances)
    total = 0.0
    for tags in itertools.product(range(len(TAGS)), repeat=length):
        names = [TAGS[tag] for tag in tags]
        jumps = [
            a[0] == "B" and b[0] == "I" and a[2:] != b[2:] for a, b in itertools.pairwise(names)
        ]
        if not any(jumps):
            total += math.prod(chances[i][tag] for i, tag in enumerate(tags))
    return total


@pytest.mark.parametrize("length", [1, 2, 4])
def test_neighbours_in_a_sequence_are_summed_out(length):
    rule = rs.compile("no_jump", "exact", knowledge=rs.loads(CHUNKS))
    torch.manual_seed(length)
    logits = 2 * torch.randn(3, length, len(TAGS), dtype=torch.float64)
    expected = [_chance_of_no_jump(one) for one in logits.softmax(-1).tolist()]
    torch.testing.assert_close(rule.truth(Tag=logits), torch.tensor(expected, dtype=torch.float64))


def test_padding_does_not_change_the_probability():
    rule = rs.compile("no_jump", "exact", knowledge=rs.loads(CHUNKS))
    logits = torch.randn(3, 4, len(TAGS), dtype=torch.float64)
    padded = rule.truth(Tag=logits, lengths=torch.tensor([4, 2, 3]))
    alone = [rule.truth(Tag=logits[i, :n]) for i, n in enumerate((4, 2, 3))]
    torch.testing.assert_close(padded, torch.stack(alone))


def test_a_long_sequence_needs_only_tables_of_neighbours():
    rule = rs.compile("no_jump", "exact", knowledge=rs.loads(CHUNKS), reduction="none")
    logits = torch.randn(2, 60, len(TAGS), requires_grad=True)  # 5^60 states
    rule(Tag=logits).sum().backward()
    assert torch.isfinite(logits.grad).all()


ATOMS = "ABCD"
FORMULAS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.builds("~({})".format, inner),
        st.builds("({}) & ({})".format, inner, inner),
        st.builds("({}) | ({})".format, inner, inner),
        st.builds("({}) -> ({})".format, inner, inner),
        st.builds("({}) <-> ({})".format, inner, inner),
    ),
    max_leaves=8,
)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(FORMULAS, st.lists(st.floats(0.01, 0.99), min_size=4, max_size=4))
def test_propositions_are_counted_model_by_model(text, chances):
    expected = 0.0
    formula = rs.parse(text)
    for values in itertools.product([False, True], repeat=4):
        if rs.evaluate(formula, dict(zip(ATOMS, values, strict=True))):
            pairs = zip(chances, values, strict=True)
            expected += math.prod(p if value else 1 - p for p, value in pairs)
    rule = rs.compile(text, "exact", inputs="probs")
    given_tensors = {
        name: torch.tensor(p, dtype=torch.float64)
        for name, p in zip(ATOMS, chances, strict=True)
        if name in rule.forms
    }
    assert rule.truth(given_tensors).item() == pytest.approx(expected, abs=1e-12)


def test_an_impossible_rule_has_a_large_finite_penalty():
    rule = rs.compile("P & ~P", "exact", reduction="none")
    logits = torch.zeros(2, requires_grad=True)
    penalty = rule(P=logits)
    penalty.sum().backward()
    assert torch.isfinite(penalty).all()
    assert (penalty > 60).all()
    assert torch.isfinite(logits.grad).all()


def test_a_rule_without_groundings_always_holds():
    rule = rs.compile("forall a in digit where a < 0: P(a)", "exact", domains={"digit": 3})
    assert rule.truth(P=torch.randn(4, 3)).tolist() == [1.0] * 4


def test_gradients_of_the_exact_probability_equal_finite_differences():
    rule = rs.compile(
        "forall a in digit: P(a) -> Q((a + 1) mod 3)",
        "exact",
        domains={"digit": 3},
        reduction="none",
    )
    inputs = [torch.randn(2, 3, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    assert torch.autograd.gradcheck(lambda p, q: rule(P=p, Q=q), inputs)


def test_real_rules_over_many_outputs_are_counted():
    atoms = [f"A{i}" for i in range(40)]
    rule = rs.compile(" & ".join(f"({a} | {b})" for a, b in itertools.pairwise(atoms)), "exact")
    chances = dict(zip(atoms, torch.linspace(0.1, 0.9, 40, dtype=torch.float64), strict=True))
    before, neither = torch.tensor(1.0, dtype=torch.float64), torch.tensor(0.0)
    for chance in chances.values():  # P(no two neighbours are false), by the last atom
        before, neither = (before + neither) * chance, before * (1 - chance)
    given = {name: torch.logit(chance) for name, chance in chances.items()}
    torch.testing.assert_close(rule.truth(given), before + neither)


def test_a_rule_that_is_too_hard_is_refused_when_it_is_compiled(monkeypatch):
    monkeypatch.setattr(compiling, "WORK", (10, 100))
    atoms = [f"A{i}" for i in range(30)]
    text = " & ".join(f"({a} | {b} | ~{c})" for a, b, c in itertools.combinations(atoms, 3))
    with pytest.raises(rs.ResiduumError, match="steps to compile"):
        rs.compile(text, "exact")


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("forall x in d: P(x) -> (exists y in d: Q(y))", lambda p, q: not any(p) or any(q)),
        ("forall x in d: P(x) | (exists x in d: Q(x))", lambda p, q: all(p) or any(q)),
        ("forall x in d: Q(x) -> (forall x in d: Q(x))", lambda _, q: all(q) or not any(q)),
        (
            "forall x in d where x > 0: P(x) -> (forall y in d where y != x: Q(y))",
            lambda p, q: all(not p[x] or all(q[y] for y in range(3) if y != x) for x in (1, 2)),
        ),
        ("forall x in d: P(x) -> (exists y in none: R(y))", lambda p, _: not any(p)),
    ],
)
def test_inner_quantifiers_range_over_all_their_members(text, holds):
    chances = [0.2, 0.9, 0.4, 0.3, 0.6, 0.8]
    expected = 0.0
    for values in itertools.product([False, True], repeat=6):
        if holds(values[:3], values[3:]):
            pairs = zip(chances, values, strict=True)
            expected += math.prod(p if value else 1 - p for p, value in pairs)
    outputs = {name: "independent" for name in "PQR" if f"{name}(" in text}
    domains = {"d": 3, "none": 0}
    rule = rs.compile(text, "exact", domains=domains, outputs=outputs, inputs="probs")
    tensors = {"P": chances[:3], "Q": chances[3:], "R": []}
    wide = torch.float64
    given_tensors = {name: torch.tensor(tensors[name], dtype=wide) for name in rule.forms}
    assert rule.truth(given_tensors).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("text", "degree"), [("false", 0.0), ("true", 1.0),
                                              ("forall x in d: false", 0.0),
                                              ("exists x in d: false", 0.0)])  # fmt: skip
def test_rules_without_tensors_are_true_or_false(text, degree):
    rule = rs.compile(text, "exact", domains={"d": 3})
    assert rule.truth().item() == pytest.approx(degree, abs=1e-12)


NEXT = ("forall i in s: T(i, 0) -> T(i + 1, 1)", "exact")
SHORT = {"domains": {"s": "sequence", "t": 2}, "predicates": {"T": ("s", "t")}}


def test_sequences_too_short_for_the_rule_cost_nothing_and_stay_in_the_graph():
    logits = torch.randn(2, 3, 2, requires_grad=True)
    penalty = rs.compile(*NEXT, **SHORT, reduction="none")(T=logits, lengths=[1, 1])
    penalty.sum().backward()
    assert penalty.tolist() == [0.0, 0.0]
    assert logits.grad.abs().sum() == 0
    empty = torch.randn(0, 3, 2, requires_grad=True)
    rs.compile(*NEXT, **SHORT, reduction="none")(
        T=empty, lengths=torch.zeros(0, dtype=torch.int64)
    ).sum().backward()


def test_half_precision_with_lengths_gives_single_precision():
    logits, lengths = torch.randn(3, 4, 2).half(), torch.tensor([4, 1, 4])
    rule = rs.compile(*NEXT, **SHORT, reduction="none")
    penalty = rule(T=logits, lengths=lengths)
    assert penalty.dtype == torch.float32
    alone = [rule(T=logits[k, :n].float()) for k, n in enumerate(lengths)]
    torch.testing.assert_close(penalty, torch.stack(alone))


@pytest.mark.parametrize("kind", ["exclusive", "independent"])
@pytest.mark.parametrize("text", ["exists x in d: U(x)", "forall x in d: (exists y in d: ~U(0))"])
def test_positions_of_an_empty_sequence_are_no_variables(text, kind):
    rule = rs.compile(
        text,
        "exact",
        domains={"s": "sequence", "d": 2},
        predicates={"U": ("s",)},
        outputs={"U": kind},
    )
    assert rule.truth(U=torch.zeros(1, 0)) == pytest.approx(0)
    padded = rule.truth(U=torch.zeros(2, 3), lengths=[0, 3])
    assert padded[0] == pytest.approx(0)
    assert padded[1] == pytest.approx(float(rule.truth(U=torch.zeros(3))))


@pytest.mark.parametrize("text", ["P -> Q", "P -> P | Q"])
def test_the_precision_is_that_of_the_inputs_whatever_the_default_is(text):
    torch.set_default_dtype(torch.float64)
    try:
        rule = rs.compile(text, "exact", reduction="none")
        for dtype in (torch.float32, torch.float64):
            given = {name: torch.zeros(2, dtype=dtype) for name in ("P", "Q")}
            assert rule(given).dtype == dtype
    finally:
        torch.set_default_dtype(torch.float32)
