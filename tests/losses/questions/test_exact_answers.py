"""Questions about all predictions that obey a rule, against an enumeration of predictions."""

import math
from itertools import product

import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError

CPU_SEED = 7
SUM = "forall a, b in digit: Left(a) & Right(b) -> Sum((a + b) mod 3)"
CASES = {
    "sum": (
        SUM,
        {"domains": {"digit": 3}},
        {"Left": (3,), "Right": (3,), "Sum": (3,)},
        lambda s: (s["Left"][0] + s["Right"][0]) % 3 == s["Sum"][0],
    ),
    "labels": (
        "(forall x in d where x > 0: Has(x) -> Has(x - 1)) & (Rain | ~Has(0))",
        {"domains": {"d": 4}, "outputs": {"Has": "independent"}},
        {"Has": (2, 2, 2, 2), "Rain": (2,)},
        lambda s: (
            all(s["Has"][x - 1] or not s["Has"][x] for x in (1, 2, 3))
            and bool(s["Rain"][0] or not s["Has"][0])
        ),
    ),
    "unread": (
        "Kind(0) -> Has(1)",
        {
            "domains": {"k": 3, "d": 3},
            "predicates": {"Kind": ("k",), "Has": ("d",)},
            "outputs": {"Has": "independent"},
        },
        {"Kind": (3,), "Has": (2, 2, 2)},
        lambda s: s["Kind"][0] != 0 or bool(s["Has"][1]),
    ),
    "always": (
        "P | ~P",
        {},
        {"P": (2,)},
        lambda _: True,
    ),
    "sequence": (
        "forall i in s: Tag(i, 0) -> Tag(i + 1, 1)",
        {"domains": {"s": "sequence", "t": 3}, "predicates": {"Tag": ("s", "t")}},
        {"Tag": (3, 3, 3)},
        lambda s: all(a != 0 or b == 1 for a, b in zip(s["Tag"], s["Tag"][1:], strict=False)),
    ),
}


def shape_of(name, sizes, kinds):
    """Return the shape of a tensor, and of its labels."""
    if name == "Tag":
        return (3, 3), (3,)
    if kinds.get(name) == "independent":
        return (len(sizes),), (len(sizes),)
    return ((), ()) if sizes == (2,) else (sizes, ())


class Setting:
    """A rule, random outputs of two examples, and the probability of every prediction."""

    def __init__(self, case, relaxation="r-product", seed=CPU_SEED, dtype=torch.float64):
        text, options, self.sizes, obeys = CASES[case]
        kinds = options.get("outputs", {})
        self.rule = rs.compile(text, relaxation, **options)
        torch.manual_seed(seed)
        self.shapes = {name: shape_of(name, sizes, kinds) for name, sizes in self.sizes.items()}
        self.outputs = {
            name: torch.randn(2, *shape[0], dtype=dtype) for name, shape in self.shapes.items()
        }
        names = [(name, place) for name, sizes in self.sizes.items() for place in range(len(sizes))]
        spaces = [range(self.sizes[name][place]) for name, place in names]
        self.states = []
        for values in product(*spaces):
            state = {name: [0] * len(sizes) for name, sizes in self.sizes.items()}
            for (name, place), value in zip(names, values, strict=True):
                state[name][place] = value
            if obeys(state):
                self.states.append(state)

    def chance(self, example, state):
        found = 1.0
        for name, values in state.items():
            given = self.outputs[name][example]
            for place, value in enumerate(values):
                if self.sizes[name][place] == 2 and name != "Tag":
                    p = torch.sigmoid(given.reshape(-1)[place]).item()
                    found *= p if value else 1 - p
                else:
                    row = given[place] if name == "Tag" else given
                    found *= torch.softmax(row, -1)[value].item()
        return found

    def chances(self, example):
        """Return the probability of each prediction that obeys the rule."""
        return [self.chance(example, state) for state in self.states]

    def labels(self, state):
        """Return a prediction as labels of one example."""
        return {
            name: torch.tensor(values).reshape(1, *self.shapes[name][1])
            for name, values in state.items()
        }


