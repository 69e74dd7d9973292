"""Hidden predicates: no tensor, every value weighs 1, and exact questions sum them out."""

from itertools import product

import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError

ADDITION = """
    (forall p in place, a, b in digit, c in bit:
        A(p, a) & B(p, b) & Carry(p, c) -> Sum(p, (a + b + c) mod 3))
    & (forall p in place, a, b in digit, c in bit where a + b + c < 3:
        A(p, a) & B(p, b) & Carry(p, c) -> Carry(p + 1, 0))
    & (forall p in place, a, b in digit, c in bit where a + b + c >= 3:
        A(p, a) & B(p, b) & Carry(p, c) -> Carry(p + 1, 1))
    & Carry(0, 0)
"""


def addition(relaxation="exact", places=2, **options):
    return rs.compile(
        ADDITION,
        relaxation,
        domains={"place": places, "next": places + 1, "digit": 3, "bit": 2},
        predicates={
            "A": ("place", "digit"),
            "B": ("place", "digit"),
            "Sum": ("place", "digit"),
            "Carry": ("next", "bit"),
        },
        outputs={"Carry": "hidden"},
        reduction="none",
        **options,
    )


def chances_of_sums(outputs, places=2):
    """Return the probability of each sum of two numbers in base 3, without their last carry."""
    p, q = (outputs[name].softmax(-1) for name in "AB")
    found = {}
    for first, second in product(product(range(3), repeat=places), repeat=2):
        number = sum((a + b) * 3**place for place, (a, b) in enumerate(zip(first, second)))  # noqa: B905
        digits = tuple(number // 3**place % 3 for place in range(places))
        chance = 1.0
        for place, (a, b) in enumerate(zip(first, second, strict=True)):
            chance = chance * p[:, place, a] * q[:, place, b]
        found[digits] = found.get(digits, 0.0) + chance
    return found


def test_carries_are_summed_out():
    torch.manual_seed(0)
    outputs = {name: torch.randn(4, 2, 3, dtype=torch.float64) for name in "AB"}
    rule = addition()
    for digits, chance in chances_of_sums(outputs).items():
        labels = torch.tensor(digits).expand(4, 2)
        torch.testing.assert_close(rule(outputs, observed={"Sum": labels}), -chance.log())
        torch.testing.assert_close(rule.probability(outputs, observed={"Sum": labels}), chance)


def test_answers_have_the_hidden_values_that_belong_to_them():
    torch.manual_seed(1)
    outputs = {name: torch.randn(4, 2, 3) for name in ("A", "B", "Sum")}
    for relaxation in ("exact", "r-product"):
        found = addition(relaxation).decode(outputs)
        total = found["A"] + found["B"] + found["Carry"][:, :2]
        assert torch.equal(found["Sum"], total % 3)
        assert torch.equal(found["Carry"][:, 1:], total // 3)
    assert addition().count() == 3**4


def test_fifteen_digits_are_a_chain():
    rule = addition(places=15)
    outputs = {name: torch.randn(2, 15, 3, requires_grad=True) for name in "AB"}
    rule(outputs, observed={"Sum": torch.zeros(2, 15, dtype=torch.int64)}).sum().backward()
    assert torch.isfinite(outputs["A"].grad).all()


def test_a_relaxation_needs_hidden_values_to_be_observed():
    outputs = {name: torch.randn(1, 2, 3) for name in ("A", "B", "Sum")}
    rule = addition("r-product")
    with pytest.raises(GroundingError, match="`Carry` is hidden: only the penalty under `exact`"):
        rule(outputs)
    assert torch.isfinite(rule(outputs, observed={"Carry": torch.tensor([[0, 1, 0]])})).all()


def test_an_observed_hidden_value_is_one_state():
    outputs = {name: torch.zeros(1, 2, 3, dtype=torch.float64) for name in ("A", "B", "Sum")}
    rule = addition()
    carries = [torch.tensor([[0, *rest]]) for rest in product([0, 1], repeat=2)]
    each = [rule.probability(outputs, observed={"Carry": one}) for one in carries]
    torch.testing.assert_close(sum(each), rule.probability(outputs))
    torch.testing.assert_close(rule.probability(outputs), torch.full((1,), 1 / 9).double())


def test_a_tensor_for_a_hidden_predicate_is_refused():
    outputs = {name: torch.randn(1, 2, 3) for name in ("A", "B", "Sum")}
    with pytest.raises(GroundingError, match="`Carry` is hidden: expected no tensor"):
        addition()({**outputs, "Carry": torch.randn(1, 3, 2)})


def test_a_hidden_value_that_nothing_decides_counts_once_for_each_value():
    rule = rs.compile("P | H", "exact", outputs={"H": "hidden"}, inputs="probs", reduction="none")
    # P(P or not) with H true, and P with H false.
    torch.testing.assert_close(rule.probability(P=torch.tensor([0.25])), torch.tensor([1.25]))


def test_hidden_positions_of_a_sequence_are_as_many_as_it_has():
    rule = rs.compile(
        "(forall i in s: Seen(i) <-> State(i, 1)) & "
        "(forall i in s: State(i, 1) -> State(i + 1, 1))",
        "exact",
        domains={"s": "sequence", "k": 2},
        predicates={"Seen": ("s",), "State": ("s", "k")},
        outputs={"Seen": "independent", "State": "hidden"},
        inputs="probs",
    )
    seen = torch.full((1, 4), 0.5)
    # Once seen, always seen: five of sixteen sequences, and four of eight of length 3.
    torch.testing.assert_close(rule.truth(Seen=seen), torch.tensor([5 / 16]))
    torch.testing.assert_close(rule.truth(Seen=seen, lengths=[3]), torch.tensor([4 / 8]))


def test_rules_over_two_digit_numbers_are_counted_as_they_are_written():
    digits = dict.fromkeys("ABCD", ("digit",))
    rule = rs.compile(
        "exists a, b, c, d in digit: A(a) & B(b) & C(c) & D(d) & Sum(3*a + b + 3*c + d)",
        "exact",
        domains={"digit": 3, "total": 17},
        predicates={**digits, "Sum": ("total",)},
        reduction="none",
    )
    torch.manual_seed(2)
    outputs = {name: torch.randn(2, 3, dtype=torch.float64) for name in digits}
    chances = [outputs[name].softmax(-1) for name in digits]
    for total in range(17):
        expected = 0.0
        for values in product(range(3), repeat=4):
            if 3 * (values[0] + values[2]) + values[1] + values[3] == total:
                pairs = zip(chances, values, strict=True)
                expected = expected + torch.stack([p[:, v] for p, v in pairs]).prod(0)
        observed = {"Sum": torch.full((2,), total)}
        torch.testing.assert_close(rule.probability(outputs, observed=observed), expected)


FILE = """
    domain image
    domain digit = 0..2
    domain bit = 0, 1
    function left(image): image
    predicate Digit(image, digit)
    predicate Carry(image, bit) hidden
    predicate Large(image) independent hidden
    rule carry: forall x in image, a, b in digit:
        Digit(x, a) & Digit(left(x), b) -> Carry(x, (a + b) div 3)
    rule large: forall x in image: Large(x) <-> Carry(x, 1)
"""


def test_a_theory_needs_no_network_for_a_hidden_predicate():
    knowledge = rs.loads(FILE)
    assert [p.is_hidden for p in knowledge.predicates.values()] == [False, True, True]
    theory = rs.Theory(knowledge, relaxation="exact", Digit=torch.nn.Linear(2, 3))
    images, others = torch.randn(4, 2), torch.randn(4, 2)
    found = theory(image=images, left=others)
    assert list(found.parts) == ["all rules"]
    # Both rules only name what the digits are, so that they hold for every prediction.
    torch.testing.assert_close(found.total, torch.zeros(()), atol=1e-6, rtol=0)
    found = theory.decode(image=images, left=others)
    total = found["Digit"] + found["Digit(left(x))"]
    assert torch.equal(found["Carry"], total // 3)
    assert torch.equal(found["Large"], found["Carry"])


NAMED = "domain hidden = hidden, x\npredicate P(hidden)\nrule hidden: P(hidden)"


@pytest.mark.parametrize("text", ["predicate hidden", "predicate hidden hidden", NAMED])
def test_hidden_stays_a_name(text):
    assert rs.loads(text) is not None


def test_rules_that_share_a_hidden_predicate_have_no_penalties_of_their_own():
    rules = rs.compile(rs.loads(FILE), "exact")
    outputs = {"Digit": torch.randn(3, 3), "Digit(left(x))": torch.randn(3, 3)}
    with pytest.raises(GroundingError, match="share a hidden predicate"):
        rules(outputs)
    with pytest.raises(GroundingError, match="share a hidden predicate"):
        rules.total(outputs, combine="sum")
    torch.testing.assert_close(rules.total(outputs), torch.zeros(()), atol=1e-6, rtol=0)


def test_rules_with_weights_that_share_a_hidden_predicate_are_told_to_drop_the_weights_alone():
    text = "predicate A\npredicate H hidden\nrule r weight 0.5: A -> H\nrule s: H -> A"
    with pytest.raises(GroundingError, match=r"has weight 0\.5; drop weights$"):
        rs.compile(rs.loads(text), "exact").total(A=torch.zeros(3))


def test_a_network_for_a_hidden_predicate_is_refused():
    with pytest.raises(GroundingError, match="`Carry` is hidden: expected no module"):
        rs.Theory(rs.loads(FILE), Digit=torch.nn.Linear(2, 3), Carry=torch.nn.Linear(2, 2))


HALVES = """
    domain d = 0..2
    predicate A(d)
    predicate B(d)
    predicate Middle(d) hidden
    rule one: forall a in d: A(a) -> Middle((a + 1) mod 3)
    rule two: forall a in d: Middle(a) -> B(a)
"""
WHOLE = "(forall a in d: A(a) -> M((a + 1) mod 3)) & (forall a in d: M(a) -> B(a))"


def test_metrics_say_nothing_of_predictions_that_do_not_exist():
    outputs = {"A": torch.randn(4, 3), "B": torch.randn(4, 3)}
    a, b = (torch.softmax(outputs[name].double(), -1) for name in "AB")
    chance = (a * b.roll(-1, -1)).sum(-1)
    expected = {"penalty": -chance.log().mean().item(), "truth": chance.mean().item()}
    rule = rs.compile(WHOLE, "exact", domains={"d": 3}, outputs={"M": "hidden"})
    knowledge = rs.compile(rs.loads(HALVES), "exact")
    networks = {"A": torch.nn.Identity(), "B": torch.nn.Identity()}
    theory = rs.Theory(rs.loads(HALVES), relaxation="exact", **networks)
    for measure in ("metrics", "diagnose"):
        found = getattr(rule, measure)(outputs)
        assert found == pytest.approx(expected)
        together = {f"all rules/{name}": number for name, number in expected.items()}
        assert getattr(knowledge, measure)(outputs) == pytest.approx(together)
        assert getattr(theory, measure)(outputs) == pytest.approx(together)
    known = rule.metrics(outputs, observed=rule.decode(outputs))
    assert known["satisfied"] == known["groundings"] == 1
    with pytest.raises(GroundingError, match="have a probability together"):
        knowledge.truth(outputs)


@pytest.mark.parametrize("relaxation", ["exact", "s-product"])
def test_hidden_labels_of_padding_need_not_be_known(relaxation):
    rule = rs.compile(
        "forall i in s: Tag(i, 0) <-> Next(i, 1)",
        relaxation,
        domains={"s": "sequence", "t": 2},
        predicates={"Tag": ("s", "t"), "Next": ("s", "t")},
        outputs={"Next": "hidden"},
    )
    outputs, lengths = {"Tag": torch.randn(2, 4, 2)}, torch.tensor([4, 2])
    best = rule.decode(outputs, lengths=lengths)
    assert best["Next"][1].tolist()[2:] == [-100, -100]
    observed = {"Next": best["Next"]}
    assert rule.satisfied(outputs, lengths=lengths, observed=observed).tolist() == [True, True]
    assert rule.metrics(outputs, lengths=lengths, observed=observed)["satisfied"] == 1
    with pytest.raises(GroundingError, match="is hidden"):
        rule.satisfied(outputs, lengths=torch.tensor([4, 3]), observed=observed)
