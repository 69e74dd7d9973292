"""Rehearsals: made-up truth obeys the rules, and what is learnt is what can be learnt."""

import itertools

import pytest
import torch

from residuum.advice import Consultation, Rehearsal, Sample, draw_samples, rehearsing
from residuum.advice.advising import OVERS
from residuum.advice.forms import existential
from residuum.advice.made_up import make_up
from residuum.relaxations import default_relaxations, relaxation
from residuum.relaxations.catalogue import EXACT
from residuum.syntax import loads

SUMS = loads(
    "domain digit = 0..2\ndomain total = 0..4\n"
    "predicate Left(digit)\npredicate Right(digit)\npredicate Sum(total)\n"
    "rule sum: forall a, b in digit: Left(a) & Right(b) -> Sum(a + b)\n"
)


def sums(examples=40):
    """Return predictions that know nothing, and the sums of digits."""
    generator = torch.Generator().manual_seed(0)
    digits = torch.randint(3, (2, examples), generator=generator)
    logits = torch.randn(2, examples, 3, generator=generator).double()
    return Sample("sums", {"Left": logits[0], "Right": logits[1]}, None, {"Sum": digits.sum(0)})


def test_made_up_digits_have_the_observed_sums():
    sample = sums()
    stage = make_up(SUMS, sample, 2, 0)
    left, right = (stage.outputs[name].truth for name in ("Left", "Right"))
    assert set(stage.outputs) == {"Left", "Right"}
    assert torch.equal((left + right)[0], sample.observed["Sum"])
    assert torch.equal(left[0], left[1])
    assert {tuple(pair) for pair in torch.stack([left[0], right[0]], 1).tolist()} == set(
        itertools.product(range(3), repeat=2)
    )
    assert all(one.labels is None for one in stage.outputs.values())


def test_made_up_truth_keeps_labels_and_obeys():
    knowledge = loads(
        "domain d = 0..5\npredicate P(d) independent\n"
        "rule two: exactly 2 x in d: P(x)\nrule r: forall x in d where x < 5: P(x) -> ~P(x + 1)\n"
    )
    [sample, _] = draw_samples(knowledge, examples=60)
    labels = torch.full((60, 6), -100)
    labels[:5, 0] = 1
    made = make_up(knowledge, sample._replace(labels={"P": labels}), 1, 0).outputs["P"]
    truth = made.truth[0]
    obeys = (truth.sum(1) == 2) & ~(truth[:, 1:] & truth[:, :-1]).any(1)
    assert obeys.double().mean() > 0.9
    assert truth[:5, 0].tolist() == [1] * 5
    assert torch.equal(made.labels[0], labels)


def test_numbers_are_moved_until_they_are_in_order():
    knowledge = loads(
        "domain h = 0..3\nquantity Rooms(h) scale 0\nquantity Price(h) scale 0.5\n"
        "rule order: forall x, y in h: Rooms(x) < Rooms(y) -> Price(x) <= Price(y)\n"
    )
    generator = torch.Generator().manual_seed(0)
    given = torch.randn(2, 30, 4, generator=generator).double()
    sample = Sample("prices", {"Rooms": given[0], "Price": given[1]})
    stage = make_up(knowledge, sample, 1, 0)
    assert set(stage.outputs) == {"Price"}
    price, rooms = stage.outputs["Price"].truth[0], stage.data["Rooms"][0]
    assert torch.equal(rooms, given[0].float())
    breaks = (rooms.unsqueeze(2) < rooms.unsqueeze(1)) & (price.unsqueeze(2) > price.unsqueeze(1))
    assert not breaks.any(2).any(1).double().mean() > 0.2
    found = Rehearsal(knowledge, sample).try_out(relaxation("s-product"))
    assert found.points > 0


def test_digits_are_learnt_from_sums_where_the_form_allows_it():
    rehearsal = Rehearsal(SUMS, sums())
    assert rehearsing.is_feasible(SUMS, sums())
    points = {
        name: rehearsal.try_out(one).points
        for name, one in (("exact", EXACT), ("r", relaxation("r-product")), ("none", None))
    }
    assert points["exact"] > 70
    assert points["r"] < 60
    assert points["none"] < 60
    changed, forms = existential(SUMS, sums())
    assert forms == {"sum": "exists a, b in digit: Left(a) & Right(b) & Sum(a + b)"}
    assert Rehearsal(changed, sums()).try_out(relaxation("r-product")).points > 70


def test_a_rehearsal_is_the_same_each_time(monkeypatch):
    monkeypatch.setattr(rehearsing, "STEPS", 5)
    first, second = (Rehearsal(SUMS, sums()).try_out(relaxation("s-product")) for _ in range(2))
    assert first == second


def test_the_consultation_recommends_what_learns_and_names_the_trap():
    asked = Consultation(SUMS, [sums()], default_relaxations(["s-product", "r-product"]))
    for _ in asked.steps():
        pass
    advice = asked.advice()
    assert advice.relaxation in ("s-product", "exact")
    [trap] = [one for one in advice.traps if one.kind == "observed consequent"]
    assert "`Sum` is observed" in trap.text