def found_state(labels, example):
    return {name: one[example].reshape(-1).tolist() for name, one in labels.items()}


@pytest.fixture(params=sorted(CASES))
def setting(request):
    return Setting(request.param)


def test_the_probability_is_the_sum_over_predictions_that_obey(setting):
    expected = [sum(setting.chances(example)) for example in range(2)]
    assert setting.rule.probability(setting.outputs).tolist() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("case", sorted(CASES))
def test_the_penalty_under_exact_is_minus_the_log_of_the_probability(case):
    text, options, _, _ = CASES[case]
    setting = Setting(case)
    penalty = rs.compile(text, "exact", reduction="none", **options)(setting.outputs)
    torch.testing.assert_close(penalty, -setting.rule.probability(setting.outputs).log())


def test_marginals_are_shares_of_the_predictions_that_obey(setting):
    found = setting.rule.marginals(setting.outputs)
    for example in range(2):
        chances = setting.chances(example)
        for name, sizes in setting.sizes.items():
            assert found[name].shape == setting.outputs[name].shape
            for place, size in enumerate(sizes):
                shares = [
                    sum(
                        p
                        for p, s in zip(chances, setting.states, strict=True)
                        if s[name][place] == v
                    )
                    / sum(chances)
                    for v in range(size)
                ]
                given = found[name][example]
                if name == "Tag":
                    assert given[place].tolist() == pytest.approx(shares, rel=1e-9)
                elif size == 2:
                    assert given.reshape(-1)[place].item() == pytest.approx(shares[1], rel=1e-9)
                else:
                    assert given.tolist() == pytest.approx(shares, rel=1e-9)


def test_the_entropy_is_that_of_the_predictions_that_obey(setting):
    for example, found in enumerate(setting.rule.entropy(setting.outputs).tolist()):
        chances = setting.chances(example)
        shares = [p / sum(chances) for p in chances]
        assert found == pytest.approx(-sum(p * math.log(p) for p in shares), rel=1e-9)


def test_decoding_finds_the_best_predictions_in_order(setting):
    best = setting.rule.decode(setting.outputs)
    several = setting.rule.decode(setting.outputs, k=len(setting.states) + 1)
    for example in range(2):
        ranked = sorted(setting.chances(example), reverse=True)
        assert found_state(best, example) == found_state(several[0], example)
        decoded = [found_state(one, example) for one in several[:-1]]
        assert [setting.chance(example, state) for state in decoded] == pytest.approx(ranked)
        assert all(state in setting.states for state in decoded)
        assert len({str(state) for state in decoded}) == len(setting.states)
        absent = found_state(several[-1], example).values()
        assert all(value == -100 for values in absent for value in values)


def test_every_sample_obeys_and_frequencies_are_probabilities(setting):
    drawn = setting.rule.sample(setting.outputs, 2_000, generator=torch.Generator().manual_seed(1))
    counts = [0] * len(setting.states)
    for one in range(2_000):
        counts[setting.states.index(found_state({n: x[one] for n, x in drawn.items()}, 0))] += 1
    chances = setting.chances(0)
    for count, chance in zip(counts, chances, strict=True):
        share = chance / sum(chances)
        deviation = math.sqrt(2_000 * share * (1 - share))
        assert abs(count - 2_000 * share) <= 5 * deviation + 1


