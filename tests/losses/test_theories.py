"""Theories: knowledge whose predicates are networks."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pytest
import torch
from torch import nn

import residuum as rs
from residuum.errors import GroundingError, ResiduumError

DIGITS = rs.loads("""
    domain digit = 0..2
    domain image
    domain pair
    function left(pair): image
    function right(pair): image
    predicate Digit(image, digit)
    predicate Sum(pair, digit)
    facts labels: Digit
    facts sums: Sum
    rule coherence weight 0.5:
        forall p in pair, a, b in digit:
            Digit(left(p), a) & Digit(right(p), b) -> Sum(p, (a + b) mod 3)
    rule commutes:
        forall p in pair, a in digit: Digit(left(p), a) -> Digit(right(p), a)
""")


class Counting(nn.Module):
    """A linear network that counts its calls."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 3).double()
        self.calls = 0

    def forward(self, given):
        self.calls += 1
        return self.linear(given)


@pytest.fixture
def networks():
    torch.manual_seed(0)
    return {"Digit": Counting(4), "Sum": Counting(8)}


@pytest.fixture
def data():
    torch.manual_seed(1)
    left, right = torch.randn(5, 4).double(), torch.randn(5, 4).double()
    return {"left": left, "right": right, "pair": torch.cat([left, right], -1)}


@pytest.fixture
def labelled():
    torch.manual_seed(2)
    return {"labels": (torch.randn(6, 4).double(), torch.tensor([0, 1, 2, 0, 1, 2]))}


def parts_by_hand(networks, data, labelled, name):
    outputs = {
        "Digit(left(p))": networks["Digit"](data["left"]),
        "Digit(right(p))": networks["Digit"](data["right"]),
        "Sum": networks["Sum"](data["pair"]),
    }
    images, classes = labelled["labels"]
    found = {"labels": rs.facts(networks["Digit"](images), classes, name)}
    for rule in DIGITS.rules:
        module = rs.compile(rule, name, knowledge=DIGITS, weight=1.0, reduction="mean")
        found[rule] = module({slot: outputs[slot] for slot in module.forms})
    return found


@pytest.mark.parametrize("name", ["s-product", "r-product", "lukasiewicz-maxsat", "r-yager(2)"])
def test_the_total_is_the_weighted_sum_of_facts_and_rules(networks, data, labelled, name):
    assessment = rs.Theory(DIGITS, relaxation=name, **networks)(labelled, **data)
    expected = parts_by_hand(networks, data, labelled, name)
    assert assessment.parts.keys() == expected.keys()
    for key, value in expected.items():
        torch.testing.assert_close(assessment.parts[key], value)
    total = expected["labels"] + 0.5 * expected["coherence"] + expected["commutes"]
    limit = 1.0 if name == "r-yager(2)" else torch.inf
    torch.testing.assert_close(assessment.total, total.clamp(max=limit))


@pytest.mark.parametrize("name", ["s-godel", "r-godel"])
def test_in_godel_logics_the_total_is_the_largest_weighted_penalty(networks, data, labelled, name):
    expected = parts_by_hand(networks, data, labelled, name)
    weighted = [expected["labels"], 0.5 * expected["coherence"], expected["commutes"]]
    theory = rs.Theory(DIGITS, relaxation=name, **networks)
    torch.testing.assert_close(theory(labelled, **data).total, max(weighted))
    summed = rs.Theory(DIGITS, relaxation=name, combine="sum", **networks)
    torch.testing.assert_close(summed(labelled, **data).total, sum(weighted))


def test_each_network_runs_once_per_call(networks, data, labelled):
    theory = rs.Theory(DIGITS, **networks)
    theory(labelled, **data)
    assert [network.calls for network in networks.values()] == [1, 1]
    theory(labelled)
    assert [network.calls for network in networks.values()] == [2, 1]