@pytest.mark.parametrize(
    "rule",
    [
        "forall a, b in digit: Left(a) & Right(b) & Left(b) -> Sum(a + b)",  # a class twice
        "forall a, b in digit: Left(a) -> Sum(a + b)",  # no choice of b
        "forall a, b in digit where a < b: Left(a) & Right(b) -> Sum(a + b)",
        "forall a, b in digit: Left(a) & ~Right(b) -> Sum(a + b)",
        "forall a in digit: Left(a) & Many(a) -> Sum(a)",
    ],
)
def test_other_rules_keep_their_form(rule):
    if "Left(a) -> Sum(a + b)" in rule:
        expected = {"sum": "forall b in digit: exists a in digit: Left(a) & Sum(a + b)"}
    else:
        expected = {}
    knowledge = loads(
        "domain digit = 0..2\ndomain total = 0..4\npredicate Left(digit)\npredicate Right(digit)\n"
        f"predicate Many(digit) independent\npredicate Sum(total)\nrule sum: {rule}\n"
    )
    assert existential(knowledge, sums())[1] == expected


def test_evidence_may_end_with_its_sequence(monkeypatch):
    monkeypatch.setattr(rehearsing, "STEPS", 2)
    knowledge = loads(
        "domain i sequence\npredicate Shown(i) independent\npredicate T(i) independent\n"
        "rule r: forall x in i: Shown(x) -> T(x)"
    )
    shown = torch.tensor([[1, 1, -100], [0, 1, 1]])
    logits = {"T": torch.full((2, 3), -1.0).double()}
    sample = Sample("s", logits, torch.tensor([2, 3]), {"Shown": shown})
    stage = make_up(knowledge, sample, 1, 0)
    assert set(stage.outputs) == {"T"}
    assert stage.outputs["T"].truth[0][shown == 1].tolist() == [1] * 4
    assert Rehearsal(knowledge, sample).try_out(relaxation("r-product")) is not None


def test_exact_is_left_out_where_its_circuit_is_large(monkeypatch):
    monkeypatch.setattr(rehearsing, "STEPS", 1)
    monkeypatch.setattr(rehearsing, "MOST_NUMBERS", 10)
    asked = Consultation(SUMS, [sums()], [relaxation("s-product")])
    for _ in asked.steps():
        pass
    assert [one.relaxation for one in asked.rehearsed] == [None, "s-product"]
    assert any("`exact` is left out" in one for one in asked.advice().reasons)


def test_sequences_of_several_lengths_are_rehearsed(monkeypatch):
    monkeypatch.setattr(rehearsing, "STEPS", 3)
    knowledge = loads(
        "domain i sequence\ndomain tag = B, I, O\npredicate T(i, tag)\n"
        "rule r: forall x in i: T(x, O) -> ~T(x + 1, I)"
    )
    logits = torch.tensor([0.0, 0.0, 1.0]).double().repeat(6, 5, 1)  # O everywhere …
    logits[0, 1, 1] = 9.0  # … and an I after it
    sample = Sample("s", {"T": logits}, torch.tensor([5, 4, 3, 2, 1, 5]))
    asked = Consultation(knowledge, [sample], [relaxation("r-product")])
    for _ in asked.steps():
        pass
    assert [one.relaxation for one in asked.rehearsed] == [None, "r-product", "exact"]
    assert list(asked.aggregated) == list(OVERS)
    assert {one.relaxation for one in asked.aggregated.values()} == {"r-product"}


CARRIES = loads(
    "domain digit = 0..2\ndomain bit = 0, 1\npredicate Left(digit)\npredicate Right(digit)\n"
    "predicate Carry(bit) hidden\npredicate Large\n"
    "rule more: forall a, b in digit where a + b >= 3: Left(a) & Right(b) -> Carry(1)\n"
    "rule less: forall a, b in digit where a + b < 3: Left(a) & Right(b) -> Carry(0)\n"
    "rule large: Carry(1) <-> Large\n"
)


def test_truth_of_rules_with_hidden_predicates_obeys_them():
    [sample, _] = draw_samples(CARRIES, examples=60, takes_hidden=True)
    made = make_up(CARRIES, sample, 1, 0).outputs
    assert set(made) == {"Left", "Right", "Large"}
    left, right, large = (made[name].truth[0] for name in ("Left", "Right", "Large"))
    assert torch.equal(left + right >= 3, large == 1)
    assert 5 < int(large.sum()) < 55
    told = sample._replace(labels={"Left": torch.full((60,), 2)})
    made = make_up(CARRIES, told, 1, 0).outputs
    assert made["Left"].truth.unique().tolist() == [2]


def test_hidden_predicates_are_rehearsed_under_exact_alone():
    asked = Consultation(CARRIES, [], default_relaxations([]))
    assert sum(1 for _ in asked.steps()) <= asked.count
    assert [one.relaxation for one in asked.rehearsed] == [None, "exact"]
    assert asked.measured == []
    said = "Only `exact` sums out the hidden `Carry`: no other relaxation was tried"
    assert said in asked.advice().reasons
    without = Consultation(CARRIES, [], default_relaxations([]), with_exact=False)
    for _ in without.steps():
        pass
    advice = without.advice()
    assert (advice.relaxation, advice.reasons[0]) == (
        None,
        f"{said}, and `exact` was not asked for",
    )


def test_hidden_predicates_that_are_observed_are_evidence(monkeypatch):
    monkeypatch.setattr(rehearsing, "STEPS", 2)
    [sample, _] = draw_samples(CARRIES, examples=20, takes_hidden=True)
    told = sample._replace(observed={"Carry": torch.arange(20) % 2})
    asked = Consultation(CARRIES, [told], [relaxation("s-product")])
    for _ in asked.steps():
        pass
    assert {one.relaxation for one in asked.rehearsed} == {None, "s-product", "exact"}
