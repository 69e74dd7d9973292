"""Mistakes in the members, functions and networks of relations are refused in words."""

import pytest
import torch
from torch import nn

import residuum as rs
from residuum.errors import GroundingError

PEOPLE = """
    domain person
    predicate Friends(person, person)
    predicate Smokes(person)
    facts smokers: Smokes
    rule mutual: forall x, y in person where x != y: Friends(x, y) -> Friends(y, x)
"""


def theory(**modules):
    networks = {"Friends": rs.concatenated(nn.Linear(6, 1)), "Smokes": nn.Linear(3, 1)}
    return rs.Theory(rs.loads(PEOPLE), **{**networks, **modules})


def test_a_domain_whose_module_has_no_members_costs_nothing():
    assert theory(person=rs.Members(0, dim=3))().total.item() == 0


def test_a_network_of_one_tensor_is_refused_with_the_way_to_wrap_it():
    with pytest.raises(GroundingError, match=r"2 tensors.*Friends=rs\.concatenated"):
        theory(Friends=nn.Linear(6, 1))


def test_networks_whose_arguments_are_not_known_are_called():
    class Any(nn.Module):
        def forward(self, *people):
            return torch.cat(people, -1).sum(-1)

    assert theory(Friends=Any())(person=torch.randn(4, 3)).total.isfinite()


def test_facts_about_one_member_may_name_it_by_number():
    torch.manual_seed(0)
    people, some = torch.randn(4, 3), torch.tensor([2, 0])
    known, labels = theory(), torch.tensor([1, 0])
    by_number = known({"smokers": (some, labels)}, person=people)
    by_features = known({"smokers": (people[some], labels)}, person=people)
    torch.testing.assert_close(by_number.parts["smokers"], by_features.parts["smokers"])


def test_pairs_are_refused_where_no_relation_reads_them():
    knowledge = rs.loads(
        "domain p\npredicate S(p)\npredicate T(p)\nrule r: forall x in p: S(x) -> T(x)"
    )
    plain = rs.Theory(knowledge, S=nn.Linear(3, 1), T=nn.Linear(3, 1))
    with pytest.raises(GroundingError, match=r"observed `S`: expected labels.*got Pairs"):
        plain(p=torch.randn(4, 3), observed={"S": rs.Pairs([[0, 1, 2]])})


def test_pairs_keep_their_order_without_repetitions_and_may_be_none():
    assert rs.Pairs([[2, 0, 2, 1], [0, 1, 0, 1]]).index.tolist() == [[2, 0, 1], [0, 1, 1]]
    assert len(rs.Pairs([[], []])) == 0


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32])
def test_functions_are_given_by_integers_of_any_width(dtype):
    rule = "forall x, y in person: F(x, boss(y))"
    table, boss = torch.randn(3, 3), torch.tensor([1, 1, 0])
    options = {"domains": {"person": "open"}, "predicates": {"F": ("person", "person")}}
    found = rs.compile(rule, functions={"boss": boss.to(dtype)}, **options)(F=table)
    expected = torch.nn.functional.softplus(-table[:, boss]).mean()
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    ("boss", "message"),
    [
        ([1, -1, 0], "from 0 to 2, got -1"),
        ([1, 1, 9], "from 0 to 2, got 9"),
        ([1, 1], "a value for each of the 3 members, got 2"),
        ([1.0, 1.0, 0.0], "expected integers"),
    ],
)
def test_functions_that_lead_nowhere_are_refused(boss, message):
    rule = rs.compile(
        "forall x, y in person: F(x, boss(y))",
        domains={"person": "open"},
        predicates={"F": ("person", "person")},
        functions={"boss": boss},
    )
    with pytest.raises(GroundingError, match=message):
        rule(F=torch.randn(3, 3))


LINKED = "forall x, y in person where Link(x, y): Smokes(x) -> Smokes(y)"


def test_the_domains_of_a_relation_in_a_guard_are_those_of_its_variables():
    smokes, pairs = torch.randn(3), rs.Pairs([[0, 1], [1, 2]])
    rule = rs.compile(LINKED, "s-product", domains={"person": "open"})
    x = torch.sigmoid(smokes)
    expected = -torch.stack([1 - x[0] * (1 - x[1]), 1 - x[1] * (1 - x[2])]).log().mean()
    torch.testing.assert_close(rule(Smokes=smokes, observed={"Link": pairs}), expected)


@pytest.mark.parametrize("guard", ["Link(x, z)", "x != z", "x != y & Link(z, y)"])
def test_names_in_guards_that_no_quantifier_binds_are_refused(guard):
    rule = LINKED.replace("Link(x, y)", guard)
    predicates = {"Link": ("person", "person")} if "Link" in rule else {}
    with pytest.raises(GroundingError, match=r"`z` is bound by no quantifier.*write \"z\""):
        rs.compile(rule, domains={"person": "open"}, predicates=predicates)


def test_pairs_in_rows_are_refused_with_what_to_do():
    rule = rs.compile(LINKED, domains={"person": "open"})
    with pytest.raises(GroundingError, match=r"2 rows of numbers.*got 3; pass the transpose"):
        rule(Smokes=torch.randn(3), observed={"Link": rs.Pairs([[0, 1], [1, 2], [2, 0]])})


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        ("K(x, f(x))", "declare a predicate"),
        ("K(x, x mod 3)", "declare a predicate"),
        ("forall y in person: K(x, f(y))", "declare a predicate"),
        ("Q(x) < x", "declare a quantity"),
        ("Q(x) < Q(x) + f(x)", "declare a quantity"),
    ],
)
def test_what_is_computed_from_a_member_is_refused_in_words(body, advice):
    with pytest.raises(GroundingError, match=f"a member of the open domain `person`; {advice}"):
        rs.compile(
            f"forall x in person: {body}",
            domains={"person": "open", "label": 3},
            predicates={"K": ("person", "label")},
            functions={"f": lambda _: 1},
            quantities={"Q": 1.0},
        )
