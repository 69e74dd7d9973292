"""Rules about a few members with numbers cost what the same rules about open domains cost."""

import pytest
import torch

import residuum as rs
from residuum.advice.closing import World, close, members_in_rules, relating_rules
from residuum.advice.made_up import unweighted
from residuum.syntax import loads

DECLARED = """
    domain person
    domain paper
    domain topic = 0..2
    function boss(person): person
    predicate Smokes(person)
    predicate Friends(person, person)
    predicate Likes(topic, person)
    predicate Wrote(person, paper)
    predicate Topic(paper, topic)
    predicate Cites(paper, paper)
    quantity Age(person) scale 2
"""
RULES = {
    "symmetric": "forall x, y in person: Friends(x, y) -> Friends(y, x)",
    "company": "forall x in person: exists y in person where y != x: Friends(x, y)",
    "transitive": "forall x, y in person where x < y: forall z in person: "
    "Friends(x, y) & Friends(y, z) -> Friends(x, z)",
    "labels": "forall x in person, t in topic, y in person where t != 1: "
    "Likes(t, x) & Friends(x, y) -> Likes(t, y)",
    "linked": "forall p, q in paper where Cites(p, q) & p != q: forall t in topic: "
    "Topic(p, t) -> Topic(q, t)",
    "cited": "forall p in paper, t in topic: "
    "Topic(p, t) -> (exists q in paper where Cites(p, q): Topic(q, t))",
    "boss": "forall x in person: Smokes(boss(x)) & Friends(x, boss(x)) -> Smokes(x)",
    "named": "forall x in person where x != 2: Friends(x, 2) -> Smokes(4)",
    "own": "forall x in person: Smokes(x) -> Friends(x, x)",
    "wrote": "forall x in person, p in paper: Wrote(x, p) -> Smokes(x)",
    "older": "forall x, y in person: Friends(x, y) & Age(x) < Age(y) -> Smokes(y)",
}
PEOPLE, PAPERS = 5, 4
BOSSES = [1, 1, 0, 4, 2]
CITED = [(0, 1), (1, 1), (2, 3), (3, 0), (1, 2)]


def outputs(generator):
    """Return logits of all members, those of open domains in front."""
    shapes = {"Smokes": (5,), "Friends": (5, 5), "Likes": (5, 3), "Wrote": (5, 4), "Topic": (4, 3)}
    shapes["Age"] = (5,)
    return {
        name: torch.randn(shape, generator=generator).double() for name, shape in shapes.items()
    }


def world(members=((0, 1, 2, 3, 4), (0, 1, 2, 3))):
    people, papers = members
    return World(
        {"person": people, "paper": papers},
        {},
        {"boss": {(x,): BOSSES[x] for x in people}},
        {"Cites": {(p, q): int((p, q) in CITED) for p in papers for q in papers}},
    )


@pytest.mark.parametrize(
    "relaxation", ["s-product", "r-product", "lukasiewicz-maxsat", "s-godel", "lukasiewicz"]
)
@pytest.mark.parametrize("name", RULES)
def test_rules_cost_the_mean_over_rows(name, relaxation):
    knowledge = loads(f"{DECLARED}\nrule r weight 3: {RULES[name]}")
    assert relating_rules(knowledge) == ["r"]
    given = outputs(torch.Generator().manual_seed(1))
    known = {"Cites": rs.Pairs(torch.tensor(CITED).T)}
    opened = rs.compile(knowledge, relaxation, functions={"boss": torch.tensor(BOSSES)}).rules["r"]
    read = {slot: one for slot, one in given.items() if slot in opened.plan.read}
    observed = {slot: one for slot, one in known.items() if slot in opened.plan.read}
    expected = opened(read, observed=observed or None)

    closed, scales = close(knowledge, world())
    rules = unweighted(closed, relaxation, scales=scales)
    found = rules.total({slot: one.unsqueeze(0) for slot, one in read.items()})
    of_several = scales.get("r", 1) != 1  # the groundings of a row come together by their mean
    if of_several and relaxation in ("s-godel", "lukasiewicz"):
        assert float(found) >= float(expected) - 1e-9  # a sum, and not the largest or the cap
    else:
        torch.testing.assert_close(found[0], expected)


def test_the_groundings_of_a_row_are_counted():
    def scale(name):
        return close(loads(f"{DECLARED}\nrule r: {RULES[name]}"), world()).scales.get("r")

    assert scale("symmetric") == scale("company") == scale("transitive") == scale("own") == 1
    assert scale("labels") == 2  # two of three topics
    assert scale("linked") == 3
    assert scale("cited") == 3


def test_names_become_numbers():
    knowledge = loads(
        "domain person\ndomain mood = ann, sad\npredicate Feels(person, mood)\n"
        "predicate Friends(person, person)\n"
        'rule r: forall x in person, m in mood where x != "ann" & m != ann: '
        'Friends(x, "ann") -> Feels("bob", ann)\n'
    )
    assert members_in_rules(knowledge) == {"person": ["ann", "bob"]}
    closed = close(knowledge, World({"person": (0, 1, 7)}, {"ann": 7, "bob": 0}, {}, {})).knowledge
    expected = (
        'forall x in person, m in mood where x != 7 & m != "ann": Friends(x, 7) -> Feels(0, "ann")'
    )
    assert str(closed.rules["r"].formula) == expected


def test_rules_without_variables_over_members_stay_conjunctions():
    knowledge = loads(
        "domain person\npredicate Smokes(person)\n"
        "rule both: Smokes(0) & Smokes(1)\nrule all over worst(10%): forall x, y in person: "
        "Smokes(x) -> Smokes(y)\n"
    )
    closed, scales = close(knowledge, World({"person": (0, 1)}, {}, {}, {}))
    assert {name: rule.over for name, rule in closed.rules.items()} == {
        "both": None, "all": "worst(10%)",
    }  # fmt: skip
    assert scales == {}


def test_rules_about_examples_or_labels_relate_no_members():
    knowledge = loads(
        "domain image\ndomain digit = 0..9\npredicate D(image, digit)\npredicate E(digit)\n"
        "rule a: forall x in image, d in digit: D(x, d) -> E(d)\nrule b: E(0) | E(1)\n"
    )
    assert relating_rules(knowledge) == []
