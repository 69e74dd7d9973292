"""Violated groundings without a gradient, against autograd on one grounding at a time."""

import itertools

import pytest
import torch

import residuum as rs
from residuum.relaxations import PAPER

NAMES = ["penalty", "truth", "satisfied", "groundings", "coverage", "without_gradient"]
LOGICS = [*PAPER, "lukasiewicz-maxsat", "s-drastic", "r-yager(2)", "s-hamacher(2)"]

# A rule with the places of its quantifier, and what each grounding says without variables.
CASES = {
    "two variables": (
        "forall a, b in d where a != b: A(a) & B(b) -> C((a + b) mod 3)",
        [(a, b) for a, b in itertools.product(range(3), repeat=2) if a != b],
        lambda a, b: f"A({a}) & B({b}) -> C({(a + b) % 3})",
    ),
    "an inner quantifier": (
        "forall a in d: A(a) -> exists b in d: B(b) & ~C(b)",
        [(a,) for a in range(3)],
        lambda a: f"A({a}) -> exists b in d: B(b) & ~C(b)",
    ),
    "one name for two variables": (
        "forall a in d: A(a) -> exists a in d: B(a) & ~C(a)",
        [(a,) for a in range(3)],
        lambda a: f"A({a}) -> exists a in d: B(a) & ~C(a)",
    ),
    "a quantifier that reads both variables": (
        "forall a in d: A(a) -> exists b in d where b >= a: B(b) & ~C(b)",
        [(a,) for a in range(3)],
        lambda a: f"A({a}) -> exists b in d where b >= {a}: B(b) & ~C(b)",
    ),
    "no quantifier": (
        "(A(0) <-> B(1)) & (C(2) | ~A(1)) & (B(0) -> C(0) & A(2))",
        [()],
        lambda: "(A(0) <-> B(1)) & (C(2) | ~A(1)) & (B(0) -> C(0) & A(2))",
    ),
}
DOMAINS = {"domains": {"d": 3}, "predicates": dict.fromkeys("ABC", ("d",))}


def _share_by_loops(places, spelt, relaxation, outputs, observed, options):
    """Return the share of violated groundings whose own penalty has no gradient at all."""
    violated = dead = 0
    for example in range(6):
        for place in places:
            text = spelt(*place)
            used = [name for name in outputs if f"{name}(" in text]
            declared = {name: options["predicates"][name] for name in used}
            own = rs.compile(text, relaxation, **{**options, "predicates": declared})
            leaves = {n: outputs[n][example].clone().requires_grad_() for n in used}
            labels = {n: one[example] for n, one in (observed or {}).items() if n in used} or None
            if own.satisfied(leaves, observed=labels):
                continue
            violated += 1
            penalty = own(leaves, observed=labels)
            found = [None] * len(leaves)
            if penalty.requires_grad:
                found = torch.autograd.grad(penalty, list(leaves.values()), allow_unused=True)
            dead += all(one is None or not one.any() for one in found)
    return dead / max(1, violated)


@pytest.mark.parametrize("relaxation", LOGICS)
@pytest.mark.parametrize("case", CASES)
def test_the_share_is_that_of_single_groundings(relaxation, case):
    rule, places, spelt = CASES[case]
    options = {**DOMAINS, "outputs": {"A": "independent", "C": "independent"}}
    torch.manual_seed(len(case))
    outputs = {name: 2 * torch.randn(6, 3) for name in "ABC"}
    outputs["B"][0] = torch.tensor([90.0, 0.0, -90.0])  # where derivatives of degrees vanish
    for observed in (None, {"C": torch.tensor([0, 1, -100]).repeat(6, 1)}):
        compiled = rs.compile(rule, relaxation, **options)
        found = compiled.diagnose(outputs, observed=observed)
        assert list(found) == NAMES
        expected = _share_by_loops(places, spelt, relaxation, outputs, observed, options)
        assert found["without_gradient"] == pytest.approx(expected)
        assert compiled.metrics(outputs, observed=observed) == {n: found[n] for n in NAMES[:-1]}


@pytest.mark.parametrize("form", ["probs", "log_probs"])
@pytest.mark.parametrize("relaxation", ["r-product", "s-product", "lukasiewicz", "r-godel"])
def test_probabilities_have_gradients_of_their_own(form, relaxation):
    rule, places, spelt = CASES["two variables"]
    outputs = dict.fromkeys("ABC", "independent")
    options = {**DOMAINS, "inputs": form, "outputs": outputs}
    given = {name: torch.rand(6, 3) for name in "ABC"}
    given["C"][0] = torch.tensor([0.0, 1.0, 0.5])
    given["A"][0] = 1.0
    if form == "log_probs":
        given = {name: one.log() for name, one in given.items()}
    observed = {"B": torch.tensor([1, 0, -100]).repeat(6, 1)}
    found = rs.compile(rule, relaxation, **options).diagnose(given, observed=observed)
    expected = _share_by_loops(places, spelt, relaxation, given, observed, options)
    assert found["without_gradient"] == pytest.approx(expected)


