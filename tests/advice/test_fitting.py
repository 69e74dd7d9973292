"""Budgets of work: what is cut down, and that what is left still fits together."""

import torch

from residuum.advice import Consultation, draw_samples, fit, fitting
from residuum.advice.fitting import groundings_by_rule, work_by_rule
from residuum.advice.samples import Sample
from residuum.relaxations import relaxation
from residuum.syntax import loads

GRAPH = loads(
    "domain person = 0..59\ndomain kind = a, b, c\n"
    "predicate Knows(person, person) independent\npredicate Kind(person, kind)\n"
    "rule on: forall x, y, z in person: Knows(x, y) & Knows(y, z) -> Knows(x, z)\n"
    "rule alike: forall x, y in person, k in kind: Knows(x, y) & Kind(x, k) -> Kind(y, k)\n"
    "rule some: forall x in person: exists y in person: Knows(x, y)\n"
)


def graph(examples=3):
    generator = torch.Generator().manual_seed(0)
    return Sample(
        "graph",
        {
            "Knows": torch.randn(examples, 60, 60, generator=generator).double(),
            "Kind": torch.randn(examples, 60, 3, generator=generator).double(),
        },
        None,
        {"Knows": torch.randint(2, (examples, 60, 60), generator=generator)},
        {"Kind": torch.randint(3, (examples, 60), generator=generator)},
    )


def test_work_counts_inner_quantifiers_and_groundings_do_not():
    on, alike = 60**3, 60 * 60 * 3
    assert work_by_rule(GRAPH, graph()) == {"on": on, "alike": alike, "some": 60 * 60}
    assert groundings_by_rule(GRAPH, graph()) == {"on": on, "alike": alike, "some": 60}


def test_members_are_sampled_until_groundings_fit():
    sample = graph()
    knowledge, smaller, left_out = fit(GRAPH, sample)
    people = list(knowledge.domains["person"])
    assert sum(work_by_rule(knowledge, smaller).values()) * 2 <= fitting.WORK
    assert len(people) == 15
    for arrays, whole in ((smaller.logits, sample.logits), (smaller.observed, sample.observed)):
        assert torch.equal(
            arrays["Knows"], whole["Knows"][: smaller.examples][:, people][:, :, people]
        )
    assert torch.equal(smaller.labels["Kind"], sample.labels["Kind"][: smaller.examples][:, people])
    assert "15 of 60 members of person, at random" in left_out


def test_labels_of_members_that_are_left_out_are_ignored():
    knowledge = loads("domain d = 0..9\npredicate P(d)\nrule r: forall x, y in d: P(x) -> P(y)")
    sample = Sample("s", {"P": torch.zeros(10, 10)}, None, {}, {"P": torch.arange(10)})
    keep = torch.tensor([2, 3, 7])
    slots = {"P": fitting.slots_of(knowledge)["P"]}
    found = sample.with_members(slots, "d", keep)
    assert found.labels["P"].tolist() == [-100, -100, 0, 1, -100, -100, -100, 2, -100, -100]
    assert found.logits["P"].shape == (10, 3)


def test_domains_that_rules_compute_with_keep_their_members(monkeypatch):
    monkeypatch.setattr(fitting, "WORK", 50)
    knowledge = loads(
        "domain d = 0..9\npredicate P(d)\npredicate Q(d)\n"
        "rule r: forall a, b in d: P(a) -> Q((a + b) mod 10)\nrule s: P(0) -> Q(0)\n"
    )
    [sample, _] = draw_samples(knowledge, examples=8)
    smaller, thinner, left_out = fit(knowledge, sample)
    assert list(smaller.rules) == ["s"]  # 100 groundings of the other one never fit
    assert thinner.examples == 8
    assert left_out == ("1 of 2 rules, those with the fewest groundings, fit the budget",)


def test_long_sequences_are_cut(monkeypatch):
    monkeypatch.setattr(fitting, "WORK", 200)
    knowledge = loads(
        "domain i sequence\npredicate T(i) independent\nrule r: forall x, y in i: T(x) -> T(y)"
    )
    sample = Sample("s", {"T": torch.zeros(3, 64)}, torch.tensor([64, 5, 20]))
    _, cut, _ = fit(knowledge, sample)
    assert cut.logits["T"].shape[1] == 8
    assert cut.lengths.max() <= 8


def test_a_consultation_about_a_large_knowledge_ends(monkeypatch):
    from residuum.advice import measuring, rehearsing

    monkeypatch.setattr(fitting, "WORK", 2_000)
    monkeypatch.setattr(rehearsing, "STEPS", 2)
    monkeypatch.setattr(measuring, "STEPS", 2)
    asked = Consultation(GRAPH, [graph()], [relaxation("s-product")])
    assert sum(1 for _ in asked.steps()) <= asked.count
    traps = {(one.kind, one.rule) for one in asked.advice().traps}
    assert ("many groundings", "on") in traps
    assert any("216,000 groundings" in one.text for one in asked.advice().traps)


def test_rehearsals_end_when_time_is_up():
    asked = Consultation(GRAPH, [graph()], [relaxation("s-product")], seconds=0)
    for _ in asked.steps():
        pass
    advice = asked.advice()
    assert (advice.relaxation, asked.measured) == (None, [])
    assert any("was spent before s-product" in one for one in advice.reasons)


def test_random_predictions_of_a_huge_domain_are_never_drawn_in_full():
    knowledge = loads(
        "domain person = 0..99999\npredicate Knows(person, person) independent\n"
        "rule back: forall x, y in person: Knows(x, y) -> Knows(y, x)\n"
    )
    first, second = fitting.draw_fitted(knowledge)
    assert first.sample.logits["Knows"].shape[1:] == second.sample.logits["Knows"].shape[1:]
    assert 4 <= first.sample.logits["Knows"].shape[1] <= 126  # 126² groundings twice are 32,000
    assert "members of person" in first.left_out[0]