def test_facts_or_rules_may_stand_alone(networks, data, labelled):
    theory = rs.Theory(DIGITS, **networks)
    assert theory(labelled).parts.keys() == {"labels"}
    assert theory(**data).parts.keys() == {"coherence", "commutes"}
    with pytest.raises(GroundingError, match="nothing is given"):
        theory()


def test_the_networks_learn_and_frozen_ones_do_not(networks, data, labelled):
    theory = rs.Theory(DIGITS, **networks)
    assert len(list(theory.parameters())) == 4
    theory.freeze("Digit")
    theory(labelled, **data).total.backward()
    assert networks["Digit"].linear.weight.grad is None
    assert networks["Sum"].linear.weight.grad.abs().sum() > 0
    theory.unfreeze()
    theory(labelled, **data).total.backward()
    assert networks["Digit"].linear.weight.grad.abs().sum() > 0
    with pytest.raises(GroundingError, match=r"no predicate `Digits`. Did you mean `Digit`"):
        theory.freeze("Digits")


def test_weights_and_relaxations_follow_their_schedules(networks, data, labelled):
    theory = rs.Theory(
        DIGITS,
        relaxation=rs.warm_up("r-product", "s-product", epochs=2),
        weights={"coherence": rs.ramp(0, 1, 4), "commutes": 0.0},
        **networks,
    )
    for epoch, name in enumerate(["r-product", "r-product", "s-product", "s-product"]):
        theory.epoch = epoch
        assert theory.relaxation.name == name
        expected = parts_by_hand(networks, data, labelled, name)
        total = expected["labels"] + epoch / 4 * expected["coherence"]
        torch.testing.assert_close(theory(labelled, **data).total, total)


def test_schedules_hold_from_their_epochs_on():
    letters = rs.piecewise_constant({0: "a", 2: "b", 5: "c"})
    assert [letters(epoch) for epoch in (0, 1, 2, 4, 5, 9)] == list("aabbcc")
    assert [rs.ramp(1.0, 0.0, 2)(e) for e in range(4)] == [1.0, 0.5, 0.0, 0.0]
    with pytest.raises(GroundingError, match="for epoch 0, got epochs"):
        rs.piecewise_constant({1: 2.0})
    with pytest.raises(GroundingError, match="at least 1 epoch"):
        rs.ramp(0, 1, 0)
    with pytest.raises(ResiduumError, match="no relaxation is called"):
        rs.warm_up("r-produkt", "s-godel", epochs=1)


def test_missing_and_misspelt_parts_are_named(networks, data):
    digit, total = networks.values()
    with pytest.raises(GroundingError, match="no module is given for predicate `Sum`"):
        rs.Theory(DIGITS, Digit=digit)
    with pytest.raises(GroundingError, match=r"no predicate `Dgit`. Did you mean `Digit`"):
        rs.Theory(DIGITS, Dgit=digit, Sum=total)
    with pytest.raises(GroundingError, match=r"no rule or set of facts `coherense`. Did you mean"):
        rs.Theory(DIGITS, weights={"coherense": 1.0}, **networks)
    with pytest.raises(GroundingError, match="expected 'conjunction' or 'sum', got 'mean'"):
        rs.Theory(DIGITS, combine="mean", **networks)
    theory = rs.Theory(DIGITS, **networks)
    with pytest.raises(GroundingError, match=r"needs the tensor `right`. .*Given are: left, pair"):
        theory(left=data["left"], pair=data["pair"])
    with pytest.raises(GroundingError, match=r"no set of facts `label`. Did you mean `labels`"):
        theory({"label": (data["left"], torch.zeros(5).long())})


def test_a_predicate_that_no_module_can_be_called_is_refused():
    for name in ("type", "keys", "half", "training", "forward"):
        knowledge = rs.loads(f"predicate {name} rule r: {name}")
        with pytest.raises(GroundingError, match=f"another use for the name `{name}`"):
            rs.Theory(knowledge, **{name: nn.Identity()})


