"""Rules with one variable over an open domain: about a batch, or about a member and itself."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import residuum as rs
from residuum.errors import GroundingError

PEOPLE = """
    domain person
    function boss(person): person
    predicate Smokes(person)
    predicate Friends(person, person)
"""
IRREFLEXIVE = "rule irr: forall x in person: ~Friends(x, x)\n"
OTHER = "rule other: forall x, y in person: Friends(x, y) -> Friends(y, x)\n"


def table(count):
    return torch.rand(count, count)


@pytest.mark.parametrize("knows", [True, False])
def test_a_table_is_read_at_each_member_twice(knows):
    f, s = table(4), torch.rand(4)
    text = "forall x in person: Friends(x, x) -> Smokes(x)"
    if knows:
        rules = rs.compile(rs.loads(PEOPLE + f"rule r: {text}"), "s-product", inputs="probs")
        found = rules(Friends=f, Smokes=s)["r"]
    else:
        options = {"domains": {"person": "open"}, "inputs": "probs"}
        found = rs.compile(text, "s-product", **options)(Friends=f, Smokes=s)
    rows = [-torch.log(1 - f[x, x] * (1 - s[x])) for x in range(4)]
    torch.testing.assert_close(found, torch.stack(rows).mean())


def test_a_rule_of_a_theory_asks_for_each_member_with_itself_alone():
    network, members = rs.concatenated(nn.Linear(4, 1)), torch.randn(3, 2)
    theory = rs.Theory(rs.loads(PEOPLE + IRREFLEXIVE), relaxation="s-product", Friends=network)
    f = network(members, members)[:, 0].sigmoid()
    torch.testing.assert_close(theory(person=members).total, -(1 - f).log().mean())
    labels = torch.ones(3, 3, dtype=torch.long) - torch.eye(3, dtype=torch.long)
    assert theory(person=members, observed={"Friends": labels}).total < 1e-6
    pairs = rs.Pairs([[0, 1], [1, 0]])
    assert theory(person=members, observed={"Friends": pairs}).total < 1e-6


def test_a_function_of_a_member_may_be_numbers_also_where_it_is_the_only_relation():
    network, members = rs.concatenated(nn.Linear(4, 1)), torch.randn(3, 2)
    knowledge = rs.loads(PEOPLE + "rule r: forall x in person: Friends(x, boss(x))")
    theory = rs.Theory(knowledge, relaxation="s-product", Friends=network)
    boss = torch.tensor([1, 1, 0])
    f = network(members, members[boss])[:, 0].sigmoid()
    torch.testing.assert_close(theory(person=members, boss=boss).total, -f.log().mean())
    torch.testing.assert_close(theory(person=members, boss=members[boss]).total, -f.log().mean())


def test_functions_that_lead_to_one_member_each_are_about_a_batch():
    knowledge = rs.loads("""
        domain image domain pair domain digit = 0..2
        function left(pair): image
        function right(pair): image
        predicate Digit(image, digit)
        rule r: forall p in pair, a, b in digit where a != b:
            ~(Digit(left(p), a) & Digit(right(p), b))
    """)
    assert not rs.Theory(knowledge, Digit=nn.Linear(2, 3))._rules().related


@pytest.mark.parametrize("over", ["worst(50%)", "p-mean(2)"])
def test_over_does_not_concern_a_batch_whatever_other_rules_relate(over):
    plain = "rule all: forall x in person: Smokes(x)\n"
    networks = {"Smokes": nn.Linear(2, 1), "Friends": rs.concatenated(nn.Linear(4, 1))}
    members = torch.randn(4, 2)
    expected = -networks["Smokes"](members)[:, 0].sigmoid().log().mean()
    for text in (plain, plain + OTHER):
        used = networks if text != plain else {"Smokes": networks["Smokes"]}
        theory = rs.Theory(rs.loads(PEOPLE + text), relaxation="s-product", over=over, **used)
        torch.testing.assert_close(theory(person=members).parts["all"], expected)


def test_over_combines_the_rows_of_a_relation_with_one_variable():
    f = table(4)
    rules = rs.compile(
        rs.loads(PEOPLE + IRREFLEXIVE), "s-product", inputs="probs", over="worst(50%)"
    )
    worst = (-(1 - f.diagonal()).log()).sort().values[2:].mean()
    torch.testing.assert_close(rules(Friends=f)["irr"], worst)
    told = rules.explain()
    assert "returns worst(50%) over all choices of members" in told
    assert "1 groundings per choice of members; " in told
    mean = rs.compile(rs.loads(PEOPLE + IRREFLEXIVE), "s-product")
    assert "returns the mean over all choices of members" in mean.explain(Friends=f)


def test_labels_that_break_a_relation_are_refused():
    rules = rs.compile(rs.loads(PEOPLE + IRREFLEXIVE + OTHER), check=True)
    wrong = torch.zeros(3, 3, dtype=torch.long)
    rules(observed={"Friends": wrong})
    wrong[1, 1] = -100
    rules(Friends=table(3), observed={"Friends": wrong})  # one is not observed
    wrong[1, 1] = 1
    with pytest.raises(GroundingError, match=r"labels that obey the rule.*Friends\(1, 1\)"):
        rules(observed={"Friends": wrong})
    rs.compile(rs.loads(PEOPLE + IRREFLEXIVE))(observed={"Friends": wrong})


def test_a_batch_is_sampled_under_any_over():
    text = PEOPLE + "rule all: forall x in person: Smokes(x)\n" + OTHER
    networks = {"Smokes": nn.Linear(2, 1), "Friends": rs.concatenated(nn.Linear(4, 1))}
    over = {"all": "worst(50%)"}
    theory = rs.Theory(rs.loads(text), over=over, groundings=3, **networks)
    assert theory(person=torch.randn(4, 2)).total.isfinite()
    with pytest.raises(GroundingError, match=r"over='worst\(50%\)'"):
        rs.Theory(rs.loads(text), over="worst(50%)", groundings=3, **networks)


@pytest.mark.parametrize("relaxation", ["s-product", "exact"])
def test_an_atom_of_functions_alone_is_about_an_example_of_the_batch(relaxation):
    torch.manual_seed(0)
    knowledge = rs.loads("""
        domain image
        domain pair
        function left(pair): image
        function right(pair): image
        predicate Larger(image, image)
        rule asymmetric: forall p in pair: ~(Larger(left(p), right(p)) & Larger(right(p), left(p)))
    """)
    larger = rs.concatenated(nn.Sequential(nn.Linear(4, 1), nn.Flatten(0)).double())
    theory = rs.Theory(knowledge, relaxation=relaxation, Larger=larger)
    left, right = torch.randn(2, 5, 2).double()
    x, y = (torch.sigmoid(larger(*both)) for both in ((left, right), (right, left)))
    found = theory(left=left, right=right).parts["asymmetric"]
    torch.testing.assert_close(found, -torch.log(1 - x * y).mean())
    seen = {"Larger(left(p), right(p))": torch.tensor([1, 0, 1, 0, 1])}
    known = theory(left=left, right=right, observed=seen).parts["asymmetric"]
    expected = torch.where(seen["Larger(left(p), right(p))"] == 1, -torch.log(1 - y), 0.0)
    torch.testing.assert_close(known, expected.mean())