def test_log_likelihoods_of_labels_are_shares(setting):
    for state in setting.states[:: max(1, len(setting.states) // 8)]:
        labels = {
            name: one.expand(2, *one.shape[1:]) for name, one in setting.labels(state).items()
        }
        found = setting.rule.log_likelihood(setting.outputs, labels)
        for example in range(2):
            share = setting.chance(example, state) / sum(setting.chances(example))
            assert found[example].exp().item() == pytest.approx(share, rel=1e-9)


def test_counts_are_numbers_of_predictions(setting):
    length = 3 if "Tag" in setting.sizes else None
    assert setting.rule.count(length) == len(setting.states)


def test_evidence_restricts_predictions():
    setting = Setting("sum")
    observed = {"Sum": torch.tensor([1, -100])}
    kept = [state for state in setting.states if state["Sum"] == [1]]
    best = setting.rule.decode(setting.outputs, observed=observed)
    chances = [setting.chance(0, state) for state in kept]
    assert found_state(best, 0) == kept[chances.index(max(chances))]
    left = setting.rule.marginals(setting.outputs, observed=observed)["Left"][0]
    shares = [
        sum(c for c, s in zip(chances, kept, strict=True) if s["Left"] == [v]) for v in range(3)
    ]
    assert left.tolist() == pytest.approx([share / sum(chances) for share in shares], rel=1e-6)
    drawn = setting.rule.sample(setting.outputs, 50, observed=observed)
    assert (drawn["Sum"][:, 0] == 1).all()


@pytest.mark.parametrize("question", ["decode", "marginals", "sample", "entropy"])
def test_evidence_that_contradicts_the_rule_is_refused_in_words(question):
    rule = rs.compile(SUM, "s-product", domains={"digit": 3})
    observed = {name: torch.tensor([0, label]) for name, label in
                [("Left", 1), ("Right", 1), ("Sum", 0)]}  # fmt: skip
    with pytest.raises(GroundingError, match="example 1: what is observed, or masked"):
        getattr(rule, question)({}, observed=observed)


def test_a_rule_that_no_prediction_obeys_is_refused():
    rule = rs.compile("P & ~P", "r-product")
    assert rule.count() == 0
    with pytest.raises(GroundingError, match="no prediction obeys"):
        rule.decode(P=torch.zeros(2))


def test_padding_has_no_labels_and_no_probability():
    rule = rs.compile(CASES["sequence"][0], **CASES["sequence"][1])
    outputs = torch.randn(3, 4, 3)
    lengths = torch.tensor([4, 0, 2])
    decoded = rule.decode(Tag=outputs, lengths=lengths)["Tag"]
    chances = rule.marginals(Tag=outputs, lengths=lengths)["Tag"]
    for row, length in enumerate(lengths.tolist()):
        assert (decoded[row, length:] == -100).all()
        assert (chances[row, length:] == 0).all()
        alone = rule.decode(Tag=outputs[row, :length])["Tag"]
        assert decoded[row, :length].tolist() == alone.tolist()
        torch.testing.assert_close(
            chances[row, :length], rule.marginals(Tag=outputs[row, :length])["Tag"]
        )
    likelihood = rule.log_likelihood({"Tag": outputs}, {"Tag": decoded}, lengths=lengths)
    assert (likelihood <= 0).all()
    assert likelihood[1] == 0


def test_a_network_learns_through_marginals_and_entropy():
    setting = Setting("labels")
    leaves = {name: one.clone().requires_grad_() for name, one in setting.outputs.items()}

    def asked(has, rain):
        outputs = {"Has": has, "Rain": rain}
        first = setting.rule.marginals(outputs)["Has"]
        return first, setting.rule.entropy(outputs)

    assert torch.autograd.gradcheck(asked, list(leaves.values()))


def test_saturated_outputs_give_finite_answers():
    rule = rs.compile(SUM, "exact", domains={"digit": 3})
    outputs = {
        name: torch.tensor([[1e4, 0.0, -1e4], [0.0, 3e4, 0.0]]).requires_grad_()
        for name in ("Left", "Right", "Sum")
    }
    found = [rule(outputs), rule.entropy(outputs), *rule.marginals(outputs).values()]
    sum(one.sum() for one in found).backward()
    assert all(torch.isfinite(one).all() for one in found)
    assert all(torch.isfinite(one.grad).all() for one in outputs.values())
    assert rule.satisfied({}, observed=rule.decode(outputs)).all()


KNOWLEDGE = """
    domain d = 0..3
    predicate Has(d) independent
    predicate Kind(d)
    rule one weight 2: Has(0) -> Has(1)
    rule two: Has(1) -> Kind(2)
    rule three: Has(2) | Has(3)
"""


@pytest.mark.parametrize("relaxation", ["r-product", "s-godel", "exact"])
def test_a_knowledge_is_asked_about_all_its_rules_together(relaxation):
    knowledge = rs.compile(rs.loads(KNOWLEDGE), relaxation)
    torch.manual_seed(0)
    outputs = {"Has": torch.randn(5, 4), "Kind": torch.randn(5, 4)}
    decoded = knowledge.decode(outputs)
    assert all(holds.all() for holds in knowledge.satisfied({}, observed=decoded).values())
    joint = rs.compile(
        "(Has(0) -> Has(1)) & (Has(1) -> Kind(2)) & (Has(2) | Has(3))",
        "exact",
        knowledge=rs.loads(KNOWLEDGE),
    )
    torch.testing.assert_close(knowledge.probability(outputs), joint.truth(outputs))
    assert knowledge.count() == 3 * sum(
        (1 if has[1] else 4) for has in product([0, 1], repeat=2) if has[1] or not has[0]
    )


def test_rules_selects_rules_of_a_knowledge():
    knowledge = rs.compile(rs.loads(KNOWLEDGE), "r-product")
    outputs = {"Has": torch.randn(5, 4), "Kind": torch.randn(5, 4)}
    alone = knowledge.probability(outputs, rules=["three"])
    torch.testing.assert_close(alone, knowledge.rules["three"].probability(Has=outputs["Has"]))
    assert set(knowledge.decode(outputs, rules=["three"])) == {"Has"}
    with pytest.raises(GroundingError, match="no rule `four`"):
        knowledge.decode(outputs, rules=["four"])
    with pytest.raises(GroundingError, match="one rule"):
        knowledge.rules["three"].decode(outputs, rules=["three"])


def test_rules_about_the_examples_of_a_batch_hold_together():
    knowledge = rs.compile(
        rs.loads(
            "domain image\ndomain c = 0..2\npredicate A(image, c)\npredicate B(image, c)\n"
            "rule same: forall x in image, k in c: A(x, k) -> B(x, k)\n"
            "rule not_first: forall y in image: ~B(y, 0)"
        ),
        "exact",
    )
    outputs = {"A": torch.randn(4, 3), "B": torch.randn(4, 3)}
    decoded = knowledge.decode(outputs)
    assert (decoded["A"] == decoded["B"]).all()
    assert (decoded["B"] > 0).all()
    p, q = (one.softmax(-1) for one in outputs.values())
    torch.testing.assert_close(knowledge.probability(outputs), (p * q)[:, 1:].sum(-1))


@pytest.mark.parametrize(("name", "given"), [("k", 0), ("k", 1.5), ("k", True)])
def test_a_number_of_predictions_is_positive(name, given):
    rule = rs.compile("P", "exact")
    with pytest.raises(GroundingError, match=f"{name}: expected an integer, 1 or more"):
        rule.decode(P=torch.zeros(1), **{name: given})


def test_a_count_asks_for_the_length_of_sequences():
    options = CASES["sequence"][1]
    with pytest.raises(GroundingError, match="expected a length, for s"):
        rs.compile(CASES["sequence"][0], **options).count()
    with pytest.raises(GroundingError, match="expected no length"):
        rs.compile("P").count(3)


def test_numbers_and_labels_may_be_given_by_keyword():
    rule = rs.compile("P -> Q", "exact")
    outputs = {"P": torch.zeros(1), "Q": torch.zeros(1)}
    assert rule.sample(**outputs, n=4)["P"].shape == (4, 1)
    labels = {"P": torch.tensor([1]), "Q": torch.tensor([1])}
    torch.testing.assert_close(rule.log_likelihood(**outputs, labels=labels).exp(),
                               torch.tensor([1 / 3]))  # fmt: skip
    for wrong in (None, torch.tensor([1])):
        with pytest.raises(GroundingError, match="labels: expected labels by the names"):
            rule.log_likelihood(outputs, wrong)


def test_labels_that_break_the_rule_have_the_floor_as_likelihood():
    rule = rs.compile("P -> Q", "exact")
    outputs = {"P": torch.zeros(1), "Q": torch.zeros(1)}
    labels = {"P": torch.tensor([1]), "Q": torch.tensor([0])}
    found = rule.log_likelihood(outputs, labels)
    assert torch.isfinite(found).all()
    assert found < -60