@pytest.mark.parametrize(
    "name",
    ["relaxation", "weights", "reduction", "combine", "inputs", "functions", "process_group"],
)
def test_a_predicate_with_the_name_of_an_option_is_refused(name):
    knowledge = rs.loads(f"predicate {name} rule r: {name}")
    with pytest.raises(GroundingError, match=f"`{name}` has the name of an option .* rename"):
        rs.Theory(knowledge, **{name: nn.Identity()})


def test_a_theory_is_made_of_a_knowledge():
    with pytest.raises(GroundingError, match=r"expected a Knowledge, .* got str"):
        rs.Theory("digits.rsd")


@pytest.mark.parametrize("weight", [-1.0, float("nan"), None])
def test_a_schedule_gives_weights_from_0_on(networks, data, weight):
    theory = rs.Theory(DIGITS, weights={"coherence": lambda _: weight}, **networks)
    with pytest.raises(GroundingError, match="weight of `coherence` is a number from 0 on"):
        theory(**data)


def test_independent_predicates_learn_from_independent_facts():
    knowledge = rs.loads("""
        domain image
        domain feature = wings, beak
        predicate Has(image, feature) independent
        facts seen: Has
        rule birds: forall m in image: Has(m, wings) -> Has(m, beak)
    """)
    network = nn.Linear(3, 2)
    given, labels = torch.randn(4, 3), torch.tensor([[0, 1], [1, 1], [0, 0], [1, 0]])
    found = rs.Theory(knowledge, relaxation="r-product", Has=network)(
        {"seen": (given, labels)}, image=given
    )
    logits = network(given)
    entropy = nn.functional.binary_cross_entropy_with_logits(logits, labels.float())
    logs = nn.functional.logsigmoid(logits)
    torch.testing.assert_close(found.parts["seen"], entropy)
    torch.testing.assert_close(found.parts["birds"], torch.relu(logs[:, 0] - logs[:, 1]).mean())


def test_a_theory_about_sequences_takes_lengths():
    knowledge = rs.loads("""
        domain tag = A, B
        domain position sequence
        predicate Tag(position, tag)
        rule step: forall i in position: Tag(i, A) -> Tag(i + 1, B)
    """)
    network = nn.Linear(3, 2)
    words, lengths = torch.randn(2, 4, 3), torch.tensor([4, 2])
    found = rs.Theory(knowledge, Tag=network)(Tag=words, lengths=lengths).parts["step"]
    rule = rs.compile("step", knowledge=knowledge)
    alone = [rule(Tag=network(words[k, :n])) for k, n in enumerate(lengths)]
    torch.testing.assert_close(found, torch.stack(alone).mean())


@pytest.mark.parametrize("name", ["r-product", "s-godel", "exact"])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_of_a_theory_says_the_same(networks, data, labelled, name, copied):
    theory = rs.Theory(
        DIGITS,
        relaxation=rs.warm_up("s-product", name, epochs=1),
        weights={"coherence": rs.ramp(0, 1, 4)},
        **networks,
    )
    theory.epoch = 2
    expected = theory(labelled, **data)
    torch.testing.assert_close(copied(theory)(labelled, **data).parts, expected.parts)


def test_relaxations_of_one_name_are_told_apart(networks, data):
    logics = [rs.relaxation(f"r-yager({p})") for p in (1, 3)]
    named = [replace(logic, name="mine") for logic in logics]
    theory = rs.Theory(DIGITS, relaxation=lambda epoch: named[epoch], **networks)
    for epoch, logic in enumerate(logics):
        theory.epoch = epoch
        expected = rs.Theory(DIGITS, relaxation=logic, **networks)(**data).parts
        torch.testing.assert_close(theory(**data).parts, expected)


SHELF = """
    domain digit = 0..2
    domain image
    domain pair
    function at(pair, digit): image
    predicate Digit(image, digit)
    rule same: forall p in pair, a in digit: Digit(at(p, {first}), a) -> Digit(at(p, 1), a)
"""