@pytest.mark.parametrize(
    "relaxation", ["s-product", "r-product", "s-godel", "lukasiewicz", "exact"]
)
@pytest.mark.parametrize("quantity", [2.0, rs.Quantity(2.0, smoothing="ramp"), 0])
@pytest.mark.parametrize(
    "text", ["X < 3", "~(X < 3)", "X = 3", "P -> X < 3", "X < 3 -> P", "P & X > 3"]
)
def test_comparisons_have_the_gradients_of_their_numbers(text, quantity, relaxation):
    rule = rs.compile(text, relaxation, quantities={"X": quantity})
    own = rule
    if relaxation == "exact":  # there comparisons are crisp, and a grounding is one of the product
        own = rs.compile(text, "s-product", quantities={"X": 0})
    violated = 0
    for number in (-60.0, 1.5, 2.5, 3.5, 4.5, 60.0):
        given = {"X": torch.tensor([number]), "P": torch.tensor([-1.0 if "-> P" in text else 1.0])}
        given = {name: one.requires_grad_() for name, one in given.items() if name in text}
        if rule.satisfied(given).item():
            continue
        violated += 1
        penalty, found = own(given), [None]
        if penalty.requires_grad:
            found = torch.autograd.grad(penalty, list(given.values()), allow_unused=True)
        is_dead = all(one is None or not one.any() for one in found)
        assert rule.diagnose(given)["without_gradient"] == is_dead
    assert violated


def test_satisfied_by_half_is_violated_without_a_gradient():
    rule = rs.compile("A & B -> C", "r-product", inputs="probs")
    half = {"A": torch.tensor([0.6]), "B": torch.tensor([0.6]), "C": torch.tensor([0.4])}
    found = rule.diagnose(half)
    assert (found["penalty"], found["satisfied"], found["without_gradient"]) == (0, 0, 1)


def test_blocks_and_padding_do_not_change_the_share():
    rule = "forall i, j in s where i < j: P(i) & P(j) -> Q(j)"
    options = {
        "domains": {"s": "sequence"},
        "predicates": {"P": ("s",), "Q": ("s",)},
        "outputs": {"P": "independent", "Q": "independent"},
    }
    torch.manual_seed(3)
    outputs = {"P": torch.randn(3, 7) + 0.5, "Q": torch.randn(3, 7) - 0.5}
    lengths = [7, 4, 0]
    shares = []
    for block in (None, 60, 8):
        compiled = rs.compile(rule, "r-product", block=block, **options)
        shares.append(compiled.diagnose(outputs, lengths=lengths)[NAMES[-1]])
    dead = violated = 0
    for p, q, n in zip(*(one.sigmoid().tolist() for one in outputs.values()), lengths, strict=True):
        for i, j in itertools.combinations(range(n), 2):
            if p[i] > 0.5 and p[j] > 0.5 and q[j] <= 0.5:
                violated += 1
                dead += p[i] * p[j] <= q[j]
    assert 0 < dead < violated
    assert shares == pytest.approx([dead / violated] * 3)


def test_inference_mode_does_not_change_the_share():
    rule = rs.compile(
        "forall i in s: P(i) -> P(i + 1)", "s-product", domains={"s": "sequence"},
        predicates={"P": ("s",)}, outputs={"P": "independent"},
    )  # fmt: skip
    for _ in range(2):  # also when its tables are made
        with torch.inference_mode():
            given = torch.tensor([[1.0, -1.0, 1.0], [2.0, -2.0, 0.0]])
            found = rule.diagnose(P=given, lengths=torch.tensor([3, 2]))
        assert found["groundings"] == pytest.approx(1 / 3)
        assert found["without_gradient"] == 0


def test_nothing_violated_and_nothing_to_learn_have_shares_too():
    rule = rs.compile("forall a in d: A(a) -> false", domains={"d": 2},
                      outputs={"A": "independent"})  # fmt: skip
    assert rule.diagnose(A=torch.zeros(0, 2))["without_gradient"] == 0
    assert rule.diagnose(A=-torch.ones(4, 2))["without_gradient"] == 0
    assert rule.diagnose(observed={"A": torch.ones(4, 2, dtype=int)})["without_gradient"] == 1


def test_knowledge_and_theories_diagnose_each_rule():
    text = """
        domain image
        domain d = 0..2
        predicate A(image, d)
        rule one: forall x in image: ~A(x, 0)
        rule two: forall x in image: A(x, 1) -> A(x, 2)
    """
    knowledge = rs.compile(rs.loads(text), "r-godel")
    outputs = {"A": torch.randn(8, 3)}
    found = knowledge.diagnose(outputs)
    assert list(found) == [f"{rule}/{name}" for rule in ("one", "two") for name in NAMES]
    for name, rule in knowledge.rules.items():
        assert rule.diagnose(outputs) == {key: found[f"{name}/{key}"] for key in NAMES}
    theory = rs.Theory(rs.loads(text), relaxation="r-godel", A=torch.nn.Identity())
    assert theory.diagnose(image=outputs["A"]) == pytest.approx(found)