def test_different_members_of_one_function_are_different_tensors(networks, data):
    theory = rs.Theory(rs.loads(SHELF.format(first=0)), Digit=networks["Digit"])
    found = theory(**{"at(p, 0)": data["left"], "at(p, 1)": data["right"]}).total
    expected = rs.Theory(DIGITS, **networks)(**data).parts["commutes"]
    torch.testing.assert_close(found, expected)
    with pytest.raises(GroundingError, match=r"no tensor `at`"):
        theory(at=data["left"])


def test_a_member_that_is_not_one_per_example_is_refused(networks):
    with pytest.raises(GroundingError, match=r"`at\(p, a\)` depends on `a`"):
        rs.Theory(rs.loads(SHELF.format(first="a")), Digit=networks["Digit"])


INSPECTED = """
    domain d = a, b
    domain image
    predicate P(image, d)
    predicate Q(image, d)
    rule same: forall m in image, x in d: P(m, x) -> Q(m, x)
    rule never: forall m in image: ~P(m, a)
"""


def test_a_theory_says_which_rules_its_networks_break_and_where():
    certain = torch.nn.Linear(2, 2, bias=False)
    torch.nn.init.eye_(certain.weight)
    turned = torch.nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        turned.weight.copy_(torch.tensor([[1.0, 1.0], [0.0, 1.0]]))  # ties are `a`
    theory = rs.Theory(rs.loads(INSPECTED), relaxation="lukasiewicz", P=certain, Q=turned)
    images = torch.tensor([[9.0, 0.0], [0.0, 9.0]])
    obeyed = theory.satisfied(image=images)
    assert {name: one.tolist() for name, one in obeyed.items()} == {
        "same": [True, False],
        "never": [False, True],
    }
    found = theory.violations(image=images, top=1)
    assert [(str(one.grounding), one.example) for one in found["never"]] == [
        ('~P(m, "a")', (0,)),
    ]
    assert [(str(one.grounding), one.example) for one in found["same"]] == [
        ('P(m, "b") -> Q(m, "b")', (1,)),
    ]
    assert found["same"][0].degree == pytest.approx(0.5, abs=1e-3)
    with pytest.raises(rs.ResiduumError, match="has no tensor `pair`"):
        theory.satisfied(pair=images)


def test_names_are_checked_by_every_question(networks):
    theory = rs.Theory(DIGITS, **networks)
    with pytest.raises(GroundingError, match=r"no predicate `Digt`. Did you mean `Digit`"):
        theory.unfreeze("Digt")
    with pytest.raises(GroundingError, match=r"no rule or set of facts `sum`. Did you mean `sums`"):
        theory.weight("sum")


def test_facts_are_given_by_name_as_pairs(networks, labelled):
    theory = rs.Theory(DIGITS, **networks)
    expected = theory(labelled).total
    assert theory({name: list(pair) for name, pair in labelled.items()}).total == expected
    for wrong in (next(iter(labelled.values())), torch.zeros(3, 4)):
        with pytest.raises(GroundingError, match=r"expected facts by name, \{name: \(inputs"):
            theory(wrong)


class Answering(nn.Module):
    """A network that answers what it is told to."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def forward(self, given):
        return self.answer(given)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (lambda given: (given, given), "got tuple"),
        (lambda given: {"logits": given}, "got dict"),
        (lambda given: given[:3], r"got shape \(3, 4\)"),
    ],
)
def test_a_network_gives_a_row_for_each_input(networks, data, answer, found):
    theory = rs.Theory(DIGITS, Digit=Answering(answer), Sum=networks["Sum"])
    with pytest.raises(GroundingError, match=f"network of `Digit`: .* each of 10 inputs, {found}"):
        theory(**data)


def test_a_network_may_take_what_is_no_tensor(networks, data):
    theory = rs.Theory(
        DIGITS, Digit=Answering(lambda rows: networks["Digit"](torch.stack(rows))),
        Sum=networks["Sum"],
    )  # fmt: skip
    listed = {**data, "left": list(data["left"]), "right": list(data["right"])}
    expected = rs.Theory(DIGITS, **networks)(**data).total
    torch.testing.assert_close(theory(**listed).total, expected)
